// Arrays of the map's message (vitviz/plots/map_contents.py) from a record of the engine.

import { percent } from '../../vitviz/browser/kit/text.js';

const STRONGEST = 5; // keys of a token that are drawn as arcs

const greatest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** Return the norm of every row. */
function norms({ shape: [count, width], data }) {
  const sizes = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let c = 0; c < width; c++) sum += data[i * width + c] ** 2;
    sizes[i] = Math.sqrt(sum);
  }
  return sizes;
}

const PLAIN = 127; // the scale at which a vector's codes are its values

/** Return the first `channels` values of the rows of some tensors. */
function firstChannels(parts, channels) {
  const [count, width] = parts[0].shape;
  const values = new Float32Array(parts.length * count * channels);
  parts.forEach(({ data }, part) => {
    for (let i = 0; i < count; i++)
      values.set(data.subarray(i * width, i * width + channels), (part * count + i) * channels);
  });
  return values;
}

/** Return the mean of the heads' attention, (N, N). */
function meanOf({ shape: [heads, tokens], data }) {
  const mean = new Float32Array(tokens * tokens);
  for (let head = 0, at = 0; head < heads; head++)
    for (let i = 0; i < mean.length; i++, at++) mean[i] += data[at] / heads;
  return mean;
}

/** Return the attention of [CLS], the first token, as codes with their largest weight. */
function readoutRow(mean, tokens) {
  const row = mean.subarray(0, tokens);
  const most = greatest(row);
  return {
    row: { shape: [1, tokens], data: Uint16Array.from(row, (value) => Math.sqrt(value / (most || 1)) * 65535 + 0.5) },
    row_max: { shape: [1], data: Float32Array.of(most) },
  };
}

/** Return every token's strongest keys and their weights. */
function strongestKeys(mean, tokens) {
  const count = Math.min(STRONGEST, tokens);
  const [keys, weights] = [new Uint16Array(tokens * count), new Uint16Array(tokens * count)];
  for (let query = 0; query < tokens; query++) {
    const row = mean.subarray(query * tokens, (query + 1) * tokens);
    const best = [];
    row.forEach((value, key) => {
      if (best.length === count && value <= row[best[count - 1]]) return;
      const at = best.findIndex((other) => row[other] < value);
      best.splice(at < 0 ? best.length : at, 0, key);
      best.length = Math.min(best.length, count);
    });
    keys.set(best, query * count);
    weights.set(
      best.map((key) => Math.round(row[key] * 65535)),
      query * count,
    );
  }
  const shape = [tokens, count];
  return { keys: { shape, data: keys }, weights: { shape, data: weights } };
}

/** Return a block's arrays and the scale of its stream; without one if the server sent none. */
function blockArrays(part, old, tensors) {
  const name = `blocks.${part.layer - 1}`;
  const attn = tensors[`${name}.attn`];
  const [, tokens] = attn.shape;
  const mean = meanOf(attn);
  const entering = tensors[part.layer > 1 ? `blocks.${part.layer - 2}` : 'embedded'];
  const vectors = [
    entering,
    tensors[`${name}.attn_out`],
    tensors[`${name}.mlp_out`],
    tensors[`${name}.mid`],
    tensors[name],
  ];
  const sizes = vectors.map((each) => norms(each));
  const lengths = Float32Array.from(
    { length: tokens * sizes.length },
    (_, i) => sizes[i % sizes.length][Math.floor(i / sizes.length)],
  );
  const arrays = {
    ...readoutRow(mean, tokens),
    ...strongestKeys(mean, tokens),
    lengths: { shape: [tokens, sizes.length], data: lengths },
  };
  if (!old.stream) return { arrays };
  const [, , channels] = old.stream.shape;
  const data = firstChannels([tensors[`${name}.mid`], tensors[name]], channels);
  arrays.stream = { shape: old.stream.shape, data };
  return { arrays, facts: { stream_scale: PLAIN } };
}

/** Return a part's new arrays and facts; null if they do not depend on the image. */
function partArrays(part, old, tensors, depth) {
  if (part.kind === 'block') return blockArrays(part, old, tensors);
  if (part.kind === 'embed') {
    const length = { ...old.length, data: norms(tensors.patch_embed) };
    const data = firstChannels([tensors.patch_embed], old.vectors.shape[1]);
    return { arrays: { length, vectors: { ...old.vectors, data } }, facts: { scale: PLAIN } };
  }
  if (part.kind === 'norm') {
    const data = { in_length: norms(tensors[`blocks.${depth - 1}`]), length: norms(tensors.norm) };
    return {
      arrays: Object.fromEntries(Object.entries(data).map(([name, values]) => [name, { ...old[name], data: values }])),
    };
  }
  return null;
}

/** Return true if the map's arrays can be computed from a record of the engine. */
export function canFollow({ header: { parts, classes, depth, readout }, arrays }) {
  const known = parts.every(({ kind }) =>
    ['picture', 'patches', 'embed', 'prefix', 'positions', 'block', 'norm', 'head', 'classes'].includes(kind),
  );
  if (!known || readout !== 'cls' || !depth || !classes) return false;
  const [count] = parts.at(-1).shape_out;
  return arrays['head.weights'].shape[0] === 1 && classes.names.length === count;
}

/** Return the classes' words, as vitviz/plots/map_words.py writes them. */
function classWords(probabilities, names) {
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a] || a - b);
  const ranked = order.slice(0, 2).map((k) => `${names[k]} (${percent(probabilities[k])})`);
  return `Prediction: ${ranked.join(', then ')}.`;
}

/** Return a map's message for another image: `tensors` is the engine's record. */
export function liveMessage({ header, arrays, ...rest }, tensors) {
  const { depth } = header;
  const changed = { ...arrays };
  const { data: scores } = tensors.lens;
  const names = header.classes.names;
  const probabilities = scores.slice(-names.length);
  changed.logits = { ...arrays.logits, data: tensors.logits.data };
  changed.probabilities = { ...arrays.probabilities, data: probabilities };
  if (arrays.lens) changed.lens = tensors.lens;
  const parts = header.parts.map((part) => {
    const own = (name) => arrays[`${part.id}.${name}`];
    const old = { stream: own('stream'), vectors: own('vectors'), length: own('length'), in_length: own('in_length') };
    const made = partArrays(part, old, tensors, depth);
    for (const [name, array] of Object.entries(made?.arrays ?? {})) changed[`${part.id}.${name}`] = array;
    if (part.kind === 'classes') return { ...part, words: classWords(probabilities, names) };
    return made ? { ...part, ...made.facts, stale: true } : part; // its sentence has the image before's numbers
  });
  return { ...rest, header: { ...header, parts }, arrays: changed };
}

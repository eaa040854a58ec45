// Open a block for one token: its heads, one softmax row and both residual updates; and Swin's patch merging.

import { percent } from '../../vitviz/browser/kit/text.js';
import {
  buildBars,
  buildLayerNorm,
  buildSoftmaxRow,
  buildSum,
  buildTable,
  buildVectors,
  dot,
  highest,
  layerNorm,
  nameToken,
  norm,
  plus,
  rowsOf,
  selectIndex,
  stack,
  times,
} from './map_operations.js';

const largest = (values) => values.reduce((most, value) => Math.max(most, value), -Infinity);

/** Return the asked head, or the one with the largest weight. */
const selectHead = (rows, head) => selectIndex(head, rows.length, highest(rows.map((row) => largest(row))));

/** Return what a token of a ViT's block computes. */
async function readBlock({ part, config, query, token, get }) {
  const name = `blocks.${part.layer - 1}`;
  const inside = ['input', 'attn_out', 'mid', 'mlp_out', 'norm1', 'norm2', 'mlp_hidden'];
  const gains = config.layer_scale === null ? [] : [`weight:${name}.ls1.gamma`, `weight:${name}.ls2.gamma`];
  const [attn, output, ...read] = await get(
    ...[`${name}.attn[:,${token}]`, `${name}[${token}]`, ...inside.map((each) => `${name}.${each}[${token}]`)],
    ...gains,
  );
  const [entering, attention, between, mlp, norm1, norm2, hidden, gain1, gain2] = read.map(({ data }) => data);
  const rows = rowsOf(attn);
  const head = selectHead(rows, query.head);
  const [q, k, v, scores] = await get(
    ...[`${name}.q[${head},${token}]`, `${name}.k[${head}]`, `${name}.v[${head}]`],
    `${name}.scores[${head},${token}]`,
  );
  const perHead = config.head_dim || config.embed_dim / config.num_heads;
  return {
    ...{ rows, head, query: q.data, keys: [...rows[head].keys()], key: rowsOf(k), value: rowsOf(v) },
    ...{ scores: scores.data, weights: rows[head], hidden, norms: [norm1, norm2] },
    stream: [
      entering,
      gain1 ? times(attention, gain1) : attention,
      between,
      gain2 ? times(mlp, gain2) : mlp,
      output.data,
    ],
    scale: { head: perHead ** -0.5, width: config.embed_dim ** -0.5, none: 1 }[config.attention_scale],
    preNorm: config.norm === 'pre',
    biased: false,
  };
}

/** Return a head's query, scores, keys and values in the slots of a window that hold tokens. */
function headInWindow([q, scores, ...others], head, slots) {
  const [key, value] = others.map((array) => {
    const vectors = rowsOf({ shape: array.shape.slice(1), data: rowsOf(array)[head] });
    return slots.map((each) => vectors[each]);
  });
  const row = rowsOf(scores)[head];
  return { query: rowsOf(q)[head], scores: Float32Array.from(slots, (each) => row[each]), key, value };
}

/** Return what a token of a Swin's block computes in its window. */
async function readWindow({ part, config, query, token, get }) {
  const stage = part.stage - 1;
  const before = config.depths.slice(0, stage).reduce((a, b) => a + b, 0);
  const name = `layers.${stage}.blocks.${part.layer - 1 - before}`;
  const at = `[${Math.floor(token / part.grid[1])},${token % part.grid[1]}]`;
  const inside = ['.input', '.attn_out', '.mid', '.mlp_out', '', '.mlp_hidden'];
  const norms = ['norm1', 'norm2'].flatMap((each) => [`weight:${name}.${each}.weight`, `weight:${name}.${each}.bias`]);
  const [index, ...read] = await get(`${name}.window_index`, ...inside.map((each) => `${name}${each}${at}`), ...norms);
  const [entering, attention, between, mlp, output, hidden] = read.map(({ data }) => data);
  const windows = rowsOf(index);
  const window = windows.findIndex((slots) => slots.includes(token));
  const slot = windows[window].indexOf(token);
  const [attn, ...parts] = await get(
    ...['attn', 'q', 'scores'].map((each) => `${name}.${each}[${window},:,${slot}]`),
    ...['k', 'v'].map((each) => `${name}.${each}[${window}]`),
  );
  const slots = [...windows[window].keys()].filter((each) => windows[window][each] >= 0);
  const keys = slots.map((each) => windows[window][each]);
  const weights = rowsOf(attn).map((row) => Float32Array.from(slots, (each) => row[each]));
  const rows = weights.map((row) => {
    const whole = new Float32Array(part.grid[0] * part.grid[1]);
    keys.forEach((key, i) => (whole[key] = row[i]));
    return whole;
  });
  const head = selectHead(rows, query.head);
  const [weight1, bias1, weight2, bias2] = read.slice(inside.length);
  return {
    ...{ rows, head, keys, weights: weights[head], ...headInWindow(parts, head, slots) },
    hidden,
    stream: [entering, attention, between, mlp, output],
    norms: [layerNorm(entering, weight1, bias1, config.norm_eps), layerNorm(between, weight2, bias2, config.norm_eps)],
    scale: Math.floor((config.embed_dim * 2 ** stage) / config.num_heads[stage]) ** -0.5,
    preNorm: true,
    biased: true,
    masked: part.shifted && config.masked,
  };
}

/** Open a block for one token, on the asked head or the one with the largest weight. */
export async function openBlock(context) {
  const { part, token } = context;
  const block = await (part.stage ? readWindow : readBlock)(context);
  const name = (key) => nameToken(part, key);
  const dots = Float32Array.from(block.key, (key) => dot(key, block.query));
  const steps = [...attentionSteps(block, part, name, dots), ...mlpSteps(block, part)];
  const file = `${part.kind}_${part.layer - 1}_from_0`;
  const [entering, attention, between, mlp, output] = block.stream;
  const stream = { 'z in': entering, attention, between, MLP: mlp, 'z out': output };
  const tables = [
    buildTable(
      `Keys, head ${block.head + 1}`,
      `${file}_keys.csv`,
      { 'q·k': dots, score: block.scores, weight: block.weights },
      block.keys.map(name),
    ),
    buildTable('Residual stream by channel', `${file}_stream.csv`, stream),
    buildTable('Hidden units of the MLP', `${file}_hidden.csv`, { h: block.hidden }),
  ];
  return { token, steps, tables, head: block.head };
}

function attentionSteps(block, part, name, dots) {
  const [entering, attention, between] = block.stream;
  const { head, scale, preNorm, norms } = block;
  const shape = part.shape_out;
  const bias = (letter) => (block.biased ? ` + ${letter}${block.masked ? ' + mask' : ''}` : '');
  const mixed = new Float32Array(block.value[0].length);
  block.value.forEach((value, i) => value.forEach((number, c) => (mixed[c] += block.weights[i] * number)));
  const steps = [
    headsStep(block, shape[0], name, bias('B')),
    buildSoftmaxRow({
      title: `Softmax row of head ${head + 1}`,
      formula: `s = q·k × ${scale.toFixed(3)}${bias('b')},  a = exp(s − s_max) / Σ exp(s − s_max)`,
      ...{ dots, scores: block.scores, weights: block.weights, keys: block.keys, name, of: 'keys' },
    }),
    buildVectors(
      `Weighted sum of the values, head ${head + 1}`,
      'o = Σ a v',
      [mixed],
      [block.rows.length, shape[0], mixed.length],
    ),
    buildSum(
      'Residual addition',
      preNorm ? 'z′ = z + MSA(LN(z))' : 'z + MSA(z)',
      [entering, attention],
      ['z', 'attention', preNorm ? 'z′' : 'sum'],
      shape,
    ),
  ];
  if (preNorm) return [buildLayerNorm('LayerNorm', 'y = LN(z)', entering, norms[0], shape), ...steps];
  return [...steps, buildLayerNorm('LayerNorm', 'z′ = LN(z + MSA(z))', plus(entering, attention), between, shape)];
}

function headsStep({ rows, head, keys, scale, biased }, tokens, name, bias) {
  const best = rows.map(highest);
  const products = scale === 1 ? 'q kᵀ' : `q kᵀ / √${Math.round(scale ** -2)}`;
  return {
    kind: 'heads',
    title: 'Attention of every head',
    formula: `A = softmax(${products}${bias})${biased ? ' in the window' : ''}`,
    numbers: `head ${head + 1} attends most to ${name(best[head])}, weight ${largest(rows[head]).toFixed(2)}`,
    shape: [rows.length, tokens, biased ? keys.length : tokens],
    selected: head,
    values: stack(rows),
  };
}

function mlpSteps({ stream, hidden, preNorm, norms }, part) {
  const [, , between, mlp, output] = stream;
  const shape = part.shape_out;
  const positive = percent(hidden.filter((value) => value > 0).length / hidden.length, 0);
  const units = buildBars('Hidden units of the MLP', 'h = activation(W₁ y + b₁)', hidden, (i) => `unit ${i + 1}`);
  const steps = [
    { ...units, say: `${positive} of ${hidden.length} hidden units are positive.` },
    buildSum(
      'Residual addition',
      preNorm ? 'z = z′ + MLP(LN(z′))' : 'z′ + MLP(z′)',
      [between, mlp],
      ['z′', 'MLP', preNorm ? 'z' : 'sum'],
      shape,
    ),
  ];
  if (preNorm) return [buildLayerNorm('LayerNorm', 'y = LN(z′)', between, norms[1], shape), ...steps];
  return [...steps, buildLayerNorm('LayerNorm', 'z = LN(z′ + MLP(z′))', plus(between, mlp), output, shape)];
}

const QUARTERS = ['top left', 'bottom left', 'top right', 'bottom right'];

function quadStep(quad, shape) {
  const lengths = `lengths ${quad.map((values) => norm(values).toFixed(2)).join(', ')}`;
  const step = buildVectors('Four neighbouring tokens', '[z₁; z₂; z₃; z₄]', quad, shape, QUARTERS, lengths);
  return { ...step, kind: 'quad' };
}

/** Open Swin's patch merging for one token: four concatenated neighbours, LayerNorm and one matrix. */
export async function openMerging({ part, parts, config, cell, get }) {
  const stage = part.stage - 1;
  const [rows, cols] = parts[parts.indexOf(part) - 1].grid;
  const [row, col] = [Math.floor(cell / part.grid[1]), cell % part.grid[1]];
  const places = QUARTERS.map((_, i) => [2 * row + (i % 2), 2 * col + (i >> 1)]);
  const inside = ([r, c]) => r < rows && c < cols;
  const name = `layers.${stage}`;
  const [weight, bias, merged, ...four] = await get(
    ...[`weight:${name}.downsample.norm.weight`, `weight:${name}.downsample.norm.bias`],
    `${name}.blocks.0.input[${row},${col}]`,
    ...places.filter(inside).map(([r, c]) => `layers.${stage - 1}[${r},${c}]`),
  );
  const known = four.map(({ data }) => data);
  const quad = places.map((place) => (inside(place) ? known.shift() : new Float32Array(four[0].data.length)));
  const flat = Float32Array.from(quad.flatMap((values) => [...values]));
  const after = layerNorm(flat, weight, bias, config.norm_eps);
  const shape = [part.shape_out[0], flat.length];
  const steps = [
    quadStep(quad, shape),
    buildLayerNorm('LayerNorm', `LN over ${flat.length} channels`, flat, after, shape),
    buildVectors(
      `Linear map to ${merged.data.length} channels`,
      'W LN([z₁; z₂; z₃; z₄])',
      [merged.data],
      part.shape_out,
    ),
  ];
  const columns = { concatenated: flat, 'after LayerNorm': after };
  const tables = [
    buildTable('Four neighbouring tokens by channel', `merge_${part.stage}.csv`, columns),
    buildTable('Merged token', `merged_${part.stage}.csv`, { value: merged.data }),
  ];
  return { token: cell, steps, tables };
}

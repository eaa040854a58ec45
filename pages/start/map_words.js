// What the map says: a part in a sentence for those who hear it, a station of the journey, a token under the pointer.

import { percent, plural } from '../views/kit/words.js';
import { gathered, strongest } from './map_gather.js';
import { shapeWords } from './map_model.js';

const long = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** A part's name and what it says, for a screen reader. */
export function partWords(part) {
  const shape = part.shape_out ? ` Out: ${part.shape_out.join(' by ')}.` : '';
  return `${part.title}: ${part.words}${shape}`;
}

/** The whole map in a few sentences, from its own numbers. */
export function summary(model) {
  const { header } = model;
  const chain = model.parts.map((part) => part.title).join(', ');
  const best = header.classes.names[model.top];
  const share = percent(model.arrays.probabilities.data[model.top]);
  return `${header.label}. ${plural(model.parts.length, 'part')} in the order of the data: ${chain}. The answer is ${best} with ${share}.`;
}

/** A token's strongest keys in words: 'patch 12 (18.3 %), [CLS] (9.1 %)'. */
function keyWords(model, part, pin, most = 3) {
  const keys = model.keys(part, model.tokenAt(part, pin)).slice(0, most);
  return keys
    .map(({ key, weight }) => `${model.shortName(model.pinOf(part, key), part)} (${percent(weight)})`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' and $1');
}

/** How much of a vector its strip shows. */
function stripes(model, part) {
  const shown = model.array(part, 'vectors').shape[1];
  return shown < part.shape_out[1] ? `the first ${shown} drawn as stripes` : 'a stripe for each';
}

const STATION = {
  picture: (model, part) => part.words,
  patches: (model, part, pin) =>
    `${sentence(model.nameOf(pin, part))} is lifted off: ${shapeWords(part.shape_out.slice(1))} numbers.`,
  embed: (model, part, pin) => {
    const token = model.tokenAt({ ...part, prefix: [] }, pin);
    const length = model.array(part, 'length').data[token];
    return `Multiplied by E, a matrix of weights, it becomes a token: a vector of ${part.shape_out[1]} numbers, ${stripes(model, part)}. Its length is ${long(length)}.`;
  },
  prefix: (model, part) => part.words,
  positions: (model, part, pin) => {
    const rows = model.array(part, 'length').data;
    const token = model.tokenAt({ grid: model.header.grid, prefix: part.on_prefix ? model.header.prefix : [] }, pin);
    return token < 0 ? part.words : `${part.what}, ${long(rows[token])} long, is added to the token: ${part.why}.`;
  },
  block: (model, part, pin) => {
    const name = model.shortName(pin, part);
    const { attention, mlp, out } = model.lengths(part, pin);
    return `${part.title}: ${name} asks; ${keyWords(model, part, pin)} answer most. Attention adds what they tell, the mean of their values, weighted by that look, a vector ${long(attention)} long; the MLP, from the token alone, one ${long(mlp)} long. Each points its own way: with them${part.pre_norm ? '' : ', and after LayerNorm,'} the token is ${long(out)} long.`;
  },
  norm: (model, part, pin) => {
    const found = gathered(model, pin);
    if (!found.length) return part.words;
    const { block, weight } = strongest(found);
    const even = percent(1 / (block.prefix.length + block.grid[0] * block.grid[1]));
    return `The arcs: how much of its look [CLS] gave ${model.shortName(pin, block)} in each layer, most in ${block.title.toLowerCase()}: ${percent(weight)} (the mean of the heads; an even look gives each token ${even}). ${part.words}`;
  },
};

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

/** What happens to the followed token at a part. */
export function stationWords(model, part, pin) {
  const own = STATION[part.kind];
  // [CLS] comes in behind the patches: a part before it has no such token.
  if (!own || (part.grid && model.tokenAt(part, pin) < 0)) return part.words;
  return own(model, part, pin);
}

/** A token under the pointer, in a part. */
export function tokenWords(model, part, pin) {
  const seen = part.kind === 'block' ? part : model.sequence;
  const name = sentence(model.nameOf(pin, part.kind === 'prefix' ? model.header : seen));
  if (part.kind === 'block') {
    const { attention, mlp } = model.lengths(part, pin);
    return `${name} in ${part.title.toLowerCase()}\nlooks most at ${keyWords(model, part, pin)}\nattention adds ${long(attention)}, the MLP ${long(mlp)}`;
  }
  const embed = model.byId.get('embed');
  const cell = embed ? model.tokenAt({ ...embed, prefix: [] }, pin) : -1;
  if (embed && cell >= 0) return `${name}\nits token is ${long(model.array(embed, 'length').data[cell])} long`;
  return name;
}

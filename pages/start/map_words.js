// Describe parts for screen readers, steps of the animation, and hovered tokens.

import { percent, plural } from '../../vitviz/browser/kit/words.js';
import { gathered, strongest } from './map_journey.js';
import { shapeWords } from './map_model.js';

const formatNorm = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** A part's title, description and output shape, for a screen reader. */
export function partWords(part) {
  const shape = part.shape_out ? ` Output: ${part.shape_out.join(' by ')}.` : '';
  return `${part.title}: ${part.words}${shape}`;
}

/** The whole map in a few sentences, for a screen reader. */
export function summary(model) {
  const { header } = model;
  const chain = model.parts.map((part) => part.title).join(', ');
  const best = header.classes.names[model.top];
  const share = percent(model.arrays.probabilities.data[model.top]);
  return `${header.label}. ${plural(model.parts.length, 'part')} in order: ${chain}. Prediction: ${best} (${share}).`;
}

/** A token's strongest keys in words: 'patch 12 (18.3 %) and [CLS] (9.1 %)'. */
function keyWords(model, part, pin, most = 3) {
  const keys = model.keys(part, model.tokenAt(part, pin)).slice(0, most);
  return keys
    .map(({ key, weight }) => `${model.shortName(model.pinOf(part, key), part)} (${percent(weight)})`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' and $1');
}

const STEP = {
  picture: (model, part) => part.words,
  patches: (model, part, pin) =>
    `${capitalise(model.nameOf(pin, part))} is cut out: ${shapeWords(part.shape_out.slice(1))} values.`,
  embed: (model, part, pin) => {
    const token = model.tokenAt({ ...part, prefix: [] }, pin);
    const norm = formatNorm(model.array(part, 'length').data[token]);
    return `The patch times the weight matrix E gives a token of ${part.shape_out[1]} values with norm ${norm}.`;
  },
  prefix: (model, part) => part.words,
  positions: (model, part, pin) => {
    const norms = model.array(part, 'length').data;
    const token = model.tokenAt({ grid: model.header.grid, prefix: part.on_prefix ? model.header.prefix : [] }, pin);
    if (token < 0) return part.words;
    return `${part.what} (norm ${formatNorm(norms[token])}) is added to the token: ${part.why}.`;
  },
  block: (model, part, pin) => {
    const name = model.shortName(pin, part);
    const [attention, mlp, out] = ['attention', 'mlp', 'out'].map((key) => formatNorm(model.lengths(part, pin)[key]));
    const after = part.pre_norm ? '' : ' after LayerNorm';
    return `${part.title}: ${name} attends most to ${keyWords(model, part, pin)}. Attention adds a vector of norm ${attention}, the MLP one of norm ${mlp}; the token's norm is ${out}${after}.`;
  },
  norm: (model, part, pin) => {
    const weights = gathered(model, pin);
    if (!weights.length) return part.words;
    const { block, weight } = strongest(weights);
    const uniform = percent(1 / (block.prefix.length + block.grid[0] * block.grid[1]));
    return `Arcs: attention from [CLS] to ${model.shortName(pin, block)} per layer (mean over heads), most in ${block.title.toLowerCase()}: ${percent(weight)}; uniform attention: ${uniform}. ${part.words}`;
  },
};

const capitalise = (text) => text[0].toUpperCase() + text.slice(1);

/** Describe what happens to the followed token at a part. */
export function stationWords(model, part, pin) {
  const describe = STEP[part.kind];
  // Parts before the prepended tokens have no [CLS].
  if (!describe || (part.grid && model.tokenAt(part, pin) < 0)) return part.words;
  return describe(model, part, pin);
}

/** The hover text of a token in a part. */
export function tokenWords(model, part, pin) {
  const layout = part.kind === 'block' ? part : model.sequence;
  const name = capitalise(model.nameOf(pin, part.kind === 'prefix' ? model.header : layout));
  if (part.kind === 'block') {
    const { attention, mlp } = model.lengths(part, pin);
    return `${name}, ${part.title.toLowerCase()}\nattends most to ${keyWords(model, part, pin)}\nnorm added by attention ${formatNorm(attention)}, by the MLP ${formatNorm(mlp)}`;
  }
  const embed = model.byId.get('embed');
  const cell = embed ? model.tokenAt({ ...embed, prefix: [] }, pin) : -1;
  if (embed && cell >= 0) return `${name}\ntoken norm ${formatNorm(model.array(embed, 'length').data[cell])}`;
  return name;
}

// Describe parts for screen readers, steps of the animation, and hovered tokens.

import { percent, plural } from '../../vitviz/browser/kit/text.js';
import { gathered, strongest } from './map_journey.js';
import { shapeWords } from './map_model.js';

const formatNorm = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** A part's title, description and output shape, for a screen reader. */
export function partWords(part, model) {
  const shape = part.shape_out ? ` Output: ${part.shape_out.join(' by ')}.` : '';
  const words = part.kind === 'classes' && model.isEmpty ? predictionWords(model) : part.words;
  return `${part.title}: ${part.stale ? '' : words}${shape}`;
}

/** The predicted class and its probability; of an empty pad nothing is predicted. */
function predictionWords({ isEmpty, header, top, arrays }) {
  if (isEmpty) return 'Draw a digit: nothing is predicted for an empty pad.';
  return `Prediction: ${header.classes.names[top]} (${percent(arrays.probabilities.data[top])}).`;
}

/** The whole map in a few sentences, for a screen reader. */
export function summary(model) {
  const { header } = model;
  const chain = model.parts.map((part) => part.title).join(', ');
  return `${header.label}. ${plural(model.parts.length, 'part')} in order: ${chain}. ${predictionWords(model)}`;
}

/** A token's strongest key in words: 'patch 12 (18.3 %)'. */
function keyWords(model, part, pin) {
  const [{ key, weight }] = model.keys(part, model.tokenAt(part, pin));
  return `${model.shortName(model.pinOf(part, key), part)} (${percent(weight)})`;
}

/** What a block adds to a token: 'attention adds a vector of length 2.0, the MLP one of 1.5'. */
function addedWords(model, part, pin) {
  const { attention, mlp } = model.lengths(part, pin);
  return `attention adds a vector of length ${formatNorm(attention)}, the MLP one of ${formatNorm(mlp)}`;
}

const STEP = {
  patches: (model, part, pin) =>
    `${capitalise(model.nameOf(pin, part))} is cut out: ${shapeWords(part.shape_out.slice(1))} values.`,
  embed: (model, part, pin) => {
    const token = model.tokenAt({ ...part, prefix: [] }, pin);
    const norm = formatNorm(model.array(part, 'length').data[token]);
    return `The patch times the weight matrix E: a token of ${part.shape_out[1]} values, of length ${norm}.`;
  },
  positions: (model, part, pin) => {
    const norms = model.array(part, 'length').data;
    const token = model.tokenAt({ grid: model.header.grid, prefix: part.on_prefix ? model.header.prefix : [] }, pin);
    if (token < 0) return part.words;
    return `${part.what} (length ${formatNorm(norms[token])}) is added: ${part.why}.`;
  },
  block: (model, part, pin) => {
    const { attention, mlp } = model.lengths(part, pin);
    const lengths = `the values add length ${formatNorm(attention)}, the MLP ${formatNorm(mlp)}`;
    return `The query of ${model.shortName(pin, part)} matches the key of ${keyWords(model, part, pin)} best; ${lengths}.`;
  },
  norm: (model, part, pin) => {
    const weights = gathered(model, pin);
    if (!weights.length) return part.words;
    const { block, weight } = strongest(weights);
    const uniform = percent(1 / (block.prefix.length + block.grid[0] * block.grid[1]));
    return `[CLS] attends to ${model.shortName(pin, block)} most in ${block.title.toLowerCase()}: ${percent(weight)} (uniform: ${uniform}).`;
  },
};

/** At most eight words for each station while the map moves by itself. */
const TOUR = {
  picture: () => 'A patch is cut out of the image.',
  patches: () => 'A patch is cut out of the image.',
  maps: () => 'Convolutions turn the image into feature maps.',
  embed: (model, part) => `E computes a token of ${part.shape_out[1]} values.`,
  prefix: () => 'The token joins the sequence.',
  positions: () => 'The position embedding is added.',
  block: (model, part) => `Layer ${part.layer} updates every token.`,
  merge: () => 'Neighbouring tokens are merged.',
  norm: () => 'The classifier head reads the last layer.',
  pool: () => 'All positions are pooled.',
  head: () => 'Every class gets a logit.',
  classes: predictionWords,
};

/** Describe a station in a few words while the map moves by itself. */
export const tourWords = (model, part) => TOUR[part.kind]?.(model, part) ?? '';

const capitalise = (text) => text[0].toUpperCase() + text.slice(1);

/** Describe what happens to the followed token at a part. */
export function stationWords(model, part, pinned) {
  const pin = part.kind === 'block' && model.header.readout === 'cls' ? model.readout : pinned;
  const describe = STEP[part.kind];
  // Parts before the prepended tokens have no [CLS].
  if (!describe || (part.grid && model.tokenAt(part, pin) < 0)) return part.words;
  return describe(model, part, pin);
}

/** The hover text of a token in a part. */
export function tokenWords(model, part, pin) {
  const layout = part.kind === 'block' ? part : model.sequence;
  if (part.kind === 'block')
    return `${capitalise(model.shortName(pin, layout))}: attends most to ${keyWords(model, part, pin)}\n${addedWords(model, part, pin)}`;
  const name = capitalise(model.nameOf(pin, part.kind === 'prefix' ? model.header : layout));
  const embed = model.byId.get('embed');
  const cell = embed ? model.tokenAt({ ...embed, prefix: [] }, pin) : -1;
  if (embed && cell >= 0) return `${name}\nlength ${formatNorm(model.array(embed, 'length').data[cell])}`;
  return name;
}

// Run a model on one image. See README.md of this folder for the names of the intermediates.

import { FAMILIES } from './limits.js';
import { softmax } from './tensor.js';

/** Return a test of names for a record request: true, or names with * and ?. */
function wanted(record) {
  if (typeof record === 'boolean' || !record) return () => Boolean(record);
  const source = (pattern) =>
    pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
  const names = new RegExp(`^(?:${[record].flat().map(source).join('|')})$`);
  return (name) => names.test(name);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * Return {logits, tensors} of an image; `tensors` holds the intermediates that `record` names, as Python's
 * `forward(x, record=...)` does, without the batch's axis.
 *   pixels: (channels, height, width), prepared as the model's `preparation` states
 *   record: true, or names with * and ?
 *   headMask: factors on the heads' outputs, (depth, heads) in one array; 0 ablates a head
 *   tokenMask: one value per patch; 0 hides it from the others (ViT)
 *   positions: false removes the position embeddings of a ViT
 */
export function forward(trained, pixels, { record = false, headMask, tokenMask, positions = true } = {}) {
  const model = positions ? trained : { ...trained, config: { ...trained.config, positions: 'none' } };
  const { config } = model;
  const { in_chans: channels, image_size: side, kind } = config;
  if (pixels.length !== channels * side * side) throw new Error('The image has not the size of the model.');
  if (tokenMask && kind !== 'vit') throw new Error('Only a ViT takes a token mask.');
  const heads = kind === 'swin' ? sum(config.depths) * Math.max(...config.num_heads) : config.depth * config.num_heads;
  if (headMask && headMask.length !== heads) throw new Error('The head mask has not one value per head.');
  const names = wanted(record);
  const tensors = {};
  const keep = (name, value) => {
    if (names(name)) tensors[name] = value;
    return value;
  };
  const shape = [channels, side, side];
  const logits = keep('logits', FAMILIES[kind].run(model, { shape, data: pixels }, keep, { headMask, tokenMask }));
  return { logits: logits.data, tensors };
}

/** Return the class probabilities of logits (classes). */
export const probabilitiesOf = ({ softmax_output: done }, logits) => (done ? logits : softmax(logits)).data;

// Answer one request to the engine, in a Worker or in the page itself.

import { forward } from './forward.js';
import { lens } from './vit.js';
import { openModel } from './weights.js';

const models = new Map(); // by the key that the page gave

/**
 * {load: key, bytes, step}: read a model. {drop: key}: forget it. {weights: key, names}: copies of some of its weights.
 * {run: key, pixels, record, …}: run it on an image; with `lens: true` the tensors, which then need 'embedded' and all
 * blocks, gain 'lens' (depth + 1, classes).
 */
export function answer(request) {
  if (request.load !== undefined) {
    const model = openModel(request.bytes, request.step);
    models.set(request.load, model);
    const { config, preparation, classes, step } = model;
    return { reply: { config, preparation, classes, step }, transfer: [] };
  }
  if (request.drop !== undefined) return { reply: models.delete(request.drop), transfer: [] };
  const model = models.get(request.run ?? request.weights);
  if (!model) throw new Error('The engine does not hold this model.');
  if (request.weights !== undefined) return { reply: copyWeights(model, request.names), transfer: [] };
  const { tensors } = forward(model, request.pixels, request);
  if (request.lens) tensors.lens = lens(model, tensors);
  return { reply: tensors, transfer: transferable(tensors) };
}

const copyWeights = ({ weights }, names) =>
  Object.fromEntries(
    names
      .filter((name) => name in weights)
      .map((name) => [name, { ...weights[name], data: weights[name].data.slice() }]),
  );

/** Give each tensor a buffer of its own, if it is a part of a larger one or shared, and list the buffers. */
function transferable(tensors) {
  const buffers = new Set();
  for (const part of Object.values(tensors)) {
    if (part.data.byteLength !== part.data.buffer.byteLength || buffers.has(part.data.buffer))
      part.data = part.data.slice();
    buffers.add(part.data.buffer);
  }
  return [...buffers];
}

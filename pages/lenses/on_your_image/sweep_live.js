// The models read the covered or rearranged image while it is dragged: the engine runs them in the browser.

import { probabilitiesOf } from '../../../vitviz/browser/engine/forward.js';
import { computeNewest, openModel, toInput } from '../../../vitviz/browser/engine/live_model.js';

const PIECES = 4; // on a side

/** Round to the nearest integer, halves to the even one, as Python does. */
const rint = (value) => (Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

/** Return the covered square [left, top, side] in pixels of the models' input. */
export function coverPixels({ values }, { at, place }, size) {
  const side = rint(values[at] * size);
  const [left, top] = place.map((share) => rint(share * size - side / 2));
  return [left, top, side];
}

/** Return the models' input (S, S, 3) in levels, covered or rearranged as vitviz/analysis/image_changes.py does. */
export function changeInput({ header, arrays }, hand) {
  const { data, shape } = arrays.frames;
  const size = shape[1];
  const whole = data.subarray(3 * header.neutral * size * size, 3 * (header.neutral + 1) * size * size);
  const changed = whole.slice();
  if (header.change === 'occlude') {
    const [left, top, side] = coverPixels(header, hand, size);
    for (let y = Math.max(0, top); y < Math.min(size, top + side); y++)
      for (let x = Math.max(0, left); x < Math.min(size, left + side); x++)
        changed.set(header.border, 3 * (y * size + x));
    return changed;
  }
  const piece = size / PIECES;
  hand.pieces.forEach((from, to) => {
    for (let y = 0; y < piece && header.values[hand.at]; y++) {
      const row = (n) => 3 * ((Math.floor(n / PIECES) * piece + y) * size + (n % PIECES) * piece);
      changed.set(whole.subarray(row(from), row(from) + 3 * piece), row(to));
    }
  });
  return changed;
}

/** Return the readout's row of the last layer's attention, the mean over the heads, for the patches. */
function readoutRow({ shape: [heads, tokens], data }, patches, readout) {
  const first = tokens - patches;
  const row = new Float32Array(patches);
  const queries = readout === 'mean' ? Array.from({ length: patches }, (_, i) => first + i) : [0];
  for (let h = 0; h < heads; h++)
    for (const query of queries)
      for (let k = 0; k < patches; k++)
        row[k] += data[(h * tokens + query) * tokens + first + k] / (heads * queries.length);
  return row;
}

export class LiveSweep {
  /** show(message, hand): draws a message whose arrays are those of the moved cover or pieces. */
  constructor(show) {
    this.show = show;
    this.follow = computeNewest((message, hand) => this.compute(message, hand));
  }

  /** True if the engine runs every model of a message. */
  answers = ({ header }) => header.weights.length > 0 && header.weights.every(Boolean);

  async compute(message, hand) {
    const { header, arrays } = message;
    const levels = changeInput(message, hand);
    const [, steps, classes] = arrays.chances.shape;
    const changed = { ...arrays, frames: copyOf(arrays.frames), chances: copyOf(arrays.chances) };
    changed.frames.data.set(levels, hand.at * levels.length);
    for (const [m, address] of header.weights.entries()) {
      const model = address && (await openModel(address).catch(() => null));
      if (!model) continue; // the server answers
      const { kind, depth, readout } = model.config;
      const attends = header.models[m].by === 'attention' && kind === 'vit';
      const names = attends ? ['logits', `blocks.${depth - 1}.attn`] : ['logits'];
      const { tensors } = await model.run(toInput(levels, model.preparation), { record: names });
      changed.chances.data.set(probabilitiesOf(model.config, tensors.logits), (m * steps + hand.at) * classes);
      const view = copyOf(arrays[`view${m}`]);
      const cells = view.shape[1] * view.shape[2];
      const row = attends ? readoutRow(tensors[names[1]], cells, readout) : new Float32Array(cells);
      row.forEach((value, i) => (view.data[hand.at * cells + i] = (255 * value) / header.models[m].top));
      changed[`view${m}`] = view;
    }
    this.show({ ...message, arrays: changed }, hand);
  }
}

const copyOf = ({ data, shape }) => ({ data: data.slice(), shape });

// Draw the cosine similarity of the token under the pointer to all others, layer by layer, over the image.

import { legend, veil } from '../../../vitviz/browser/kit/colour_ramp.js';
import { heat } from '../../../vitviz/browser/kit/pixels.js';
import { cellAt } from '../../../vitviz/browser/kit/pin.js';
import { nameCell, signed, tokenName } from '../../../vitviz/browser/kit/text.js';
import { LayerGrid, tokenOf } from './panels.js';

const UNIT = 32767; // an int16 of this is a cosine of 1

/** Returns the query's cosines; the pin's, if the layer sent only those. */
function row({ arrays }, panel, query) {
  const { data, shape } = arrays[panel.array];
  const at = shape[0] === 1 ? 0 : tokenOf(panel, query);
  return data.subarray(at * shape[1], (at + 1) * shape[1]);
}

const paintCells = (message, panel, query) => heat(row(message, panel, query), ...panel.grid, veil(), -UNIT, UNIT);

/** Returns the query's name and the three patches most similar to it. */
function describe(message, panel, query) {
  const values = row(message, panel, query);
  const patch = query.place ? cellAt(panel.grid, query.place) : -1;
  const order = [...values.keys()].filter((i) => i !== patch).sort((a, b) => values[b] - values[a]);
  const position = (cell) => nameCell(cell, panel.grid[1]);
  const name =
    patch >= 0 ? position(patch) : panel.prefix.includes(query.name) ? tokenName(query.name) : 'mean of the map';
  const most = order.slice(0, 3).map((i) => `${signed(values[i] / UNIT)}  ${position(i)}`);
  const hint = message.arrays[panel.array].shape[0] === 1 ? ['Pinned token. Click to pin another one.'] : [];
  return [`Query: ${name}`, ...hint, 'Most similar:', ...most].join('\n');
}

function drawScale(view, { colors }) {
  const width = view.node.parentElement.clientWidth;
  const words = ['−1 opposite', '0', '1 identical'];
  legend(view, { table: veil(), width, words, colors, label: 'Cosine similarity from −1 to 1' });
}

export default class TokenSimilarity extends LayerGrid {
  constructor(context) {
    super(context, { paintCells, describe, drawScale });
  }
}

// How alike the token under the pointer is to all others, layer by layer: cosines from -1 to 1 over the picture.

import { legend, lut } from '../../views/kit/ramp.js';
import { PALETTE } from '../../views/kit/palette.js';
import { cellAt } from '../../views/kit/place.js';
import { signed, tokenName } from '../../views/kit/words.js';
import { Panels, tokenOf } from './panels.js';

const UNIT = 127; // an int8 of this is a cosine of 1

/** The diverging ramp, opaque at its ends and clear in the middle, so that the picture shows where nothing is alike. */
const VEIL = (() => {
  const table = lut(PALETTE.DIVERGING);
  for (let i = 0; i < 256; i++) table[4 * i + 3] = Math.round(255 * Math.min(1, 0.12 + Math.abs(i - 127.5) / 110));
  return table;
})();

/** The cosines of what is asked about; of a layer that sent the pin's alone, the pin's. */
function row({ arrays }, panel, asked) {
  const { data, shape } = arrays[panel.array];
  const at = shape[0] === 1 ? 0 : tokenOf(panel, asked);
  return data.subarray(at * shape[1], (at + 1) * shape[1]);
}

function paint(message, panel, asked) {
  const [rows, cols] = panel.grid;
  const image = new ImageData(cols, rows);
  const values = row(message, panel, asked);
  for (let i = 0; i < rows * cols; i++) {
    const level = Math.round((255 * (values[i] / UNIT + 1)) / 2);
    image.data.set(VEIL.subarray(4 * level, 4 * level + 4), 4 * i);
  }
  return image;
}

function where(panel, cell) {
  return `row ${Math.floor(cell / panel.grid[1]) + 1}, column ${(cell % panel.grid[1]) + 1}`;
}

/** The token that is asked about, and the three most like it. */
function say(message, panel, asked) {
  const values = row(message, panel, asked);
  const own = asked.place ? cellAt(panel.grid, asked.place) : -1;
  const order = [...values.keys()].filter((i) => i !== own).sort((a, b) => values[b] - values[a]);
  const name =
    own >= 0 ? where(panel, own) : panel.prefix.includes(asked.name) ? tokenName(asked.name) : 'mean of the map';
  const most = order.slice(0, 3).map((i) => `${signed(values[i] / UNIT)}  ${where(panel, i)}`);
  const fixed = message.arrays[panel.array].shape[0] === 1 ? ['of the pinned token: click to pin another'] : [];
  return [`asked: ${name}`, ...fixed, 'most alike:', ...most].join('\n');
}

function scale(view, { colors }) {
  const width = view.node.parentElement.clientWidth;
  const words = ['−1 opposite', '0', '1 the same direction'];
  legend(view, { table: VEIL, width, words, colors, label: 'Cosine similarity from −1 to 1' });
}

export default function similar(context) {
  const view = new Panels(context, { paint, say, scale });
  return (message) => view.update(message);
}

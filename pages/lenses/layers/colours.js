// Draw tokens as colours: red, green and blue are a layer's first three principal components.

import { fill, write } from '../../../vitviz/browser/kit/axes.js';
import { picture } from '../../../vitviz/browser/kit/pixels.js';
import { cellAt } from '../../../vitviz/browser/kit/pin.js';
import { nameCell, signed } from '../../../vitviz/browser/kit/text.js';
import { LayerGrid } from './panels.js';

const NAMES = ['red', 'green', 'blue'];

const paintCells = ({ arrays }, panel) => picture({ data: arrays[panel.array].data, shape: [...panel.grid, 3] });

/** Returns a place's score on each component in standard deviations; a colour saturates at `reach`. */
function describe({ header, arrays }, panel, { place, name }) {
  if (!place) return `[${name.toUpperCase()}] has no position in the image. Point at a patch.`;
  const cell = cellAt(panel.grid, place);
  const { data } = arrays[panel.array];
  const scores = NAMES.map((colour, c) => {
    const value = data[3 * cell + c];
    const end = value === 0 || value === 255 ? ' or beyond' : '';
    return `${colour}  ${signed((value / 255 - 0.5) * 2 * header.reach, 1)} standard deviations${end}`;
  });
  return [`${nameCell(cell, panel.grid[1])} of ${panel.grid[0]} × ${panel.grid[1]}`, ...scores].join('\n');
}

/** Draws a bar per component: its explained variance in the selected layer, once revealed. */
function drawScale(view, { header, colors }) {
  const { shares, orders } = header.layers[header.chosen];
  const side = view.node.parentElement.clientWidth;
  const ctx = view.size(side, 54);
  const widest = shares ? Math.max(...shares, 1e-9) : 1;
  const words = orders.map((order, c) => {
    const component = `${['first', 'second', 'third'][order - 1]} component`;
    return shares ? `${(100 * shares[c]).toFixed(0)} % of the variance, ${component}` : component;
  });
  words.forEach((text, c) => {
    const y = 8 + 18 * (orders[c] - 1);
    const length = shares ? Math.max(2, (shares[c] / widest) * (side - 246)) : 10;
    fill(ctx, ['#d62828', '#2a9d3f', '#2757d6'][c], 0, y - 5, length, 10);
    write(ctx, colors, text, shares ? side - 236 : 18, y);
  });
  view.node.setAttribute('role', 'img');
  view.node.setAttribute('aria-label', NAMES.map((name, c) => `${name} ${words[c]}`).join(', '));
}

export default class Colours extends LayerGrid {
  constructor(context) {
    super(context, { paintCells, describe, drawScale });
  }
}

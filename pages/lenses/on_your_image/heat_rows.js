// Draw rows of small maps and images, each with a heading, below shared column names.

import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';

const MOST = 148; // px per side, without presentation mode
const HEAD = 132;
const GAP = 12;

function source({ kind, array, low, high }, arrays) {
  const { data, shape } = arrays[array];
  if (kind === 'picture') return picture(arrays[array]);
  return heat(data, shape[0], shape[1], kind === 'signed' ? DIVERGING_LUT : SEQUENTIAL_LUT, low, high);
}

function drawTile(parent, tile, column, arrays, side) {
  const box = el(parent, 'figure', { class: 'hr-tile' });
  const view = canvas(box, { role: 'img', 'aria-label': `${column}: ${tile.words}` });
  blit(view.size(side, side), source(tile, arrays), 0, 0, side, side);
  el(box, 'figcaption', {}, tile.words).style.width = `${side}px`;
}

export default function heatRows({ root }) {
  const box = el(root, 'div', { class: 'hr' });
  return ({ header, arrays, width }) => {
    const columns = Math.max(...header.rows.map((row) => row.tiles.length));
    const narrow = width < 640;
    const room = narrow ? width : width - HEAD - GAP;
    const side = Math.floor(Math.min(grown(MOST), (room - (columns - 1) * GAP) / columns));
    box.replaceChildren();
    box.classList.toggle('hr-narrow', narrow);
    const top = el(box, 'div', { class: 'hr-row hr-heads', 'aria-hidden': 'true' });
    el(top, 'div', { class: 'hr-name' });
    for (const head of header.heads) el(top, 'div', { class: 'hr-head' }, head).style.width = `${side}px`;
    for (const row of header.rows) {
      const line = el(box, 'section', { class: 'hr-row', 'aria-label': row.title });
      const name = el(line, 'div', { class: 'hr-name' });
      el(name, 'b', {}, row.title);
      el(name, 'div', { class: 'vv-muted' }, row.note);
      row.tiles.forEach((tile, i) => drawTile(line, tile, header.heads[i], arrays, side));
    }
  };
}

// What is kept, new and resized: one box a part, in the order of the data; under them the positions' cosines.

import { canvas, el } from '../../views/kit/dom.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, legend } from '../../views/kit/ramp.js';

const MOSAIC = 280; // px of a mosaic's side at most

const WORDS = { kept: 'kept', new: 'new, random', resized: 'resized' };

function part(list, { title, count, shape, before, fate }, frozen) {
  const box = el(list, 'li', { class: `pl-part pl-${fate}` });
  el(box, 'b', {}, title);
  el(box, 'code', {}, fate === 'kept' || !before ? shape : `${before} → ${shape}`);
  el(box, 'span', {}, `${count.toLocaleString('en')} numbers`);
  el(box, 'span', { class: 'pl-fate' }, WORDS[fate] + (frozen && fate !== 'new' ? ', frozen' : ''));
}

/** Tile (i, j) of the mosaic is a map: how alike position (i, j) is to every other. */
function mosaic(node, values, [rows, cols], side) {
  const gap = cols > 9 ? 1 : 2;
  const tile = (side - gap * (cols - 1)) / cols;
  const high = (tile * rows) / cols;
  const ctx = node.size(side, rows * high + gap * (rows - 1));
  for (let i = 0; i < rows * cols; i++) {
    const image = heat(values, rows, cols, DIVERGING_LUT, 0, 255, i * rows * cols);
    const [row, col] = [Math.floor(i / cols), i % cols];
    blit(ctx, image, col * (tile + gap), row * (high + gap), tile, high);
  }
}

export default function planView({ root }) {
  const list = el(root, 'ol', { class: 'pl-parts' });
  const below = el(root, 'div', { class: 'pl-grids' });
  const scale = canvas(root, { class: 'pl-scale' });
  return ({ header, arrays, colors, width }) => {
    list.replaceChildren();
    below.replaceChildren();
    for (const one of header.parts) part(list, one, header.frozen);
    scale.node.style.display = header.grids ? 'block' : 'none';
    if (!header.grids) return;
    ['before', 'after'].forEach((name, i) => {
      const [rows, cols] = header.grids[i];
      const said = `Positions ${name}: ${rows} × ${cols}`;
      const figure = el(below, 'figure');
      el(figure, 'figcaption', {}, said);
      const node = canvas(figure, { role: 'img', 'aria-label': `${said}, the cosine of each with all others` });
      mosaic(node, arrays[name].data, header.grids[i], Math.min(MOSAIC, width));
    });
    const label = 'Cosine of two positions, from minus 1 to 1';
    legend(scale, { table: DIVERGING_LUT, width: Math.min(280, width), words: ['−1', 'cosine 0', '1'], colors, label });
  };
}

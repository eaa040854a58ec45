// Draw images of the new dataset, the pretrained backbone with its parts, the new head, and the positions' similarities.

import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { blit, heat, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, legend } from '../../../vitviz/browser/kit/colour_ramp.js';

const MOSAIC = 280; // px of a mosaic's side at most

const THUMB = 40;

const NAMES = {
  kept: (title) => title,
  new: (title) => `New ${title}, random weights`,
  resized: (title) => `${title}, resized`,
};

function drawPart(list, { title, count, shape, before, fate }) {
  const box = el(list, 'li', { class: `pl-part pl-${fate}` });
  el(box, 'b', {}, NAMES[fate](title));
  el(box, 'code', {}, fate === 'kept' || !before ? shape : `${before} → ${shape}`);
  el(box, 'span', {}, `${count.toLocaleString('en')} parameters`);
}

/** Draw the parts whose weights are kept in one box. */
function drawBackbone(list, parts, { kept, frozen }) {
  const box = el(list, 'li', { class: 'pl-backbone' });
  el(box, 'b', {}, frozen ? 'Kept backbone, frozen' : 'Kept backbone');
  el(box, 'span', {}, kept);
  const inner = el(box, 'ol', { class: 'pl-parts' });
  for (const part of parts) drawPart(inner, part);
}

/** Draw one image of each class, before the first part. */
function drawExamples(list, title, { data, shape: [count, rows, cols] }) {
  const box = el(list, 'li', { class: 'pl-examples' });
  const across = Math.ceil(count / 2);
  const ctx = canvas(box, { role: 'img', 'aria-label': `${count} training images` }).size(across * THUMB, 2 * THUMB);
  ctx.imageSmoothingEnabled = false;
  for (let i = 0; i < count; i++) {
    const pixels = new Uint8ClampedArray(data.subarray(4 * i * rows * cols, 4 * (i + 1) * rows * cols));
    const [x, y] = [(i % across) * THUMB, Math.floor(i / across) * THUMB];
    ctx.drawImage(offscreen(new ImageData(pixels, cols)), x, y, THUMB - 2, THUMB - 2);
  }
  el(box, 'span', {}, title);
}

/** Draw one tile per position: its similarity to all positions. */
function drawMosaic(node, values, [rows, cols], side) {
  const gap = cols > 9 ? 1 : 2;
  const tile = (side - gap * (cols - 1)) / cols;
  const tileHeight = (tile * rows) / cols;
  const ctx = node.size(side, rows * tileHeight + gap * (rows - 1));
  for (let i = 0; i < rows * cols; i++) {
    const image = heat(values, rows, cols, DIVERGING_LUT, 0, 255, i * rows * cols);
    const [row, col] = [Math.floor(i / cols), i % cols];
    blit(ctx, image, col * (tile + gap), row * (tileHeight + gap), tile, tileHeight);
  }
}

export default function planView({ root }) {
  const list = el(root, 'ol', { class: 'pl-parts' });
  const below = el(root, 'div', { class: 'pl-grids' });
  const scale = canvas(root, { class: 'pl-scale' });
  return ({ header, arrays, colors, width }) => {
    list.replaceChildren();
    below.replaceChildren();
    if (header.examples) drawExamples(list, header.examples, arrays.examples);
    const isNew = ({ fate }) => fate === 'new';
    drawBackbone(
      list,
      header.parts.filter((part) => !isNew(part)),
      header,
    );
    for (const part of header.parts.filter(isNew)) drawPart(list, part);
    scale.node.style.display = header.grids ? 'block' : 'none';
    if (!header.grids) return;
    ['before', 'after'].forEach((name, i) => {
      const [rows, cols] = header.grids[i];
      const caption = `Positions ${name}: ${rows} × ${cols}`;
      const figure = el(below, 'figure');
      el(figure, 'figcaption', {}, caption);
      const node = canvas(figure, { role: 'img', 'aria-label': `${caption}, cosine similarity of each to all others` });
      drawMosaic(node, arrays[name].data, header.grids[i], Math.min(MOSAIC, width));
    });
    const label = 'Cosine of two positions, from minus 1 to 1';
    legend(scale, { table: DIVERGING_LUT, width: Math.min(280, width), words: ['−1', 'cosine 0', '1'], colors, label });
  };
}

// Match the patches of two images: the patch under the pointer, its cosine to every patch of the other image and its
// nearest neighbour; lines join mutual nearest neighbours.

import { button, el } from '../../../vitviz/browser/kit/dom.js';
import { veil, PALETTE } from '../../../vitviz/browser/kit/colour_ramp.js';
import { coverOnce, cover, heat, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { cellAt, centreOf, mark, pinOf, placeOf } from '../../../vitviz/browser/kit/pin.js';
import { nameCell, signed } from '../../../vitviz/browser/kit/text.js';
import { Frames } from './frames.js';

const UNIT = 32767; // an int16 of this is a cosine of 1
const SVG = 'http://www.w3.org/2000/svg';
const SIDES = ['first', 'second'];

/** Create an SVG element with attributes. */
function svg(parent, tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent?.append(node);
  return node;
}

export default class Match extends Frames {
  constructor(context) {
    super(context);
    this.query = null;
    this.lines = svg(null, 'svg', { class: 'ti-lines', 'aria-hidden': 'true' });
    this.small = el(this.page, 'div', { class: 'ti-layers' });
  }

  start = (side) => (side ? this.nearest(0, this.home()).cell : this.home());

  nameOf = (side) => `The ${SIDES[side]} image, ${this.message.header.frames[side].title}`;

  shown(side) {
    if (side && this.small.children.length) this.drawLayers();
  }

  /** Return the pinned patch of the first image. */
  home() {
    return cellAt(this.grid(0), placeOf(this.message.header.pin) ?? [0.5, 0.5]);
  }

  /** Pin a patch of the first image; a patch of the second pins its nearest neighbour. */
  pin(side, cell) {
    this.trigger('pin', pinOf(this.grid(0), side ? this.nearest(1, cell).cell : cell));
  }

  /** Return the cosine of a patch of one image with one of the other. */
  cosine(side, cell, other) {
    const { data, shape } = this.message.arrays.cosines;
    return data[side ? other * shape[1] + cell : cell * shape[1] + other] / UNIT;
  }

  count(side) {
    return this.message.arrays.cosines.shape[side];
  }

  /** Return the other image's patch with the largest cosine, and that cosine. */
  nearest(side, cell) {
    let best = { cell: 0, cosine: -2 };
    for (let other = 0; other < this.count(1 - side); other++) {
      const cosine = this.cosine(side, cell, other);
      if (cosine > best.cosine) best = { cell: other, cosine };
    }
    return best;
  }

  /** Return true for mutual nearest neighbours of all patches, or (listed as a pair) of the foreground. */
  isMutual(side, cell, { cell: other, cosine }) {
    const { data } = this.message.arrays.pairs;
    const isPair = data.some((at, i) => i % 2 === side && at === cell && data[i ^ 1] === other);
    return isPair || this.nearest(1 - side, other).cosine === cosine;
  }

  point(side, cell, event) {
    this.query = cell < 0 ? null : { side, cell };
    this.draw(event);
  }

  draw(event) {
    const { side, cell } = this.query ?? { side: 0, cell: this.home() };
    const best = this.nearest(side, cell);
    cover(this.frames[1 - side].cells, this.paint(side, cell));
    cover(this.frames[side].cells, offscreen(new ImageData(1, 1)));
    this.mark(side, this.query ? cell : -1);
    this.mark(1 - side, best.cell);
    mark(this.frames[0].pin, this.grid(0), this.home());
    this.say(this.describe(side, cell, best), event);
    this.drawLines(side, cell, best.cell);
    Object.assign(this.root.dataset, { query: `${side}:${cell}`, best: String(best.cell) });
  }

  paint(side, cell) {
    const cosines = Array.from({ length: this.count(1 - side) }, (_, other) => this.cosine(side, cell, other));
    return heat(cosines, ...this.grid(1 - side), veil(225), -1, 1);
  }

  describe(side, cell, best) {
    const others = [...Array(this.count(1 - side)).keys()]
      .sort((a, b) => this.cosine(side, cell, b) - this.cosine(side, cell, a))
      .slice(1, 3);
    const name = (other) => nameCell(other, this.grid(1 - side)[1]);
    const mutual = this.isMutual(side, cell, best) ? 'mutual' : 'not mutual';
    const also = others.map((other) => `${name(other)} (${signed(this.cosine(side, cell, other))})`);
    return [
      `${SIDES[side]} image, ${nameCell(cell, this.grid(side)[1])} → ${name(best.cell)}: cosine ${signed(best.cosine)}, ${mutual}`,
      also.length ? `next: ${also.join('; ')}` : '',
    ].join('\n');
  }

  /** Draw the strongest pairs as lines, and the line from the query to its nearest neighbour. */
  drawLines(side, cell, best) {
    const { header, arrays } = this.message;
    const box = this.row.getBoundingClientRect();
    if (this.lines.parentElement !== this.row) this.row.append(this.lines);
    this.lines.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
    this.lines.replaceChildren();
    const pairs = arrays.pairs.data;
    const shown = Math.min(header.count, pairs.length / 2);
    for (let i = shown - 1; i >= 0; i--) this.line(pairs[2 * i], pairs[2 * i + 1], box, i);
    this.lines.classList.toggle('ti-dim', Boolean(this.query));
    if (this.query) this.line(...(side ? [best, cell] : [cell, best]), box, -1);
    this.root.dataset.lines = String(shown);
  }

  line(first, second, box, rank) {
    const ends = [first, second].map((cell, side) => {
      const frame = this.frames[side].node.getBoundingClientRect();
      const [x, y] = centreOf(this.grid(side), cell);
      return [frame.left - box.left + x * frame.width, frame.top - box.top + y * frame.height];
    });
    const color = rank < 0 ? this.message.colors.primary : PALETTE.HEADS[rank % PALETTE.HEADS.length];
    for (const [stroke, width] of [
      ['#fff', 4],
      [color, 2],
    ]) {
      const d = `M${ends[0].join(' ')}L${ends[1].join(' ')}`;
      const line = svg(this.lines, 'path', { d, class: rank < 0 ? 'ti-query' : 'ti-pair' });
      Object.assign(line.style, { stroke, strokeWidth: width });
    }
    if (rank < 0) return;
    for (const [cx, cy] of ends)
      svg(this.lines, 'circle', { cx, cy, r: 4, fill: color, stroke: '#fff', class: 'ti-pair' });
  }

  /** Draw the pinned patch's cosines in every layer, small. */
  drawLayers() {
    const { header, arrays } = this.message;
    const [high, wide] = header.frames[1].photo.px;
    while (this.small.children.length > header.layers.length) this.small.lastChild.remove();
    header.layers.forEach((layer, index) => {
      const node = this.small.children[index] ?? this.addLayer(index);
      const [picture, cells] = node.querySelectorAll('canvas');
      node.firstChild.style.aspectRatio = `${wide} / ${high}`;
      cover(cells, heat(arrays[`layer${index}`].data, ...layer.grid, veil(225), -UNIT, UNIT));
      if (this.frames[1].photo.bitmap) coverOnce(picture, this.frames[1].photo.bitmap);
      node.lastChild.textContent = layer.title;
      node.setAttribute('aria-label', `Enlarge ${layer.title}`);
      node.setAttribute('aria-pressed', String(index === header.chosen));
    });
  }

  addLayer(index) {
    const node = button(this.small, '', () => this.trigger('layer', index), { class: 'ti-small' });
    const frame = el(node, 'span', { class: 'ti-frame' });
    el(frame, 'canvas', { class: 'ti-picture', 'aria-hidden': 'true' });
    el(frame, 'canvas', { class: 'ti-cells', 'aria-hidden': 'true' });
    el(node, 'span', { class: 'ti-name' });
    return node;
  }

  update(message) {
    super.update(message);
    if (this.query && this.query.cell >= this.count(this.query.side)) this.query = null;
    this.draw();
    this.drawLayers();
    this.root.dataset.layer = String(message.header.chosen);
  }
}

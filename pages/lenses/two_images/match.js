// Match the patches of two images: the patch under the pointer, its cosine to every patch of the other image and its
// nearest neighbour; lines join mutual nearest neighbours.

import { el } from '../../../vitviz/browser/kit/dom.js';
import { nameGrid } from '../../../vitviz/browser/kit/grid.js';
import { veil } from '../../../vitviz/browser/kit/colour_ramp.js';
import { heat, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { cellAt, centreOf, pinOf, placeOf } from '../../../vitviz/browser/kit/pin.js';
import { nameCell, signed } from '../../../vitviz/browser/kit/text.js';
import HeatGrid from '../../views/heat_grid.js';

const UNIT = 32767; // an int16 of this is a cosine of 1
const VEIL = 170; // of a cosine over the image, of 255
const SVG = 'http://www.w3.org/2000/svg';
const SIDES = ['first', 'second'];

/** Create an SVG element with attributes. */
function svg(parent, tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent?.append(node);
  return node;
}

export default class Match extends HeatGrid {
  constructor(context) {
    super(context);
    this.query = null;
    this.lines = svg(null, 'svg', { class: 'mt-lines', 'aria-hidden': 'true' });
    this.facts = el(this.foot, 'div', { class: 'mt-facts' });
    this.foot.classList.add('mt-foot');
  }

  isRead() {
    return true;
  }

  start(side) {
    return side ? this.nearest(0, this.home()).cell : this.home();
  }

  /** Return the pinned patch of the first image. */
  home() {
    return cellAt(this.grid(0), placeOf(this.header.pin) ?? [0.5, 0.5]);
  }

  /** Pin a patch of the first image; a patch of the second pins its nearest neighbour. */
  pick(side, cell) {
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
    const [own, other] = [side, 1 - side].map((at) => this.panels[at].frame);
    other.showCells(this.paintCosines(side, cell));
    own.showCells(offscreen(new ImageData(1, 1)));
    this.panels.forEach(({ figure }, at) => figure.classList.toggle('vv-grey', at !== side));
    own.point(this.grid(side), this.query ? cell : -1);
    other.point(this.grid(1 - side), best.cell);
    this.panels[0].frame.pin(this.grid(0), this.home());
    this.facts.textContent = this.describe(side, cell, best);
    if (event?.type === 'keydown') this.announce(this.facts.textContent);
    this.drawLines(side, cell, best.cell);
    Object.assign(this.root.dataset, { query: `${side}:${cell}`, best: String(best.cell) });
  }

  paintCosines(side, cell) {
    const cosines = Array.from({ length: this.count(1 - side) }, (_, other) => this.cosine(side, cell, other));
    return heat(cosines, ...this.grid(1 - side), veil(VEIL), -1, 1);
  }

  describe(side, cell, best) {
    const mutual = this.isMutual(side, cell, best) ? 'each other’s nearest' : 'not the nearest the other way';
    const [from, to] = [nameCell(cell, this.grid(side)[1]), nameCell(best.cell, this.grid(1 - side)[1])];
    return `${side ? 'Second' : 'First'} image, ${from} → ${to}: cosine ${signed(best.cosine)}, ${mutual}`;
  }

  /** Draw the strongest pairs as lines, and the line from the query to its nearest neighbour. */
  drawLines(side, cell, best) {
    const { header, arrays } = this.message;
    const box = this.page.getBoundingClientRect();
    if (this.lines.parentElement !== this.page) this.page.append(this.lines);
    this.lines.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
    this.lines.replaceChildren();
    this.badges = svg(null, 'g', {});
    const pairs = arrays.pairs.data;
    const shown = Math.min(header.count, pairs.length / 2);
    for (let i = shown - 1; i >= 0; i--) this.line(pairs[2 * i], pairs[2 * i + 1], box, i);
    this.lines.append(this.badges); // over all arcs
    this.lines.classList.toggle('mt-dim', Boolean(this.query));
    if (this.query) this.line(...(side ? [best, cell] : [cell, best]), box, -1);
    this.root.dataset.lines = String(shown);
  }

  /** Draw a pair as a curve that leaves both patches level; its rank stands at both ends. */
  line(first, second, box, rank) {
    const [[x0, y0], [x1, y1]] = [first, second].map((cell, side) => {
      const frame = this.panels[side].frame.node.getBoundingClientRect();
      const [x, y] = centreOf(this.grid(side), cell);
      return [frame.left - box.left + x * frame.width, frame.top - box.top + y * frame.height];
    });
    const isSmall = box.width < 500; // a number would cover its patch
    this.lines.classList.toggle('mt-small', isSmall);
    const kind = rank < 0 ? 'mt-query' : 'mt-pair';
    const middle = (x0 + x1) / 2;
    const d = `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
    for (const layer of ['mt-halo', 'mt-arc']) svg(this.lines, 'path', { d, class: `${kind} ${layer}` });
    if (rank < 0) return;
    for (const [x, y] of [
      [x0, y0],
      [x1, y1],
    ]) {
      svg(this.badges, 'circle', { cx: x, cy: y, r: isSmall ? 2.5 : 9, class: 'mt-pair' });
      if (isSmall) continue;
      svg(this.badges, 'text', { x, y, class: 'mt-pair' }).textContent = String(rank + 1);
    }
  }

  update(message) {
    super.update(message);
    this.panels.forEach(({ frame }, side) => {
      const name = `The ${SIDES[side]} image, ${this.header.panels[side].title}`;
      nameGrid(frame.node, name);
    });
    el(this.panels[0].title, 'span', { class: 'vv-muted mt-hint' }, ' Click a patch to match it');
    if (this.query && this.query.cell >= this.count(this.query.side)) this.query = null;
    this.draw();
    this.root.dataset.layer = String(message.header.layer);
  }
}

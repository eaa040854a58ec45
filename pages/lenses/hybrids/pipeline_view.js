// Draw a hybrid as one pipeline: image, feature maps of its convolutions and tokens; below, the plain cut into patches.
// The pointer draws what feeds a position, stage by stage back to the image.

import { button, el, live } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { coverOnce, cover, heat, photo } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, greatest } from '../../../vitviz/browser/kit/colour_ramp.js';
import { cellAt, pinOf } from '../../../vitviz/browser/kit/pin.js';
import { nameCell, percent } from '../../../vitviz/browser/kit/text.js';

const NARROW_PX = 760;
const KEY =
  'Feature maps and pixel values: dark is 0, yellow the largest of its map. Tokens: blue negative, orange positive.';
const STRONGEST = 12; // channels of a convolution that are drawn first

/** Return [top, left, bottom, right] of what feeds a cell of stage `level`, by stage; stage 0 is what enters the stem. */
export function feed(level, row, col, strides) {
  const boxes = [];
  boxes[level] = [row, col, row + 1, col + 1];
  for (let at = level; at > 0; at--) {
    const [top, left, bottom, right] = boxes[at];
    const stride = strides[at - 1];
    boxes[at - 1] = [top * stride - 1, left * stride - 1, (bottom - 1) * stride + 2, (right - 1) * stride + 2];
  }
  return boxes;
}

/** Place a frame over a share of its parent: [top, left, bottom, right] in cells of a grid of `size`. */
function place(node, box, [rows, cols]) {
  node.hidden = !box;
  if (!box) return;
  const clip = (value, most) => Math.max(0, Math.min(most, value));
  const [top, bottom] = [box[0], box[2]].map((value) => clip(value, rows) / rows);
  const [left, right] = [box[1], box[3]].map((value) => clip(value, cols) / cols);
  const shares = { top, left, height: bottom - top, width: right - left };
  for (const [name, share] of Object.entries(shares)) node.style[name] = `${100 * share}%`;
}

export default class Pipeline {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, photo: photo(root), all: new Set(), large: new Map() });
    this.box = el(root, 'div', { class: 'hp' });
    this.say = live(root);
  }

  stage(title, note, name = '') {
    const node = el(this.box, 'section', { class: `hp-stage ${name}` });
    el(node, 'div', { class: 'hp-title' }, title);
    const line = el(node, 'div', { class: 'hp-note vv-muted' }, note);
    return { node, line, body: el(node, 'div', { class: 'hp-body' }) };
  }

  /** Draw an image whose cells are the tokens; the pointer shows one, a click pins it. */
  image(stage, label) {
    const { grid } = this.header;
    const frame = el(stage.body, 'div', { class: 'hp-frame' });
    frame.style.aspectRatio = `${grid[1]} / ${grid[0]}`;
    const base = el(frame, 'canvas', { 'aria-hidden': 'true' });
    const lines = el(frame, 'div', { class: 'hp-grid' });
    lines.style.backgroundSize = `${100 / grid[1]}% ${100 / grid[0]}%`;
    const mark = el(frame, 'div', { class: 'hp-mark' });
    gridNavigation(frame, {
      label,
      grid: () => grid,
      start: () => this.pinned,
      hover: (cell) => this.point(this.levels.length, cell),
      pick: (cell) => this.trigger('pin', pinOf(grid, cell)),
    });
    return { base, mark, lines };
  }

  build() {
    const { levels, grid, dim, patch, channels } = this.header;
    this.levels = levels;
    this.box.replaceChildren();
    this.box.style.setProperty('--hp-columns', levels.length);
    this.box.style.setProperty('--hp-rows', levels.length + 2); // on a phone
    this.source = this.stage('Hybrid: the image', '', 'hp-first');
    this.first = this.image(this.source, 'Image of the hybrid');
    this.first.lines.hidden = true;
    this.stages = levels.map((level, at) => {
      const [count, rows, cols] = this.arrays[`maps${at}`].shape;
      const stage = this.stage(`Convolution ${at + 1}`, `${count} channels of ${rows} × ${cols}`);
      return { ...stage, at, count, size: [rows, cols], marks: [] };
    });
    this.stages.forEach((stage) => this.fill(stage));
    const tokens = this.stage('Tokens', `${grid[0] * grid[1]} of ${dim} values, to attention`, 'hp-last');
    this.tokens = this.matrix(tokens, 'tokens', grid[0] * grid[1], dim);
    this.plain = this.stage('Plain ViT: the same image', `cut into patches of ${patch} × ${patch} px`, 'hp-first');
    this.second = this.image(this.plain, 'Image of the plain ViT');
    const flat = this.stage(
      'Patches, flattened',
      `${grid[0] * grid[1]} of ${patch}² · ${channels} = ${patch ** 2 * channels} pixel values`,
      'hp-flat',
    );
    this.patches = this.matrix(flat, 'patches', grid[0] * grid[1], patch ** 2 * channels);
    const { plain } = this.header;
    const note = plain
      ? `${grid[0] * grid[1]} of ${dim} values: rows times E of ${plain}`
      : `rows times E: ${dim} values`;
    const end = this.stage('Tokens', note, 'hp-last');
    this.embedded = plain ? this.matrix(end, 'plain', grid[0] * grid[1], dim) : null;
    if (!plain) el(end.body, 'p', { class: 'vv-muted' }, 'No plain ViT of this size is stored.');
    el(this.box, 'p', { class: 'hp-key vv-muted' }, KEY);
  }

  /** Draw a matrix with a row a token. */
  matrix(stage, name, rows, cols) {
    const frame = el(stage.body, 'div', { class: 'hp-frame hp-matrix' });
    const { data } = this.arrays[name];
    const peak = greatest(data);
    const isSigned = name !== 'patches';
    const table = isSigned ? DIVERGING_LUT : SEQUENTIAL_LUT; // few signed values are large: full colour is from a third
    cover(
      el(frame, 'canvas', { role: 'img', 'aria-label': name }),
      heat(data, rows, cols, table, isSigned ? -peak / 3 : 0, isSigned ? peak / 3 : peak),
    );
    const mark = el(frame, 'div', { class: 'hp-mark' });
    frame.onpointermove = (event) => {
      const box = frame.getBoundingClientRect();
      this.point(this.levels.length, evenCell(event.clientX - box.left, event.clientY - box.top, box, rows, 1));
    };
    frame.onpointerleave = () => this.point(0, -1);
    return { mark, rows };
  }

  /** Draw a convolution's channels: the strongest, all of them, or one. */
  fill(stage) {
    const { at, count, size, body } = stage;
    const { order, most } = this.levels[at];
    const all = this.arrays[`maps${at}`];
    const large = this.large.get(at);
    const shown = large !== undefined ? [large] : order.slice(0, this.all.has(at) ? count : STRONGEST);
    body.replaceChildren();
    const tiles = el(body, 'div', { class: 'hp-tiles' });
    const shape = this.width < NARROW_PX ? 3 : 3 / 4; // columns by rows: a strip on a phone
    const columns = Math.max(1, Math.ceil(Math.sqrt(shape * shown.length)));
    tiles.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    const area = size[0] * size[1];
    stage.marks = shown.map((channel) => {
      const name = `Channel ${channel + 1} of convolution ${at + 1}`;
      const act = () => this.enlarge(stage, large === undefined ? channel : undefined);
      const tile = button(tiles, '', act, {
        class: 'hp-tile',
        'aria-label': `${name}: ${large === undefined ? 'enlarge' : 'show the others'}`,
      });
      tile.style.aspectRatio = `${size[1]} / ${size[0]}`;
      const node = el(tile, 'canvas', { 'aria-hidden': 'true' });
      cover(node, heat(all.data, ...size, SEQUENTIAL_LUT, 0, 255, channel * area));
      tile.onpointermove = (event) => {
        const box = tile.getBoundingClientRect();
        this.point(at + 1, evenCell(event.clientX - box.left, event.clientY - box.top, box, ...size));
      };
      tile.onpointerleave = () => this.point(0, -1);
      return el(tile, 'div', { class: 'hp-mark' });
    });
    const foot = el(body, 'div', { class: 'vv-row hp-foot' });
    if (large !== undefined) {
      const codes = all.data.subarray(large * area, (large + 1) * area);
      const zero = codes.reduce((sum, code) => sum + (code === 0), 0) / area;
      button(foot, `All ${Math.min(count, STRONGEST)} strongest`, () => this.enlarge(stage, undefined));
      el(foot, 'span', {}, `Channel ${large + 1}: up to ${most[large].toFixed(2)}, 0 at ${percent(zero, 0)}`);
    } else if (count > STRONGEST) {
      const text = this.all.has(at) ? `${STRONGEST} strongest` : `All ${count}`;
      button(foot, text, () => this.showAll(stage));
    }
  }

  showAll(stage) {
    if (!this.all.delete(stage.at)) this.all.add(stage.at);
    this.redraw(stage);
  }

  enlarge(stage, channel) {
    if (channel === undefined) this.large.delete(stage.at);
    else this.large.set(stage.at, channel);
    this.redraw(stage);
  }

  redraw(stage) {
    this.fill(stage);
    this.point(0, -1);
    stage.body.querySelector('button')?.focus();
  }

  /** Show what feeds a cell of stage `level`, from 1; the pinned token's field without one. */
  point(level, cell) {
    const { grid, strides, factor, pixels, patch } = this.header;
    const isPinned = cell < 0;
    const at = isPinned ? this.levels.length : level;
    const index = isPinned ? this.pinned : cell;
    const size = this.stages[at - 1].size;
    const [row, col] = [Math.floor(index / size[1]), index % size[1]];
    const own = [row, col, row + 1, col + 1];
    const boxes = strides.length ? feed(at, row, col, strides) : null; // until then, the same place in every stage
    for (const stage of this.stages)
      for (const node of stage.marks)
        if (boxes) place(node, boxes[stage.at + 1], stage.size);
        else place(node, own, size);
    const token = Math.floor((row * grid[0]) / size[0]) * grid[1] + Math.floor((col * grid[1]) / size[1]);
    const [high, wide] = [Math.floor(token / grid[1]), token % grid[1]];
    const cut = [high, wide, high + 1, wide + 1];
    place(this.second.mark, cut, grid);
    for (const { mark, rows } of [this.tokens, this.patches, this.embedded].filter(Boolean))
      place(mark, [token, 0, token + 1, 1], [rows, 1]);
    if (strides.length)
      place(
        this.first.mark,
        boxes[0],
        pixels.map((side) => side * factor),
      );
    else place(this.first.mark, own, size);
    const side = strides.length ? Math.round((boxes[0][2] - boxes[0][0]) / factor) : 0;
    const from = at === this.levels.length ? 'a token' : `a position after convolution ${at}`;
    this.source.line.textContent = side ? `${side} × ${side} px feed ${from}` : 'Framed: the same place in all';
    if (!isPinned)
      this.say(`${nameCell(token, grid[1])}${side ? `: ${side} × ${side} px; plain: ${patch} × ${patch} px` : ''}`);
  }

  update(message, fresh) {
    Object.assign(this, { header: message.header, arrays: message.arrays, width: message.width });
    this.root.classList.toggle('hp-narrow', message.width < NARROW_PX);
    this.pinned = cellAt(this.header.grid, this.header.pin);
    const mode = message.colors.mode;
    if (fresh || mode !== this.mode) this.build();
    this.mode = mode;
    this.point(0, -1);
    this.photo.show(message, (bitmap) => {
      for (const { base } of [this.first, this.second]) coverOnce(base, bitmap);
    });
  }
}

// Reconstruction of every patch: mean patch + sum of the first k coefficients times components.
// Moving k adds or removes only the components between the old and the new k.

import { frame } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el, live, setCount } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { PALETTE } from '../../../vitviz/browser/kit/colour_ramp.js';
import { blit, picture } from '../../../vitviz/browser/kit/pixels.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';
import { patchName } from '../../../vitviz/browser/kit/text.js';

const CURVE = 190;
const FLAT = 40;
const NAMES = 165;
const COLORS = [(c) => c.ink, (c) => c.primary, () => PALETTE.HEADS[1]];

export default class RebuildView {
  constructor({ root }) {
    this.root = root;
    this.say = live(this.root);
    this.bar = el(this.root, 'label', { class: 'fr-k' });
    this.label = el(this.bar, 'span');
    this.slider = el(this.bar, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Number of components k' });
    this.row = el(this.root, 'div', { class: 'fr-row' });
    this.original = this.box('Image');
    this.boxes = [];
    this.curve = canvas(this.root, { class: 'fr-curve', role: 'img' });
    this.k = 0;
    this.patch = 0;
    this.accumulated = [];
    this.images = [];
    this.slider.oninput = () => {
      this.k = Number(this.slider.value);
      this.drawAll();
    };
    this.curve.node.onpointerdown = (event) => this.drag(event);
    this.curve.node.onpointermove = (event) => this.drag(event);
  }

  box(title) {
    const box = el(this.row, 'div');
    const part = {
      box,
      title: el(box, 'div', { class: 'fr-title' }, title),
      note: el(box, 'div', { class: 'fr-note' }),
      map: canvas(box, { class: 'fr-map' }),
      error: el(box, 'div', { class: 'fr-error' }),
    };
    const line = el(box, 'div', { class: 'fr-patch vv-muted' });
    part.patch = canvas(line, { role: 'img' });
    part.patchNote = el(line, 'span');
    gridNavigation(part.map.node, {
      label: `${title}: patches`,
      grid: () => this.grid,
      start: () => this.patch,
      hover: (i, event) => {
        if (i < 0) return;
        this.patch = i;
        this.drawAll();
        if (event?.type === 'keydown')
          this.say(`${patchName(i, this.grid[1])}: ${this.boxes.map((b) => b.patchNote.textContent).join(', ')}`);
      },
    });
    return part;
  }

  most(b) {
    return this.message.arrays[`basis${b}`].shape[0];
  }

  used(b) {
    return Math.min(this.k, this.most(b));
  }

  /** Updates basis b's accumulated values (N x C P P) to the selected k. */
  accumulate(b) {
    const {
      data: basis,
      shape: [, size],
    } = this.message.arrays[`basis${b}`];
    const {
      data: coefficients,
      shape: [n, stride],
    } = this.message.arrays[`coefficients${b}`];
    let state = this.accumulated[b];
    if (!state) {
      const values = new Float32Array(n * size);
      for (let i = 0; i < n; i++) values.set(this.message.arrays.mean.data, i * size);
      state = this.accumulated[b] = { k: 0, values };
    }
    while (state.k !== this.used(b)) {
      const up = this.used(b) > state.k;
      const c = up ? state.k : state.k - 1;
      const sign = up ? 1 : -1;
      const from = c * size;
      for (let i = 0; i < n; i++) {
        const a = sign * coefficients[i * stride + c];
        const at = i * size;
        for (let j = 0; j < size; j++) state.values[at + j] += a * basis[from + j];
      }
      state.k += sign;
    }
    return state.values;
  }

  level(v, c) {
    return 255 * (v * this.message.header.scale[c] + this.message.header.shift[c]);
  }

  /** Call each(pixel of the image, channel, index among a basis' values) for all values of a patch. */
  walk(patch, each) {
    const P = this.message.header.patch;
    const [, wide] = this.message.arrays.shown.shape;
    const [top, left] = this.corner(patch, P);
    let index = patch * this.channels * P * P;
    for (let c = 0; c < this.channels; c++)
      for (let y = 0; y < P; y++) for (let x = 0; x < P; x++) each((top + y) * wide + left + x, c, index++);
  }

  /** Return (top, left) of a patch if a patch is so many px wide. */
  corner(patch, px) {
    const [, cols] = this.grid;
    return [Math.floor(patch / cols) * px, (patch % cols) * px];
  }

  imageOf(b) {
    const values = this.accumulate(b);
    const [high, wide] = this.message.arrays.shown.shape;
    const C = this.channels;
    const data = new Uint8ClampedArray(high * wide * C);
    for (let patch = 0; patch < this.grid[0] * this.grid[1]; patch++)
      this.walk(patch, (pixel, c, index) => {
        data[C * pixel + c] = this.level(values[index], c);
      });
    return picture({ data, shape: [high, wide, C] });
  }

  patchError(b) {
    const { values } = this.accumulated[b];
    const { data } = this.message.arrays.shown;
    const squares = [];
    this.walk(this.patch, (pixel, c, index) => squares.push((this.level(values[index], c) - data[3 * pixel + c]) ** 2));
    return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
  }

  drawBox(box, image) {
    const [rows, cols] = this.grid;
    const cell = box.size / Math.max(rows, cols);
    const ctx = box.map.size(cols * cell, rows * cell);
    blit(ctx, image, 0, 0, cols * cell, rows * cell, image.width > cols * cell);
    const [y, x] = this.corner(this.patch, cell);
    frame(ctx, x, y, cell, cell);
    const P = this.message.header.patch;
    const p = box.patch.size(56, 56);
    p.imageSmoothingEnabled = false;
    box.patch.node.setAttribute('aria-label', `Patch ${this.patch}, enlarged`);
    const [top, left] = this.corner(this.patch, P);
    p.drawImage(image, left, top, P, P, 0, 0, 56, 56);
  }

  drawCurve() {
    const { colors, header, arrays, width } = this.message;
    const high = Math.max(...header.bases.map((_, b) => arrays[`error${b}`].data[0])) * 1.02;
    const ctx = this.curve.size(width, CURVE);
    const edges = [FLAT, width - NAMES, 8, CURVE - 40];
    const plot = (this.plot = new Plot(ctx, colors, edges, { x: [0, header.most], y: [0, high] }));
    plot.axisY(plot.y.ticks(3), (level) => String(+level.toFixed(1)), 'error, levels');
    const every = Math.max(1, Math.ceil(header.most / 8));
    const ticks = Array.from({ length: Math.floor(header.most / every) + 1 }, (_, i) => i * every);
    plot.axisX(ticks, String, 'components k');
    plot.upright(this.k, colors.muted, 1, [3, 3]);
    const ends = header.bases.map((basis, b) => this.drawError(plot, basis, b));
    plot.nameEnds(ends);
    const errors = `${ends.map((end) => end.name).join(', ')} grey levels at k = ${this.k}`;
    this.curve.node.setAttribute('aria-label', `Reconstruction error by number of components. ${errors}`);
  }

  /** Draw one basis' error over k, constant beyond its last component; return its label at k. */
  drawError(plot, basis, b) {
    const { data } = this.message.arrays[`error${b}`];
    const points = [...Array.from(data, (error, k) => [k, error]), [this.message.header.most, data.at(-1)]];
    const color = COLORS[b](this.message.colors);
    plot.line(points, b, { color });
    const error = data[this.used(b)];
    plot.dot(plot.x(this.k), plot.y(error), 4.5, color);
    return { x: plot.x1, y: plot.y(error), color, name: `${basis.title} ${error.toFixed(1)}` };
  }

  drawAll() {
    const { header } = this.message;
    this.slider.max = String(header.most);
    this.slider.value = String(this.k);
    this.label.textContent = `k = ${this.k} of ${header.most} components`;
    this.drawBox(this.original, this.image);
    this.original.patchNote.textContent = patchName(this.patch, this.grid[1]);
    header.bases.forEach((basis, b) => {
      const box = this.boxes[b];
      if (this.images[b]?.k !== this.used(b)) this.images[b] = { k: this.used(b), image: this.imageOf(b) };
      this.drawBox(box, this.images[b].image);
      box.title.textContent = basis.title;
      box.note.textContent = this.most(b) < this.k ? `has only ${this.most(b)} components` : basis.note;
      box.error.textContent = `error ${this.message.arrays[`error${b}`].data[this.used(b)].toFixed(1)} levels`;
      box.patchNote.textContent = `this patch ${this.patchError(b).toFixed(1)}`;
    });
    this.drawCurve();
  }

  drag(event) {
    if (event.buttons !== 1 && event.type !== 'pointerdown') return;
    const k = this.plot.x.invert(event.clientX - this.curve.node.getBoundingClientRect().left);
    this.k = Math.max(0, Math.min(this.message.header.most, Math.round(k)));
    this.drawAll();
  }

  update(message, fresh) {
    this.message = message;
    const [high, wide] = message.arrays.shown.shape;
    this.grid = [high, wide].map((px) => px / message.header.patch);
    this.channels = message.header.scale.length;
    const count = this.message.header.bases.length;
    if (fresh) {
      this.accumulated = [];
      this.images = [];
      this.image = picture(this.message.arrays.shown);
      this.k = this.message.header.k;
      this.patch = this.message.header.pin;
      this.original.note.textContent = `${high === wide ? high : `${high} × ${wide}`} px, patches of ${this.message.header.patch} px`;
      setCount(this.boxes, count, (b) => this.box(this.message.header.bases[b].title));
    }
    const across = this.message.width >= 640 ? count + 1 : 2;
    const size = Math.min(grown(280), Math.floor((this.message.width - 24 * (across - 1)) / across));
    for (const part of [this.original, ...this.boxes]) {
      part.size = size;
      part.box.style.width = `${size}px`;
    }
    this.drawAll();
  }
}

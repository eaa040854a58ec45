// Draw the CKA between all layers of two models as one matrix, with a gap between the models.

import { canvas, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { fill, frame, write } from '../../../vitviz/browser/kit/axes.js';
import { legend, channelsAt, inkOn, SEQUENTIAL_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';
import { signed } from '../../../vitviz/browser/kit/text.js';

const GAP = 10; // px between the two models
const NARROW_PX = 560;

export default class MatrixOfLayers {
  constructor({ root }) {
    Object.assign(this, { root, now: null, at: -1 });
    this.box = el(root, 'div', { class: 'lm' });
    this.board = canvas(this.box);
    this.scale = canvas(el(this.box, 'div', { class: 'lm-scale' }));
    this.tip = tooltip(root);
    this.announce = live(root);
    this.cells = gridNavigation(this.board.node, {
      label: 'CKA between layers',
      grid: () => [this.count, this.count],
      cellAt: (x, y) => this.cellAt(x, y),
      hover: (cell, event) => this.point(cell, event),
    });
    this.board.node.style.touchAction = 'pan-y';
  }

  /** Returns the offset of a layer's cell in px, along either axis. */
  begin(index) {
    return index * this.side + (index >= this.now.header.models[0].layers.length ? GAP : 0);
  }

  indexAt(offset) {
    for (let i = this.count - 1; i >= 0; i--)
      if (offset >= this.begin(i)) return offset < this.begin(i) + this.side ? i : -1;
    return -1;
  }

  cellAt(x, y) {
    const row = this.indexAt(y - this.top);
    const col = this.indexAt(x - this.left);
    return row < 0 || col < 0 ? -1 : row * this.count + col;
  }

  nameOf(index) {
    const [one, other] = this.now.header.models;
    const own = index < one.layers.length;
    return own ? `${one.title}, ${one.layers[index]}` : `${other.title}, ${other.layers[index - one.layers.length]}`;
  }

  point(cell, event) {
    this.at = cell;
    this.draw();
    if (cell < 0) return this.tip.hide();
    const [row, col] = [Math.floor(cell / this.count), cell % this.count];
    const value = this.now.arrays.matrix.data[cell];
    const text = `${Number.isNaN(value) ? 'Predict to see this value' : `CKA ${signed(value)}`}\n${this.nameOf(row)}\n${this.nameOf(col)}`;
    this.tip.show(this.left + this.begin(col) + this.side / 2, this.top + this.begin(row), text);
    if (event?.type === 'keydown') this.announce(text);
  }

  drawCell(ctx, row, col, value) {
    const { colors } = this.now;
    const [x, y] = [this.left + this.begin(col), this.top + this.begin(row)];
    const hidden = Number.isNaN(value);
    const shade = hidden ? colors.panel : `rgb(${channelsAt(SEQUENTIAL_LUT, value)})`;
    fill(ctx, shade, x, y, this.side - 1, this.side - 1);
    const style = { color: hidden ? colors.muted : inkOn(SEQUENTIAL_LUT, value), align: 'center' };
    if (this.side >= (hidden ? 15 : 34))
      write(ctx, colors, hidden ? '?' : signed(value), x + this.side / 2, y + this.side / 2, style);
    if (row * this.count + col === this.at) frame(ctx, x, y, this.side - 1, this.side - 1);
  }

  drawNames(ctx) {
    const { header, colors } = this.now;
    const names = header.models.flatMap((model) => model.layers);
    const every = Math.ceil(15 / this.side); // a name needs 15 px
    names.forEach((name, i) => {
      const middle = this.begin(i) + this.side / 2;
      if (i % every) return;
      write(ctx, colors, name, this.left - 8, this.top + middle, { align: 'right', room: this.left - 12 });
      write(ctx, colors, name, this.left + middle, this.top - 8, { room: this.top * 1.1, turn: -Math.PI / 4 });
    });
  }

  /** Draws the models' names below their columns. */
  drawModels(ctx) {
    const { header, colors } = this.now;
    const below = this.top + this.begin(this.count - 1) + this.side + 14;
    let first = 0;
    for (const { title, layers } of header.models) {
      const wide = layers.length * this.side;
      write(ctx, colors, title, this.left + this.begin(first), below, { color: colors.ink, room: wide - 4 });
      first += layers.length;
    }
  }

  draw() {
    const { header, arrays, width } = this.now;
    this.count = header.models.reduce((sum, model) => sum + model.layers.length, 0);
    const narrow = width < NARROW_PX;
    this.left = narrow ? 72 : 118;
    this.top = narrow ? 60 : 84;
    this.side = Math.min(48, Math.floor((Math.min(width, 760) - this.left - GAP - 24) / this.count));
    const across = this.left + this.begin(this.count - 1) + this.side;
    const ctx = this.board.size(Math.max(across + 24, 120), this.top + across - this.left + 28);
    for (let row = 0; row < this.count; row++)
      for (let col = 0; col < this.count; col++)
        this.drawCell(ctx, row, col, arrays.matrix.data[row * this.count + col]);
    this.drawNames(ctx);
    this.drawModels(ctx);
    this.root.dataset.at = String(this.at);
  }

  update(message) {
    this.now = message;
    this.at = -1;
    this.tip.hide();
    this.draw();
    const words = ['0 dissimilar', '', '1 identical'];
    const { width, colors } = message;
    legend(this.scale, { table: SEQUENTIAL_LUT, width: Math.min(width, 360), words, colors, label: 'CKA from 0 to 1' });
  }
}

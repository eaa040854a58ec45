// Relative position bias: one table per head, and how a query and a key index into it.
// header: {rows, cols (of the window), heads, head, steps, at}
// arrays: table (steps, heads, (2Mh-1)(2Mw-1)) float32; index (Mh Mw, Mh Mw) int32

import { fill, frame, outline, write } from '../../../vitviz/browser/kit/axes.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { DIVERGING_LUT, channelsAt, greatest, headColor, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { counted, signed } from '../../../vitviz/browser/kit/text.js';
import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';

const FRAME_MS = 300;

export default class SwinBias {
  constructor({ root, onUnmount }) {
    Object.assign(this, { root, now: null, head: 0, query: 0, key: 0, cell: -1, size: {} });
    this.build();
    this.listen();
    this.listenMatrix();
    onUnmount(() => this.time.stop());
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'sw-stage' });
    this.win = this.column('Window: query and key');
    this.table = this.column('');
    this.matrix = this.column('');
    this.read = el(this.stage, 'div', { class: 'sw-read' });
    this.lines = Array.from({ length: 5 }, (_, i) =>
      el(this.read, 'div', {
        'data-role': ['offset', 'index', 'value', 'pairs', 'hint'][i],
        class: i === 1 ? 'vv-mono' : '',
      }),
    );
    this.scaleBox = el(this.root, 'div', { class: 'sw-foot' });
    this.scale = canvas(this.scaleBox, { role: 'img' });
    this.time = timeline(this.root, {
      class: 'vv-row sw-time',
      last: () => this.now.header.steps.length - 1,
      words: (at) => `step ${counted(this.now.header.steps[at])} · largest |bias| ${this.largest().toFixed(3)}`,
      show: () => this.drawAll(),
      dwell: FRAME_MS,
      file: 'swin_bias_training',
    });
    this.headsTitle = el(this.root, 'div', { class: 'sw-head sw-above' });
    this.small = canvas(this.root, { class: 'sw-cross' });
    this.say = live(this.root);
  }

  listen() {
    gridNavigation(this.win.map.node, {
      label: 'Window: hover selects the key, Enter sets the query',
      grid: () => [this.now.header.rows, this.now.header.cols],
      hover: (i, event) => {
        if (i >= 0) this.point(this.query, i, event);
      },
      pick: (i) => this.point(i, i),
    });
    gridNavigation(this.table.map.node, {
      label: 'Bias table, one entry per offset',
      grid: () => [this.tall, this.wide],
      hover: (i, event) => {
        this.cell = i;
        const text = this.drawAll();
        if (i >= 0 && event?.type === 'keydown') this.say(text);
      },
      pick: (i) => {
        // Select a pair with this offset that lies inside the window.
        const dr = Math.floor(i / this.wide) - this.now.header.rows + 1;
        const dc = (i % this.wide) - this.now.header.cols + 1;
        const q = Math.max(0, dr) * this.now.header.cols + Math.max(0, dc);
        const k = Math.max(0, -dr) * this.now.header.cols + Math.max(0, -dc);
        this.point(q, k);
      },
    });
  }

  listenMatrix() {
    gridNavigation(this.matrix.map.node, {
      label: 'Bias matrix, query by key',
      grid: () => [this.tokens, this.tokens],
      hover: (i, event) => {
        if (i >= 0) this.point(Math.floor(i / this.tokens), i % this.tokens, event);
      },
    });
    gridNavigation(this.small.node, {
      label: 'Heads; Enter selects one',
      grid: () => [Math.ceil(this.now.header.heads / this.size.across), this.size.across],
      hover: (i, event) => {
        if (i >= 0 && i < this.now.header.heads && event?.type === 'keydown') this.say(`Head ${i + 1}`);
      },
      pick: (i) => {
        if (i < this.now.header.heads) {
          this.head = i;
          this.drawAll();
        }
      },
    });
  }

  column(title) {
    const box = el(this.stage, 'div');
    return { box, head: el(box, 'div', { class: 'sw-head' }, title), map: canvas(box, { class: 'sw-cross' }) };
  }

  value(i, h = this.head) {
    return this.now.arrays.table.data[(this.time.at * this.now.header.heads + h) * this.wide * this.tall + i];
  }

  largest() {
    const n = this.now.header.heads * this.wide * this.tall;
    return greatest(this.now.arrays.table.data.subarray(this.time.at * n, (this.time.at + 1) * n));
  }

  indexOf(q, k) {
    return this.now.arrays.index.data[q * this.tokens + k];
  }

  lit() {
    return this.cell >= 0 ? this.cell : this.indexOf(this.query, this.key);
  }

  color(v) {
    return `rgb(${channelsAt(DIVERGING_LUT, (1 + v / this.size.peak) / 2)})`;
  }

  place(t) {
    return `(${Math.floor(t / this.now.header.cols) + 1}, ${(t % this.now.header.cols) + 1})`;
  }

  /** Draw the table's entries indexOf(i) as `count` cells, `across` in a row, on each `less` px smaller than the step. */
  drawCells(ctx, [count, across], step, less, indexOf, head = this.head) {
    for (let i = 0; i < count; i++) {
      const [x, y] = [(i % across) * step, Math.floor(i / across) * step];
      fill(ctx, this.color(this.value(indexOf(i), head)), x, y, step - less, step - less);
    }
  }

  drawWindow() {
    const { rows, cols } = this.now.header;
    const step = this.size.window / Math.max(rows, cols);
    const ctx = this.win.map.size(step * cols, step * rows);
    const { colors } = this.now;
    const box = (t) => [(t % cols) * step, Math.floor(t / cols) * step];
    const indexOf = (t) => this.indexOf(this.query, t);
    this.drawCells(ctx, [this.tokens, cols], step, 1, indexOf);
    for (let t = 0; t < this.tokens; t++)
      if (indexOf(t) === this.cell) this.ring(ctx, ...box(t), step - 1, colors.ink, 2);
    this.ring(ctx, ...box(this.key), step - 1, '#0F151C', 2.5);
    frame(ctx, ...box(this.query), step - 1, step - 1, undefined, 3);
    const style = { style: '600 13px', color: '#0F151C', align: 'center' };
    const text = (t, letter) => write(ctx, colors, letter, box(t)[0] + step / 2, box(t)[1] + step / 2, style);
    text(this.query, this.query === this.key ? 'q = k' : 'q');
    if (this.query !== this.key) text(this.key, 'k');
  }

  ring(ctx, x, y, side, stroke, width) {
    outline(ctx, stroke, width, x + width / 2, y + width / 2, side - width, side - width);
  }

  drawTable() {
    const step = this.size.table / this.wide;
    const ctx = this.table.map.size(step * this.wide, step * this.tall);
    this.drawCells(ctx, [this.wide * this.tall, this.wide], step, 0.75, (i) => i);
    const [col, row] = [this.lit() % this.wide, Math.floor(this.lit() / this.wide)];
    this.ring(ctx, col * step - 1, row * step - 1, step + 1.25, '#0F151C', 2.5);
    this.table.head.textContent = `Table of head ${this.head + 1}, ${this.tall} × ${this.wide}`;
  }

  drawMatrix() {
    const n = this.tokens;
    const step = this.size.matrix / n;
    const ctx = this.matrix.map.size(this.size.matrix, this.size.matrix);
    const { data: index } = this.now.arrays.index;
    this.drawCells(ctx, [n * n, n], step, -0.3, (pair) => index[pair]);
    // Outline all pairs that share this entry of the table.
    ctx.strokeStyle = '#0F151C';
    ctx.lineWidth = step > 5 ? 1.5 : 1;
    for (let q = 0; q < n; q++)
      for (let k = 0; k < n; k++)
        if (this.indexOf(q, k) === this.lit()) ctx.strokeRect(k * step + 0.5, q * step + 0.5, step - 1, step - 1);
    if (this.cell < 0) frame(ctx, this.key * step - 1, this.query * step - 1, step + 2, step + 2);
    this.matrix.head.textContent = `B, ${n} × ${n}: query (row) × key (column)`;
  }

  drawIndex() {
    const { rows, cols } = this.now.header;
    const i = this.lit();
    const dr = Math.floor(i / this.wide) - rows + 1;
    const dc = (i % this.wide) - cols + 1;
    const pairs = (rows - Math.abs(dr)) * (cols - Math.abs(dc));
    const n = (v) => (v < 0 ? `(−${-v})` : `${v}`);
    this.lines[0].textContent =
      this.cell >= 0
        ? `Offset query − key = (${signed(dr, 0)}, ${signed(dc, 0)})`
        : `q ${this.place(this.query)} − k ${this.place(this.key)} = (${signed(dr, 0)}, ${signed(dc, 0)})`;
    this.lines[1].textContent = `(${n(dr)} + ${rows - 1})·${this.wide} + ${n(dc)} + ${cols - 1} = ${i}`;
    this.lines[2].replaceChildren();
    el(this.lines[2], 'span', {}, `table[${i}, head ${this.head + 1}] = `);
    el(this.lines[2], 'span', { class: 'sw-big' }, signed(this.value(i), 4));
    this.lines[3].textContent = `shared by ${pairs.toLocaleString('en')} of ${(this.tokens ** 2).toLocaleString('en')} pairs: all pairs with this offset`;
    this.lines[4].textContent = 'Added to the score q·k/√d before the softmax.';
    return `${this.lines[0].textContent}, bias ${signed(this.value(i), 4)}`;
  }

  drawSmall() {
    const s = this.size.small;
    const across = this.size.across;
    const down = Math.ceil(this.now.header.heads / across);
    const step = s / this.wide;
    const { colors } = this.now;
    const ctx = this.small.size(across * (s + 8), down * (s + 26));
    for (let h = 0; h < this.now.header.heads; h++) {
      const x0 = (h % across) * (s + 8);
      const y0 = Math.floor(h / across) * (s + 26) + 18;
      write(ctx, colors, `Head ${h + 1}`, x0 + 12, y0 - 5, { color: colors.ink, base: 'alphabetic' });
      fill(ctx, headColor(h, this.now.header.heads), x0, y0 - 13, 8, 8);
      ctx.save();
      ctx.translate(x0, y0);
      this.drawCells(ctx, [this.wide * this.tall, this.wide], step, -0.3, (i) => i, h);
      ctx.restore();
      if (h === this.head) frame(ctx, x0, y0, s, s);
    }
    this.headsTitle.textContent = `All ${this.now.header.heads} heads, shared scale`;
  }

  drawScale() {
    const { peak } = this.size;
    legend(this.scale, {
      table: DIVERGING_LUT,
      width: Math.min(280, this.now.width),
      words: [signed(-peak, 3), '0', signed(peak, 3)],
      colors: this.now.colors,
      label: `Colour scale of the bias, ±${peak.toFixed(3)}`,
    });
  }

  drawAll() {
    this.drawWindow();
    this.drawTable();
    this.drawMatrix();
    this.drawSmall();
    this.time.draw();
    return this.drawIndex();
  }

  point(q, k, event) {
    this.cell = -1;
    this.query = q;
    this.key = k;
    const text = this.drawAll();
    if (event?.type === 'keydown') this.say(text);
  }

  update(message, fresh) {
    this.now = message;
    const { header, width } = this.now;
    const { rows, cols } = header;
    Object.assign(this, { tokens: rows * cols, wide: 2 * cols - 1, tall: 2 * rows - 1 });
    if (fresh) {
      this.time.stop();
      this.time.at = header.at;
      this.head = Math.min(this.head, header.heads - 1);
      this.cell = -1;
      const middle = Math.floor(header.rows / 2) * header.cols + Math.floor(header.cols / 2);
      this.query = middle;
      this.key = Math.min(this.tokens - 1, middle + 1);
      this.size.peak = greatest(this.now.arrays.table.data);
    }
    const across = width >= 640 ? 4 : width >= 480 ? 2 : 1;
    const unit = Math.min(300, Math.floor((width - 24 * (across - 1)) / across));
    Object.assign(this.size, { window: Math.min(unit, 192), table: unit, matrix: unit });
    this.size.small = Math.min(112, Math.max(56, Math.floor(width / Math.min(header.heads, 8)) - 8));
    this.size.across = Math.max(1, Math.min(header.heads, Math.floor((width + 8) / (this.size.small + 8))));
    this.drawScale();
    this.drawAll();
  }
}

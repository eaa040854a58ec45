// Relative position bias: one table per head, and how a query and a key index into it.
// header: of a heat grid (window, table, matrix, and every head's table), and {window, heads, steps, at}
// arrays: table (steps, heads, (2Mh-1)(2Mw-1)) float32; index (Mh Mw, Mh Mw) int32

import { timeline } from '../../../vitviz/browser/kit/player.js';
import { createContext } from '../../../vitviz/browser/kit/pixels.js';
import { greatest, headColor } from '../../../vitviz/browser/kit/colour_ramp.js';
import { counted, signed } from '../../../vitviz/browser/kit/text.js';
import { el } from '../../../vitviz/browser/kit/dom.js';
import HeatGrid from '../../views/heat_grid.js';

const FRAME_MS = 300;
const MATRIX_PX = 640; // about, before it is fitted to its place
const LINE = 1 / 240; // of the matrix's width: an outline
const [WINDOW, TABLE, MATRIX, HEADS] = [0, 1, 2, 3]; // panels; the others are the tables of all heads
const LABELS = [
  'Window. Arrow keys move the key, Enter sets the query.',
  'Bias table, one entry per offset. Arrow keys move, Enter selects a pair.',
  'Bias matrix, query by key. Arrow keys move.',
];
const LINES = ['offset', 'index', 'value', 'pairs', 'hint'];

export default class SwinBias extends HeatGrid {
  constructor(context) {
    super(context);
    Object.assign(this, { head: 0, query: 0, key: 0, cell: -1 });
    this.read = el(null, 'div', { class: 'sw-read' });
    this.lines = LINES.map((role) =>
      el(this.read, 'div', { 'data-role': role, class: role === 'index' ? 'vv-mono' : '' }),
    );
    this.time = timeline(this.root, {
      class: 'vv-row sw-time',
      last: () => this.header.steps.length - 1,
      words: (at) => `step ${counted(this.header.steps[at])} · largest |bias| ${this.largest().toFixed(3)}`,
      show: () => this.draw(),
      dwell: FRAME_MS,
      file: 'swin_bias_training',
    });
    context.onUnmount(() => this.time.stop());
  }

  // ---- the table
  get window() {
    const [rows, cols] = this.header.window;
    return { rows, cols, tokens: rows * cols, wide: 2 * cols - 1, size: (2 * rows - 1) * (2 * cols - 1) };
  }

  /** Return the table of a head at the timeline's moment. */
  tableOf(head) {
    const { size } = this.window;
    const from = (this.time.at * this.header.heads + head) * size;
    return this.message.arrays.table.data.subarray(from, from + size);
  }

  largest() {
    return Math.max(...Array.from({ length: this.header.heads }, (_, head) => greatest(this.tableOf(head))));
  }

  /** Return the entries of the table that a query's keys read, or all queries'. */
  entries(query) {
    const { tokens } = this.window;
    const { data } = this.message.arrays.index;
    return query === undefined ? data : data.subarray(query * tokens, (query + 1) * tokens);
  }

  /** Return the entry that is read: the one under the pointer, or that of query and key. */
  lit() {
    return this.cell >= 0 ? this.cell : this.entries(this.query)[this.key];
  }

  /** Return an entry's offset, query minus key: [rows, columns]. */
  offsetOf(entry) {
    const { rows, cols, wide } = this.window;
    return [Math.floor(entry / wide) - rows + 1, (entry % wide) - cols + 1];
  }

  values(panel) {
    const table = this.tableOf(panel < HEADS ? this.head : panel - HEADS);
    if (panel === TABLE || panel >= HEADS) return table;
    return Float32Array.from(this.entries(panel === WINDOW ? this.query : undefined), (entry) => table[entry]);
  }

  // ---- pointing
  isRead() {
    return true;
  }

  start(panel) {
    if (panel === MATRIX) return this.query * this.window.tokens + this.key;
    return panel === WINDOW ? this.key : this.lit();
  }

  point(panel, cell, event) {
    const { tokens } = this.window;
    const isKey = cell >= 0 && event?.type === 'keydown';
    if (panel >= HEADS) {
      if (isKey) this.announce(`Head ${panel - HEADS + 1}`);
      return;
    }
    if (panel === TABLE) this.cell = cell;
    else if (cell < 0) return;
    else if (panel === WINDOW) this.select(this.query, cell);
    else this.select(Math.floor(cell / tokens), cell % tokens);
    this.draw();
    if (isKey) this.announce(this.sentence);
  }

  pick(panel, cell) {
    const { cols } = this.window;
    const [down, right] = this.offsetOf(cell);
    if (panel >= HEADS) this.head = panel - HEADS;
    else if (panel === WINDOW) this.select(cell, cell);
    else if (panel === TABLE)
      // a pair with this offset that lies inside the window
      this.select(Math.max(0, down) * cols + Math.max(0, right), Math.max(0, -down) * cols + Math.max(0, -right));
    this.draw();
  }

  select(query, key) {
    Object.assign(this, { query, key, cell: -1 });
  }

  // ---- drawing
  /** Return a panel's cells; all pairs of the matrix that share the entry are outlined. */
  paint(panel) {
    const cells = super.paint(panel);
    if (panel !== MATRIX) return cells;
    const { tokens } = this.window;
    const px = Math.max(3, Math.floor(MATRIX_PX / tokens));
    const [ctx, lit] = [createContext(tokens * px, tokens * px), this.lit()];
    const lineWidth = Math.min(px / 2, ctx.canvas.width * LINE);
    Object.assign(ctx, { imageSmoothingEnabled: false, strokeStyle: this.message.colors.ink, lineWidth });
    ctx.drawImage(cells, 0, 0, ctx.canvas.width, ctx.canvas.height);
    this.entries().forEach((entry, pair) => {
      const [x, y] = [pair % tokens, Math.floor(pair / tokens)].map((at) => at * px + lineWidth / 2);
      if (entry === lit) ctx.strokeRect(x, y, px - lineWidth, px - lineWidth);
    });
    return ctx.canvas;
  }

  draw() {
    const { tokens } = this.window;
    this.panels.forEach(({ frame }, panel) => frame.showCells(this.paint(panel)));
    const [window, table, matrix] = this.panels.map(({ frame }) => frame);
    window.pin(this.grid(WINDOW), this.query);
    window.point(this.grid(WINDOW), this.cell < 0 ? this.key : this.entries(this.query).indexOf(this.cell));
    table.pin(this.grid(TABLE), this.lit());
    matrix.pin(this.grid(MATRIX), this.cell < 0 ? this.query * tokens + this.key : -1);
    this.writeLetters();
    this.panels[TABLE].title.textContent = `Table of head ${this.head + 1}, ${this.grid(TABLE).join(' × ')}`;
    this.panels.slice(HEADS).forEach(({ figure, frame }, head) => {
      figure.classList.toggle('sw-chosen', head === this.head);
      frame.node.ariaCurrent = String(head === this.head);
    });
    this.time.draw();
    this.describe();
  }

  /** Write q and k into the window. */
  writeLetters() {
    const { numbers } = this.panels[WINDOW];
    const { rows, cols, tokens } = this.window;
    numbers.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${cols}, 1fr)`;
    const letters = (token) => ['q', 'k'].filter((_, i) => token === [this.query, this.key][i]).join(' = ');
    numbers.replaceChildren(...Array.from({ length: tokens }, (_, token) => el(null, 'b', {}, letters(token))));
  }

  describe() {
    const { rows, cols, tokens, wide } = this.window;
    const entry = this.lit();
    const [down, right] = this.offsetOf(entry);
    const pairs = (rows - Math.abs(down)) * (cols - Math.abs(right));
    const factor = (v) => (v < 0 ? `(−${-v})` : `${v}`);
    const place = (token) => `(${Math.floor(token / cols) + 1}, ${(token % cols) + 1})`;
    const subject = this.cell >= 0 ? 'Offset query − key' : `q ${place(this.query)} − k ${place(this.key)}`;
    const bias = signed(this.tableOf(this.head)[entry], 4);
    const [offset, index, value, shared, hint] = this.lines;
    offset.textContent = `${subject} = (${signed(down, 0)}, ${signed(right, 0)})`;
    index.textContent = `(${factor(down)} + ${rows - 1})·${wide} + ${factor(right)} + ${cols - 1} = ${entry}`;
    value.replaceChildren(el(null, 'span', {}, `table[${entry}, head ${this.head + 1}] = `));
    el(value, 'span', { class: 'sw-big' }, bias);
    shared.textContent = `shared by ${counted(pairs)} of ${counted(tokens ** 2)} pairs: all pairs with this offset`;
    hint.textContent = 'Added to the score q·k/√d before the softmax.';
    this.sentence = `${offset.textContent}, bias ${bias}`;
  }

  update(message, fresh) {
    const { window, heads, at } = message.header;
    if (fresh) {
      this.time.stop();
      this.time.at = at;
      this.head = Math.min(this.head, heads - 1);
      const [rows, cols] = window;
      const middle = Math.floor(rows / 2) * cols + Math.floor(cols / 2);
      this.select(middle, Math.min(rows * cols - 1, middle + 1));
    }
    super.update(message);
    this.panels[MATRIX].figure.after(this.read);
    this.panels.forEach(({ frame, title }, panel) => {
      const head = panel - HEADS;
      frame.node.setAttribute('aria-label', LABELS[panel] ?? `Table of head ${head + 1}. Enter selects the head.`);
      if (head >= 0) title.style.setProperty('--sw-head', headColor(head, heads));
    });
    this.draw();
  }
}

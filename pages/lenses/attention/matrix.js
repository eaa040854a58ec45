// Attention matrix of one head beside its image, or between words. The pointer selects a query (row) and a key
// (column) in the matrix, or a query on the image.

import { fill, frame, outline, write } from '../../../vitviz/browser/kit/axes.js';
import { CellFrame } from '../../../vitviz/browser/kit/cell_frame.js';
import { button, canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { photo, blit, heat } from '../../../vitviz/browser/kit/pixels.js';
import { pinOf, tokenOfPin } from '../../../vitviz/browser/kit/pin.js';
import { accentLut, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { tokenIndex, tokenName } from '../../../vitviz/browser/kit/text.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { weightOf } from '../../../vitviz/browser/explorer_weights.js';
import { nameOf, percent, weight } from '../../../vitviz/browser/explorer_parts.js';

const LABEL_PX = 13; // height of a row's label

export default class Matrix {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, message: null, query: -1, key: -1, photo: photo(root) });
    this.page = el(root, 'div', { class: 'mx vv-grey' });
    this.left = el(this.page, 'div', { class: 'mx-left' });
    this.tokens = el(this.left, 'div', { class: 'vv-row mx-tokens' });
    this.stage = new CellFrame(this.left, 'mx-stage'); // its pin is the query, its pointed cell the key
    this.facts = el(this.left, 'div', { class: 'vv-mono mx-facts' });
    this.right = el(this.page, 'div', { class: 'mx-right' });
    this.board = canvas(this.right);
    this.scale = canvas(el(this.right, 'div', { class: 'mx-scale' }));
    this.announce = live(root);
    this.navigate();
  }

  navigate() {
    this.patches = gridNavigation(this.stage.node, {
      label: 'Image: the patch under the pointer is the query, and its row is marked in the matrix',
      grid: () => this.message?.header.grid ?? [1, 1],
      hover: (i, event) => this.select(i < 0 ? -1 : this.message.header.prefix.length + i, -1, event),
      pick: (i) => this.pin(this.message.header.prefix.length + i),
    });
    this.cells = gridNavigation(this.board.node, {
      label: 'Attention matrix: rows are queries, columns keys',
      grid: () => [this.count, this.count],
      cellAt: (x, y) => this.cellAt(x, y),
      hover: (i, event) => this.select(i < 0 ? -1 : Math.floor(i / this.count), i < 0 ? -1 : i % this.count, event),
      pick: (i) => this.pin(Math.floor(i / this.count)),
      start: () => this.defaultQuery() * this.count,
    });
  }

  /** Return the query without a pointer: the pin, or 'he' in the sentence. */
  defaultQuery() {
    const { header } = this.message;
    if (header.words) return Math.max(0, header.words.indexOf('he'));
    return header.pin ? Math.max(0, tokenOfPin(header, header.pin)) : 0;
  }

  nameOf(token) {
    const { header } = this.message;
    return header.words ? `word ${token + 1}, '${header.words[token]}'` : nameOf(header, token);
  }

  cellAt(x, y) {
    const { left, top, side } = this.frame;
    return evenCell(x - left, y - top, { width: side, height: side }, this.count, this.count);
  }

  select(query, key, event) {
    this.query = query;
    this.key = key;
    this.draw();
    if (event?.type === 'keydown') this.announce(this.facts.textContent);
  }

  pin(token) {
    const { words, prefix, grid } = this.message.header;
    if (words) return;
    this.trigger('pin', token < prefix.length ? prefix[token] : pinOf(grid, token - prefix.length));
  }

  // ------------------------------------------------------------ drawing
  draw() {
    const query = this.query < 0 ? this.defaultQuery() : this.query;
    this.drawMatrix(query);
    this.drawTokens(query);
    if (!this.message.header.words) this.drawImage(query);
    this.describe(query);
    Object.assign(this.root.dataset, { query: String(query), key: String(this.key) });
  }

  row(query) {
    return this.weights.subarray(query * this.count, (query + 1) * this.count);
  }

  drawMatrix(query) {
    const { colors, width } = this.message;
    const narrow = this.root.classList.contains('mx-narrow');
    const room = narrow ? width : Math.min(grown(this.message.header.words ? 420 : 600), width * 0.56);
    const left = this.message.header.words ? 52 : 60;
    const top = this.message.header.words ? 44 : 24;
    const side = Math.max(80, Math.floor(room - left));
    this.frame = { left, top, side };
    const ctx = this.board.size(room, top + side + 1);
    fill(ctx, colors.panel, left, top, side, side);
    blit(ctx, this.image, left, top, side, side);
    this.drawAxes(ctx);
    const cell = side / this.count;
    const thick = Math.max(2, cell);
    const band = (at) => at * cell + (cell - thick) / 2;
    frame(ctx, left, top + band(query), side, thick);
    if (this.key >= 0) outline(ctx, colors.primary, 1.5, left + band(this.key), top + 0.75, thick, side - 1.5);
  }

  /** Draw the axes with a label per row of patches or per word. */
  drawAxes(ctx) {
    const { header, colors } = this.message;
    const { left, top, side } = this.frame;
    const cell = side / this.count;
    const labels = header.words ? header.words.map((word, i) => [i, word]) : this.rowLabels();
    let last = -Infinity;
    for (const [token, text] of labels) {
      const y = top + (token + 0.5) * cell;
      if (y - last < LABEL_PX) continue;
      last = y;
      write(ctx, colors, text, left - 6, y, { align: 'right', room: left - 8 });
      const above = { align: 'center', room: cell };
      if (header.words) write(ctx, colors, text, left + (token + 0.5) * cell, top - 10, above);
    }
    write(ctx, colors, 'keys →', left, header.words ? 10 : 12);
    write(ctx, colors, 'queries ↓', left - 6, header.words ? 10 : 12, { align: 'right' });
  }

  rowLabels() {
    const { prefix, grid } = this.message.header;
    const rows = Array.from({ length: grid[0] }, (_, r) => [prefix.length + r * grid[1], `row ${r + 1}`]);
    return [...prefix.map((name, i) => [i, tokenName(name)]), ...rows];
  }

  /** Show the weights of prefix tokens or words as the depth of their background. */
  drawTokens(query) {
    const row = this.row(query);
    const top = row.reduce((most, value) => Math.max(most, value), 0) || 1;
    this.chips.forEach((chip, token) => {
      chip.classList.toggle('mx-on', token === query);
      chip.classList.toggle('mx-seen', token === this.key);
      chip.style.setProperty('--mx-weight', `${Math.round((100 * row[token]) / top)}%`);
      chip.lastChild.textContent = percent(row[token]);
    });
  }

  drawImage(query) {
    const { header, colors } = this.message;
    const [rows, cols] = header.grid;
    const first = header.prefix.length;
    const values = this.row(query).subarray(first);
    const top = values.reduce((most, value) => Math.max(most, value), 0);
    this.stage.showCells(heat(values, rows, cols, accentLut(colors.query), 0, top));
    this.stage.pin(header.grid, query - first);
    this.stage.point(header.grid, this.key - first);
  }

  describe(query) {
    const row = this.row(query);
    const key = this.key < 0 ? row.indexOf(Math.max(...row)) : this.key;
    let columnSum = 0;
    for (let q = 0; q < this.count; q++) columnSum += this.weights[q * this.count + key];
    const rowSum = row.reduce((total, value) => total + value, 0);
    const { causal, prefix } = this.message.header;
    const pair = [query, key].map((token) => tokenIndex(prefix, token)).join(', ');
    this.facts.textContent = [
      `query: ${this.nameOf(query)}`,
      `key: ${this.nameOf(key)}${this.key < 0 ? ' (the largest weight)' : ''}`,
      `A[${pair}] = ${weight(row[key])}${causal && key > query ? ' (masked: comes after the query)' : ''}`,
      `row sum ${rowSum.toFixed(2)}, column sum ${columnSum.toFixed(2)}`,
    ].join('\n');
  }

  // ------------------------------------------------------------ a new message
  read({ arrays }) {
    const { data, shape } = arrays.codes;
    [this.count] = shape;
    this.weights = new Float32Array(data.length);
    for (let i = 0; i < data.length; i++)
      this.weights[i] = weightOf(data[i], arrays.max.data[Math.floor(i / this.count)]);
  }

  build({ header }) {
    const names = header.words ?? header.prefix.map(tokenName);
    this.tokens.replaceChildren();
    this.chips = names.map((name, token) => {
      const chip = button(this.tokens, '', () => this.pin(token), { class: 'mx-chip' });
      el(chip, 'b', {}, name);
      el(chip, 'span', { class: 'mx-weight' });
      chip.onpointerenter = () => this.select(token, -1);
      chip.onpointerleave = () => this.select(-1, -1);
      chip.onfocus = () => this.select(token, -1);
      chip.onblur = () => this.select(-1, -1);
      return chip;
    });
    this.stage.node.style.display = header.words ? 'none' : '';
    this.stage.shape(header.grid);
  }

  update(message, fresh) {
    this.message = message;
    const { header, colors, width } = message;
    this.root.classList.toggle('mx-narrow', width < 520);
    if (fresh) {
      this.read(message);
      this.build(message);
    }
    const table = accentLut(colors.query);
    this.image = heat(this.weights, this.count, this.count, table, 0, header.top);
    const words = ['weight 0', '', `≥ ${weight(header.top)}`];
    const label = `Colour scale from weight 0 to ${weight(header.top)}`;
    legend(this.scale, { table, width: 220, words, colors, label });
    this.draw();
    if (!header.words) this.photo.show(message, (bitmap) => this.stage.showImage(bitmap));
  }
}

// The matrix of one head beside its picture, or between words: a row under the pointer is a query, a column a key; the
// picture's patch under the pointer is the query too. Everything is drawn here from one message.

import { button, canvas, el, fit, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { coverOnce, photo } from '../../views/kit/photo.js';
import { mark, pinOf, tokenOfPin } from '../../views/kit/place.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { accentLut, legend } from '../../views/kit/ramp.js';
import { patchName, tokenName } from '../../views/kit/words.js';
import { grown } from '../../views/kit/grow.js';

const LABEL_PX = 13; // a row's label needs this much of the axis
const weight = (value) => (value >= 0.001 ? value.toFixed(3) : value === 0 ? '0' : value.toExponential(1));

class Matrix {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, now: null, query: -1, key: -1, photo: photo(root) });
    this.page = el(root, 'div', { class: 'mx' });
    this.left = el(this.page, 'div', { class: 'mx-left' });
    this.tokens = el(this.left, 'div', { class: 'vv-row mx-tokens' });
    this.stage = el(this.left, 'div', { class: 'mx-stage' });
    this.base = el(this.stage, 'canvas', { class: 'mx-base', 'aria-hidden': 'true' });
    this.veil = el(this.stage, 'canvas', { class: 'mx-veil', 'aria-hidden': 'true' });
    this.asks = el(this.stage, 'div', { class: 'mx-query' });
    this.seen = el(this.stage, 'div', { class: 'mx-key' });
    this.facts = el(this.left, 'div', { class: 'vv-mono mx-facts' });
    this.right = el(this.page, 'div', { class: 'mx-right' });
    this.board = canvas(this.right);
    this.scale = canvas(el(this.right, 'div', { class: 'mx-scale' }));
    this.say = live(root);
    this.navigate();
  }

  navigate() {
    this.patches = gridNavigation(this.stage, {
      label: 'The picture: the patch under the pointer is the query, its row is marked in the matrix',
      rows: () => this.now?.header.grid[0] ?? 1,
      cols: () => this.now?.header.grid[1] ?? 1,
      hover: (i, event) => this.look(i < 0 ? -1 : this.now.header.prefix.length + i, -1, event),
      pick: (i) => this.pin(this.now.header.prefix.length + i),
    });
    this.stage.style.touchAction = 'pan-y';
    this.cells = gridNavigation(this.board.node, {
      label: 'Attention matrix: rows are queries, columns keys',
      rows: () => this.count,
      cols: () => this.count,
      cellAt: (x, y) => this.cellAt(x, y),
      hover: (i, event) => this.look(i < 0 ? -1 : Math.floor(i / this.count), i < 0 ? -1 : i % this.count, event),
      pick: (i) => this.pin(Math.floor(i / this.count)),
      start: () => this.home() * this.count,
    });
  }

  /** The query where nothing is pointed at: the pin; of a sentence the sixth word, 'he'. */
  home() {
    const { header } = this.now;
    if (header.words) return Math.max(0, header.words.indexOf('he'));
    const pinned = header.pin ? tokenOfPin(header, header.pin) : -1;
    return Math.max(0, pinned);
  }

  nameOf(token) {
    const { words, prefix, grid } = this.now.header;
    if (words) return words[token];
    return token < prefix.length ? tokenName(prefix[token]) : patchName(token - prefix.length, grid[1]);
  }

  cellAt(x, y) {
    const { left, top, side } = this.frame;
    const col = Math.floor(((x - left) / side) * this.count);
    const row = Math.floor(((y - top) / side) * this.count);
    return col >= 0 && row >= 0 && col < this.count && row < this.count ? row * this.count + col : -1;
  }

  look(query, key, event) {
    this.query = query;
    this.key = key;
    this.draw();
    if (event?.type === 'keydown') this.say(this.facts.textContent);
  }

  pin(token) {
    const { words, prefix, grid } = this.now.header;
    if (words) return;
    this.trigger('pin', token < prefix.length ? prefix[token] : pinOf(grid, token - prefix.length));
  }

  // ------------------------------------------------------------ drawing
  draw() {
    const query = this.query < 0 ? this.home() : this.query;
    this.drawMatrix(query);
    this.drawTokens(query);
    if (!this.now.header.words) this.drawPicture(query);
    this.tell(query);
    Object.assign(this.root.dataset, { query: String(query), key: String(this.key) });
  }

  row(query) {
    return this.weights.subarray(query * this.count, (query + 1) * this.count);
  }

  drawMatrix(query) {
    const { colors, width } = this.now;
    const narrow = this.root.classList.contains('mx-narrow');
    const room = narrow ? width : Math.min(grown(this.now.header.words ? 420 : 600), width * 0.56);
    const left = this.now.header.words ? 52 : 60;
    const top = this.now.header.words ? 44 : 24;
    const side = Math.max(80, Math.floor(room - left));
    this.frame = { left, top, side };
    const ctx = this.board.size(room, top + side + 1);
    ctx.fillStyle = colors.panel;
    ctx.fillRect(left, top, side, side);
    blit(ctx, this.image, left, top, side, side);
    this.drawAxes(ctx);
    const cell = side / this.count;
    const thick = Math.max(2, cell);
    const band = (at) => at * cell + (cell - thick) / 2;
    ctx.lineWidth = 1.5;
    ctx.strokeStyle = colors.query;
    ctx.strokeRect(left + 0.75, top + band(query), side - 1.5, thick);
    if (this.key < 0) return;
    ctx.strokeStyle = colors.primary;
    ctx.strokeRect(left + band(this.key), top + 0.75, thick, side - 1.5);
  }

  /** Names of the axes, and a label for every row of patches, or for every word. */
  drawAxes(ctx) {
    const { header, colors } = this.now;
    const { left, top, side } = this.frame;
    const cell = side / this.count;
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    const labels = header.words ? header.words.map((word, i) => [i, word]) : this.rowLabels();
    let last = -Infinity;
    for (const [token, text] of labels) {
      const y = top + (token + 0.5) * cell;
      if (y - last < LABEL_PX) continue;
      last = y;
      ctx.textAlign = 'right';
      ctx.fillText(fit(ctx, text, left - 8), left - 6, y);
      if (!header.words) continue;
      ctx.textAlign = 'center';
      ctx.fillText(fit(ctx, text, cell), left + (token + 0.5) * cell, top - 10);
    }
    ctx.textAlign = 'left';
    ctx.fillText('keys →', left, header.words ? 10 : 12);
    ctx.textAlign = 'right';
    ctx.fillText('queries ↓', left - 6, header.words ? 10 : 12);
  }

  rowLabels() {
    const { prefix, grid } = this.now.header;
    const rows = Array.from({ length: grid[0] }, (_, r) => [prefix.length + r * grid[1], `row ${r + 1}`]);
    return [...prefix.map((name, i) => [i, tokenName(name)]), ...rows];
  }

  /** Tokens without a patch, or the words of a sentence: their weight as the depth of their ground. */
  drawTokens(query) {
    const row = this.row(query);
    const top = row.reduce((most, value) => Math.max(most, value), 0) || 1;
    this.chips.forEach((chip, token) => {
      chip.classList.toggle('mx-on', token === query);
      chip.classList.toggle('mx-seen', token === this.key);
      chip.style.setProperty('--mx-weight', `${Math.round((100 * row[token]) / top)}%`);
      chip.lastChild.textContent = weight(row[token]);
    });
  }

  drawPicture(query) {
    const { header, colors } = this.now;
    const [rows, cols] = header.grid;
    const first = header.prefix.length;
    const values = this.row(query).subarray(first);
    const top = values.reduce((most, value) => Math.max(most, value), 0);
    Object.assign(this.veil, { width: cols, height: rows });
    blit(this.veil.getContext('2d'), heat(values, rows, cols, accentLut(colors.query), 0, top), 0, 0, cols, rows);
    mark(this.asks, header.grid, query - first);
    mark(this.seen, header.grid, this.key - first);
  }

  tell(query) {
    const row = this.row(query);
    const key = this.key < 0 ? row.indexOf(Math.max(...row)) : this.key;
    let onto = 0;
    for (let q = 0; q < this.count; q++) onto += this.weights[q * this.count + key];
    const sum = row.reduce((total, value) => total + value, 0);
    const masked = this.now.header.causal && key > query;
    this.facts.textContent = [
      `query ${query}: ${this.nameOf(query)}`,
      `key ${key}: ${this.nameOf(key)}${this.key < 0 ? ', its strongest' : ''}`,
      `A[${query}, ${key}] = ${weight(row[key])}${masked ? ', masked: it comes later' : ''}`,
      `row sums to ${sum.toFixed(2)}, column to ${onto.toFixed(2)}`,
    ].join('\n');
  }

  // ------------------------------------------------------------ a new message
  read({ arrays }) {
    const { data, shape } = arrays.codes;
    [this.count] = shape;
    this.weights = new Float32Array(data.length);
    for (let i = 0; i < data.length; i++)
      this.weights[i] = (data[i] / 255) ** 2 * arrays.max.data[Math.floor(i / this.count)];
  }

  build({ header }) {
    const names = header.words ?? header.prefix.map(tokenName);
    this.tokens.replaceChildren();
    this.chips = names.map((name, token) => {
      const chip = button(this.tokens, '', () => this.pin(token), { class: 'mx-chip' });
      el(chip, 'b', {}, name);
      el(chip, 'span', { class: 'mx-weight' });
      chip.onpointerenter = () => this.look(token, -1);
      chip.onpointerleave = () => this.look(-1, -1);
      chip.onfocus = () => this.look(token, -1);
      chip.onblur = () => this.look(-1, -1);
      return chip;
    });
    this.stage.style.display = header.words ? 'none' : '';
    this.stage.style.aspectRatio = `${header.grid[1]} / ${header.grid[0]}`;
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const { header, colors, width } = message;
    this.root.classList.toggle('mx-narrow', width < 640);
    if (fresh) {
      this.read(message);
      this.build(message);
    }
    const table = accentLut(colors.query);
    this.image = heat(this.weights, this.count, this.count, table, 0, header.top);
    const words = ['weight 0', '', `${weight(header.top)} and more`];
    legend(this.scale, { table, width: 220, words, colors, label: `Colours from weight 0 to ${weight(header.top)}` });
    this.draw();
    if (!header.words) this.photo.show(message, (bitmap) => coverOnce(this.base, bitmap));
  }
}

export default function matrix(context) {
  const view = new Matrix(context);
  return (message) => view.update(message);
}

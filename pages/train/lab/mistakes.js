// Every mistake at the moment that the timeline shows: a table of classes with counts, and the pictures behind a cell,
// each with the probability of its true class through the training.

import { stroke } from '../../views/kit/axes.js';
import { canvas, el } from '../../views/kit/dom.js';
import { cover, picture } from '../../views/kit/pixels.js';
import { SEQUENTIAL_LUT, channelsAt } from '../../views/kit/ramp.js';

const MOST_TILES = 36;
const LEAST_TOP = 5; // mistakes that have the scale's brightest colour: a single one must not
const LINE = { width: 64, height: 22 };
const HEAD = 20; // px above the table

const percent = (share) => `${(100 * share).toFixed(0)}\u00a0%`;

/** What one picture was read as, and the probability of its true class, at a moment. */
const at = ({ data, shape: [, , n] }, moment, k) => ({
  guess: data[2 * moment * n + k],
  given: data[(2 * moment + 1) * n + k] / 255,
});

/** The wrong pictures of a moment, most wrong first: [{k, label, guess, given}]. */
function mistaken(p, array, moment) {
  const found = p.labels
    .map((label, k) => ({ k, label, ...at(array, moment, k) }))
    .filter(({ label, guess }) => guess !== label);
  return found.sort((a, b) => a.given - b.given || a.k - b.k);
}

/** How often each pair (true, read as) stands among mistakes, most often first: [{label, guess, count}]. */
export function pairs(wrong) {
  const found = new Map();
  for (const { label, guess } of wrong) {
    const key = `${label} ${guess}`;
    if (!found.has(key)) found.set(key, { key, label, guess, count: 0 });
    found.get(key).count += 1;
  }
  return [...found.values()].sort((a, b) => b.count - a.count || a.label - b.label || a.guess - b.guess);
}

export class Mistakes {
  constructor(card, title) {
    this.pair = '';
    el(el(card, 'figcaption', { class: 'life-head' }), 'span', { class: 'life-title' }, title);
    this.note = el(card, 'div', { class: 'life-note vv-muted' });
    this.body = el(card, 'div', { class: 'mistakes' });
    this.table = canvas(el(this.body, 'div'), { class: 'mistakes-table', role: 'img' });
    const side = el(this.body, 'div');
    this.choice = el(side, 'select', { class: 'mistakes-pair', 'aria-label': 'Which mistakes' });
    this.choice.onchange = () => this.choose(this.choice.value);
    this.tiles = el(side, 'div', { class: 'mistakes-tiles' });
    this.more = el(side, 'div', { class: 'vv-muted' });
    this.table.node.onclick = (event) => this.click(event);
  }

  choose(pair) {
    this.pair = pair;
    this.draw(this.p, this.now, this.moment);
  }

  click({ offsetX, offsetY }) {
    const { left, side } = this.cells;
    const guess = Math.floor((offsetX - left) / side);
    const label = Math.floor((offsetY - HEAD) / side);
    const key = `${label} ${guess}`;
    const known = [...this.choice.options].some((option) => option.value === key);
    this.choose(known && key !== this.pair ? key : '');
  }

  draw(p, now, moment) {
    Object.assign(this, { p, now, moment });
    this.array = now.arrays[p.name];
    const base = now.arrays[`${p.name}_base`];
    if (this.base !== base) {
      this.base = base;
      this.pictures = new Map();
    }
    this.note.textContent = p.captions[moment] ?? '';
    const wrong = mistaken(p, this.array, moment);
    const found = pairs(wrong);
    this.offer(wrong.length, found);
    this.drawTable(found);
    const shown = wrong.filter(({ label, guess }) => !this.pair || this.pair === `${label} ${guess}`);
    this.drawTiles(shown);
  }

  /** The list of pairs, which is the table for keys and screen readers; a pair that is gone keeps its place in it. */
  offer(count, found) {
    const { names } = this.p;
    const words = ({ label, guess, count: often }) => `${names[label]} read as ${names[guess]} (${often})`;
    const kept = this.pair && !found.some(({ key }) => key === this.pair);
    const gone = kept ? [{ key: this.pair, text: `${this.pairWords()} (0)` }] : [];
    const rows = [
      { key: '', text: `all mistakes (${count})` },
      ...gone,
      ...found.map((pair) => ({ key: pair.key, text: words(pair) })),
    ];
    const now = JSON.stringify(rows);
    if (this.offered !== now) {
      this.offered = now;
      this.choice.replaceChildren();
      for (const { key, text } of rows) el(this.choice, 'option', { value: key }, text);
    }
    this.choice.value = this.pair;
  }

  pairWords() {
    const [label, guess] = this.pair.split(' ').map(Number);
    return `${this.p.names[label]} read as ${this.p.names[guess]}`;
  }

  drawTable(found) {
    const { names, table: readable } = this.p;
    this.body.classList.toggle('mistakes-bare', !readable);
    this.table.node.parentElement.hidden = !readable;
    if (!readable) return;
    const { colors } = this.now;
    const short = names.every((name) => name.length <= 3);
    const left = short ? 24 : 0;
    const width = Math.min(420, Math.max(200, this.table.node.parentElement.clientWidth));
    const side = (width - left) / names.length;
    this.cells = { left, side };
    const ctx = this.table.size(width, HEAD + side * names.length);
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'left';
    ctx.fillText('true ↓  read as →', 0, 8);
    if (short) names.forEach((name, i) => ctx.fillText(name, 6, HEAD + (i + 0.5) * side));
    ctx.textAlign = 'center';
    const most = Math.max(LEAST_TOP, ...found.map(({ count }) => count));
    for (let i = 0; i < names.length; i++) this.drawCell(ctx, i, i, '', colors.line);
    for (const pair of found) {
      const share = 0.25 + (0.75 * pair.count) / most;
      this.drawCell(ctx, pair.label, pair.guess, pair.count, `rgb(${channelsAt(SEQUENTIAL_LUT, share)})`, share);
    }
    this.drawRing(ctx);
    const most3 = found.slice(0, 3).map(({ label, guess, count }) => `${names[label]} as ${names[guess]} ${count}`);
    this.table.node.setAttribute('aria-label', `Mistakes by true class and reading. ${most3.join(', ') || 'None'}.`);
  }

  drawCell(ctx, row, col, text, fill, share = 0) {
    const { left, side } = this.cells;
    ctx.fillStyle = fill;
    ctx.fillRect(left + col * side + 1, HEAD + row * side + 1, side - 2, side - 2);
    if (text === '' || side < 14) return;
    ctx.fillStyle = share > 0.62 ? '#1b1b1b' : '#ffffff';
    ctx.fillText(String(text), left + (col + 0.5) * side, HEAD + (row + 0.5) * side);
  }

  drawRing(ctx) {
    if (!this.pair) return;
    const { left, side } = this.cells;
    const [row, col] = this.pair.split(' ').map(Number);
    ctx.strokeStyle = this.now.colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect(left + col * side + 1, HEAD + row * side + 1, side - 2, side - 2);
  }

  drawTiles(shown) {
    const some = shown.slice(0, MOST_TILES);
    this.tiles.replaceChildren(...some.map((one) => this.tile(one)));
    const { length } = shown;
    const rest = length > some.length ? `The ${some.length} most wrong of ${length}. ` : '';
    const line = 'The line under a picture is the probability of its true class through the training, 0 to 100\u00a0%.';
    this.more.textContent = length ? rest + line : 'No picture here is wrong at this moment.';
  }

  tile({ k, label, guess, given }) {
    const { names } = this.p;
    const tile = el(null, 'figure', { class: 'mistakes-tile' });
    const words = `${names[label]} read as ${names[guess]}, true class ${percent(given)}`;
    const shown = el(tile, 'canvas', { class: 'mistakes-picture', role: 'img', 'aria-label': words });
    cover(shown, this.pictureOf(k));
    el(tile, 'div', {}, `${names[label]} → ${names[guess]}`);
    const line = canvas(tile, { 'aria-hidden': 'true' });
    this.drawLine(line, k);
    el(tile, 'div', { class: 'vv-muted' }, `true ${percent(given)}`);
    return tile;
  }

  pictureOf(k) {
    if (!this.pictures.has(k)) {
      const [, h, w, c = 1] = this.base.shape;
      const size = h * w * c;
      const data = this.base.data.subarray(k * size, (k + 1) * size);
      this.pictures.set(k, picture({ data, shape: c === 1 ? [h, w] : [h, w, c] }));
    }
    return this.pictures.get(k);
  }

  /** The probability of the true class over the snapshots, with the moment marked. */
  drawLine(line, k) {
    const [count] = this.array.shape;
    const { width, height } = LINE;
    const { colors } = this.now;
    const ctx = line.size(width, height);
    const x = (i) => 2 + ((width - 4) * i) / Math.max(1, count - 1);
    const y = (i) => height - 3 - (height - 6) * at(this.array, i, k).given;
    ctx.strokeStyle = colors.line;
    stroke(ctx, [
      [0, height - 2],
      [width, height - 2],
    ]);
    ctx.strokeStyle = colors.muted;
    ctx.lineWidth = 1.5;
    stroke(
      ctx,
      Array.from({ length: count }, (_, i) => [x(i), y(i)]),
    );
    ctx.fillStyle = colors.query;
    ctx.beginPath();
    ctx.arc(x(this.moment), y(this.moment), 3, 0, 2 * Math.PI);
    ctx.fill();
  }
}

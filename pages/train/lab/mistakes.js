// Mistakes at the selected snapshot: a confusion matrix, and the images of a cell with the probability of their true
// class over training.

import { fill, frame, write } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { cover, picture } from '../../../vitviz/browser/kit/pixels.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';
import { SEQUENTIAL_LUT, channelsAt, inkOn } from '../../../vitviz/browser/kit/colour_ramp.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

const MOST_TILES = 36;
const LEAST_TOP = 5; // smallest count with the brightest color, so that a single mistake stays dark
const LINE = { width: 64, height: 22 };
const HEAD = 20; // px above the table

/** Return an image's predicted class and the probability of its true class at a snapshot. */
const predictionAt = ({ data, shape: [, , n] }, moment, k) => ({
  guess: data[2 * moment * n + k],
  given: data[(2 * moment + 1) * n + k] / 100, // whole percents
});

/** Return the misclassified images, lowest true-class probability first: [{k, label, guess, given}]. */
export function listMistakes(p, array, moment) {
  return p.labels
    .map((label, k) => ({ k, label, ...predictionAt(array, moment, k) }))
    .filter(({ label, guess }) => guess !== label)
    .sort((a, b) => a.given - b.given || a.k - b.k);
}

/** Count the mistakes per pair (true, predicted class), most frequent first: [{label, guess, count}]. */
export function countPairs(wrong) {
  const counts = new Map();
  for (const { label, guess } of wrong) {
    const key = `${label} ${guess}`;
    if (!counts.has(key)) counts.set(key, { key, label, guess, count: 0 });
    counts.get(key).count += 1;
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || a.label - b.label || a.guess - b.guess);
}

export class Mistakes {
  constructor(card, title) {
    this.pair = '';
    el(el(card, 'figcaption', { class: 'timeline-head' }), 'span', { class: 'timeline-title' }, title);
    this.note = el(card, 'div', { class: 'timeline-note vv-muted' });
    this.body = el(card, 'div', { class: 'mistakes' });
    this.table = canvas(el(this.body, 'div'), { class: 'mistakes-table', role: 'img' });
    const side = el(this.body, 'div');
    this.choice = el(side, 'select', { class: 'mistakes-pair', 'aria-label': 'Mistakes shown' });
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
    const wrong = listMistakes(p, this.array, moment);
    const pairs = countPairs(wrong);
    this.fillChoice(wrong.length, pairs);
    this.drawTable(pairs);
    const shown = wrong.filter(({ label, guess }) => !this.pair || this.pair === `${label} ${guess}`);
    this.drawTiles(shown);
  }

  /** Fill the list of pairs, which makes the table accessible; the selected pair stays listed without mistakes. */
  fillChoice(count, pairs) {
    const absent = this.pair && !pairs.some(({ key }) => key === this.pair);
    const rows = [
      { key: '', text: `all mistakes (${count})` },
      ...(absent ? [{ key: this.pair, text: `${this.describePair(this.pair)} (0)` }] : []),
      ...pairs.map((pair) => ({ key: pair.key, text: `${this.describePair(pair.key)} (${pair.count})` })),
    ];
    const serialized = JSON.stringify(rows);
    if (this.options !== serialized) {
      this.options = serialized;
      this.choice.replaceChildren();
      for (const { key, text } of rows) el(this.choice, 'option', { value: key }, text);
    }
    this.choice.value = this.pair;
  }

  describePair(key) {
    const [label, guess] = key.split(' ').map((index) => this.p.names[Number(index)]);
    return `${label} predicted as ${guess}`;
  }

  drawTable(pairs) {
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
    write(ctx, colors, 'true ↓  predicted →', 0, 8);
    if (short) names.forEach((name, i) => write(ctx, colors, name, 6, HEAD + (i + 0.5) * side));
    const most = Math.max(LEAST_TOP, ...pairs.map(({ count }) => count));
    for (let i = 0; i < names.length; i++) this.drawCell(ctx, i, i, '', colors.line);
    for (const pair of pairs) {
      const share = 0.25 + (0.75 * pair.count) / most;
      this.drawCell(ctx, pair.label, pair.guess, pair.count, `rgb(${channelsAt(SEQUENTIAL_LUT, share)})`, share);
    }
    this.drawRing(ctx);
    const top3 = pairs.slice(0, 3).map(({ label, guess, count }) => `${names[label]} as ${names[guess]} ${count}`);
    this.table.node.setAttribute('aria-label', `Mistakes by true and predicted class. ${top3.join(', ') || 'None'}.`);
  }

  drawCell(ctx, row, col, text, shade, share = 0) {
    const { left, side } = this.cells;
    fill(ctx, shade, left + col * side + 1, HEAD + row * side + 1, side - 2, side - 2);
    if (text === '' || side < 14) return;
    const style = { color: inkOn(SEQUENTIAL_LUT, share), align: 'center' };
    write(ctx, this.now.colors, String(text), left + (col + 0.5) * side, HEAD + (row + 0.5) * side, style);
  }

  drawRing(ctx) {
    if (!this.pair) return;
    const { left, side } = this.cells;
    const [row, col] = this.pair.split(' ').map(Number);
    frame(ctx, left + col * side, HEAD + row * side, side, side);
  }

  drawTiles(shown) {
    const some = shown.slice(0, MOST_TILES);
    this.tiles.replaceChildren(...some.map((mistake) => this.tile(mistake)));
    const { length } = shown;
    const rest = length > some.length ? `The ${some.length} worst of ${length} mistakes. ` : '';
    const line = 'Line below each image: probability of its true class over training, 0 to 100\u00a0%.';
    this.more.textContent = length ? rest + line : 'No mistakes at this step.';
  }

  tile({ k, label, guess, given }) {
    const { names } = this.p;
    const tile = el(null, 'figure', { class: 'mistakes-tile' });
    const words = `${this.describePair(`${label} ${guess}`)}, true class ${percent(given, 0)}`;
    const shown = el(tile, 'canvas', { class: 'mistakes-picture', role: 'img', 'aria-label': words });
    cover(shown, this.pictureOf(k));
    el(tile, 'div', {}, `${names[label]} → ${names[guess]}`);
    const line = canvas(tile, { 'aria-hidden': 'true' });
    this.drawLine(line, k);
    el(tile, 'div', { class: 'vv-muted' }, `true ${percent(given, 0)}`);
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

  /** Draw the probability of the true class over the snapshots and mark the selected one. */
  drawLine(line, k) {
    const [count] = this.array.shape;
    const { width, height } = LINE;
    const { colors } = this.now;
    const edges = [2, width - 2, 3, height - 3];
    const plot = new Plot(line.size(width, height), colors, edges, { x: [0, Math.max(1, count - 1)] });
    plot.level(0, colors.line);
    const values = Array.from({ length: count }, (_, i) => [i, predictionAt(this.array, i, k).given]);
    plot.line(values, 0, { color: colors.muted, width: 1.5 });
    plot.dot(plot.x(this.moment), plot.y(values[this.moment][1]), 3, colors.primary);
  }
}

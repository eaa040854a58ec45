// Shuffled patches: they move to their new places; bars show class probabilities before and after.
// The engine computes them while the slider is dragged. Messages: puzzle() of vitviz/plots/patches.py.

import { watchSlider } from '../../controls/slider.js';
import { computeNewest, openModel, words } from '../../../vitviz/browser/engine/live_model.js';
import { fill, write } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el, setCount } from '../../../vitviz/browser/kit/dom.js';
import { animate } from '../../../vitviz/browser/kit/motion.js';
import { drawPatch, picture } from '../../../vitviz/browser/kit/pixels.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';

const STEP = 5; // percent of the slider

/** Return a probability as captions.py writes it. */
export function formatProbability(p) {
  if (p >= 5e-5) return `${Number((100 * p).toPrecision(3))} %`;
  if (!p) return '0';
  const [factor, power] = p.toExponential(0).split('e');
  const raised = [...String(Number(power))].map((sign) => (sign === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[sign])).join('');
  return `${factor}·10${raised}`;
}

/** Return which patch lies in each place once the first `count` of `moving` have moved. */
export function shuffledOrder(moving, count) {
  const order = Int32Array.from(moving, (_, i) => i);
  for (let i = 0; i < count; i++) order[moving[i]] = moving[(i + count - 1) % count];
  return order;
}

/** Return the image (C, S, S) with patch order[n] in place n. */
export function scramble({ data, shape: [channels, rows, width] }, patch, order) {
  const pixels = new Float32Array(data.length);
  const cols = width / patch;
  order.forEach((from, to) => {
    for (let c = 0; c < channels; c++)
      for (let y = 0; y < patch; y++) {
        const at = (place) => (c * rows + Math.floor(place / cols) * patch + y) * width + (place % cols) * patch;
        pixels.set(data.subarray(at(from), at(from) + patch), at(to));
      }
  });
  return pixels;
}

export default class PatchesPuzzle {
  /** alone: true in a file, where the view has a slider of its own. */
  constructor({ root, onUnmount, alone = false }) {
    this.root = root;
    this.words = words(root);
    this.follow = computeNewest((share) => this.compute(share));
    this.slider = watchSlider('patches-shuffled', (share) => {
      this.words.behind(true);
      this.follow(share);
    });
    onUnmount(() => {
      this.slider.end();
      this.words.end();
    });
    this.side = 0;
    this.stop = () => {};
    this.places = [];
    this.from = [];
    this.pair = el(this.root, 'div', { class: 'pt-pair' });
    this.figure = el(this.pair, 'figure');
    this.map = canvas(this.figure, { role: 'img' });
    this.list = el(this.pair, 'div', { class: 'pt-list' });
    if (alone) this.addSlider();
    this.bars = [];
  }

  addSlider() {
    el(this.figure, 'figcaption', {}, 'Shuffle the patches: none to all');
    const range = {
      type: 'range',
      min: '0',
      max: '100',
      step: String(STEP),
      'aria-label': 'Percent of shuffled patches',
    };
    this.own = el(this.figure, 'input', range);
    this.own.value = '100';
    this.own.oninput = () => this.follow(Number(this.own.value));
  }

  percent(p) {
    return `${(100 * p).toFixed(p >= 0.0995 ? 1 : 2)} %`;
  }

  draw(t) {
    const { cols } = this.message.header;
    const rows = this.places.length / cols;
    const cell = this.side / Math.max(rows, cols);
    const ctx = this.map.size(cols * cell, rows * cell);
    this.places.forEach((place, patch) => {
      const x0 = this.from[patch] % cols;
      const y0 = Math.floor(this.from[patch] / cols);
      const x1 = place % cols;
      const y1 = Math.floor(place / cols);
      const x = (x0 + (x1 - x0) * t) * cell;
      const y = (y0 + (y1 - y0) * t) * cell;
      drawPatch(ctx, this.image, [rows, cols], patch, [x, y, cell + 0.5, cell + 0.5]);
    });
  }

  /** Draw the image shuffled at a position of the slider, and the predictions, before the server knows of it. */
  async compute(share) {
    const { header, arrays } = this.message;
    const { bars, patch, counts } = header;
    if (bars.some(({ weights }) => !weights)) return;
    const order = shuffledOrder(arrays.moving.data, counts[Math.round(share / STEP)]);
    const pixels = scramble(arrays.input, patch, order);
    const drawn = [];
    for (const bar of bars) {
      const model = await openModel(bar.weights);
      const { positions } = bar;
      const [before, after] = [arrays.input.data, pixels].map((image) => model.predict(image, { positions }));
      const [known, now] = [await before, await after];
      const change = known.reduce((most, p, k) => Math.max(most, Math.abs(p - now[k])), 0);
      const rows = bar.rows.map(([name], i) => [name, known[bar.classes[i]], now[bar.classes[i]]]);
      drawn.push({ ...bar, rows, change: formatProbability(change).replace('%', 'points') });
    }
    if (this.message.header !== header) return;
    this.stop();
    this.load({ shown: arrays.shown, order: { data: order } });
    this.draw(1);
    this.from = this.places;
    this.drawAllBars({ header: { ...header, bars: drawn } });
    this.root.dataset.live = String(share);
  }

  drawBars(part, { title, note, change, rows }, width, most) {
    part.title.textContent = title;
    part.note.textContent = `${note} · largest change ${change} · grey: in order, blue: shuffled`;
    const ctx = part.view.size(width, rows.length * 44);
    const { colors } = this.message;
    const name = Math.min(110, width * 0.32);
    const room = width - name - 72;
    rows.forEach(([label, before, after], i) => {
      const y = i * 44 + 4;
      write(ctx, colors, label, 0, y + 16, { style: '14px', color: colors.ink, room: name - 8 });
      for (const [k, p, colour] of [
        [0, before, colors.muted],
        [1, after, colors.primary],
      ]) {
        const length = Math.max(2, (room * p) / most);
        fill(ctx, colour, name, y + k * 16 + 2, length, 12);
        const style = { style: '14px', color: k ? colors.ink : colors.muted };
        write(ctx, colors, this.percent(p), name + length + 6, y + k * 16 + 9, style);
      }
    });
    part.view.node.setAttribute(
      'aria-label',
      rows.map(([l, b, a]) => `${l}: in order ${this.percent(b)}, shuffled ${this.percent(a)}`).join('; '),
    );
  }

  update(message, fresh) {
    this.message = message;
    if (fresh) {
      this.slider.attach();
      this.words.behind(false);
      delete this.root.dataset.live;
    }
    this.side = message.width >= 640 ? Math.min(grown(560), message.width - 288) : Math.min(320, message.width);
    if (fresh) this.load(message.arrays);
    this.stop();
    const landed = () => {
      this.from = this.places;
    };
    if (fresh) this.stop = animate(450, (t) => this.draw(t), landed);
    else this.draw(1);
    const moved = this.places.filter((place, patch) => place !== patch).length;
    this.map.node.setAttribute('aria-label', `Image with ${moved} of ${this.places.length} patches moved`);
    this.drawAllBars(message);
  }

  load(arrays) {
    this.image = picture(arrays.shown);
    const next = new Array(arrays.order.data.length);
    arrays.order.data.forEach((patch, place) => {
      next[patch] = place;
    });
    this.from = this.places.length === next.length ? this.places : next.map((_, i) => i);
    this.places = next;
  }

  drawAllBars({ header }) {
    setCount(this.bars, header.bars.length, () => this.addBars());
    // All bars share one scale, so that models can be compared; with 1,000 classes a scale to 100 % would hide them.
    const most = Math.max(...header.bars.flatMap(({ rows }) => rows.flatMap(([, before, after]) => [before, after])));
    const narrowest = Math.min(...this.bars.map(({ box }) => box.clientWidth)); // they may wrap; one scale needs one width
    this.bars.forEach((part, i) => this.drawBars(part, header.bars[i], narrowest, most));
  }

  addBars() {
    const box = el(this.list, 'div', { class: 'pt-bars' });
    const title = el(box, 'div', { class: 'pt-strong' });
    return { box, title, note: el(box, 'div', { class: 'vv-muted' }), view: canvas(box, { role: 'img' }) };
  }
}

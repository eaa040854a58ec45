// Draw a race of models: accuracy over epochs, and beside it accuracy on original and shuffled images, or, if the
// message has `rows`, every seed of every model as a dot.

import { dot, levels, line, niceStep, niceTicks, spread, stroke, upwards } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live, tooltip } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameLines } from '../../vitviz/browser/kit/grid.js';
import { grown } from '../../vitviz/browser/kit/grow.js';
import { percent } from '../../vitviz/browser/kit/words.js';

const PLOT = { left: 44, top: 8, bottom: 40 };
const ROW = 46;

class Race {
  constructor({ root }) {
    this.root = root;
    this.build();
    this.listen();
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'ra-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div');
    el(this.left, 'div', { class: 'ra-title' }, 'Accuracy while training');
    el(this.left, 'div', { class: 'ra-note' }, 'validation images');
    this.curves = canvas(this.left, { class: 'ra-curves' });
    this.title = el(this.right, 'div', { class: 'ra-title' });
    this.note = el(this.right, 'div', { class: 'ra-note' });
    this.pairs = canvas(this.right, { role: 'img' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.message = null;
    this.epochs = [];
    this.hovered = -1;
    this.area = null;
  }

  listen() {
    gridNavigation(this.curves.node, {
      label: 'Accuracy over epochs',
      rows: () => 1,
      cols: () => Math.max(1, this.epochs.length),
      cellAt: (px) => {
        if (!this.area || !this.epochs.length) return -1;
        const x = px / grown(1);
        let best = 0;
        this.epochs.forEach((epoch, k) => {
          if (Math.abs(this.area.x(epoch) - x) < Math.abs(this.area.x(this.epochs[best]) - x)) best = k;
        });
        return best;
      },
      hover: (i, event) => {
        this.hovered = i;
        this.area = this.drawCurves(this.wide);
        if (i < 0 || i >= this.epochs.length) return this.tip.hide();
        const text = [`epoch ${+this.epochs[i].toPrecision(3)}`, ...this.valuesAt(this.epochs[i])];
        this.say(text.join(', '));
        const box = this.curves.node.getBoundingClientRect();
        const base = this.root.getBoundingClientRect();
        const y = event?.clientY !== undefined ? event.clientY - base.top : box.top - base.top + 120;
        this.tip.show(box.left - base.left + grown(this.area.x(this.epochs[i])), y, text.join('\n'));
      },
    });
  }

  curve(i) {
    const {
      data,
      shape: [, n],
    } = this.message.arrays[`curve${i}`];
    return { n, x: (k) => data[k], y: (k) => data[n + k] };
  }

  drawCurves(width) {
    const { header, colors } = this.message;
    const ctx = this.curves.size(width, grown(width < 460 ? 300 : 360), grown(1));
    const { height } = this.curves;
    const area = this.areaOf(ctx, this.curves.width, height);
    const { x0, x1, y0, y1 } = area;
    ctx.font = `12px ${colors.font}`;
    const ticks = [0, 0.25, 0.5, 0.75, 1];
    levels(ctx, colors, { ticks, y: area.y, x0, x1, word: (share) => `${Math.round(100 * share)}` });
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    const step = niceStep(header.epochs / Math.max(2, Math.min(6, (x1 - x0) / 60)));
    for (let epoch = 0; epoch <= header.epochs + 1e-9; epoch += step)
      ctx.fillText(String(+epoch.toPrecision(4)), area.x(epoch), y1 + 14);
    ctx.fillText('epochs', (x0 + x1) / 2, height - 8);
    upwards(ctx, 'accuracy, %', 10, (y0 + y1) / 2);
    const chance = area.y(header.chance);
    line(ctx, colors.muted, 1, x0, chance, x1, chance, [2, 3]);
    ctx.textAlign = 'right';
    ctx.fillText(`chance ${percent(header.chance, 0)}`, x1 - 8, chance + 12);
    const ends = header.racers.map((racer, i) => this.drawCurve(ctx, area, racer, i)).filter(Boolean);
    this.nameEnds(ctx, area, ends);
    const values = this.valuesAt(header.epochs).join(', ');
    nameLines(this.curves.node, `Accuracy over epochs: ${values || header.waiting}`);
    if (!ends.length) {
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'center';
      ctx.fillText(header.waiting, (x0 + x1) / 2, area.y(0.625));
    }
    if (this.hovered >= 0 && this.hovered < this.epochs.length) {
      const x = Math.round(area.x(this.epochs[this.hovered])) + 0.5;
      line(ctx, colors.muted, 1, x, y0, x, y1);
    }
    return area;
  }

  /** Return the plot's edges and scales; the right margin fits the longest name. */
  areaOf(ctx, width, height) {
    const { racers, epochs } = this.message.header;
    ctx.font = `13px ${this.message.colors.font}`;
    const margin = Math.ceil(Math.max(...racers.map(({ title }) => ctx.measureText(title).width))) + 28;
    const [x0, x1, y0, y1] = [PLOT.left, width - margin, PLOT.top, height - PLOT.bottom];
    const x = (epoch) => x0 + ((x1 - x0) * epoch) / epochs;
    return { x0, x1, y0, y1, x, y: (share) => y1 - (y1 - y0) * share };
  }

  /** Draw one model's line; return its end, null if it has no points. */
  drawCurve(ctx, area, racer, i) {
    const curve = this.curve(i);
    if (!curve.n) return null;
    ctx.strokeStyle = ctx.fillStyle = racer.color;
    ctx.lineWidth = 2.5;
    ctx.lineJoin = 'round';
    const points = Array.from({ length: curve.n }, (_, k) => [area.x(curve.x(k)), area.y(curve.y(k))]);
    stroke(ctx, points, i);
    const [x, y] = points[curve.n - 1];
    dot(ctx, x, y, 4);
    return { racer, x, y };
  }

  nameEnds(ctx, { x1, y0, y1 }, ends) {
    const { colors } = this.message;
    const wanted = ends.map((end) => end.y);
    const places = spread(wanted, 18, y0 + 6, y1 - 6);
    ctx.font = `13px ${colors.font}`;
    ctx.textAlign = 'left';
    ends.forEach(({ racer, ...end }, k) => {
      const x = Math.min(x1, end.x);
      ctx.globalAlpha = 0.6;
      line(ctx, racer.color, 1, x + 5, end.y, x + 15, places[k]);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colors.paper;
      ctx.fillRect(x + 17, places[k] - 8, ctx.measureText(racer.title).width + 4, 16);
      ctx.fillStyle = colors.ink;
      ctx.fillText(racer.title, x + 19, places[k]);
    });
  }

  drawPairs(room) {
    const { header, colors } = this.message;
    const height = 24 + ROW * header.racers.length + PLOT.bottom;
    const ctx = this.pairs.size(room, grown(height), grown(1));
    const { width } = this.pairs;
    const [x0, x1, y1] = [8, width - 12, height - PLOT.bottom];
    const x = (share) => x0 + (x1 - x0) * share;
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    ctx.fillStyle = colors.muted;
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const at = Math.round(x(share)) + 0.5;
      line(ctx, colors.line, 1, at, 16, at, y1);
      ctx.fillText(String(100 * share), Math.min(at, width - 12), y1 + 14);
    }
    ctx.fillText('accuracy, %     ● original     ○ patches shuffled', (x0 + x1) / 2, height - 8);
    line(ctx, colors.muted, 1, x(header.chance), 16, x(header.chance), y1, [2, 3]);
    const pairs = header.racers.map((racer, i) => this.drawPair(ctx, racer, x, 24 + ROW * (i + 0.68))).filter(Boolean);
    const label = `Accuracy on original images and with shuffled patches: ${pairs.join('; ')}`;
    this.pairs.node.setAttribute('aria-label', pairs.length ? label : header.waiting);
  }

  /** Draw every model's seeds as dots and their mean as a bar. */
  drawSeeds(room) {
    const { header, colors } = this.message;
    const height = 24 + ROW * header.racers.length + PLOT.bottom;
    const ctx = this.pairs.size(room, grown(height), grown(1));
    const { width } = this.pairs;
    const [x0, x1, y1] = [8, width - 12, height - PLOT.bottom];
    const [low, high] = header.rows.range;
    const x = (share) => x0 + ((x1 - x0) * (share - low)) / (high - low);
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    for (const tick of niceTicks(100 * low, 100 * high, 4)) {
      const share = tick / 100;
      const at = Math.round(x(share)) + 0.5;
      line(ctx, colors.line, 1, at, 16, at, y1);
      ctx.fillStyle = colors.muted;
      ctx.fillText(String(tick), Math.min(at, width - 16), y1 + 14);
    }
    ctx.fillText(header.rows.axis, (x0 + x1) / 2, height - 8);
    const rows = header.racers.map((racer, i) => this.drawRow(ctx, racer, x, 24 + ROW * (i + 0.68))).filter(Boolean);
    this.pairs.node.setAttribute(
      'aria-label',
      rows.length ? `${header.rows.title}: ${rows.join('; ')}` : header.waiting,
    );
  }

  drawRow(ctx, racer, x, y) {
    const [left, right] = this.message.header.rows.range.map(x);
    const start = left + this.label(ctx, racer.title, left, y, this.message.colors.ink) + 12;
    this.label(ctx, fitText(ctx, racer.told, right + 12 - start), start, y, this.message.colors.muted);
    if (!racer.dots.length) return racer.told ? `${racer.title} ${racer.told}` : null;
    ctx.fillStyle = racer.color;
    for (const value of racer.dots) {
      ctx.globalAlpha = 0.7;
      dot(ctx, x(value), y, 5);
    }
    ctx.globalAlpha = 1;
    const mean = x(racer.dots.reduce((sum, value) => sum + value, 0) / racer.dots.length);
    line(ctx, racer.color, 3, mean, y - 10, mean, y + 10);
    return `${racer.title} ${racer.told}`;
  }

  /** Write a label above a row on the background colour; return its width. */
  label(ctx, text, at, y, color) {
    ctx.textAlign = 'left';
    ctx.font = `13px ${this.message.colors.font}`;
    const wide = ctx.measureText(text).width;
    ctx.fillStyle = this.message.colors.paper;
    if (wide) ctx.fillRect(at - 2, y - 27, wide + 4, 16);
    ctx.fillStyle = color;
    ctx.fillText(text, at, y - 19);
    return wide;
  }

  /** Draw one model's two accuracies; return them in words, null if they are not measured yet. */
  drawPair(ctx, racer, x, y) {
    const { colors } = this.message;
    const wide = this.label(ctx, racer.title, x(0), y, colors.ink);
    if (!racer.measured) return null;
    const [whole, mixed] = racer.measured;
    const summary = `${percent(whole)}, shuffled ${percent(mixed)}`;
    this.label(ctx, summary, x(0) + wide + 12, y, colors.muted);
    line(ctx, colors.line, 4, x(mixed), y, x(whole), y);
    ctx.fillStyle = racer.color;
    dot(ctx, x(whole), y, 7);
    ctx.strokeStyle = racer.color;
    ctx.lineWidth = 2.5;
    ctx.fillStyle = colors.paper;
    dot(ctx, x(mixed), y, Math.abs(x(whole) - x(mixed)) < 6 ? 3.5 : 6);
    ctx.stroke();
    return `${racer.title} ${summary}`;
  }

  valuesAt(epoch) {
    return this.message.header.racers
      .map((racer, i) => {
        const line = this.curve(i);
        let best = -1;
        for (let k = 0; k < line.n; k++) if (line.x(k) <= epoch + 1e-6) best = k;
        return best < 0 ? null : `${racer.title} ${percent(line.y(best))}`;
      })
      .filter(Boolean);
  }

  update(message) {
    this.message = message;
    const { header, width } = this.message;
    const stacked = width < 720;
    const places = new Set();
    header.racers.forEach((_, i) => {
      const line = this.curve(i);
      for (let k = 0; k < line.n; k++) places.add(line.x(k));
    });
    this.epochs = [...places].sort((a, b) => a - b);
    if (this.hovered >= this.epochs.length) {
      this.hovered = -1;
      this.tip.hide();
    }
    const wide = stacked ? width : Math.round((width - 24) * 0.6);
    this.wide = wide;
    this.left.style.width = `${wide}px`;
    this.right.style.width = `${stacked ? width : width - 24 - wide}px`;
    const { rows } = header;
    this.title.textContent = rows ? rows.title : 'Original and with shuffled patches';
    const measured = header.images
      ? `${header.images.toLocaleString('en')} ${header.split} images, after ${[...new Set(header.at.map((at) => +at.toPrecision(3)))].join(' to ')} epochs`
      : 'measured at every snapshot and at the end';
    this.area = this.drawCurves(wide);
    this.note.textContent = rows ? rows.note : measured;
    const beside = stacked ? width : width - 24 - wide;
    if (rows) this.drawSeeds(beside);
    else this.drawPairs(beside);
  }
}

/** Return as many parts of a text as fit into `room` px, so that no part is cut. */
function fitText(ctx, text, room) {
  const parts = text.split(' · ');
  while (parts.length > 1 && ctx.measureText(parts.join(' · ')).width > room) parts.pop();
  return parts.join(' · ');
}

export default function race(context) {
  const view = new Race(context);
  return (message) => view.update(message);
}

// Draw a race of models: accuracy over epochs (every seed thin, the model thick), and beside it accuracy on original
// and shuffled images, or, if the message has `rows`, every seed of every model as a dot.

import { line } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live, tooltip } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameLines } from '../../vitviz/browser/kit/grid.js';
import { grown } from '../../vitviz/browser/kit/figure_scale.js';
import { nameMargin, Plot } from '../../vitviz/browser/kit/plot.js';
import { percent } from '../../vitviz/browser/kit/text.js';

const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
const HIDDEN = 'hidden until you predict';
const [ROW, LOW_ROW, MOST_HIGH] = [72, 46, 5]; // with the result below the name, or beside it where there are many
const inPercent = (share) => String(+(100 * share).toFixed(4));

export default class Race {
  constructor({ root }) {
    this.root = root;
    const stage = el(root, 'div', { class: 'ra-stage' });
    [this.left, this.right] = [el(stage, 'div'), el(stage, 'div')];
    el(this.left, 'div', { class: 'ra-title' }, 'Accuracy while training');
    this.curvesNote = el(this.left, 'div', { class: 'ra-note' });
    this.curves = canvas(this.left, { class: 'ra-curves' });
    this.title = el(this.right, 'div', { class: 'ra-title' });
    this.note = el(this.right, 'div', { class: 'ra-note' });
    this.rows = canvas(this.right, { role: 'img' });
    this.tip = tooltip(root);
    this.announce = live(root);
    Object.assign(this, { epochs: [], hovered: -1 });
    gridNavigation(this.curves.node, {
      label: 'Accuracy over epochs',
      grid: () => [1, Math.max(1, this.epochs.length)],
      cellAt: (px) => this.nearest(px / grown(1)),
      hover: (i, event) => this.hover(i, event),
    });
  }

  nearest(px) {
    const distances = this.epochs.map((epoch) => Math.abs(this.plot.x(epoch) - px));
    return distances.indexOf(Math.min(...distances));
  }

  hover(i, event) {
    this.hovered = i;
    this.drawCurves();
    const epoch = this.epochs[i];
    if (epoch === undefined) return this.tip.hide();
    const text = [`epoch ${+epoch.toPrecision(3)}`, ...this.valuesAt(epoch)];
    this.announce(text.join(', '));
    this.tip.showOver(this.curves.node, grown(this.plot.x(epoch)), event?.offsetY ?? 120, text.join('\n'));
  }

  /** Return the points [epoch, accuracy] of one curve. */
  points(name) {
    const { data, shape } = this.message.arrays[name];
    return Array.from({ length: shape[1] }, (_, k) => [data[k], data[shape[1] + k]]);
  }

  valuesAt(epoch) {
    return this.message.header.racers.flatMap(({ title, sample }, i) => {
      const last = this.points(`curve${i}`).findLast(([at]) => at <= epoch + 1e-6);
      return last ? `${title} ${percent(last[1])}${sample ? ` (${sample})` : ''}` : [];
    });
  }

  drawCurves() {
    const { header, colors } = this.message;
    const ctx = this.curves.size(this.wide, grown(this.wide < 460 ? 300 : (header.high ?? 520)), grown(1));
    const { width, height } = this.curves;
    const titles = header.racers.map(({ title }) => title);
    const right = width - (this.message.arrays.band ? 14 : nameMargin(ctx, colors, titles));
    const plot = new Plot(ctx, colors, [44, right, 8, height - 40], { x: [0, header.epochs] });
    this.plot = plot;
    plot.axisY(QUARTERS, inPercent, 'accuracy, %');
    const count = Math.max(2, Math.min(4, (right - 44) / 80));
    plot.axisX(plot.x.ticks(count), (epoch) => String(+epoch.toPrecision(4)), 'epochs');
    plot.level(header.chance, colors.muted, 1, [2, 3]);
    plot.text(`chance ${percent(header.chance, 0)}`, right - 8, plot.y(header.chance) + 12, { align: 'right' });
    if (this.message.arrays.band) this.drawBand(this.message.arrays.band);
    const ends = header.racers.map((racer, i) => this.drawRacer(racer, i)).filter(Boolean);
    plot.nameEnds(ends);
    if (this.message.arrays.band) plot.askAt(...this.findBandCentre());
    else if (!ends.length) plot.text(header.waiting || HIDDEN, (44 + right) / 2, plot.y(0.625), { paper: true });
    if (this.epochs[this.hovered] !== undefined) plot.upright(this.epochs[this.hovered]);
    const values = this.valuesAt(header.epochs).join(', ');
    nameLines(this.curves.node, `Accuracy over epochs: ${values || header.waiting || HIDDEN}`);
  }

  /** Draw the range of concealed curves: rows of epochs, lowest and highest accuracy. */
  drawBand({ data, shape: [, n] }) {
    this.plot.band(data.subarray(0, n), data.subarray(n, 2 * n), data.subarray(2 * n));
  }

  findBandCentre() {
    const { data, shape } = this.message.arrays.band;
    const [n, i] = [shape[1], shape[1] >> 1];
    return [this.plot.x(data[i]), this.plot.y((data[n + i] + data[2 * n + i]) / 2)];
  }

  drawRacer({ title, color, seeds = 0 }, i) {
    const band = this.message.arrays[`band${i}`];
    if (band) {
      const [places, n] = [this.points(`curve${i}`).map(([epoch]) => epoch), band.shape[1]];
      this.plot.band(places, band.data.subarray(0, n), band.data.subarray(n), { color, alpha: 0.15 });
    }
    for (let seed = 0; seed < seeds; seed++)
      this.plot.line(this.points(`curve${i}_${seed}`), i, { color, width: 1.25, alpha: 0.45 });
    const end = this.plot.line(this.points(`curve${i}`), i, { color });
    if (end) this.plot.dot(end.x, end.y, 4, color);
    return end && { ...end, name: title };
  }

  /** Draw one row per model: its seeds, or its accuracy on original and shuffled images. */
  drawRows(room) {
    const { header, colors } = this.message;
    const { rows, racers, chance } = header;
    const step = racers.length > MOST_HIGH ? LOW_ROW : ROW;
    const ctx = this.rows.size(room, grown(64 + step * racers.length), grown(1));
    const { width, height } = this.rows;
    const [low, high] = rows ? rows.range : [0, 1];
    const plot = new Plot(ctx, colors, [8, width - 14, 16, height - 40], { x: [low, high] });
    const title = rows ? rows.axis : 'accuracy, %     ● original     ○ patches shuffled';
    plot.axisX(rows ? plot.x.ticks(4) : QUARTERS, inPercent, title, { grid: true });
    const draw = rows ? this.drawSeeds : this.drawPair;
    const texts = racers.flatMap((racer, i) => {
      const y = 24 + step * (i + 1) - 15;
      const at = plot.x(chance); // beside the dots only: names stand above them
      if (low <= chance && chance <= high) line(ctx, colors.muted, 1, at, y - 10, at, y + 10, [2, 3]);
      return draw.call(this, plot, racer, y, step > LOW_ROW) ?? [];
    });
    const label = rows ? rows.title : 'Accuracy on original images and with shuffled patches';
    this.rows.node.setAttribute('aria-label', `${label}: ${texts.join('; ') || header.waiting || HIDDEN}`);
  }

  /** Write a model's name and its result above its row, in two lines if it is high. */
  nameRow(plot, title, result, y, isHigh) {
    plot.font('13px');
    const style = { align: 'left', paper: true };
    const end = plot.text(title, plot.x0, y - (isHigh ? 38 : 19), { ...style, color: plot.colors.ink });
    const start = plot.x0 + (isHigh ? 0 : 12 + end);
    plot.text(fitParts(plot.ctx, result, plot.x1 + 12 - start), start, y - 19, style);
  }

  drawSeeds(plot, { title, told, dots, color, interval }, y, isHigh) {
    this.nameRow(plot, title, told, y, isHigh);
    if (interval) line(plot.ctx, color, 1.5, plot.x(interval[0]), y, plot.x(interval[1]), y);
    for (const value of dots) plot.dot(plot.x(value), y, 5, color, { alpha: 0.7 });
    if (dots.length) {
      const mean = plot.x(dots.reduce((sum, value) => sum + value, 0) / dots.length);
      line(plot.ctx, color, 3, mean, y - 10, mean, y + 10);
    }
    return told || dots.length ? `${title} ${told}` : null;
  }

  drawPair(plot, { title, measured, color, intervals }, y, isHigh) {
    const result = measured ? `${percent(measured[0])}, shuffled ${percent(measured[1])}` : '';
    this.nameRow(plot, title, result, y, isHigh);
    if (!measured) return null;
    const [original, shuffled] = measured.map(plot.x);
    line(plot.ctx, plot.colors.line, 4, shuffled, y, original, y);
    for (const [low, high] of intervals) line(plot.ctx, color, 1.5, plot.x(low), y, plot.x(high), y);
    plot.dot(original, y, 7, color);
    plot.dot(shuffled, y, Math.abs(original - shuffled) < 6 ? 3.5 : 6, color, { ring: true });
    return `${title} ${result}`;
  }

  update(message) {
    this.message = message;
    const { header, width } = message;
    const { rows } = header;
    const places = header.racers.flatMap((_, i) => this.points(`curve${i}`).map(([epoch]) => epoch));
    this.epochs = [...new Set(places)].sort((a, b) => a - b);
    if (this.hovered >= this.epochs.length) {
      this.hovered = -1;
      this.tip.hide();
    }
    const stacked = width < 900;
    const isEmpty = rows && !header.racers.some(({ dots }) => dots.length);
    this.right.hidden = isEmpty;
    this.wide = stacked || isEmpty ? width : Math.round((width - 24) * (rows ? 0.7 : 0.6));
    const beside = stacked ? width : width - 24 - this.wide;
    this.left.style.width = `${this.wide}px`;
    this.right.style.width = `${beside}px`;
    this.curvesNote.textContent = header.note ?? 'validation images';
    this.title.textContent = rows ? rows.title : 'Original and with shuffled patches';
    this.note.textContent = rows ? rows.note : describeMeasurement(header);
    this.drawCurves();
    if (!isEmpty) this.drawRows(beside);
  }
}

function describeMeasurement({ images, split, at }) {
  if (!images) return 'measured at every snapshot and at the end';
  const epochs = [...new Set(at.map((epoch) => +epoch.toPrecision(3)))].join(' to ');
  return `${images.toLocaleString('en')} ${split} images, after ${epochs} epochs; lines: 95 % intervals`;
}

/** Return as many parts of a text as fit into `room` px, so that no part is cut. */
function fitParts(ctx, text, room) {
  const parts = text.split(' · ');
  while (parts.length > 1 && ctx.measureText(parts.join(' · ')).width > room) parts.pop();
  return parts.join(' · ');
}

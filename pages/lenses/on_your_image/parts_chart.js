// Draw every model's confidence in one class, for the whole image and for the current parts, one row per model.

import { line } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { nameMargin, Plot } from '../../../vitviz/browser/kit/plot.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

const ROW = 64;
const FOOT = 28;
const END = 16; // px beyond 0 % and 100 %, for the dots

export class PartsChart {
  constructor(parent) {
    this.box = el(parent, 'div', { class: 'op-chart op-confidence' });
    this.title = el(this.box, 'div', { class: 'op-title' });
    this.note = el(this.box, 'div', { class: 'op-note vv-muted' });
    this.view = canvas(this.box, { role: 'img' });
  }

  /** Draws rows of {name, color, before, now}: the probabilities of the class `className`. */
  draw(rows, className, colors, width) {
    this.title.textContent = `Confidence in ${className}`;
    this.note.textContent = 'Ring: whole image. Dot: current parts.';
    const ctx = this.view.size(width, ROW * rows.length + FOOT);
    const names = rows.map(({ name }) => name);
    const left = nameMargin(ctx, colors, names);
    const plot = new Plot(ctx, colors, [left, width - END, 0, ROW * rows.length]);
    plot.axisX([0, 0.5, 1], (share) => percent(share, 0), '', { grid: true });
    plot.font('13px');
    rows.forEach((row, i) => this.row(plot, row, ROW * (i + 0.5)));
    const labels = rows.map(({ name, before, now }) => `${name} ${percent(before)}, now ${percent(now)}`);
    this.view.node.setAttribute('aria-label', `Confidence in ${className}: ${labels.join('; ')}`);
  }

  row(plot, { name, color, before, now }, y) {
    const [from, to] = [before, now].map(plot.x);
    plot.text(name, plot.x0 - 8 - END, y, { color: plot.colors.ink, align: 'right' });
    line(plot.ctx, color, 2.5, from, y, to, y);
    plot.dot(from, y, 6.5, color, { ring: true });
    plot.dot(to, y, 4.5, color);
    const [align, shift] = now > 0.5 ? ['right', -12] : ['left', 12];
    if (now !== before) plot.text(percent(now), to + shift, y - 13, { align });
  }
}

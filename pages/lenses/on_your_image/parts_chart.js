// Draw every model's confidence in one class, for the whole image and for the current parts, one row per model.

import { dot, line } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { percent } from '../../../vitviz/browser/kit/words.js';

const ROW = 44;
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
    const height = ROW * rows.length + FOOT;
    const ctx = this.view.size(width, height);
    ctx.font = `13px ${colors.font}`;
    const names = Math.ceil(Math.max(...rows.map(({ name }) => ctx.measureText(name).width))) + 16;
    const [x0, x1] = [names + END, width - END];
    const x = (share) => x0 + (x1 - x0) * share;
    this.ticks(ctx, x, height - FOOT, colors);
    rows.forEach((row, i) => this.row(ctx, row, x, ROW * (i + 0.5), names, colors));
    const labels = rows.map(({ name, before, now }) => `${name} ${percent(before)}, now ${percent(now)}`);
    this.view.node.setAttribute('aria-label', `Confidence in ${className}: ${labels.join('; ')}`);
  }

  ticks(ctx, x, bottom, colors) {
    ctx.textBaseline = 'top';
    ctx.textAlign = 'center';
    for (const share of [0, 0.5, 1]) {
      const at = Math.round(x(share)) + 0.5;
      line(ctx, colors.line, 1, at, 0, at, bottom);
      ctx.fillStyle = colors.muted;
      ctx.fillText(percent(share, 0), x(share), bottom + 8);
    }
  }

  row(ctx, { name, color, before, now }, x, y, names, colors) {
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = colors.ink;
    ctx.fillText(name, names - 8, y);
    line(ctx, color, 2.5, x(before), y, x(now), y);
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.arc(x(before), y, 6.5, 0, 7);
    ctx.stroke();
    dot(ctx, x(now), y, 4.5);
    ctx.fillStyle = colors.muted;
    ctx.textAlign = now > 0.5 ? 'right' : 'left';
    if (now !== before) ctx.fillText(percent(now), x(now) + (now > 0.5 ? -12 : 12), y - 13);
  }
}

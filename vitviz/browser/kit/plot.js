// Draw ordinary plots on a canvas: two scales, axes, and marks that take values, as in Observable Plot.

import { clipped, dot, line, logTicks, niceTicks, spread, stroke, write } from './axes.js';

/** Return a scale from values to px, linear or logarithmic: scale(value), invert(px), domain, ticks(count). */
export function scaleOf([v0, v1], [p0, p1], log = false) {
  // A logarithmic scale cannot show 0 and less.
  const share = (v) => (log ? Math.log(v > 0 ? v / v0 : NaN) / Math.log(v1 / v0) : (v - v0) / (v1 - v0));
  const scale = (v) => p0 + (p1 - p0) * share(v);
  scale.invert = (px) => {
    const at = (px - p0) / (p1 - p0);
    return log ? v0 * (v1 / v0) ** at : v0 + at * (v1 - v0);
  };
  scale.domain = [v0, v1];
  scale.ticks = (count) => (log ? logTicks(v0, v1) : niceTicks(v0, v1, count));
  return scale;
}

/** A plot area with the edges x0, x1, y0, y1 in px and the scales x and y; y grows upwards. */
export class Plot {
  constructor(ctx, colors, [x0, x1, y0, y1], { x = [0, 1], y = [0, 1], logX = false, logY = false } = {}) {
    Object.assign(this, { ctx, colors, x0, x1, y0, y1 });
    this.x = scaleOf(x, [x0, x1], logX);
    this.y = scaleOf(y, [y1, y0], logY);
  }

  font(style = '13px') {
    this.ctx.font = `${style} ${this.colors.font}`;
  }

  /** Write text with its middle at y, on the background if `paper`; return its width. */
  text(text, x, y, { color = this.colors.muted, align = 'center', paper = false } = {}) {
    const { ctx } = this;
    const width = ctx.measureText(text).width;
    Object.assign(ctx, { textAlign: align, textBaseline: 'middle', fillStyle: this.colors.paper });
    if (paper && width) ctx.fillRect(x - 2, y - 8, width + 4, 16);
    ctx.fillStyle = color;
    ctx.fillText(text, x, y);
    return width;
  }

  /** Draw the vertical axis: a grid line and its label per tick, and an upright title. */
  axisY(ticks, word, title = '') {
    const { ctx, colors, x0, x1, y0, y1 } = this;
    this.font();
    for (const tick of ticks) {
      const y = Math.round(this.y(tick)) + 0.5;
      line(ctx, colors.line, 1, x0, y, x1, y);
      this.text(word(tick), x0 - 8, y, { align: 'right' });
    }
    write(ctx, colors, title, 10, (y0 + y1) / 2, { style: '13px', align: 'center', turn: -Math.PI / 2 });
  }

  /**
   * Draw the horizontal axis: a title, labels without those that would touch the one before, and grid lines if `grid`.
   * Align the outer labels inwards if `inside`.
   */
  axisX(ticks, word, title = '', { grid = false, inside = false } = {}) {
    this.font();
    let free = -Infinity;
    ticks.forEach((tick, i) => {
      if (grid) this.upright(tick, this.colors.line);
      const align = inside && i === 0 ? 'left' : inside && i === ticks.length - 1 ? 'right' : 'center';
      const width = this.ctx.measureText(word(tick)).width;
      const left = this.x(tick) - { left: 0, center: width / 2, right: width }[align];
      if (left < free) return;
      free = left + width + 4;
      this.text(word(tick), this.x(tick), this.y1 + 14, { align });
    });
    this.text(title, (this.x0 + this.x1) / 2, this.y1 + 32);
  }

  upright(x, color = this.colors.muted, width = 1, dash = []) {
    const at = Math.round(this.x(x)) + 0.5;
    line(this.ctx, color, width, at, this.y0, at, this.y1, dash);
  }

  level(y, color = this.colors.muted, width = 1, dash = []) {
    line(this.ctx, color, width, this.x0, this.y(y), this.x1, this.y(y), dash);
  }

  /** Draw the `place`-th line through points [x, y]; return its last visible point in px, or null. */
  line(points, place, { color, width = 2.5, alpha = 1 }) {
    const { ctx } = this;
    const drawn = points.map(([x, y]) => [this.x(x), this.y(y)]);
    Object.assign(ctx, { strokeStyle: color, lineWidth: width, lineJoin: 'round', globalAlpha: alpha });
    stroke(ctx, drawn, place);
    ctx.globalAlpha = 1;
    const end = drawn.findLast(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    return end ? { x: end[0], y: end[1], color } : null;
  }

  /** Draw a dot at px, or a ring. */
  dot(x, y, radius, color, { ring = false, alpha = 1 } = {}) {
    const { ctx } = this;
    Object.assign(ctx, { fillStyle: ring ? this.colors.paper : color, globalAlpha: alpha });
    dot(ctx, x, y, radius);
    ctx.globalAlpha = 1;
    if (!ring) return;
    Object.assign(ctx, { strokeStyle: color, lineWidth: 2.5 });
    ctx.stroke();
  }

  /** Draw inside the plot only, with room for dots, and up to `right`. */
  clip(draw, right = this.x1 + 7) {
    clipped(this.ctx, [this.x0 - 1, this.y0 - 6, right - this.x0 + 1, this.y1 - this.y0 + 12], draw);
  }

  /** Fill between two lines of values at places on x. */
  band(places, low, high, { color = this.colors.muted, alpha = 0.3 } = {}) {
    const { ctx } = this;
    Object.assign(ctx, { globalAlpha: alpha, fillStyle: color });
    ctx.beginPath();
    places.forEach((at, k) => ctx.lineTo(this.x(at), this.y(low[k])));
    for (let k = places.length - 1; k >= 0; k--) ctx.lineTo(this.x(places[k]), this.y(high[k]));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** Write names beside the ends {x, y, name, color} of lines, or at `column`, at least `gap` px apart. */
  nameEnds(ends, gap = 18) {
    const wanted = ends.map((end) => end.y);
    const places = spread(wanted, gap, this.y0 + 6, this.y1 - 6);
    this.font('13px');
    ends.forEach(({ name, color, x: from, y, column = from }, k) => {
      const x = Math.min(this.x1, column);
      this.ctx.globalAlpha = 0.6;
      line(this.ctx, color, 2, from + 5, y, x + 15, places[k]);
      this.ctx.globalAlpha = 1;
      this.text(name, x + 19, places[k], { color: this.colors.ink, align: 'left', paper: true });
    });
  }
}

/** Return the right margin in px that the names of lines need. */
export function nameMargin(ctx, colors, names) {
  ctx.font = `13px ${colors.font}`;
  return Math.ceil(Math.max(...names.map((name) => ctx.measureText(name).width))) + 28;
}

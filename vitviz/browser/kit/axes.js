// Compute ticks and draw axes, lines, boxes and labels.

import { fit } from './dom.js';

/** Return about `count` round ticks between lo and hi; quarters are round too. */
export function niceTicks(lo, hi, count) {
  const raw = (hi - lo) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw) ?? 10 * power;
  const ticks = [];
  for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-6; v += step)
    ticks.push(Number(v.toPrecision(12)));
  return ticks;
}

/** Return the ticks of a logarithmic axis: decades, with 2 and 5 or 3 between if few are shown. */
export function logTicks(lo, hi) {
  const decades = Math.log10(hi / lo);
  const factors = decades > 4 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let p = Math.floor(Math.log10(lo)); p <= Math.ceil(Math.log10(hi)); p++)
    for (const f of factors) {
      const v = f * 10 ** p;
      if (v >= lo * 0.999 && v <= hi * 1.001) ticks.push(v);
    }
  return ticks.length > 2 ? ticks : niceTicks(lo, hi, 4);
}

export function line(ctx, color, width, x0, y0, x1, y1, dash = []) {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Dash patterns that distinguish lines without colour; vitviz/plots/theme.py lists their names in this order. */
export const DASHES = {
  solid: [],
  dash: [9, 4],
  dot: [2, 3],
  dashdot: [9, 3, 2, 3],
  longdash: [16, 4],
  '5px,2px': [5, 2],
  longdashdot: [16, 3, 2, 3],
  '2px,6px': [2, 6],
};
const PATTERNS = Object.values(DASHES);

/** Draw the `place`-th line of a plot; non-finite values leave a gap. */
export function stroke(ctx, points, place = 0) {
  ctx.setLineDash(PATTERNS[place % PATTERNS.length]);
  ctx.beginPath();
  let pen = false;
  for (const [x, y] of points) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) pen = false;
    else if (pen) ctx.lineTo(x, y);
    else {
      ctx.moveTo(x, y);
      pen = true;
    }
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

export function dot(ctx, x, y, radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.fill();
}

export function circle(ctx, color, width, x, y, radius) {
  Object.assign(ctx, { strokeStyle: color, lineWidth: width });
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.stroke();
}

export function fill(ctx, color, x, y, w, h, alpha = 1) {
  Object.assign(ctx, { fillStyle: color, globalAlpha: alpha });
  ctx.fillRect(x, y, w, h);
  ctx.globalAlpha = 1;
}

export function outline(ctx, color, width, x, y, w, h) {
  Object.assign(ctx, { strokeStyle: color, lineWidth: width });
  ctx.strokeRect(x, y, w, h);
}

/** Write text anchored at (x, y), shortened to `room` px if given, and turned by an angle. */
export function write(ctx, colors, text, x, y, options = {}) {
  const { style = '12px', color = colors.muted, align = 'left', base = 'middle', room = Infinity, turn = 0 } = options;
  Object.assign(ctx, { font: `${style} ${colors.font}`, fillStyle: color, textAlign: align, textBaseline: base });
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(turn);
  ctx.fillText(room < Infinity ? fit(ctx, text, room) : text, 0, 0);
  ctx.restore();
}

/** Write text with an outline, readable on any image. */
export function writeOutlined(ctx, font, text, x, y, [color, around] = ['#fff', 'rgba(0,0,0,0.75)']) {
  Object.assign(ctx, { font, lineWidth: 3, lineJoin: 'round', strokeStyle: around, fillStyle: color });
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
}

/** Draw inside a box only, which may have round corners. */
export function clipped(ctx, [x, y, w, h], draw, radius = 0) {
  ctx.save();
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, radius);
  ctx.clip();
  draw();
  ctx.restore();
}

/** Draw a frame just inside a box, on a white one: the pin's double frame, white and ink, or a colour's. */
export function frame(ctx, x, y, w, h, color = '#0F151C', thick = 2.5) {
  const inside = [x + 1, y + 1, w - 2, h - 2];
  outline(ctx, '#fff', thick + (thick > 2.5 ? 2 : 1.5), ...inside);
  outline(ctx, color, thick, ...inside);
}

export function lattice(ctx, color, thick, rows, cols, width, height) {
  Object.assign(ctx, { strokeStyle: color, lineWidth: thick });
  ctx.beginPath();
  for (let i = 1; i < cols; i++) {
    ctx.moveTo((i * width) / cols, 0);
    ctx.lineTo((i * width) / cols, height);
  }
  for (let i = 1; i < rows; i++) {
    ctx.moveTo(0, (i * height) / rows);
    ctx.lineTo(width, (i * height) / rows);
  }
  ctx.stroke();
}

/** Spread positions at least `gap` apart between low and high, as close as possible to the wanted ones. */
export function spread(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const placed = [...wanted];
  order.forEach((i, k) => {
    placed[i] = Math.max(placed[i], k ? placed[order[k - 1]] + gap : low);
  });
  for (let k = order.length - 1, limit = high; k >= 0; k--) {
    placed[order[k]] = Math.min(placed[order[k]], limit);
    limit = placed[order[k]] - gap;
  }
  return placed;
}

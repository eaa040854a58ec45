// The image divided into patches, the strip of tokens, and the columns of E, with the number format of the stage.

import { fill, frame, outline, write } from '../../../vitviz/browser/kit/axes.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';

const THUMB = 36;
/** Pixels from one token of the strip to the next. */
export const STEP = 40;
/** Side of a column of E drawn as an image, in pixels. */
export const TILE = 36;

/** A number; in powers of ten where it would be 0.000. */
export const number = (v, digits = 3) =>
  (v && Math.abs(v) < 0.5 / 10 ** digits ? v.toExponential(1) : v.toFixed(digits)).replaceAll('-', '−');

/** The largest absolute value, 1 where all are 0. */
export const peak = (values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;

export function drawMap(view) {
  const { patch: P, rows, cols, dim } = view.message.header;
  const ctx = view.map.size(view.last.mapWidth, view.last.side);
  const chosen = view.patchOf(view.active());
  const pinned = view.patchOf(view.pinned);
  const tokens = view.message.arrays.tokens.data;
  for (let i = 0; i < rows * cols; i++) {
    const box = view.cellBox(i);
    const row = Math.floor(i / cols);
    const col = i % cols;
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(view.last.image, col * P, row * P, P, P, box.x, box.y, box.side, box.side);
    if (view.on.response) {
      const level = 4 * Math.round(127.5 * (1 + tokens[i * dim + view.column] / view.last.columnPeak(view.column)));
      fill(ctx, `rgb(${DIVERGING_LUT.subarray(level, level + 3).join()})`, box.x, box.y, box.side, box.side, 0.86);
    }
    if (view.apart < 0.04) {
      outline(ctx, 'rgba(255,255,255,0.55)', 1, box.x, box.y, box.side, box.side);
      outline(ctx, 'rgba(0,0,0,0.35)', 0.5, box.x, box.y, box.side, box.side);
    }
    if (view.on.numbers && box.side >= 18) writeNumber(view, ctx, box, i + 1);
  }
  for (const index of [pinned, chosen]) {
    if (index < 0) continue;
    const box = view.cellBox(index);
    frame(ctx, box.x, box.y, box.side, box.side, undefined, index === chosen ? 3 : 1.5);
  }
}

function writeNumber(view, ctx, box, text) {
  const px = Math.max(12, Math.min(14, box.side * 0.34));
  ctx.font = `600 ${px}px ${view.message.colors.font}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.lineWidth = 3;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = 'rgba(0,0,0,0.7)';
  ctx.fillStyle = '#fff';
  ctx.strokeText(text, box.x + 4, box.y + 3);
  ctx.fillText(text, box.x + 4, box.y + 3);
}

export function drawStrip(view) {
  const { patch: P, cols, prefix } = view.message.header;
  const total = view.prefixes() + view.count();
  const colors = view.message.colors;
  const ctx = view.strip.size(Math.min(view.message.width, total * STEP), THUMB + 24);
  const from = view.scroller.scrollLeft;
  const first = Math.max(0, Math.floor(from / STEP));
  const end = Math.min(total, Math.ceil((from + view.message.width) / STEP));
  const under = { align: 'center', base: 'alphabetic' };
  for (let t = first; t < end; t++) {
    const x = t * STEP - from + 2;
    const patch = view.patchOf(t);
    if (patch < 0) {
      fill(ctx, colors.panel, x, 2, THUMB, THUMB);
      outline(ctx, colors.muted, 1, x + 0.5, 2.5, THUMB - 1, THUMB - 1);
      const name = { ...under, style: '600 12px', color: colors.ink };
      write(ctx, colors, prefix[t].toUpperCase(), x + THUMB / 2, 24, name);
    } else blitPart(view, ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, x, 2, THUMB);
    const active = t === view.active();
    if (active) frame(ctx, x, 2, THUMB, THUMB);
    else if (t === view.pinned) outline(ctx, colors.ink, 2, x, 2, THUMB, THUMB);
    const style = { ...under, ...(active && { style: '600 12px', color: colors.ink }) };
    if (patch >= 0) write(ctx, colors, String(patch + 1), x + THUMB / 2, THUMB + 18, style);
  }
}

/** Draws a square of the model's input, scaled without smoothing. */
export function blitPart(view, ctx, sx, sy, from, x, y, to) {
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(view.last.image, sx, sy, from, from, x, y, to, to);
}

export function drawFilters(view) {
  const across = view.perRow();
  const total = view.shownFilters();
  const ctx = view.filters.size(view.message.width, Math.ceil(total / across) * (TILE + 4));
  view.last.filters.slice(0, total).forEach((image, d) => {
    const x = (d % across) * (TILE + 4);
    const y = Math.floor(d / across) * (TILE + 4);
    blit(ctx, image, x, y, TILE, TILE);
    if (d === view.column) frame(ctx, x + 1.5, y + 1.5, TILE - 3, TILE - 3);
  });
}

export function filterImage(view, d) {
  const { patch: P, channels } = view.message.header;
  const K = view.size();
  const w = view.message.arrays.weight.data.subarray(d * K, (d + 1) * K);
  if (channels !== 3) return heat(w, P * channels, P, DIVERGING_LUT, -peak(w), peak(w));
  const lo = w.reduce((a, b) => Math.min(a, b));
  const hi = w.reduce((a, b) => Math.max(a, b));
  const data = new Uint8Array(P * P * 3);
  for (let i = 0; i < P * P; i++)
    for (let c = 0; c < 3; c++) data[3 * i + c] = (255 * (w[c * P * P + i] - lo)) / (hi - lo || 1);
  return picture({ data, shape: [P, P, 3] });
}

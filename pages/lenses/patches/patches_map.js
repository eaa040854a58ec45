// The picture cut into patches, the strip of tokens, and E's columns as they are drawn.

import { peak } from './patches_words.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const THUMB = 36;
/** Pixels from one token of the strip to the next. */
export const STEP = 40;
/** A column of E as a picture: its side in pixels. */
export const TILE = 36;

export function drawMap(view) {
  const { patch: P, rows, cols, dim } = view.now.header;
  const ctx = view.map.size(view.last.mapWidth, view.last.side);
  const colors = view.now.colors;
  const chosen = view.patchOf(view.active());
  const hold = view.patchOf(view.pinned);
  const tokens = view.now.arrays.tokens.data;
  for (let i = 0; i < rows * cols; i++) {
    const box = view.cellBox(i);
    const row = Math.floor(i / cols);
    const col = i % cols;
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(view.last.image, col * P, row * P, P, P, box.x, box.y, box.side, box.side);
    if (view.on.response) {
      const level = 4 * Math.round(127.5 * (1 + tokens[i * dim + view.column] / view.last.columnPeak(view.column)));
      ctx.fillStyle = `rgba(${DIVERGING_LUT.subarray(level, level + 3).join()}, 0.86)`;
      ctx.fillRect(box.x, box.y, box.side, box.side);
    }
    if (view.apart < 0.04) {
      ctx.strokeStyle = 'rgba(255,255,255,0.55)';
      ctx.lineWidth = 1;
      ctx.strokeRect(box.x, box.y, box.side, box.side);
      ctx.strokeStyle = 'rgba(0,0,0,0.35)';
      ctx.lineWidth = 0.5;
      ctx.strokeRect(box.x, box.y, box.side, box.side);
    }
    if (view.on.numbers && box.side >= 18) label(view, ctx, box, i + 1);
  }
  for (const [index, colour, width] of [
    [hold, colors.paper, 4],
    [hold, colors.ink, 2],
    [chosen, colors.query, 3],
  ]) {
    if (index < 0) continue;
    const box = view.cellBox(index);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.strokeRect(box.x + width / 2, box.y + width / 2, box.side - width, box.side - width);
  }
}

function label(view, ctx, box, text) {
  const px = Math.max(10, Math.min(14, box.side * 0.34));
  ctx.font = `600 ${px}px ${view.now.colors.font}`;
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
  const { patch: P, cols, prefix } = view.now.header;
  const total = view.prefixes() + view.count();
  const colors = view.now.colors;
  const ctx = view.strip.size(Math.min(view.now.width, total * STEP), THUMB + 24);
  const from = view.scroller.scrollLeft;
  const first = Math.max(0, Math.floor(from / STEP));
  const end = Math.min(total, Math.ceil((from + view.now.width) / STEP));
  ctx.textAlign = 'center';
  ctx.textBaseline = 'alphabetic';
  for (let t = first; t < end; t++) {
    const x = t * STEP - from + 2;
    const patch = view.patchOf(t);
    if (patch < 0) {
      ctx.fillStyle = colors.panel;
      ctx.fillRect(x, 2, THUMB, THUMB);
      ctx.strokeStyle = colors.muted;
      ctx.lineWidth = 1;
      ctx.strokeRect(x + 0.5, 2.5, THUMB - 1, THUMB - 1);
      ctx.fillStyle = colors.ink;
      ctx.font = `600 11px ${colors.font}`;
      ctx.fillText(prefix[t].toUpperCase(), x + THUMB / 2, 24);
    } else blitPart(view, ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, x, 2, THUMB);
    const lit = t === view.active();
    if (lit || t === view.pinned) {
      ctx.strokeStyle = lit ? colors.query : colors.ink;
      ctx.lineWidth = lit ? 3 : 2;
      ctx.strokeRect(x, 2, THUMB, THUMB);
    }
    ctx.fillStyle = lit ? colors.query : colors.muted;
    ctx.font = `${lit ? 600 : 400} 12px ${colors.font}`;
    ctx.fillText(patch < 0 ? '' : String(patch + 1), x + THUMB / 2, THUMB + 18);
  }
}

/** A square of the picture that the model sees, scaled without smoothing. */
export function blitPart(view, ctx, sx, sy, from, x, y, to) {
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(view.last.image, sx, sy, from, from, x, y, to, to);
}

export function drawFilters(view) {
  const across = view.perRow();
  const total = view.shownFilters();
  const ctx = view.filters.size(view.now.width, Math.ceil(total / across) * (TILE + 4));
  view.last.filters.slice(0, total).forEach((image, d) => {
    const x = (d % across) * (TILE + 4);
    const y = Math.floor(d / across) * (TILE + 4);
    blit(ctx, image, x, y, TILE, TILE);
    if (d !== view.column) return;
    ctx.strokeStyle = view.now.colors.query;
    ctx.lineWidth = 3;
    ctx.strokeRect(x + 1.5, y + 1.5, TILE - 3, TILE - 3);
  });
}

export function filterImage(view, d) {
  const { patch: P, channels } = view.now.header;
  const K = view.size();
  const w = view.now.arrays.weight.data.subarray(d * K, (d + 1) * K);
  if (channels !== 3) return heat(w, P * channels, P, DIVERGING_LUT, -peak(w), peak(w));
  const lo = w.reduce((a, b) => Math.min(a, b));
  const hi = w.reduce((a, b) => Math.max(a, b));
  const data = new Uint8Array(P * P * 3);
  for (let i = 0; i < P * P; i++)
    for (let c = 0; c < 3; c++) data[3 * i + c] = (255 * (w[c * P * P + i] - lo)) / (hi - lo || 1);
  return picture({ data, shape: [P, P, 3] });
}

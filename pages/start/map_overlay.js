// Draw the layer above the tiles: one token's frame in every tile, connecting lines, and arcs to its strongest keys.

import { clipped, frame } from '../../vitviz/browser/kit/axes.js';
import { blit } from '../../vitviz/browser/kit/pixels.js';
import { centre, rectOf } from './map_cells.js';

/** Return a token's box in a part's tile, in stage pixels; null if it is not shown. */
export function placed({ model, plan, offsets, pad }, part, pin) {
  if (part.kind === 'picture' && pad?.free) return null; // strokes lie where they were drawn
  const box = plan.boxes[part.id];
  const rect = rectOf(model, part, box, pin);
  return rect && [rect[0], rect[1] + offsets[box.band], rect[2], rect[3]];
}

/** Draw the pin's double frame around a box, whole at the edges of the canvas. */
export function ring(ctx, [x, y, w, h], thick = 2) {
  const [width, height, scale] = [ctx.canvas.width, ctx.canvas.height, ctx.getTransform().a];
  const [left, top] = [Math.max(0, x - 2), Math.max(0, y - 2)];
  const [right, bottom] = [Math.min(width / scale, x + w + 2), Math.min(height / scale, y + h + 2)];
  frame(ctx, left, top, right - left, bottom - top, undefined, thick);
}

/** Frame the followed or hovered token in every tile, and connect the first tiles. */
export function drawToken(ctx, view, pin, strong) {
  const { model, colors } = view;
  const spots = [];
  for (const part of model.parts) {
    const rect = strong || part.kind !== 'block' ? placed(view, part, pin) : null;
    if (!rect) continue;
    ring(ctx, rect, strong ? 2 : 1.5);
    if (part.kind !== 'block' && part.kind !== 'merge') spots.push(rect);
  }
  if (strong && !view.plan.narrow) thread(ctx, spots, colors);
}

function thread(ctx, spots, colors) {
  ctx.strokeStyle = colors.ink;
  ctx.lineWidth = 1.5;
  ctx.globalAlpha = 0.75;
  ctx.beginPath();
  spots.slice(1).forEach((to, i) => {
    const from = spots[i];
    const [x, y] = [from[0] + from[2] + 2, from[1] + from[3] / 2];
    const [u, v] = [to[0] - 2, to[1] + to[3] / 2];
    const mid = (x + u) / 2;
    ctx.moveTo(x, y);
    ctx.bezierCurveTo(mid, y, mid, v, u, v);
  });
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** Draw a token's strongest keys in a block's tile, instead of the readout's attention. */
export function drawKeys(ctx, view, part, pin) {
  const { model, colors, grey } = view;
  const token = model.tokenAt(part, pin);
  if (token < 0 || !grey) return;
  const { tile, band } = view.plan.boxes[part.id];
  const box = [tile.x, tile.y + view.offsets[band], tile.w, tile.h];
  clipped(ctx, box, () => blit(ctx, grey, ...box, grey.width > 128), 3);
  ctx.fillStyle = colors.query;
  const keys = model.keys(part, token);
  const most = keys[0].weight || 1;
  for (const { key, weight } of keys) {
    const spot = placed(view, part, model.pinOf(part, key));
    ctx.globalAlpha = 0.2 + (0.8 * weight) / most;
    if (spot) ctx.fillRect(...spot);
  }
  ctx.globalAlpha = 1;
}

/** Draw an arc from each of a token's strongest keys in a block, as strong as its weight, up to `share`. */
export function drawArcs(ctx, view, part, pin, share = 1) {
  const { model, colors } = view;
  const token = model.tokenAt(part, pin);
  const to = placed(view, part, pin);
  if (token < 0 || !to) return;
  const keys = model.keys(part, token).filter(({ key, weight }) => key !== token && weight > 0);
  const most = keys[0]?.weight;
  for (const { key, weight } of keys) {
    const from = placed(view, part, model.pinOf(part, key));
    if (!from) continue;
    ctx.globalAlpha = 0.4 + (0.6 * weight) / most;
    arc(ctx, centre(from), centre(to), share, 1 + (1.5 * weight) / most, colors);
  }
  ctx.globalAlpha = 1;
  ring(ctx, to, 2);
}

/** Draw a curved line between two points, up to `share`. */
export function arc(ctx, [fx, fy], [tx, ty], share, width, colors) {
  const bend = 0.25;
  const [cx, cy] = [(fx + tx) / 2 + (ty - fy) * bend, (fy + ty) / 2 - (tx - fx) * bend];
  for (const [color, wide] of [
    [colors.paper, width + 1.5],
    [colors.query, width],
  ]) {
    ctx.strokeStyle = color;
    ctx.lineWidth = wide;
    ctx.beginPath();
    ctx.moveTo(fx, fy);
    const [ex, ey] = along([fx, fy], [cx, cy], [tx, ty], share);
    ctx.quadraticCurveTo(fx + (cx - fx) * share, fy + (cy - fy) * share, ex, ey);
    ctx.stroke();
  }
}

export function along([ax, ay], [bx, by], [cx, cy], t) {
  const s = 1 - t;
  return [s * s * ax + 2 * s * t * bx + t * t * cx, s * s * ay + 2 * s * t * by + t * t * cy];
}

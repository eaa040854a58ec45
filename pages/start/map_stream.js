// Draw the residual stream: its thickness is the token's norm; the updates of attention and MLP join it.
//
// Coordinates are u along and v across the stream, which runs right on a wide screen and down on a phone.

import { ease, mix } from '../../vitviz/browser/kit/motion.js';
import { stamp } from '../../vitviz/browser/kit/pixels.js';
import { PALETTE, rgb } from '../../vitviz/browser/kit/colour_ramp.js';
import { STREAM } from './map_layout.js';

/** Return the pixels per unit of norm, so that the longest shown token fills the stream's height. */
export function streamScale(model, pins) {
  const longest = Math.max(
    1e-9,
    ...model.blocks.flatMap((block) =>
      pins
        .filter((pin) => model.tokenAt(block, pin) >= 0)
        .flatMap((pin) => {
          const { into, between, out } = model.lengths(block, pin);
          return [into, between, out];
        }),
    ),
  );
  return STREAM / longest;
}

/**
 * Compute a line's stream: its points of known thickness and its updates.
 * Returns {points: [{u, t}], inflows: [{part, kind, from: {u, v}, at: u, width, side, t}]}, u along the line.
 */
export function streamOf(model, boxes, { ids, stream, along, start, end }, pin, scale) {
  const points = [];
  const inflows = [];
  for (const id of ids) {
    const part = model.byId.get(id);
    const box = boxes[id];
    const [from, size] = along === 'x' ? [box.tile.x, box.tile.w] : [box.tile.y, box.tile.h];
    if (part.kind !== 'block' || model.tokenAt(part, pin) < 0) continue;
    const { into, between, out, attention, mlp } = model.lengths(part, pin);
    const row = 2 * (part.layer - 1);
    if (!points.length) points.push({ u: start ?? from, t: into * scale, row });
    points.push({ u: from, t: into * scale, row });
    points.push(
      { u: from + size * 0.55, t: between * scale, row: row + 1 },
      { u: from + size, t: out * scale, row: row + 2 },
    );
    const cap = (width, thick) => Math.max(1.5, Math.min(width * scale, thick * scale * 0.92, size * 0.42));
    inflows.push(
      {
        id,
        kind: 'attention',
        at: from + size * 0.55,
        width: cap(attention, between),
        t: between * scale,
        ...source(box, along, 'attention'),
      },
      { id, kind: 'mlp', at: from + size, width: cap(mlp, out), t: out * scale, ...source(box, along, 'mlp') },
    );
  }
  if (points.length && end) points.push({ ...points.at(-1), u: end });
  return { points, inflows, stream, along };
}

/** Return the origin of an update: the tile for attention, the MLP's box for the MLP. */
function source({ tile, mlp }, along, kind) {
  if (along === 'y') return { from: { u: tile.y + tile.h * (kind === 'attention' ? 0.24 : 0.68), v: tile.x }, side: 1 };
  if (kind === 'attention') return { from: { u: tile.x + tile.w * 0.14, v: tile.y + tile.h + 3 }, side: -1 };
  return { from: { u: mlp.x + 4, v: mlp.y }, side: 1 };
}

/** Draw one line's stream; `strong` is the highlighted kind ('attention', 'mlp', 'residual'), or ''. */
export function drawStream(ctx, flow, colors, { strong = '', upTo = Infinity, id = '', course = null } = {}) {
  if (!flow.points.length) return;
  ctx.save();
  if (flow.along === 'y') ctx.transform(0, 1, 1, 0, 0, 0);
  const faded = (kind, own) => (strong && strong !== kind) || (id && own && own !== id);
  ctx.globalAlpha = strong && strong !== 'residual' ? 0.45 : 1;
  ctx.fillStyle = streamPaint(ctx, flow, colors);
  const outline = upTo === Infinity ? (flow.outline ??= streamPath(flow, upTo)) : streamPath(flow, upTo);
  ctx.fill(outline);
  if (course) grain(ctx, flow, outline, course);
  for (const inflow of flow.inflows) {
    if (inflow.at > upTo + 1) break;
    ctx.globalAlpha = faded(inflow.kind, inflow.id) ? 0.28 : 1;
    ctx.fillStyle = inflowPaint(ctx, inflow, flow.stream, colors);
    ctx.fill((inflow.path ??= inflowPath(inflow, flow.stream)));
  }
  ctx.restore();
}

function streamPaint(ctx, { points }, colors) {
  const paint = ctx.createLinearGradient(points[0].u, 0, points.at(-1).u, 0);
  const [light, deep] = colors.mode === 'dark' ? ['#2b3a4f', '#3c5273'] : ['#e6ebf2', '#cfdbea'];
  paint.addColorStop(0, light);
  paint.addColorStop(1, deep);
  return paint;
}

const INFLOW = { attention: 'query', mlp: 'muted' };

function inflowPaint(ctx, { kind, from, t, side }, stream, colors) {
  const paint = ctx.createLinearGradient(0, from.v, 0, stream + (side * t) / 2);
  const color = colors[INFLOW[kind]];
  paint.addColorStop(0, color);
  paint.addColorStop(1, `${color}b0`);
  return paint;
}

/** Draw the token's channels as threads along the stream, normalised by the vector's standard deviation. */
function grain(ctx, { points, stream }, outline, course) {
  const left = points[0].u;
  const count = Math.max(1, Math.round((points.at(-1).u - left) / THREAD));
  const most = Math.ceil(Math.max(...points.map(({ t }) => t)));
  ctx.save();
  ctx.clip(outline);
  stamp(ctx, threads(points, [count, most], course), [left, stream - most / 2, count * THREAD, most]);
  ctx.restore();
}

/** Return width × height pixels, the channels over the stream's thickness: blue below zero, orange above, opacity by magnitude. */
function threads(points, [width, height], { rows, channels }) {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const spreads = rows.map(
    (row) => 2 * Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / row.length) || 1,
  );
  for (let i = 0; i < width; i++) {
    const u = points[0].u + (i + 0.5) * THREAD;
    const k = segment(points, u);
    const share = ease((u - points[k].u) / (points[k + 1].u - points[k].u || 1));
    const [from, to] = [points[k].row, points[k + 1].row];
    const t = thickness(points, u);
    const top = (height - t) / 2;
    for (let row = Math.floor(top); row < top + t; row++) {
      const c = Math.max(0, Math.min(channels - 1, Math.floor((channels * (row + 0.5 - top)) / t)));
      const value = mix(rows[from][c] / spreads[from], rows[to][c] / spreads[to], share);
      const alpha = Math.min(235, Math.round(255 * Math.abs(value)));
      pixels[row * width + i] = (alpha << 24) | (value < 0 ? BELOW : ABOVE);
    }
  }
  return image;
}

// A pixel's four bytes in memory order, with alpha 0.
const packed = ([red, green, blue]) => (blue << 16) | (green << 8) | red;
const BELOW = packed(rgb(PALETTE.DIVERGING.light[1]));
const ABOVE = packed(rgb(PALETTE.DIVERGING.light[5]));
const THREAD = 3; // px along the stream per column of threads

const segment = (points, u) =>
  Math.max(
    0,
    Math.min(
      points.length - 2,
      points.findLastIndex((point) => point.u <= u),
    ),
  );

function thickness(points, u) {
  const k = segment(points, u);
  const [a, b] = [points[k], points[k + 1]];
  return mix(a.t, b.t, smooth((u - a.u) / (b.u - a.u || 1)));
}

const smooth = (t) => t * t * (3 - 2 * t);

/** Return the outline of the stream, smoothed between its points. */
function streamPath({ points, stream }, upTo) {
  const path = new Path2D();
  const seen = points.filter(({ u }) => u <= upTo);
  const next = points[seen.length];
  if (next && seen.length) {
    const last = seen.at(-1);
    const share = Math.min(1, (upTo - last.u) / (next.u - last.u || 1));
    if (share > 0) seen.push({ u: mix(last.u, next.u, share), t: mix(last.t, next.t, share) });
  }
  if (!seen.length) return path;
  const bank = (list, side) =>
    list.forEach(({ u, t }, i) => {
      const v = stream + (side * t) / 2;
      if (!i) return side < 0 ? path.moveTo(u, v) : path.lineTo(u, v);
      const before = list[i - 1];
      const mid = (before.u + u) / 2;
      path.bezierCurveTo(mid, stream + (side * before.t) / 2, mid, v, u, v);
    });
  bank(seen, -1);
  bank([...seen].reverse(), 1);
  path.closePath();
  return path;
}

/** Return the outline of an update that joins the stream's edge at constant width. */
function inflowPath({ from, at, width, side, t }, stream) {
  const path = new Path2D();
  const edge = stream + (side * t) / 2;
  const inner = edge - side * width;
  const u = Math.min(from.u, at - 2);
  path.moveTo(u, from.v);
  path.bezierCurveTo(u, mix(from.v, inner, 0.55), mix(u, at, 0.3), inner, at, inner);
  path.lineTo(at, edge);
  const right = Math.min(u + width, at - 1);
  path.bezierCurveTo(mix(right, at, 0.45), edge, right, mix(from.v, edge, 0.5), right, from.v);
  path.closePath();
  return path;
}

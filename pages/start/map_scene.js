// What lies under the parts: arrows, the token's strips, its stream through the blocks, what the head would say on the way.

import { dot } from '../views/kit/axes.js';
import { INSET } from './map_layout.js';
import { drawStrip } from './map_tiles.js';
import { drawStream, streamOf } from './map_stream.js';

/**
 * Draws the scene.
 *   view: {model, plan, offsets: {band: y}, colors, width, pin: whose stream, scale, strong, lit: Set of ids | null,
 *          reach: how far the stream has come (a part's id and a share), or null for all of it}
 */
export function drawScene(ctx, view) {
  for (const arrow of view.plan.arrows) drawArrow(ctx, arrow, view);
  drawStrips(ctx, view);
  if (!view.plan.core) return;
  ctx.save();
  ctx.translate(0, view.offsets.core);
  for (const [i, line] of view.plan.core.lines.entries()) {
    const flow = streamOf(view.model, view.plan.boxes, { ...line, along: view.plan.core.along }, view.pin, view.scale);
    drawStream(ctx, flow, view.colors, { strong: view.strong, upTo: reached(view, line), id: view.strongId });
    if (line.lens) drawLens(ctx, view, line, i);
  }
  ctx.restore();
  if (!view.plan.narrow) drawReturns(ctx, view);
}

/** How far along a line the journey has brought the stream. */
function reached({ reach, plan }, line) {
  if (!reach) return Infinity;
  const ids = plan.core.lines.flatMap((one) => one.ids);
  const at = ids.indexOf(reach.id);
  const first = ids.indexOf(line.ids[0]);
  if (at < first) return -Infinity;
  if (at >= first + line.ids.length) return Infinity;
  const { tile } = plan.boxes[reach.id];
  const [from, size] = plan.core.along === 'x' ? [tile.x, tile.w] : [tile.y, tile.h];
  return from + size * reach.share;
}

function drawArrow(ctx, { from, to, band, x, y, w, along }, { offsets, colors, lit }) {
  const strong = lit && lit.has(from) && lit.has(to);
  ctx.save();
  ctx.translate(x, y + offsets[band]);
  if (along === 'y') ctx.rotate(Math.PI / 2);
  const [start, end] = [7, w - 7];
  ctx.strokeStyle = strong ? colors.query : colors.muted;
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = strong ? 2 : 1.25;
  ctx.beginPath();
  ctx.moveTo(start, 0);
  ctx.lineTo(end - 4, 0);
  ctx.stroke();
  head(ctx, end, 0);
  ctx.restore();
}

/** The head of an arrow that ends in (x, y) and points right. */
function head(ctx, x, y) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 6, y - 3.5);
  ctx.lineTo(x - 6, y + 3.5);
  ctx.closePath();
  ctx.fill();
}

/** Under E, [CLS] and the positions: the first channels of the followed token. */
function drawStrips(ctx, { model, plan, offsets, pin }) {
  const shown = { embed: model.content(pin), positions: model.position(pin) };
  for (const [id, values] of Object.entries(shown)) {
    const box = plan.boxes[id];
    if (!box?.strip || !values) continue;
    const { x, y, w, h } = box.strip;
    drawStrip(ctx, values, [x, y + offsets[box.band], w, h]);
  }
}

/** From the end of the way to the sequence back to the first block, and from line to line of blocks. */
function drawReturns(ctx, { model, plan, offsets, colors, width }) {
  const last = plan.boxes[model.intro.at(-1).id];
  const lines = plan.core.lines;
  const y0 = offsets.intro + last.y + last.h - 4;
  const y1 = offsets.core + lines[0].stream;
  ctx.strokeStyle = colors.muted;
  ctx.fillStyle = colors.muted;
  ctx.lineWidth = 1.25;
  const turn = offsets.core - 12;
  returning(ctx, { x0: last.tile.x + last.tile.w / 2, y0, turn, x1: INSET - 2, y1 });
  lines.slice(1).forEach((line, i) => {
    const before = lines[i];
    const end = plan.boxes[before.ids.at(-1)].tile;
    returning(ctx, {
      x0: end.x + end.w + 2,
      y0: offsets.core + before.stream,
      turn: offsets.core + line.top - 8,
      x1: INSET - 2,
      y1: offsets.core + line.stream,
      side: true,
      width,
    });
  });
}

function returning(ctx, { x0, y0, turn, x1, y1, side = false }) {
  const r = 8;
  const left = x1 - 12;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  if (side) {
    ctx.lineTo(x0 + 4, y0);
    ctx.arcTo(x0 + 4 + r, y0, x0 + 4 + r, y0 + r, r);
    ctx.arcTo(x0 + 4 + r, turn, x0, turn, r);
  } else ctx.arcTo(x0, turn, x0 - r, turn, r);
  ctx.arcTo(left, turn, left, turn + r, r);
  ctx.arcTo(left, y1, left + r, y1, r);
  ctx.lineTo(x1 - 4, y1);
  ctx.stroke();
  head(ctx, x1, y1);
}

// ------------------------------------------------------------ what the head would say, block by block

/** The classes whose curves are drawn: the three most probable in the end. */
export function lensClasses(model) {
  const { data } = model.arrays.probabilities;
  return [...data.keys()].sort((a, b) => data[b] - data[a]).slice(0, 3);
}

/** Where a line's lens has its places: [[station, u]], station 0 before the first block. */
export function lensPlaces(model, plan, line) {
  const places = line.ids
    .filter((id) => model.byId.get(id).kind === 'block')
    .map((id) => [model.byId.get(id).layer, plan.boxes[id].tile.x + plan.boxes[id].tile.w]);
  const [layer, first] = places[0];
  const { tile } = plan.boxes[line.ids[0]];
  return [[layer - 1, Math.min(first - tile.w, tile.x)], ...places];
}

function drawLens(ctx, view, line) {
  const { model, plan, colors } = view;
  const { data, shape } = model.arrays.lens;
  const { y, h } = line.lens;
  const places = lensPlaces(model, plan, line);
  const [left, right] = [places[0][1], places.at(-1)[1]];
  ctx.lineWidth = 1;
  ctx.strokeStyle = colors.line;
  for (const share of [0, 1]) {
    ctx.beginPath();
    ctx.moveTo(left, Math.round(y + h * share) + 0.5);
    ctx.lineTo(right, Math.round(y + h * share) + 0.5);
    ctx.stroke();
  }
  const end = Math.min(reached(view, line), right);
  lensClasses(model)
    .toReversed()
    .forEach((k) => {
      const best = k === model.top;
      ctx.strokeStyle = best ? colors.query : colors.muted;
      ctx.fillStyle = ctx.strokeStyle;
      ctx.lineWidth = best ? 2.25 : 1.25;
      ctx.beginPath();
      const spots = places
        .filter(([, u]) => u <= end + 0.5)
        .map(([station, u]) => [u, y + h * (1 - data[station * shape[1] + k])]);
      spots.forEach(([u, v], i) => (i ? ctx.lineTo(u, v) : ctx.moveTo(u, v)));
      ctx.stroke();
      for (const [u, v] of spots) dot(ctx, u, v, best ? 3 : 1.75);
    });
}

// Draw the layer below the tiles: arrows, token strips, residual stream and logit-lens curves.

import { dot, line as drawLine, write } from '../../vitviz/browser/kit/axes.js';
import { INSET, RETURN } from './map_layout.js';
import { drawStrip } from './map_tiles.js';
import { drawStream, streamOf } from './map_stream.js';

/**
 * Draw the scene.
 *   view: {model, plan, offsets: {band: y}, colors, width, pin: token of the stream, stripPin: token of the strips,
 *          scale, strong, lit: Set of ids | null, ahead: Set of ids not reached yet | null,
 *          reach: end of the drawn stream {id, share}, or null for all of it}
 */
export function drawScene(ctx, view) {
  for (const arrow of view.plan.arrows) drawArrow(ctx, arrow, view);
  drawStrips(ctx, view);
  if (!view.plan.core) return view.plan.narrow ? undefined : drawOnward(ctx, view);
  ctx.save();
  ctx.translate(0, view.offsets.core);
  for (const line of view.plan.core.lines) {
    const flow = flowOf(view, line);
    const how = { strong: view.strong, upTo: reached(view, line), id: view.strongId, course: view.course };
    drawStream(ctx, flow, view.colors, how);
    if (!view.plan.narrow) writeLengths(ctx, flow, view, how.upTo);
    if (line.lens) drawLens(ctx, view, line);
  }
  ctx.restore();
  if (!view.plan.narrow) drawReturns(ctx, view);
}

/** Return a token's stream along a line, cached with the plan. */
function flowOf({ model, plan, pin, scale }, line) {
  plan.flows ??= new Map();
  const name = `${line.ids[0]} ${pin}`;
  if (!plan.flows.has(name))
    plan.flows.set(name, streamOf(model, plan.boxes, { ...line, along: plan.core.along }, pin, scale));
  return plan.flows.get(name);
}

/** Return how far along a line the animation has drawn the stream. */
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
  ctx.strokeStyle = strong ? colors.primary : colors.muted;
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = strong ? 2 : 1.25;
  ctx.beginPath();
  ctx.moveTo(start, 0);
  ctx.lineTo(end - 4, 0);
  ctx.stroke();
  head(ctx, end, 0);
  ctx.restore();
}

function head(ctx, x, y) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 6, y - 3.5);
  ctx.lineTo(x - 6, y + 3.5);
  ctx.closePath();
  ctx.fill();
}

/** Draw the first channels of the followed token below E and below the positions. */
function drawStrips(ctx, { model, plan, offsets, stripPin: pin, colors, ahead, width }) {
  if (model.header.prefix.includes(pin)) return;
  const name = model.shortName(pin);
  const shown = {
    embed: [model.content(pin), `${name} after E`],
    positions: [model.position(pin), `${model.byId.get('positions')?.called} of ${name}`],
  };
  for (const [id, [values, words]] of Object.entries(shown)) {
    const box = plan.boxes[id];
    if (!box?.strip || !values || ahead?.has(id)) continue;
    const { x, y, w, h } = box.strip;
    drawStrip(ctx, values, [x, y + offsets[box.band], w, h]);
    if (plan.narrow) continue;
    ctx.font = `12px ${colors.font}`;
    const left = Math.min(x, width - ctx.measureText(words).width);
    write(ctx, colors, words, left, y + offsets[box.band] + h + 4, { base: 'top' });
  }
}

/** Write the norm of each residual update beside it. */
function writeLengths(ctx, { inflows }, { model, plan, colors, pin }, upTo) {
  for (const { id, kind, width, from, at } of inflows) {
    if (at > upTo + 1) break;
    const { tile, mlp } = plan.boxes[id];
    const { attention, mlp: given } = model.lengths(model.byId.get(id), pin);
    if (tile.w < 60) continue;
    const added = `${named(tile, width)}+${long(attention)}`;
    if (kind === 'attention') write(ctx, colors, added, from.u + width + 6, from.v + 8);
    else write(ctx, colors, `+${long(given)}`, mlp.x + mlp.w + 4, mlp.y + mlp.h / 2);
  }
}

/** Return 'attention' if there is room for the word. */
const named = (tile, width) => (tile.w * 0.86 - width > 84 ? 'attention ' : '');

const long = (value) => (value >= 99.95 ? value.toFixed(0) : value.toFixed(1));

/** Draw the arrows from the sequence to the first block, from line to line, and from the LayerNorm to the head. */
function drawReturns(ctx, { model, plan, offsets, colors }) {
  const last = plan.boxes[model.intro.at(-1).id];
  const lines = plan.core.lines;
  ctx.strokeStyle = colors.muted;
  ctx.fillStyle = colors.muted;
  ctx.lineWidth = 1.25;
  const down = { x: last.tile.x + last.tile.w / 2, y: offsets.intro + last.y + last.h - 4 };
  returning(ctx, { from: down, turn: offsets.core - RETURN, to: offsets.core + lines[0].stream });
  lines.slice(1).forEach((line, i) => {
    const end = plan.boxes[lines[i].ids.at(-1)].tile;
    const from = { x: end.x + end.w + 2, y: offsets.core + lines[i].stream };
    returning(ctx, { from, turn: offsets.core + line.top - 8, to: offsets.core + line.stream, side: true });
  });
  const { norm, head: reads, pool } = plan.boxes;
  const next = pool ?? reads;
  if (norm && next) toHead(ctx, norm.tile, next.tile, offsets.core);
}

function drawOnward(ctx, { model, plan, offsets, colors }) {
  const last = plan.boxes[model.intro.at(-1).id];
  const next = plan.boxes[model.outro[0].id];
  ctx.strokeStyle = colors.muted;
  ctx.fillStyle = colors.muted;
  ctx.lineWidth = 1.25;
  const x = last.tile.x + last.tile.w / 2;
  const turn = offsets.outro - RETURN;
  const to = next.tile.x + 16;
  ctx.beginPath();
  ctx.moveTo(x, offsets.intro + last.tile.y + last.tile.h + 6);
  ctx.arcTo(x, turn, x - 8, turn, 8);
  ctx.arcTo(to, turn, to, turn + 8, 8);
  ctx.lineTo(to, offsets.outro - 6);
  ctx.stroke();
  ctx.beginPath();
  for (const [dx, dy] of [
    [0, 0],
    [-3.5, -6],
    [3.5, -6],
  ])
    ctx.lineTo(to + dx, offsets.outro - 2 + dy);
  ctx.fill();
}

function toHead(ctx, gate, strip, top) {
  const [x0, y0] = [gate.x + gate.w, top + gate.y + gate.h / 2];
  const [x1, y1] = [strip.x - 4, top + strip.y + 6];
  const mid = (x0 + x1) / 2;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.arcTo(mid, y0, mid, y0 - 8, 8);
  ctx.arcTo(mid, y1, mid + 8, y1, 8);
  ctx.lineTo(x1 - 4, y1);
  ctx.stroke();
  head(ctx, x1, y1);
}

/** Draw a line that leaves at the bottom or side, runs back to the left and enters the stream. */
function returning(ctx, { from: { x, y }, turn, to, side = false }) {
  const r = 8;
  const left = INSET - 14;
  ctx.beginPath();
  ctx.moveTo(x, y);
  if (side) {
    ctx.arcTo(x + r, y, x + r, y + r, r);
    ctx.arcTo(x + r, turn, x, turn, r);
  } else ctx.arcTo(x, turn, x - r, turn, r);
  ctx.arcTo(left, turn, left, turn + r, r);
  ctx.arcTo(left, to, left + r, to, r);
  ctx.lineTo(INSET - 6, to);
  ctx.stroke();
  head(ctx, INSET - 2, to);
}

// ------------------------------------------------------------ the logit lens, block by block

/** Return the classes with a curve: the three most probable ones. */
export function lensClasses(model) {
  const { data } = model.arrays.probabilities;
  return [...data.keys()].sort((a, b) => data[b] - data[a]).slice(0, 3);
}

/** Return the x positions of a line's logit lens: [[layer, u]], layer 0 before the first block. */
function lensPlaces(model, plan, line) {
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
  for (const edge of [y, y + h].map((at) => Math.round(at) + 0.5))
    drawLine(ctx, colors.line, 1, left, edge, right, edge);
  const end = Math.min(reached(view, line), right);
  lensClasses(model)
    .toReversed()
    .forEach((k) => {
      const best = k === model.top;
      ctx.strokeStyle = best ? colors.primary : colors.muted;
      ctx.fillStyle = ctx.strokeStyle;
      ctx.lineWidth = best ? 2.25 : 1.25;
      ctx.beginPath();
      const spots = places
        .filter(([, u]) => u <= end + 0.5)
        .map(([station, u]) => [u, y + h * (1 - data[station * shape[1] + k])]);
      spots.forEach(([u, v], i) => (i ? ctx.lineTo(u, v) : ctx.moveTo(u, v)));
      ctx.stroke();
      for (const [u, v] of spots) dot(ctx, u, v, best ? 3 : 1.75);
      if (!best || spots.length < 2) return;
      const [u, v] = spots.at(-1);
      write(ctx, colors, model.header.classes.names[k], u + 7, v, { style: '600 12px', color: colors.primary });
    });
}

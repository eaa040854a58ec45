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

const CORNER = 8; // px of the radius where an arrow turns

/** Draw an arrow from [x, y] whose legs end at these places, along `axis` and across it in turn. */
function connect(ctx, start, legs, axis, color, width = 1.25) {
  const points = [start];
  legs.forEach((place, i) => {
    const [x, y] = points[i];
    points.push((axis === 'x') === (i % 2 === 0) ? [place, y] : [x, place]);
  });
  const [before, [x, y]] = points.slice(-2);
  const angle = Math.atan2(y - before[1], x - before[0]);
  ctx.save();
  Object.assign(ctx, { strokeStyle: color, fillStyle: color, lineWidth: width });
  ctx.beginPath();
  ctx.moveTo(...start);
  points.slice(1, -1).forEach((corner, i) => ctx.arcTo(...corner, ...points[i + 2], CORNER));
  ctx.lineTo(x - 4 * Math.cos(angle), y - 4 * Math.sin(angle));
  ctx.stroke();
  ctx.translate(x, y);
  ctx.rotate(angle);
  ctx.beginPath();
  ctx.moveTo(0, 0);
  ctx.lineTo(-6, -3.5);
  ctx.lineTo(-6, 3.5);
  ctx.fill();
  ctx.restore();
}

function drawArrow(ctx, { from, to, band, x, y, w, along }, { offsets, colors, lit }) {
  const strong = lit?.has(from) && lit.has(to);
  const top = y + offsets[band];
  const [start, end] = along === 'x' ? [[x + 7, top], x + w - 7] : [[x, top + 7], top + w - 7];
  connect(ctx, start, [end], along, strong ? colors.primary : colors.muted, strong ? 2 : 1.25);
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
function drawReturns(ctx, { model, plan, offsets, colors: { muted } }) {
  const { core: top } = offsets;
  const [first, ...others] = plan.core.lines;
  const [left, start] = [INSET - 14, INSET - 2];
  const { tile, y, h } = plan.boxes[model.intro.at(-1).id];
  const down = [tile.x + tile.w / 2, offsets.intro + y + h - 4];
  connect(ctx, down, [top - RETURN, left, top + first.stream, start], 'y', muted);
  others.forEach((line, i) => {
    const { ids, stream } = plan.core.lines[i];
    const x = plan.boxes[ids.at(-1)].tile.x + plan.boxes[ids.at(-1)].tile.w + 2;
    const legs = [x + CORNER, top + line.top - 8, left, top + line.stream, start];
    connect(ctx, [x, top + stream], legs, 'x', muted);
  });
  const { norm, head, pool } = plan.boxes;
  const next = (pool ?? head)?.tile;
  if (!norm || !next) return;
  const [from, end] = [norm.tile.x + norm.tile.w, next.x - 4];
  connect(ctx, [from, top + norm.tile.y + norm.tile.h / 2], [(from + end) / 2, top + next.y + 6, end], 'x', muted);
}

/** Draw the arrow from the last feature maps to the pooling of a model without a stream. */
function drawOnward(ctx, { model, plan, offsets, colors }) {
  const { tile } = plan.boxes[model.intro.at(-1).id];
  const start = [tile.x + tile.w / 2, offsets.intro + tile.y + tile.h + 6];
  const legs = [offsets.outro - RETURN, plan.boxes[model.outro[0].id].tile.x + 16, offsets.outro - 2];
  connect(ctx, start, legs, 'y', colors.muted);
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

// Draw the timeline's images from the flip-book at the selected snapshot.
// A view has `now` (the message), `state.place` (between snapshots while it plays), `state.index` (the nearest one), `cards`
// (one canvas per image).

import { frame, write } from '../../../vitviz/browser/kit/axes.js';
import { TileStack, blit, colour, fillPixels } from '../../../vitviz/browser/kit/pixels.js';
import {
  DIVERGING_LUT,
  SEQUENTIAL_LUT,
  accentLut,
  headColor,
  rampImage,
} from '../../../vitviz/browser/kit/colour_ramp.js';
import { mix } from '../../../vitviz/browser/kit/motion.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';

const GUTTER = 2;

/** Return the value that 255 encodes in the shown frame. */
export function topOf(view, p) {
  if (!p.tops?.length) return p.hi;
  const [low, high, share] = around(view, p);
  return mix(p.tops[low], p.tops[high], share);
}

/** Return [low, high, share] of the place between snapshots; images with words under them are not mixed. */
function around({ state }, p) {
  const { place, index } = state;
  const low = Math.floor(place);
  return p.tiles || low === place ? [index, index, 0] : [low, low + 1, place - low];
}

/** Return an image's bytes at the place, interpolated between snapshots; each snapshot has its own maximum in `tops`. */
function frameOf(view, p) {
  const { data, shape } = view.now.arrays[p.name];
  const size = shape.slice(1).reduce((product, length) => product * length, 1);
  const [low, high, share] = around(view, p);
  const [before, after] = [low, high].map((index) => data.subarray(index * size, (index + 1) * size));
  if (!share) return before;
  const top = topOf(view, p) || 1;
  const [first, second] = [low, high].map((index) => (p.tops?.length ? p.tops[index] / top : 1));
  return Float32Array.from(before, (byte, i) => mix(byte * first, after[i] * second, share));
}

function geometry(view, i) {
  const p = view.now.header.pictures[i];
  const [, R, C, h, w] = view.now.arrays[p.name].shape;
  const width = view.cards[i].width;
  const left = p.rows ? 30 : p.names ? view.named(p) : 0;
  const top = p.cols || p.names ? 18 : 0;
  const scale = p.kind === 'rgb' ? 0 : 24;
  const gutter = R * C > 1 ? (p.kind === 'rgb' || p.rows || R * C <= 24 ? GUTTER : 1) : 0;
  const side = (width - left - gutter * (C - 1)) / C;
  const tall = (side * h) / w;
  const label = p.kind === 'rgb' && p.tiles ? 18 : 0;
  const bottom = top + R * (tall + label) + gutter * (R - 1);
  return { p, R, C, h, w, left, top, gutter, side, tall, label, bottom, height: bottom + scale };
}

export function cellAt(view, i, px, py) {
  const g = geometry(view, i);
  const c = (px - g.left) / (g.side + g.gutter);
  const r = (py - g.top) / (g.tall + g.label + g.gutter);
  const C = Math.floor(c);
  const R = Math.floor(r);
  if (px < g.left || py < g.top || C >= g.C || R >= g.R) return null;
  const x = Math.floor(((c - C) * (g.side + g.gutter) * g.w) / g.side);
  const y = Math.floor(((r - R) * (g.tall + g.label + g.gutter) * g.h) / g.tall);
  return x < g.w && y < g.h ? { R, C, x, y } : null;
}

export function drawCard(view, i) {
  const card = view.cards[i];
  card.width = Math.max(80, Math.floor(card.map.node.parentElement.clientWidth));
  if (view.now.header.pictures[i].kind === 'dots') return drawDots(view, card, view.now.header.pictures[i]);
  const g = geometry(view, i);
  const { colors } = view.now;
  const ctx = card.map.size(card.width, g.height);
  const table =
    g.p.kind === 'overlay' ? accentLut(colors.query) : g.p.ramp === 'diverging' ? DIVERGING_LUT : SEQUENTIAL_LUT;
  ctx.font = `12px ${colors.font}`;
  ctx.fillStyle = colors.muted;
  ctx.textBaseline = 'middle';
  const data = frameOf(view, g.p);
  card.stack = TileStack.of(card.stack, g.R * g.C, g.h, g.w);
  // Each frame is scaled to its own maximum; the color scale covers the largest of them. Classes have whole percents.
  const end = g.p.names ? g.p.hi : (255 * g.p.hi) / (topOf(view, g.p) || g.p.hi);
  card.stack.paint((image) => (g.p.kind === 'rgb' ? fillPixels(image, data, 3) : colour(image, data, table, 0, end)));
  for (let R = 0; R < g.R; R++) for (let C = 0; C < g.C; C++) drawTile(view, ctx, g, R, C, card.stack);
  drawNames(view, ctx, g);
  if (g.p.kind !== 'rgb') drawScale(view, ctx, g, table);
  if (g.p.mark) drawMark(view, ctx, g);
}

function drawTile(view, ctx, g, R, C, stack) {
  const { p, side, tall } = g;
  const x = g.left + C * (side + g.gutter);
  const y = g.top + R * (tall + g.label + g.gutter);
  if (p.kind === 'overlay') {
    ctx.globalAlpha = 0.75;
    blit(ctx, view.bases[p.base], x, y, side, tall);
    ctx.globalAlpha = 1;
  }
  stack.draw(ctx, R * g.C + C, x, y, side, tall);
  if (!g.label) return;
  ctx.textAlign = 'center';
  ctx.fillText(p.tiles[view.state.index]?.[R * g.C + C] ?? '', x + side / 2, y + tall + 9, side);
}

/** Draw the names of rows and columns, or of classes in a confusion matrix. */
function drawNames(view, ctx, { p, left, top, gutter, side, tall, h }) {
  ctx.textAlign = 'left';
  p.rows?.forEach((name, R) => ctx.fillText(name, 0, top + R * (tall + gutter) + tall / 2));
  if (p.names) ctx.fillText('true ↓  predicted →', 0, 8);
  if (p.names && view.short(p)) p.names.forEach((name, r) => ctx.fillText(name, 4, top + ((r + 0.5) * tall) / h));
  ctx.textAlign = 'center';
  p.cols?.forEach((name, C) => ctx.fillText(name, left + C * (side + gutter) + side / 2, 8, side));
}

/** Mark the selected query on every map. */
function drawMark(view, ctx, { p, R: rows, C: cols, left, top, gutter, side, tall, h, w }) {
  const [row, col] = p.mark;
  for (let R = 0; R < rows; R++)
    for (let C = 0; C < cols; C++) {
      const x = left + C * (side + gutter) + (col * side) / w;
      frame(ctx, x, top + R * (tall + gutter) + (row * tall) / h, side / w, tall / h, undefined, 1.5);
    }
}

/** Draw the color scale shared by all maps of an image and all steps. */
function drawScale(view, ctx, g, table) {
  const y = g.bottom + 14;
  const lo = `${g.p.lo}`;
  const end = g.p.names ? ' %' : g.p.tops.length ? ' over all steps' : '';
  const hi = `${Number(g.p.hi.toPrecision(2))}${end}`;
  const width = 96;
  const x = g.left + ctx.measureText(lo).width + 6;
  write(ctx, view.now.colors, lo, g.left, y);
  const room = g.left + g.C * (g.side + g.gutter) - x - width - 6;
  write(ctx, view.now.colors, hi, x + width + 6, y, { room });
  blit(ctx, rampImage(table), x, y - 4, width, 8);
}

/** Draw values (layers x heads) as dots over the layers, one color per head or named series. */
function drawDots(view, card, p) {
  const { colors, arrays } = view.now;
  const [, L, H] = arrays[p.name].shape;
  const data = frameOf(view, p);
  const height = Math.min(card.width * 0.8, 240) + (p.series ? 18 : 0);
  const ctx = card.map.size(card.width, height);
  const domains = { x: [-0.5, L - 0.5], y: [0, p.hi] };
  const plot = new Plot(ctx, colors, [30, card.width, p.series ? 28 : 10, height - 40], domains);
  let left = 30;
  p.series?.forEach((name, h) => {
    write(ctx, colors, name, left, 9, { color: headColor(h, H) });
    left += ctx.measureText(name).width + 10;
  });
  plot.axisY(plot.y.ticks(4), String);
  const layers = Array.from({ length: L }, (_, l) => l);
  plot.axisX(layers, (l) => String(l + 1), 'layer');
  const apart = Math.min(6, (card.width - 30) / L / H / 1.6);
  for (const l of layers)
    for (let h = 0; h < H; h++) {
      const value = (p.hi * data[l * H + h]) / 255;
      plot.dot(plot.x(l) + (h - (H - 1) / 2) * apart, plot.y(value), 4, headColor(h, H));
    }
}

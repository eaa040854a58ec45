// The marks of a chart, each drawn in a panel's scales: lines, points, error bars, bands, bars, labels, and cells, which
// are heat maps with their scales, and images.

import { blit, heat, picture } from '../../vitviz/browser/kit/pixels.js';
import { lattice } from '../../vitviz/browser/kit/axes.js';
import { inkOn, lut, rampImage } from '../../vitviz/browser/kit/colour_ramp.js';
import { MINUS } from '../../vitviz/browser/kit/text.js';
import { pen } from './chart_axes.js';

const BAR_PX = 8;

/** Return the cells of a heat map: rows, cols, values and their places along both axes. */
export function cellsOf({ z, x, y }) {
  const [rows, cols] = z.shape ?? [z.length, z[0].length];
  const values = z.data ?? Float32Array.from(z.flat(), (value) => value ?? NaN);
  const names = (places, count) => (places ? Array.from(places) : Array.from({ length: count }, (_, i) => i));
  return { rows, cols, values, x: names(x, cols), y: names(y, rows) };
}

/** Return the lowest and the highest value of a heat map's colours, and its table. */
function coloursOf(trace, values) {
  const finite = values.filter(Number.isFinite);
  const low = trace.zmin ?? finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = trace.zmax ?? finite.reduce((a, b) => Math.max(a, b), -Infinity);
  return { low, high, table: lut(trace.colorscale.map(([, stop]) => stop)) };
}

const images = new WeakMap(); // of the cells of a trace

function imageOf(trace, { rows, cols, values }) {
  if (!images.has(trace)) {
    const { low, high, table } = coloursOf(trace, values);
    images.set(trace, heat(values, rows, cols, table, low, high));
  }
  return images.get(trace);
}

/** Separate cells that have a gap between them. */
function drawGaps({ ctx, colors }, gap, [left, top, width, height], { rows, cols }) {
  ctx.save();
  ctx.translate(left, top);
  ctx.setLineDash([]);
  lattice(ctx, colors.paper, gap, rows, cols, width, height);
  ctx.restore();
}

function drawCells(panel, trace) {
  const { plot, x, y } = panel;
  const { ctx } = plot;
  const isImage = trace.type === 'image';
  const cells = isImage ? { rows: trace.z.shape[0], cols: trace.z.shape[1] } : cellsOf(trace);
  const { rows, cols } = cells;
  const image = isImage ? picture(trace.z) : imageOf(trace, cells);
  const at = (axis, places, i) => axis.number(places?.[0] ?? 0) + i - 0.5;
  const box = (row, col, height = 1, width = 1) => {
    const [a, b] = [plot.x(at(x, cells.x, col)), plot.x(at(x, cells.x, col + width))];
    const [c, d] = [plot.y(at(y, cells.y, row)), plot.y(at(y, cells.y, row + height))];
    return [a, c, b - a, d - c];
  };
  const [left, top, width, height] = box(0, 0, rows, cols);
  ctx.save();
  ctx.globalAlpha = trace.opacity ?? 1;
  ctx.translate(left, top);
  ctx.scale(width / cols, height / rows);
  blit(ctx, image, 0, 0, cols, rows);
  ctx.restore();
  if (trace.xgap) drawGaps(plot, trace.xgap, [left, top, width, height], cells);
  const labels = () => {
    if (!trace.texttemplate) return;
    const { low, high, table } = coloursOf(trace, cells.values);
    plot.font();
    trace.text.forEach((texts, row) =>
      texts.forEach((text, col) => {
        const [a, b, w, h] = box(row, col);
        if (ctx.measureText(text).width > w) return;
        const share = (cells.values[row * cols + col] - low) / (high - low || 1);
        plot.text(text, a + w / 2, b + h / 2, { color: inkOn(table, share) });
      }),
    );
  };
  return { cells, box, labels };
}

/** Draw the scale of a heat map right of a panel, or below it. */
export function drawColorbar({ plot, below }, trace) {
  const { ctx, x0, x1, y0, y1 } = plot;
  const { colorbar = {} } = trace;
  const { low, high, table } = coloursOf(trace, cellsOf(trace).values);
  const ends = [low, (low + high) / 2, high].map((v) =>
    Number(v.toPrecision(2)).toLocaleString('en').replace('-', MINUS),
  );
  const title = colorbar.title?.text;
  if (title) ends[2] += ` ${title}`;
  plot.font();
  if (colorbar.orientation === 'h') {
    const [top, wide] = [y1 + below.room + 4, Math.min(300, x1 - x0)];
    blit(ctx, rampImage(table), x0, top, wide, BAR_PX, true);
    ends.forEach((text, i) =>
      plot.text(text, x0 + (wide * i) / 2, top + 18, { align: ['left', 'center', 'right'][i] }),
    );
    return;
  }
  ctx.save();
  ctx.translate(x1 + 8, y1);
  ctx.rotate(-Math.PI / 2);
  blit(ctx, rampImage(table), 0, 0, y1 - y0, BAR_PX, true);
  ctx.restore();
  ends.forEach((text, i) => plot.text(text, x1 + 12 + BAR_PX, [y1 - 6, (y0 + y1) / 2, y0 + 6][i], { align: 'left' }));
}

const STAR = 0.45; // inner radius of a star's outer one
const BARS = 0.8; // of the room between two bars
const LABEL_PX = 9; // from a point to its label

/** Return the `i`-th of a style that may hold one value per point. */
export const each = (value, i) => (Array.isArray(value) ? value[i] : value);

/** Return the corners of a regular shape, every second one at a share of the radius. */
function polygon(corners, outer = 1, turn = 0, share = 1) {
  return Array.from({ length: corners }, (_, i) => {
    const angle = (2 * Math.PI * i) / corners - Math.PI / 2 + turn;
    const radius = outer * (i % 2 ? share : 1);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

/** Return the corners of a plus whose arms are `arm` wide, turned. */
function plus(turn, arm = 0.36) {
  const corners = [
    [1, arm],
    [arm, arm],
    [arm, 1],
    [-arm, 1],
    [-arm, arm],
    [-1, arm],
  ];
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return [...corners, ...corners.map(([x, y]) => [-x, -y])].map(([x, y]) => [x * c - y * s, x * s + y * c]);
}

const SHAPES = {
  square: polygon(4, 1.27, Math.PI / 4),
  diamond: polygon(4, 1.25),
  cross: plus(0),
  x: plus(Math.PI / 4),
  'triangle-up': polygon(3, 1.2),
  star: polygon(10, 1.25, 0, STAR),
  hexagon: polygon(6),
  'line-ew': polygon(2, 1.2, Math.PI / 2),
};

/** Draw a marker: a shape, or its outline where its name ends in '-open'. */
export function drawSymbol(ctx, symbol, x, y, radius, color, { edge = color, width = 0, alpha = 1 } = {}) {
  const isOpen = symbol.endsWith('-open');
  const shape = SHAPES[symbol.replace('-open', '')];
  ctx.beginPath();
  if (shape) shape.forEach(([dx, dy]) => ctx.lineTo(x + radius * dx, y + radius * dy));
  else ctx.arc(x, y, radius, 0, 7);
  ctx.closePath();
  Object.assign(ctx, { globalAlpha: alpha, fillStyle: color, strokeStyle: isOpen ? color : edge });
  ctx.lineWidth = width || 2;
  ctx.setLineDash([]);
  if (!isOpen) ctx.fill();
  if (isOpen || width) ctx.stroke();
  ctx.globalAlpha = 1;
}

/** Trace a line through points, with gaps at missing ones; `shape` 'hv' goes across before up. */
function path(ctx, points, shape) {
  ctx.beginPath();
  let before = null;
  for (const [x, y] of points) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) before = null;
    else {
      if (before && shape === 'hv') ctx.lineTo(x, before[1]);
      ctx[before ? 'lineTo' : 'moveTo'](x, y);
      before = [x, y];
    }
  }
}

/** Return the points of a trace in px. */
const pointsOf = ({ plot, x, y }, trace) =>
  Array.from(trace.x, (value, i) => [plot.x(x.number(value)), plot.y(y.number(trace.y[i]))]);

function drawErrors(ctx, points, panel, trace, way) {
  const bars = trace[`error_${way}`];
  if (!bars) return;
  const [scale, number] = way === 'x' ? [panel.plot.x, panel.x.number] : [panel.plot.y, panel.y.number];
  const cap = (bars.width ?? 4) + 0.5;
  pen(ctx, { color: bars.color ?? trace.marker?.color ?? trace.line?.color, width: bars.thickness ?? 1.5 });
  ctx.beginPath();
  points.forEach(([x, y], i) => {
    const at = number(trace[way][i]);
    const [high, low] = [scale(at + bars.array[i]), scale(at - (bars.arrayminus ?? bars.array)[i])];
    if (!Number.isFinite(high - low) || high === low) return;
    const ends = [low, high].map((end) => (way === 'x' ? [end, y] : [x, end]));
    const [dx, dy] = way === 'x' ? [0, cap] : [cap, 0];
    ctx.moveTo(...ends[0]);
    ctx.lineTo(...ends[1]);
    for (const [a, b] of ends) {
      ctx.moveTo(a - dx, b - dy);
      ctx.lineTo(a + dx, b + dy);
    }
  });
  ctx.stroke();
}

/** Fill the inside of a line, or what lies between it and the line before. */
function drawFill(ctx, points, before, trace) {
  ctx.globalAlpha = trace.opacity ?? 1;
  ctx.fillStyle = trace.fillcolor;
  path(ctx, trace.fill === 'toself' ? points : [...points, ...[...(before ?? [])].reverse()]);
  ctx.fill();
  ctx.globalAlpha = 1;
}

/** Return where the text of a point of `size` px stands: {x, y, align}. */
function findSpot([x, y], position, size) {
  const [up, side] = position.split(' ');
  const away = LABEL_PX + size / 2;
  return {
    x: x + ({ left: -LABEL_PX, right: LABEL_PX }[side] ?? 0),
    y: y + ({ top: -away, bottom: away }[up] ?? 0),
    align: { left: 'right', right: 'left' }[side] ?? 'center',
  };
}

function drawTexts(panel, points, trace) {
  const { size = 12, color = panel.plot.colors.ink } = trace.textfont ?? {};
  panel.plot.font(`${size}px`);
  points.forEach((point, i) => {
    const position = each(trace.textposition, i) ?? 'middle center';
    const { x, y, align } = findSpot(point, position, each(trace.marker?.size, i) ?? 8);
    panel.plot.text(each(trace.text, i) ?? '', x, y, { color, align });
  });
}

// A line that climbs leaves a point to the right and comes from below: names keep away from both where they can.
const NAME_PLACES = 'top left,bottom right,top center,middle left,bottom center,middle right,bottom left,top right';
const NAME_PX = 15; // height
const AROUND_DOT_PX = 6;
const AROUND_LINE_PX = 3; // a name there is struck out
const MOST_COVERED_PX2 = 40; // of other names and dots by a name

const overlap = ([a, b, c, d], [e, f, g, h]) =>
  Math.max(0, Math.min(c, g) - Math.max(a, e)) * Math.max(0, Math.min(d, h) - Math.max(b, f));

/** Return the part of a box outside another one, in px times a name's height. */
const outside = ([a, b, c, d], [e, f, g, h]) =>
  NAME_PX * [e - a, f - b, c - g, d - h].reduce((sum, px) => sum + Math.max(0, px), 0);

/**
 * Return a spot {x, y, align} for each name that has room beside its point, else null.
 *   points: {at, size, wide, rank}, a name `wide` px; those of higher rank come first, and rank 2 is always named
 *   lines: boxes that a name should not strike; inside: the box that holds all names
 */
export function placeNames(points, lines, inside) {
  const dots = points.map(({ at: [x, y] }) => around(x, y, x, y, AROUND_DOT_PX));
  const taken = [];
  const spots = points.map(() => null);
  const order = points.map((_, i) => i).filter((i) => points[i].wide);
  order.sort((i, j) => points[j].rank - points[i].rank || points[j].wide - points[i].wide);
  for (const i of order) {
    const { at, size, wide, rank } = points[i];
    const options = NAME_PLACES.split(',').map((place) => {
      const spot = findSpot(at, place, size);
      const left = spot.x - { left: 0, center: wide / 2, right: wide }[spot.align];
      const box = [left, spot.y - NAME_PX / 2, left + wide, spot.y + NAME_PX / 2];
      const others = [...dots.filter((_, j) => j !== i), ...taken];
      const covered = others.reduce((sum, other) => sum + overlap(box, other), outside(box, inside));
      const struck = lines.reduce((sum, line) => sum + overlap(box, line), 0);
      return { spot, box, covered, cost: covered + struck + (covered > MOST_COVERED_PX2 ? 1e6 : 0) };
    });
    const best = options.reduce((a, b) => (b.cost < a.cost ? b : a));
    if (best.covered > MOST_COVERED_PX2 && rank < 2) continue;
    taken.push(best.box);
    spots[i] = best.spot;
  }
  return spots;
}

const around = (x0, y0, x1, y1, px) => [
  Math.min(x0, x1) - px,
  Math.min(y0, y1) - px,
  Math.max(x0, x1) + px,
  Math.max(y0, y1) + px,
];

/** Return the boxes that a trace's steps and its error bars along y fill. */
function boxesOf({ plot }, trace, points) {
  const lines = points.slice(1).flatMap(([x, y], i) => {
    const [left, before] = points[i];
    return [around(left, before, x, before, AROUND_LINE_PX), around(x, before, x, y, AROUND_LINE_PX)];
  });
  const bars = points.map(([x, y], i) => {
    const reach = y - plot.y(trace.y[i] + (trace.error_y?.array[i] ?? 0));
    return around(x, y - reach, x, y + reach, AROUND_DOT_PX);
  });
  return [...(trace.mode.includes('lines') ? lines : []), ...(trace.error_y ? bars : [])];
}

/** Draw the names of all points where there is room; `drawn` holds [trace, points], `customdata[2]` a point's rank. */
export function drawNames(panel, drawn) {
  const { plot } = panel;
  plot.font();
  const points = drawn.flatMap(([trace, places]) =>
    trace.mode.includes('text')
      ? places.map((at, i) => {
          const [text, rank] = [trace.text[i], trace.customdata[i][2]];
          return { at, text, rank, size: each(trace.marker.size, i), wide: plot.ctx.measureText(text).width };
        })
      : [],
  );
  const lines = drawn.flatMap(([trace, places]) => boxesOf(panel, trace, places));
  const spots = placeNames(points, lines, [plot.x0, 0, plot.x1 + LABEL_PX, plot.y1]);
  points.forEach(
    ({ text }, i) => spots[i] && plot.text(text, spots[i].x, spots[i].y, { ...spots[i], color: plot.colors.ink }),
  );
}

function drawScatter(panel, trace, state) {
  const { ctx } = panel.plot;
  const { mode = 'lines+markers', line = {}, marker = {} } = trace;
  const rim = marker.line ?? {};
  const points = pointsOf(panel, trace);
  const width = line.width ?? 2;
  if (trace.fill) drawFill(ctx, points, state.before, trace);
  state.before = points;
  if (mode.includes('lines') && width) {
    ctx.globalAlpha = trace.opacity ?? 1;
    pen(ctx, { ...line, width }, marker.color);
    path(ctx, points, line.shape);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  for (const way of ['x', 'y']) drawErrors(ctx, points, panel, trace, way);
  if (mode.includes('markers'))
    points.forEach(([x, y], i) => {
      if (!Number.isFinite(x + y)) return;
      const color = each(marker.color, i) ?? line.color;
      const style = { edge: each(rim.color, i), width: each(rim.width, i), alpha: each(marker.opacity, i) };
      drawSymbol(ctx, each(marker.symbol, i) ?? 'circle', x, y, (each(marker.size, i) ?? 6) / 2, color, style);
    });
  return { points, labels: () => trace.text && mode.includes('text') && drawTexts(panel, points, trace) };
}

/** Return the low and the high end of every bar; stacked ones begin where those before end. */
export function barEnds(trace, stacks) {
  const [along, across] = trace.orientation === 'h' ? [trace.x, trace.y] : [trace.y, trace.x];
  return Array.from(along, (length, i) => {
    const start = stacks ? (stacks.get(across[i]) ?? 0) : (trace.base?.[i] ?? 0);
    stacks?.set(across[i], start + length);
    return [start, start + length];
  });
}

/** Return the half width of every bar in the units of its axis. */
export const barHalf = (trace, i) => (each(trace.width, i) ?? BARS) / 2;

function drawBars(panel, trace, state) {
  const { ctx, colors } = panel.plot;
  const { x: right, y: up } = panel.plot;
  const isHorizontal = trace.orientation === 'h';
  const places = Array.from(isHorizontal ? trace.y : trace.x, (isHorizontal ? panel.y : panel.x).number);
  const { marker = {} } = trace;
  const widths = Array.isArray(trace.width) || !trace.width?.length ? trace.width : Array.from(trace.width);
  const boxes = barEnds(trace, state.stacks).map(([low, high], i) => {
    const half = barHalf({ width: widths }, i);
    const [a, b, c, d] = isHorizontal
      ? [right(low), right(high), up(places[i] - half), up(places[i] + half)]
      : [right(places[i] - half), right(places[i] + half), up(low), up(high)];
    const box = [Math.min(a, b), Math.min(c, d), Math.abs(b - a), Math.abs(d - c)];
    ctx.fillStyle = each(marker.color, i);
    ctx.fillRect(...box);
    if (marker.line?.width) {
      pen(ctx, marker.line);
      ctx.strokeRect(...box);
    }
    return { box, isForward: b >= a };
  });
  const labels = () => {
    panel.plot.font();
    boxes.forEach(({ box: [x, y, w, h], isForward }, i) => {
      const at = isForward ? x + w + 4 : x - 4;
      panel.plot.text(trace.text?.[i] ?? '', at, y + h / 2, { color: colors.ink, align: isForward ? 'left' : 'right' });
    });
  };
  return {
    points: boxes.map(({ box: [x, y, w, h] }) => [x + w / 2, y + h / 2]),
    boxes: boxes.map(({ box }) => box),
    labels,
  };
}

const MARKS = { scatter: drawScatter, bar: drawBars, heatmap: drawCells, image: drawCells };

/** Draw a trace; return its points in px, or its cells, and a function that draws its labels. */
export const drawTrace = (panel, trace, state) => MARKS[trace.type](panel, trace, state);

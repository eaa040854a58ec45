// The cells of a chart: heat maps with their scales, and images.

import { lattice } from '../../vitviz/browser/kit/axes.js';
import { blit, heat, picture } from '../../vitviz/browser/kit/pixels.js';
import { inkOn, lut, rampImage } from '../../vitviz/browser/kit/colour_ramp.js';
import { MINUS } from '../../vitviz/browser/kit/text.js';

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

export function drawCells(panel, trace) {
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

// Smooth the training curves and draw their panels: one per metric, with lines, marks and labels at the lines' ends.
// A view has `now` (the message), `lines`, `state` (its settings), xs(line), color(run), xOfStep(step).

import { spread } from '../../../vitviz/browser/kit/axes.js';
import { fit } from '../../../vitviz/browser/kit/dom.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';
import { brief, percent } from '../../../vitviz/browser/kit/text.js';

const PANEL_HEIGHT = { 1: 150, 2: 264 };
const AXIS_TITLE = 18; // px below the last of panels that stand over one another: they share its title
const WIDE = 820;
const LEFT = 40;
const RIGHT = 84;
const TOP = { 1: 26, 2: 30 };
const BOTTOM = { 1: 24, 2: 40 };
const PALE = 0.6; // opacity of training curves
const AXIS_TITLES = ['step', 'epoch', 'seconds of training'];

/** Format a value with its unit. */
export function worded(value, unit) {
  return unit === '%' ? percent(value) : `${brief(value)}${unit ? ` ${unit}` : ''}`;
}

/** Return true if the pointer moved far enough for a drag instead of a click. */
export const dragged = (drag) => Boolean(drag) && Math.abs(drag.to - drag.from) > 4;

/** Lay out one panel per metric: {panels: [{metric, x, y, w, h, left}], height}. */
export function place(metrics, width) {
  const columns = width >= WIDE ? 2 : 1;
  const tall = PANEL_HEIGHT[columns];
  const panels = metrics.map((metric, i) => {
    const wide = columns === 1 || (i === metrics.length - 1 && i % columns === 0 && metrics.length > 2);
    const column = wide ? 0 : i % columns;
    const across = wide ? width : (width - 24) / 2;
    const left = column * (across + 24);
    const y = Math.floor(i / columns) * tall + TOP[columns];
    const named = columns === 2 || i === metrics.length - 1;
    return {
      metric,
      x: left + LEFT,
      y,
      w: across - LEFT - RIGHT,
      h: tall - TOP[columns] - BOTTOM[columns],
      left,
      named,
    };
  });
  const titled = columns === 1 ? AXIS_TITLE : 0;
  return { panels, height: Math.ceil(metrics.length / columns) * tall + titled };
}

/** Draw one metric: axes, curves, marks, and labels at the right edge. */
export function drawPanel(view, ctx, panel, x) {
  const { metric } = panel;
  const edges = [panel.left + LEFT, panel.left + LEFT + panel.w, panel.y, panel.y + panel.h];
  const scales = { x, y: view.yRange(metric, ...x), logX: view.state.logX, logY: view.isLog(metric) };
  const plot = (panel.plot = new Plot(ctx, view.now.colors, edges, scales));
  drawAxes(view, panel);
  plot.clip(() => {
    drawLines(view, panel);
    drawMarks(view, panel);
  });
  drawLabels(view, panel);
}

function drawAxes(view, { metric, plot, left, w, named }) {
  const isShare = metric.unit === '%';
  plot.font('600 14px');
  const title = isShare ? `${metric.title}, %` : metric.title;
  plot.text(title, left, plot.y0 - 16, { color: plot.colors.ink, align: 'left' });
  plot.axisY(plot.y.ticks(4), (tick) => brief(isShare ? 100 * tick : tick));
  plot.axisX(plot.x.ticks(Math.max(2, w / 70)), brief, named ? AXIS_TITLES[view.state.axis] : '');
}

/** Draw the curves; in a recording, the part after the selected step is faint. */
function drawLines(view, { metric, plot }) {
  const lines = view.lines.filter((line) => line.metric === metric.name);
  const until = untilOf(view);
  if (until < Infinity) for (const line of lines) drawLine(view, plot, line, 0.18);
  plot.clip(() => lines.forEach((line) => drawLine(view, plot, line, 1)), until < Infinity ? plot.x(until) : undefined);
}

/** Return the x up to which curves are drawn in full: a recording's selected step, else infinity. */
function untilOf(view) {
  const at = view.now.header.film && view.moment !== null ? view.xOfStep(view.moment) : null;
  return at ?? Infinity;
}

function drawLine(view, plot, line, share) {
  const x = view.xs(line);
  const points = (values) => Array.from(values, (value, i) => [x[i], value]);
  if (line.ghost) return plot.line(points(line.values), 5, { color: plot.colors.muted, width: 1.5 });
  const validation = line.split !== 'train';
  const color = view.color(line.run);
  if (!validation && view.state.smoothing > 0)
    plot.line(points(line.values), 0, { color, width: 1, alpha: 0.22 * share });
  const place = view.now.header.runs.findIndex(({ id }) => id === line.run);
  const style = { color, width: validation ? 2 : 1.5, alpha: (validation ? 1 : PALE) * share };
  if (line.images && line.metric === 'accuracy') {
    const ends = [-1, 1].map((side) => Array.from(line.values, (p) => intervalEnd(p, line.images, side)));
    plot.band(Array.from(x), ...ends, { color, alpha: 0.15 * share });
  }
  plot.line(points(line.drawn), place, style);
  if (!validation || line.n > 60) return;
  for (const [at, value] of points(line.values))
    if (Number.isFinite(value)) plot.dot(plot.x(at), plot.y(value), 2.5, color, { alpha: share });
}

/** Return an end of the 95 % interval of an accuracy over images. */
function intervalEnd(accuracy, images, side) {
  const half = 1.96 * Math.sqrt((accuracy * (1 - accuracy)) / images);
  return Math.min(1, Math.max(0, accuracy + side * half));
}

function drawMarks(view, panel) {
  const { plot } = panel;
  const { colors } = plot;
  const { cursor, drag } = view.state;
  const [x0, x1] = plot.x.domain;
  const inside = (x) => x !== null && x >= x0 && x <= x1;
  drawChanges(view, plot, inside);
  const at = view.moment === null ? null : view.xOfStep(view.moment);
  if (inside(at)) plot.upright(at, colors.primary, 1.5);
  if (panel.metric.name === 'accuracy') for (const run of view.now.header.runs) drawBest(view, plot, run);
  if (inside(cursor)) plot.upright(cursor, colors.muted, 1, [3, 3]);
  if (!dragged(drag)) return;
  const [a, b] = [drag.from, drag.to].map((px) => plot.x(drag.panel.plot.x.invert(px)));
  Object.assign(plot.ctx, { fillStyle: colors.ink, globalAlpha: 0.1 });
  plot.ctx.fillRect(Math.min(a, b), panel.y, Math.abs(b - a), panel.h);
  plot.ctx.globalAlpha = 1;
}

/** Draw a ring around a run's best validation accuracy, larger for the best of all runs. */
function drawBest(view, plot, run) {
  const line = view.lines.find((l) => l.run === run.id && l.metric === 'accuracy' && l.split === 'validation');
  if (run.best_step === null || !line || view.xOfStep(run.best_step) > untilOf(view)) return;
  const i = placeOf(line.rows[0], run.best_step);
  const [x, y] = [plot.x(view.xs(line)[i]), plot.y(line.values[i])];
  plot.dot(x, y, run.leads ? 5.5 : 4, view.color(run.id), { ring: true });
}

/** Mark changes during training with dashed lines and the new values. */
function drawChanges(view, plot, inside) {
  const ends = [-Infinity, -Infinity];
  const changes = view.changes().map(([step, label]) => ({ label, at: view.xOfStep(step) }));
  const shown = changes.filter(({ at }) => inside(at));
  for (const { at } of shown) plot.upright(at, plot.colors.muted, 1, [2, 3]);
  plot.font();
  // Labels are drawn after all lines, so that no line crosses a label.
  for (const { label, at } of shown) {
    const x = plot.x(at);
    const width = plot.ctx.measureText(label).width;
    const from = x + 5 + width > plot.x1 + 6 ? x - 5 - width : x + 5;
    const row = ends.findIndex((end) => from > end + 6);
    if (row < 0) continue; // no room: the text beside the curves lists the change
    ends[row] = from + width;
    plot.text(label, from, plot.y0 + 3 + row * 15, { align: 'left', paper: true });
  }
}

/** Return the label at a line's end (name and last value), or null if none is visible. */
function labelOf(view, { metric, plot }, line) {
  const { runs } = view.now.header;
  const several = runs.length > 1;
  const unnamed = several && !line.ghost && line.split === 'train' && metric.splits > 1;
  if (line.metric !== metric.name || unnamed) return null;
  const x = view.xs(line);
  const end = Math.min(plot.x.domain[1], untilOf(view));
  const height = heightAt(x, line.drawn, end, { logX: view.state.logX, logY: view.isLog(metric) });
  if (!Number.isFinite(height)) return null;
  const run = runs.find(({ id }) => id === line.run);
  const best = run?.leads && metric.name === 'accuracy';
  return {
    y: Math.min(plot.y1, Math.max(plot.y0, plot.y(height))),
    name: line.ghost || (several ? `${best ? '★ ' : ''}${run?.name ?? ''}` : line.split),
    value: worded(height, metric.unit),
    color: line.ghost ? plot.colors.muted : view.color(line.run),
    alpha: line.ghost || line.split !== 'train' ? 1 : PALE,
  };
}

/** Draw names and last values at the right edge without overlap. */
function drawLabels(view, panel) {
  const { plot } = panel;
  const { ctx } = plot;
  const labels = view.lines.map((line) => labelOf(view, panel, line)).filter(Boolean);
  const wanted = labels.map(({ y }) => y);
  const places = spread(wanted, 32, plot.y0 - 10, plot.y1 - 8);
  const x = plot.x1 + 10;
  labels.forEach(({ name, value, color, alpha }, i) => {
    plot.font('600 13px');
    plot.dot(x - 4, places[i] - 7, 3, color, { alpha });
    plot.text(value, x + 4, places[i] - 7, { color: plot.colors.ink, align: 'left' });
    plot.font();
    plot.text(fit(ctx, name, RIGHT - 14), x, places[i] + 8, { align: 'left' });
  });
}

// ------------------------------------------------------------ the lines' values

/** Return the bias-corrected exponential moving average; weight 0 returns the values unchanged. */
export function smoothed(values, weight) {
  if (!weight) return values;
  const out = new Float64Array(values.length);
  let mean = 0;
  let mass = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) {
      mean = weight * mean + (1 - weight) * values[i];
      mass = weight * mass + 1 - weight;
    }
    out[i] = mass ? mean / mass : NaN;
  }
  return out;
}

/** Return the height of a drawn line at x, between its points as the axes draw it; NaN before the first one. */
export function heightAt(xs, ys, x, { logX = false, logY = false } = {}) {
  const last = ys.findLastIndex((y, i) => Number.isFinite(y) && xs[i] <= x);
  if (last < 0) return NaN;
  const next = ys.findIndex((y, i) => i > last && Number.isFinite(y));
  if (next < 0) return ys[last];
  const ends = [xs[last], xs[next], x];
  const [from, to, at] = logX && xs[last] > 0 ? ends.map(Math.log) : ends;
  const share = (at - from) / (to - from);
  if (logY && ys[last] > 0 && ys[next] > 0) return ys[last] * (ys[next] / ys[last]) ** share;
  return ys[last] + (ys[next] - ys[last]) * share;
}

/** Return the index of the last entry <= x, at least 0. */
export function placeOf(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (xs[mid] <= x) low = mid;
    else high = mid - 1;
  }
  return low;
}

/** Return the index of the entry nearest to x among sorted values. */
export function nearest(values, x) {
  const i = placeOf(values, x);
  return i + 1 < values.length && values[i + 1] - x < x - values[i] ? i + 1 : i;
}

/** Return the name of the line's run, or a reference line's own name. */
export const nameOf = (line, runs) => line.ghost || (runs.find((run) => run.id === line.run)?.name ?? '');

// Draw the panels of the training curves: one per metric, with lines, marks and labels at the lines' ends.
// A view has `now` (the message), `lines`, `state` (its settings), xs(line), color(run), xOfStep(step).

import { dot, levels, line as rule, logTicks, niceTicks, stroke } from '../../../vitviz/browser/kit/axes.js';
import { fit } from '../../../vitviz/browser/kit/dom.js';
import { brief } from '../../../vitviz/browser/kit/words.js';
import { placeOf } from './curves_data.js';

const PANEL_HEIGHT = { 1: 212, 2: 264 };
const WIDE = 820;
const LEFT = 40;
const RIGHT = 84;
const TOP = 30;
const BOTTOM = 40;
const AXIS_TITLES = ['step', 'epoch', 'seconds of training'];

/** Format a value with its unit. */
export function worded(value, unit) {
  return unit === '%'
    ? `${(100 * value).toFixed(1).replace('100.0', '100')}\u00a0%`
    : `${brief(value)}${unit ? ` ${unit}` : ''}`;
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
    const y = Math.floor(i / columns) * tall + TOP;
    return { metric, x: left + LEFT, y, w: across - LEFT - RIGHT, h: tall - TOP - BOTTOM, left };
  });
  return { panels, height: Math.ceil(metrics.length / columns) * tall };
}

/** Set a panel's scales: fx, fy (values to pixels) and unx (pixels to values). */
function scale(view, panel, [x0, x1]) {
  const [y0, y1] = view.yRange(panel.metric, x0, x1);
  const share = (v, lo, hi, log, least) =>
    log ? Math.log(Math.max(v, least) / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo);
  const { logX } = view.state;
  const logY = view.isLog(panel.metric);
  Object.assign(panel, {
    ...{ x0, x1, y0, y1 },
    fx: (v) => panel.x + panel.w * share(v, x0, x1, logX, x0 / 2),
    fy: (v) => panel.y + panel.h * (1 - share(v, y0, y1, logY, 1e-30)),
    unx(px) {
      const t = (px - panel.x) / panel.w;
      return logX ? x0 * (x1 / x0) ** t : x0 + t * (x1 - x0);
    },
  });
}

/** Draw one metric: axes, curves, marks, and labels at the right edge. */
export function drawPanel(view, ctx, panel, range) {
  scale(view, panel, range);
  drawAxes(view, ctx, panel);
  ctx.save();
  ctx.beginPath();
  ctx.rect(panel.x - 1, panel.y - 6, panel.w + 8, panel.h + 12);
  ctx.clip();
  drawLines(view, ctx, panel);
  drawMarks(view, ctx, panel);
  ctx.restore();
  drawLabels(view, ctx, panel);
}

function drawAxes(view, ctx, panel) {
  const { colors } = view.now;
  const { metric: m, x, y, w, h, fx, fy, x0, x1, y0, y1 } = panel;
  const { logX } = view.state;
  ctx.font = `600 14px ${colors.font}`;
  ctx.fillStyle = colors.ink;
  ctx.textAlign = 'left';
  ctx.fillText(m.unit === '%' ? `${m.title}, %` : m.title, panel.left, y - 18);
  ctx.font = `12px ${colors.font}`;
  const ticks = view.isLog(m) ? logTicks(y0, y1) : niceTicks(y0, y1, 4);
  const word = (tick) => brief(m.unit === '%' ? 100 * tick : tick);
  levels(ctx, colors, { ticks, y: fy, x0: x, x1: x + w, word });
  ctx.textAlign = 'center';
  for (const tick of logX ? logTicks(x0, x1) : niceTicks(x0, x1, Math.max(2, w / 70)))
    if (fx(tick) >= x - 1 && fx(tick) <= x + w + 1) ctx.fillText(brief(tick), fx(tick), y + h + 12);
  ctx.fillText(AXIS_TITLES[view.state.axis], x + w / 2, y + h + 28);
}

/** Draw the curves; in a recording, the part after the selected step is faint. */
function drawLines(view, ctx, panel) {
  const lines = view.lines.filter((line) => line.metric === panel.metric.name);
  const until = untilOf(view);
  if (until < Infinity) for (const line of lines) drawLine(view, ctx, panel, line, 0.18);
  ctx.save();
  if (until < Infinity) {
    ctx.beginPath();
    ctx.rect(panel.x - 1, panel.y - 6, panel.fx(until) - panel.x + 1, panel.h + 12);
    ctx.clip();
  }
  for (const line of lines) drawLine(view, ctx, panel, line, 1);
  ctx.restore();
}

/** Return the x up to which curves are drawn in full: a recording's selected step, else infinity. */
function untilOf(view) {
  const at = view.now.header.film && view.moment !== null ? view.xOfStep(view.moment) : null;
  return at ?? Infinity;
}

function drawLine(view, ctx, { fx, fy }, line, share) {
  const x = view.xs(line);
  const validation = line.split !== 'train';
  // A logarithmic axis cannot show 0.
  const points = (values) =>
    Array.from(values, (v, i) =>
      view.state.logX && x[i] <= 0 ? [NaN, NaN] : [fx(x[i]), Number.isFinite(v) ? fy(v) : NaN],
    );
  ctx.strokeStyle = ctx.fillStyle = line.ghost ? view.now.colors.muted : view.color(line.run);
  ctx.lineJoin = 'round';
  if (line.ghost) {
    ctx.lineWidth = 1.5;
    stroke(ctx, points(line.values), 5);
    return;
  }
  if (!validation && view.state.smoothing > 0) {
    ctx.globalAlpha = 0.22 * share;
    ctx.lineWidth = 1;
    stroke(ctx, points(line.values), 0);
  }
  ctx.globalAlpha = (validation ? 1 : 0.6) * share;
  ctx.lineWidth = validation ? 2 : 1.5;
  const place = view.now.header.runs.findIndex(({ id }) => id === line.run);
  stroke(ctx, points(line.drawn), place);
  if (validation && line.n <= 60)
    line.values.forEach((v, i) => {
      if (Number.isFinite(v)) dot(ctx, fx(x[i]), fy(v), 2.5);
    });
  ctx.globalAlpha = 1;
}

function drawMarks(view, ctx, panel) {
  const { colors } = view.now;
  const { cursor, drag } = view.state;
  const inside = (x) => x !== null && x >= panel.x0 && x <= panel.x1;
  const upright = (x, color, width, dash) => rule(ctx, color, width, x, panel.y - 4, x, panel.y + panel.h, dash);
  drawChanges(view, ctx, panel, inside, upright);
  const at = view.moment === null ? null : view.xOfStep(view.moment);
  if (inside(at)) upright(panel.fx(at), colors.query, 1.5);
  if (panel.metric.name === 'accuracy') for (const run of view.now.header.runs) drawBest(view, ctx, panel, run);
  if (inside(cursor)) upright(panel.fx(cursor), colors.muted, 1, [3, 3]);
  if (!dragged(drag)) return;
  const [a, b] = [drag.from, drag.to].map((px) => panel.fx(drag.panel.unx(px)));
  ctx.fillStyle = colors.ink;
  ctx.globalAlpha = 0.1;
  ctx.fillRect(Math.min(a, b), panel.y, Math.abs(b - a), panel.h);
  ctx.globalAlpha = 1;
}

/** Draw a ring around a run's best validation accuracy, larger for the best of all runs. */
function drawBest(view, ctx, panel, run) {
  const line = view.lines.find((l) => l.run === run.id && l.metric === 'accuracy' && l.split === 'validation');
  if (!run.best || !line || view.xOfStep(run.best.step) > untilOf(view)) return;
  const i = placeOf(line.rows[0], run.best.step);
  ctx.fillStyle = view.now.colors.paper;
  ctx.strokeStyle = view.color(run.id);
  ctx.lineWidth = 2;
  dot(ctx, panel.fx(view.xs(line)[i]), panel.fy(line.values[i]), run.leads ? 5.5 : 4);
  ctx.stroke();
}

/** Mark changes during training with dashed lines and the new values. */
function drawChanges(view, ctx, panel, inside, upright) {
  const { colors } = view.now;
  const ends = [-Infinity, -Infinity];
  const right = panel.x + panel.w + 6;
  const seen = view
    .changes()
    .map(({ step, label }) => ({ label, at: view.xOfStep(step) }))
    .filter(({ at }) => inside(at))
    .map(({ label, at }) => ({ label, x: panel.fx(at) }));
  for (const { x } of seen) upright(x, colors.muted, 1, [2, 3]);
  ctx.font = `12px ${colors.font}`;
  ctx.textAlign = 'left';
  // Labels are drawn after all lines, so that no line crosses a label.
  for (const { label, x } of seen) {
    const width = ctx.measureText(label).width;
    const from = x + 5 + width > right ? x - 5 - width : x + 5;
    const row = ends.findIndex((end) => from > end + 6);
    if (row < 0) continue; // no room: the text beside the curves lists the change
    ends[row] = from + width;
    ctx.fillStyle = colors.paper;
    ctx.fillRect(from - 2, panel.y - 5 + row * 15, width + 4, 15);
    ctx.fillStyle = colors.muted;
    ctx.fillText(label, from, panel.y + 3 + row * 15);
  }
}

/** Return the label at a line's end (name and last value), or null if none is visible. */
function labelOf(view, panel, line) {
  const { runs } = view.now.header;
  const several = runs.length > 1;
  const { metric } = panel;
  const unnamed = several && !line.ghost && line.split === 'train' && metric.splits > 1;
  if (line.metric !== metric.name || unnamed) return null;
  const x = view.xs(line);
  let last = line.n - 1;
  const end = Math.min(panel.x1, untilOf(view));
  while (last >= 0 && !(Number.isFinite(line.drawn[last]) && x[last] <= end)) last--;
  if (last < 0) return null;
  const run = runs.find(({ id }) => id === line.run);
  const best = run?.leads && metric.name === 'accuracy';
  return {
    y: Math.min(panel.y + panel.h, Math.max(panel.y, panel.fy(line.drawn[last]))),
    name: line.ghost || (several ? `${best ? '★ ' : ''}${run?.name ?? ''}` : line.split),
    value: worded(line.drawn[last], metric.unit),
    color: line.ghost ? view.now.colors.muted : view.color(line.run),
    strong: !line.ghost && (line.split !== 'train' || several),
  };
}

/** Push overlapping labels down; if they leave the panel, move all of them up. */
function pushApart(labels, gap, top, bottom) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => {
    if (i && label.y - labels[i - 1].y < gap) label.y = labels[i - 1].y + gap;
  });
  const over = labels.length ? labels[labels.length - 1].y + 8 - bottom : 0;
  if (over <= 0) return;
  labels.forEach((label, i) => {
    label.y = Math.max(top - 10 + gap * i, label.y - over);
  });
}

/** Draw names and last values at the right edge without overlap. */
function drawLabels(view, ctx, panel) {
  const { colors } = view.now;
  const labels = view.lines.map((line) => labelOf(view, panel, line)).filter(Boolean);
  pushApart(labels, 32, panel.y, panel.y + panel.h);
  const x = panel.x + panel.w + 10;
  ctx.textAlign = 'left';
  for (const label of labels) {
    ctx.fillStyle = label.color;
    ctx.globalAlpha = label.strong ? 1 : 0.8;
    ctx.font = `600 13px ${colors.font}`;
    ctx.fillText(label.value, x, label.y - 7);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors.muted;
    ctx.font = `12px ${colors.font}`;
    ctx.fillText(fit(ctx, label.name, RIGHT - 14), x, label.y + 8);
  }
}

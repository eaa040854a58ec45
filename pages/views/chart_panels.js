// The panels of a chart: every pair of axes with its range, its box and its labels.

import { Plot } from '../../vitviz/browser/kit/plot.js';
import { Axis } from './chart_axes.js';
import { cellsOf } from './chart_cells.js';
import { barEnds, barHalf } from './chart_marks.js';

const EDGE_PX = 10;
const BAR_ROOM_PX = 52; // right of a panel, for the colours of its cells
const FLAT_BAR_PX = 28; // below it

export const groupOf = (trace) => trace.legendgroup ?? trace.name;
const axesOf = (trace) => [trace.xaxis ?? 'x', trace.yaxis ?? 'y'];

/** Return what an axis must show of a trace: values, and edges beyond which there is nothing. */
function extentOf(trace, way) {
  if (trace.type === 'image') return { edges: [-0.5, trace.z.shape[way === 'x' ? 1 : 0] - 0.5] };
  if (trace.type === 'heatmap') {
    const places = cellsOf(trace)[way];
    if (typeof places[0] === 'string') return { values: places, edges: [-0.5, places.length - 0.5] };
    return { values: places, edges: [places[0] - 0.5, places.at(-1) + 0.5] };
  }
  if (trace.type === 'bar') {
    const isLength = (trace.orientation === 'h') === (way === 'x');
    if (isLength) return { values: barEnds(trace).flat(), edges: [0] };
    const places = Array.from(trace[way]);
    if (typeof places[0] === 'string') return { values: places };
    return { values: places.flatMap((at, i) => [at - barHalf(trace, i), at + barHalf(trace, i)]) };
  }
  const values = Array.from(trace[way]).filter((value) => value !== null);
  const bars = trace[`error_${way}`];
  const ends = bars ? values.flatMap((v, i) => [v + bars.array[i], v - (bars.arrayminus ?? bars.array)[i]]) : [];
  return { values: [...values, ...ends.filter(Number.isFinite)] };
}

/** Return an axis whose range serves the traces of a chart that are shown. */
function createAxis(name, { all, hidden, layout }) {
  const way = name[0];
  const own = all.filter((trace) => axesOf(trace).includes(name));
  const shown = own.filter((trace) => !hidden.has(groupOf(trace)));
  const extents = (shown.length ? shown : own).map((trace) => extentOf(trace, way));
  const isLines = own.every((trace) => trace.mode === 'lines');
  return new Axis(layout[`${way}axis${name.slice(1)}`] ?? {}, {
    values: extents.flatMap(({ values = [] }) => values),
    edges: extents.flatMap(({ edges = [] }) => edges),
    pad: isLines && way === 'x' ? 0 : 0.05,
  });
}

/** Shrink a box so that one unit is as long across as up, if an axis asks for it. */
function fitSquare([x0, x1, y0, y1], x, y) {
  if (!y.layout.scaleanchor) return [x0, x1, y0, y1];
  const [wide, high] = [x, y].map(({ domain: [a, b] }) => Math.abs(b - a));
  const unit = Math.min((x1 - x0) / wide, (y1 - y0) / high);
  const [left, spare] = [(x0 + x1 - unit * wide) / 2, y1 - y0 - unit * high];
  const top = y.layout.constraintoward === 'top' ? y0 : y0 + spare / 2;
  return [left, left + unit * wide, top, top + unit * high];
}

/** Return the panels with their places from left to right. */
function spread(ctx, chart, scaled) {
  const { all, layout, view } = chart;
  const pairs = [...new Map(all.map((trace) => [axesOf(trace).join(), axesOf(trace)])).values()];
  const axes = new Map(pairs.flat().map((name) => [name, createAxis(name, chart)]));
  const left = axes.get('y').left(ctx, view.width, view.height - 60);
  const right = view.width - Math.max(EDGE_PX + 4, layout.margin?.r ?? 0);
  return pairs.map(([xName, yName]) => {
    const [x, y] = [axes.get(xName), axes.get(yName)];
    const scale = scaled.find((trace) => axesOf(trace)[0] === xName);
    const room = scale && scale.colorbar?.orientation !== 'h' ? BAR_ROOM_PX : 0;
    const [x0, x1] = (x.layout.domain ?? [0, 1]).map((share) => left.room + share * (right - left.room));
    const has = (trace) => axesOf(trace).join() === `${xName},${yName}`;
    const labels = xName === 'x' ? left : { ticks: [], room: 0 };
    return { xName, scale, x, y, x0, x1: x1 - room, has, left: labels, below: x.below(ctx, x1 - room - x0) };
  });
}

/** Return the panels of a chart {all, hidden, layout, view, colors}, each with a plot. */
export function arrange(ctx, chart) {
  ctx.font = `12px ${chart.colors.font}`;
  const scaled = chart.all.filter((trace) => trace.type === 'heatmap' && trace.showscale !== false);
  const isFlat = scaled.some((trace) => trace.colorbar?.orientation === 'h');
  const spans = spread(ctx, chart, scaled);
  const room = (isAbove) => {
    const own = spans.filter(({ x }) => (x.layout.side === 'top') === isAbove);
    return Math.max(
      EDGE_PX,
      isAbove ? (chart.layout.margin?.t ?? 0) - chart.legend.offsetHeight : 0,
      ...own.map(({ below }) => below.room),
    );
  };
  const [top, bottom] = [room(true), chart.view.height - room(false) - (isFlat ? FLAT_BAR_PX : 0)];
  return spans.map((span) => {
    const { x, y } = span;
    const box = fitSquare([span.x0, span.x1, top, bottom], x, y);
    return { ...span, plot: new Plot(ctx, chart.colors, box, { x: x.domain, y: y.domain, logX: x.log, logY: y.log }) };
  });
}

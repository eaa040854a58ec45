// Describe Plotly figures for screen readers, from their data.

import { brief, plural } from '../../vitviz/browser/kit/words.js';

const MAX_LINES = 8; // lines described individually
const PLOTS = document.getElementsByClassName('js-plotly-plot');
const described = new WeakSet();

const stripMarkup = (text) => new DOMParser().parseFromString(String(text ?? ''), 'text/html').body.textContent.trim();

/** Return a value as its axis formats it. */
function formatValue(axis, value) {
  const place = axis?.tickvals?.indexOf?.(value) ?? -1;
  if (place >= 0 && axis.ticktext) return stripMarkup(axis.ticktext[place]);
  if (typeof value !== 'number') return stripMarkup(value);
  return brief(value).replace('-', '\u2212');
}

/** Describe a line by its first and last point, and bars or single dots by their maximum. */
function describeTrace(trace, { xaxis, yaxis }) {
  const [x, y] = [[...(trace.x ?? [])], [...(trace.y ?? [])]];
  const isHorizontal = trace.orientation === 'h';
  const [values, places, axis, across] = isHorizontal ? [x, y, xaxis, yaxis] : [y, x, yaxis, xaxis];
  const points = values.map((value, i) => [value, places[i]]).filter(([value]) => Number.isFinite(value));
  const name = trace.name && trace.showlegend !== false ? `${stripMarkup(trace.name)}: ` : '';
  if (!points.length) return '';
  const describePoint = ([value, place]) => `${formatValue(axis, value)} at ${formatValue(across, place)}`;
  if (trace.type !== 'bar' && trace.mode?.includes('lines'))
    return `${name}from ${describePoint(points[0])} to ${describePoint(points[points.length - 1])}`;
  return `${name}most ${describePoint(points.reduce((best, point) => (point[0] > best[0] ? point : best)))}`;
}

function describeCells(trace) {
  const values = [...trace.z].flatMap((row) => [...row]).filter(Number.isFinite);
  const [least, most] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  return `${trace.z.length} by ${trace.z[0].length} cells from ${formatValue(null, least)} to ${formatValue(null, most)}`;
}

/** Return 'mean cosine over distance: Learned: from 0.5 at 1 to \u22120.1 at 7'; filled areas are omitted. */
function describeFigure({ layout: given, _fullLayout: layout, _fullData: data }) {
  // Plotly's full layout has a placeholder where no title is given.
  const axes = [given.yaxis, given.xaxis].map((axis) => stripMarkup(axis?.title?.text)).filter(Boolean);
  const drawn = data.filter((trace) => trace.visible === true && trace.hoverinfo !== 'skip');
  const lines = drawn
    .map((trace) => (trace.type === 'heatmap' ? describeCells(trace) : describeTrace(trace, layout)))
    .filter(Boolean);
  const more = lines.length > MAX_LINES ? `, and ${plural(lines.length - MAX_LINES, 'more line')}` : '';
  return `${axes.length ? axes.join(' over ') : 'Figure'}: ${lines.slice(0, MAX_LINES).join('; ')}${more}`;
}

function setDescription(plot) {
  if (!plot._fullLayout) return; // Plotly has not drawn it yet
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', describeFigure(plot));
}

function describeNewFigures() {
  for (const plot of PLOTS) {
    if (described.has(plot) || !plot.on) continue;
    described.add(plot);
    plot.on('plotly_afterplot', () => setDescription(plot));
    setDescription(plot);
  }
}

/** Describe every figure when it appears and whenever it is redrawn; called once a page. */
export function describeFigures() {
  new MutationObserver(describeNewFigures).observe(document.body, { childList: true, subtree: true });
  describeNewFigures();
}

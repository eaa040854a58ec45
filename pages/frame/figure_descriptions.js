// Plotly's figures in words, computed from what each of them draws: to who does not see it a figure has no name.

import { brief, plural } from '../views/kit/words.js';

const MOST = 8; // lines that are told one by one
const PLOTS = document.getElementsByClassName('js-plotly-plot');
const told = new WeakSet();

const bare = (text) => new DOMParser().parseFromString(String(text ?? ''), 'text/html').body.textContent.trim();

/** A value as its axis writes it. */
function worded(axis, value) {
  const place = axis?.tickvals?.indexOf?.(value) ?? -1;
  if (place >= 0 && axis.ticktext) return bare(axis.ticktext[place]);
  if (typeof value !== 'number') return bare(value);
  return brief(value).replace('-', '\u2212');
}

/** One line from its first place to its last; of bars and single dots the longest and the farthest up. */
function lineIn(trace, { xaxis, yaxis }) {
  const [x, y] = [[...(trace.x ?? [])], [...(trace.y ?? [])]];
  const lies = trace.orientation === 'h';
  const [values, places, axis, across] = lies ? [x, y, xaxis, yaxis] : [y, x, yaxis, xaxis];
  const kept = values.map((value, i) => [value, places[i]]).filter(([value]) => Number.isFinite(value));
  const name = trace.name && trace.showlegend !== false ? `${bare(trace.name)}: ` : '';
  if (!kept.length) return '';
  const say = ([value, place]) => `${worded(axis, value)} at ${worded(across, place)}`;
  if (trace.type !== 'bar' && trace.mode?.includes('lines'))
    return `${name}from ${say(kept[0])} to ${say(kept[kept.length - 1])}`;
  return `${name}most ${say(kept.reduce((best, one) => (one[0] > best[0] ? one : best)))}`;
}

function cellsIn(trace) {
  const values = [...trace.z].flatMap((row) => [...row]).filter(Number.isFinite);
  const [least, most] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  return `${trace.z.length} by ${trace.z[0].length} cells from ${worded(null, least)} to ${worded(null, most)}`;
}

/** 'mean cosine over distance: Learned: from 0.5 at 1 to \u22120.1 at 7'; what fills an area behind lines is left out. */
function inWords({ _fullLayout: layout, _fullData: data }) {
  const axes = [layout.yaxis, layout.xaxis].map((axis) => bare(axis?.title?.text)).filter(Boolean);
  const drawn = data.filter((trace) => trace.visible === true && trace.hoverinfo !== 'skip');
  const lines = drawn
    .map((trace) => (trace.type === 'heatmap' ? cellsIn(trace) : lineIn(trace, layout)))
    .filter(Boolean);
  const more = lines.length > MOST ? `, and ${plural(lines.length - MOST, 'more line')}` : '';
  return `${axes.length ? axes.join(' over ') : 'Figure'}: ${lines.slice(0, MOST).join('; ')}${more}`;
}

function tell(plot) {
  if (!plot._fullLayout) return; // Plotly says when it has drawn
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', inWords(plot));
}

function look() {
  for (const plot of PLOTS) {
    if (told.has(plot) || !plot.on) continue;
    told.add(plot);
    plot.on('plotly_afterplot', () => tell(plot));
    tell(plot);
  }
}

/** Tells every figure that comes, and again whenever it is drawn anew; once a page of the browser. */
export function tellingFigures() {
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}

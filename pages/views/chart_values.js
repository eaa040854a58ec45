// Read a chart: the points under the pointer and the arrows, and traces in words.

import { brief, MINUS } from '../../vitviz/browser/kit/text.js';
import { fill, format } from './chart_axes.js';
import { cellsOf, each } from './chart_marks.js';

/** Return a point's template filled in; without one its values. */
const textOf = ({ hovertemplate }, point) =>
  hovertemplate ? fill(hovertemplate, point) : `${format(point.x)}: ${format(point.y)}`;

/** Return the `i`-th point of a trace as its template reads it. */
const pointOf = (trace, i) => ({
  x: trace.x[i],
  y: trace.y[i],
  text: each(trace.text, i),
  customdata: trace.customdata?.[i],
});

/** Return a point's words below the name of its line. */
const wordsOf = (trace, point) => `${trace.name ? `${trace.name}\n` : ''}${textOf(trace, point)}`;

/** Return the rows of a heat map's cells. */
function cellRows(trace, { rows, cols, values, x, y }, box) {
  return Array.from({ length: rows }, (_, r) => ({
    count: cols,
    nearest(px, py) {
      const [a, b, w, h] = box(r, 0);
      const [col, dy] = [Math.floor((px - a) / w), (py - b) / h];
      return [col, col >= 0 && col < cols && dy >= 0 && dy < 1 ? 1 : Infinity];
    },
    at(k) {
      const [a, b, w, h] = box(r, k);
      const corner = [Math.min(a, a + w), Math.min(b, b + h), Math.abs(w), Math.abs(h)];
      const [text, customdata] = [trace.text?.[r]?.[k], trace.customdata?.[r]?.[k]];
      const point = { x: x[k], y: y[r], z: values[r * cols + k], text, customdata };
      return { x: a + w / 2, y: b + h / 2, box: corner, text: wordsOf(trace, point) };
    },
  }));
}

/** Return the rows of points that the pointer and the arrows reach: of a line or bars one, of a heat map its own. */
export function rowsOf(trace, { points, boxes, cells, box }) {
  if (cells) return cellRows(trace, cells, box);
  const drawn = points.map((_, i) => i).filter((i) => points[i].every(Number.isFinite));
  if (!drawn.length) return [];
  const isInside = ([a, b, w, h], px, py) => px >= a && px <= a + w && py >= b && py <= b + h;
  const distanceTo = (i, px, py) =>
    boxes && isInside(boxes[i], px, py) ? 0 : Math.hypot(px - points[i][0], py - points[i][1]);
  return [
    {
      count: drawn.length,
      nearest(px, py) {
        const distances = drawn.map((i) => distanceTo(i, px, py));
        const least = Math.min(...distances);
        return [distances.indexOf(least), least];
      },
      at(k) {
        const i = drawn[k];
        return { x: points[i][0], y: points[i][1], box: boxes?.[i], text: wordsOf(trace, pointOf(trace, i)) };
      },
    },
  ];
}

/** Return the row of places along x at which the pointer and the arrows read at once all lines of a panel that reach there. */
export function unifiedRow({ plot, x: { layout } }, traces) {
  const places = [...new Set(traces.flatMap((trace) => trace.x))].sort((a, b) => a - b);
  const valueAt = (trace, at) => {
    const i = trace.x.findLastIndex((x) => x <= at + 1e-6);
    return i < 0 || trace.x.at(-1) < at - 1e-6 ? [] : [`${trace.name} ${textOf(trace, pointOf(trace, i))}`];
  };
  return {
    count: places.length,
    nearest(px) {
      const distances = places.map((at) => Math.abs(plot.x(at) - px));
      return [distances.indexOf(Math.min(...distances)), 0];
    },
    at(k) {
      const head = fill(layout.unifiedhovertitle.text, { x: places[k] });
      const text = [head, ...traces.flatMap((trace) => valueAt(trace, places[k]))].join('\n');
      return { x: plot.x(places[k]), text, mark: () => plot.upright(places[k]) };
    },
  };
}

/** Describe a trace in its own words (`meta`), a line by its first and last point, bars and single points by the greatest, cells by their range. */
export function describeTrace(trace) {
  if (trace.meta) return `${trace.name}: ${trace.meta}`;
  if (trace.type === 'heatmap') {
    const { rows, cols, values } = cellsOf(trace);
    const finite = values.filter(Number.isFinite);
    const ends = [Math.min, Math.max].map((pick) => brief(finite.reduce((a, b) => pick(a, b))).replace('-', MINUS));
    return `${rows} by ${cols} cells from ${ends.join(' to ')}`;
  }
  const values = trace.orientation === 'h' ? trace.x : trace.y;
  const drawn = Array.from(values ?? [], (_, i) => i).filter((i) => Number.isFinite(values[i]));
  if (!drawn.length) return '';
  const name = trace.name && trace.showlegend !== false ? `${trace.name}: ` : '';
  const words = (i) => textOf(trace, pointOf(trace, i)).replaceAll('\n', ', ');
  if (trace.type !== 'bar' && trace.mode?.includes('lines'))
    return `${name}from ${words(drawn[0])} to ${words(drawn.at(-1))}`;
  const greatest = words(drawn.reduce((best, i) => (values[i] > values[best] ? i : best)));
  return name + (drawn.length > 1 ? `maximum at ${greatest}` : greatest);
}

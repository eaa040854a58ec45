// The axes of a chart: numbers in words, range, ticks and labels, and the room that these need.

import { DASHES, logTicks, niceTicks, write } from '../../vitviz/browser/kit/axes.js';
import { scaleOf } from '../../vitviz/browser/kit/plot.js';
import { MINUS, NBSP } from '../../vitviz/browser/kit/text.js';

const LINE_PX = 15; // of a tick's label
const TITLE_PX = 20;
const BESIDE_PX = 30; // by which a title may be longer than its axis
const GAP_PX = 8; // between two labels
const MOST_LABEL = 0.42; // of the width, for the labels left of a chart
const RAISED = '⁻⁰¹²³⁴⁵⁶⁷⁸⁹';
const POWERS = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** Format a value as a template's part `%{y:+.1f}` asks: + sign, thousands, fixed (f), significant (g) or SI digits (s). */
export function format(value, spec = '') {
  if (typeof value !== 'number') return String(value ?? '');
  const [, plus, comma, digits, kind] = spec.match(/^(\+?)(,?)(?:\.(\d+))?([fgs]?)$/) ?? [];
  const [least, most] = kind === 'f' ? [Number(digits ?? 0), Number(digits ?? 0)] : [0, 6];
  const places = { minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: Boolean(comma) };
  const [power, sign] = (kind === 's' && POWERS.find(([from]) => Math.abs(value) >= from)) || [1, ''];
  const text =
    kind === 'g' || kind === 's'
      ? `${Number((value / power).toPrecision(Number(digits ?? 3)))}${sign && NBSP + sign}`
      : value.toLocaleString('en', places);
  return `${plus && value > 0 ? '+' : ''}${text.replace('-', MINUS)}`;
}

/** Format a tick of a logarithmic axis: '3·10⁻⁶', '0.5' or '20 M'. */
function formatLogTick(value) {
  if (value >= 1e-3) return format(value, value >= 1000 ? '.3s' : ',');
  const [factor, power] = value.toExponential(0).split('e');
  return `${factor === '1' ? '' : `${factor}·`}10${power.replace(/./g, (sign) => RAISED['-0123456789'.indexOf(sign)])}`;
}

/** Fill a template's `%{name}` and `%{name[0]:.1f}` with the parts of a point. */
export const fill = (template, point) =>
  template.replace(/%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}/g, (_, name, place, spec) =>
    format(place === undefined ? point[name] : point[name]?.[place], spec),
  );

/** Split a label at its breaks, and at spaces while its lines are wider than `room`. */
function wrap(ctx, text, room) {
  const lines = [];
  for (const part of text.split('\n')) {
    let line = '';
    for (const word of part.split(' ')) {
      const longer = line ? `${line} ${word}` : word;
      if (line && ctx.measureText(longer).width > room) {
        lines.push(line);
        line = word;
      } else line = longer;
    }
    lines.push(line);
  }
  return lines;
}

export class Axis {
  /**
   * Create an axis from its layout and the values on it.
   *   extent: {values, edges, pad}: values on the axis, hard edges (of cells and bars), and the share of room beside points
   */
  constructor(layout, { values, edges = [], pad = 0.05 }) {
    this.layout = layout;
    this.log = layout.type === 'log';
    const names = values.filter((value) => typeof value === 'string');
    this.names = names.length || layout.type === 'category' ? [...new Set(values.map(String))] : null;
    this.isWhole = values.length > 0 && values.every(Number.isInteger);
    const numbers = values.map((value) => this.number(value));
    this.domain = this.findDomain(numbers, edges, pad);
    this.share = scaleOf(this.domain, [0, 1], this.log); // the place of a value along the axis, 0 to 1
  }

  /** Return a value as a number: a category's index. */
  number = (value) =>
    this.names && typeof value === 'string' ? this.names.indexOf(value) : value === null ? NaN : value;

  findDomain(values, edges, pad) {
    const { range, rangemode, autorange } = this.layout;
    if (range) return this.log ? range.map((power) => 10 ** power) : range;
    const all = [...values, ...edges].filter((v) => Number.isFinite(v) && (!this.log || v > 0));
    if (rangemode === 'tozero') all.push(0);
    const scale = this.log ? Math.log10 : (v) => v;
    let [low, high] = all.length ? [Math.min(...all.map(scale)), Math.max(...all.map(scale))] : [0, 1];
    if (this.names && !edges.length) [low, high] = [-0.5, this.names.length - 0.5];
    else if (low === high) [low, high] = [low - 0.5, high + 0.5];
    else {
      const room = pad * (high - low);
      // What ends at an edge, or at zero, needs no room there.
      if (!edges.includes(low) && !(rangemode === 'tozero' && low === 0)) low -= room;
      if (!edges.includes(high) || rangemode === 'tozero') high += room;
    }
    const ends = this.log ? [10 ** low, 10 ** high] : [low, high];
    return autorange === 'reversed' ? ends.reverse() : ends;
  }

  /** Return ticks [value, label] for a length in px. */
  ticks(px) {
    const { tickvals, ticktext, dtick, nticks, visible, showticklabels, ticksuffix = '', tickformat } = this.layout;
    if (visible === false || showticklabels === false) return [];
    const [low, high] = [...this.domain].sort((a, b) => a - b);
    const isInside = ([v]) => v >= low - 1e-9 * Math.abs(low) && v <= high + 1e-9 * Math.abs(high);
    if (tickvals) return tickvals.map((v, i) => [this.number(v), ticktext?.[i] ?? format(v, ',')]).filter(isInside);
    if (this.names) return this.names.map((name, i) => [i, name]);
    if (this.log) {
      const powers = logTicks(low, high).filter(
        (v) => !dtick || Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6),
      );
      return powers.map((v) => [v, formatLogTick(v) + ticksuffix]);
    }
    const count = Math.max(2, Math.min(nticks ?? 6, px / 40));
    const steps = Math.floor(high / dtick) - Math.ceil(low / dtick) + 1;
    const every = dtick
      ? Array.from({ length: steps }, (_, i) => (Math.ceil(low / dtick) + i) * dtick)
      : niceTicks(low, high, count);
    const shown = this.isWhole ? every.filter(Number.isInteger) : every;
    return shown.map((v) => [v, format(v, tickformat ?? ',') + ticksuffix]);
  }

  get title() {
    return this.layout.visible === false ? '' : (this.layout.title?.text ?? '');
  }

  /** Return the lines of the labels and the title left of a chart of about `px` height, and their width. */
  left(ctx, width, px) {
    const ticks = this.ticks(px).map(([v, text]) => [v, wrap(ctx, text, MOST_LABEL * width)]);
    const widths = ticks.flatMap(([, lines]) => lines.map((line) => ctx.measureText(line).width));
    const titles = this.title ? wrap(ctx, this.title, px + BESIDE_PX) : [];
    const title = titles.length && TITLE_PX + LINE_PX * (titles.length - 1);
    return { ticks, titles, room: (widths.length ? Math.max(...widths) + 10 : 4) + title };
  }

  /** Return the labels' lines below or above a chart of `px` width, without those that would overlap, and their height. */
  below(ctx, px) {
    const ticks = this.ticks(px).filter(([, text]) => text);
    const share = ([v]) => this.share(v);
    const slots = ticks.slice(1).map((tick, i) => Math.abs(share(tick) - share(ticks[i])) * px);
    const room = Math.min(px, ...slots) - GAP_PX;
    const wrapped = ticks.map(([v, text]) => [v, this.names || this.layout.ticktext ? wrap(ctx, text, room) : [text]]);
    let end = -Infinity;
    const shown = [...wrapped]
      .sort((a, b) => share(a) - share(b))
      .filter((tick) => {
        const half = Math.max(...tick[1].map((line) => ctx.measureText(line).width)) / 2;
        if (share(tick) * px - half < end) return false;
        end = share(tick) * px + half + GAP_PX / 2;
        return true;
      });
    const lines = Math.max(0, ...shown.map(([, parts]) => parts.length));
    const titles = this.title ? wrap(ctx, this.title, px) : [];
    return { ticks: shown, titles, lines, room: LINE_PX * (lines + titles.length) + (lines || titles.length ? 8 : 4) };
  }
}

/** Draw the grid, the labels and the titles of a panel. */
export function drawAxes({ plot, x, y, left, below }) {
  const { ctx, colors, x0, x1, y0, y1 } = plot;
  plot.font();
  for (const [value, lines] of left.ticks) {
    if (y.layout.showgrid !== false) plot.level(value, colors.line);
    lines.forEach((line, i) => {
      const at = plot.y(value) + LINE_PX * (i - (lines.length - 1) / 2);
      plot.text(line, x0 - 8, at, { align: 'right' });
    });
  }
  const turned = { style: '13px', align: 'center', turn: -Math.PI / 2 };
  const middle = Math.max((y0 + y1) / 2, ...left.titles.map((line) => ctx.measureText(line).width / 2));
  left.titles.forEach((line, i) => write(ctx, colors, line, x0 - left.room + 9 + LINE_PX * i, middle, turned));
  const isAbove = x.layout.side === 'top';
  const first = isAbove ? y0 - below.room + LINE_PX * (below.titles.length + 0.5) : y1 + 12;
  for (const [value, lines] of below.ticks) {
    if (x.layout.showgrid !== false) plot.upright(value, colors.line);
    lines.forEach((line, i) => plot.text(line, plot.x(value), first + LINE_PX * i));
  }
  const start = isAbove ? y0 - below.room + LINE_PX / 2 : first + LINE_PX * below.lines + 4;
  below.titles.forEach((line, i) => plot.text(line, (x0 + x1) / 2, start + LINE_PX * i));
}

/** Set a line's colour, width and dashes; return its width. */
export function pen(ctx, { color, width = 2, dash = 'solid' } = {}, fallback = 'grey') {
  Object.assign(ctx, { strokeStyle: color ?? fallback, lineWidth: width, lineJoin: 'round' });
  ctx.setLineDash(DASHES[dash] ?? []);
  return width;
}

/** Return px of a shape's or a label's place: in values, in shares of a panel ('x domain') or of the whole ('paper'). */
export function place(panel, way, ref, value, isPower) {
  const { plot } = panel;
  const [start, end] = way === 'x' ? [plot.x0, plot.x1] : [plot.y1, plot.y0];
  if (ref?.endsWith('domain') || ref === 'paper') return start + value * (end - start);
  const axis = panel[way];
  return plot[way](isPower && axis.log ? 10 ** value : axis.number(value));
}

/** Draw a line, a rectangle or a circle in the coordinates of a panel. */
export function drawShape(panel, { type, xref, yref, x0, x1, y0, y1, line }) {
  const { ctx } = panel.plot;
  const [a, b] = [x0, x1].map((x) => place(panel, 'x', xref, x));
  const [c, d] = [y0, y1].map((y) => place(panel, 'y', yref, y));
  pen(ctx, line);
  ctx.beginPath();
  if (type === 'line') (ctx.moveTo(a, c), ctx.lineTo(b, d));
  else if (type === 'circle') ctx.ellipse((a + b) / 2, (c + d) / 2, Math.abs(b - a) / 2, Math.abs(d - c) / 2, 0, 0, 7);
  else ctx.rect(Math.min(a, b), Math.min(c, d), Math.abs(b - a), Math.abs(d - c));
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Return as many parts of a text as fit into `room` px, so that no part is cut. */
function fitParts(ctx, text, room) {
  const parts = text.split(' · ');
  while (parts.length > 1 && ctx.measureText(parts.join(' · ')).width > room) parts.pop();
  return parts.join(' · ');
}

/** Write a label in the coordinates of a panel. */
export function drawNote(panel, note) {
  const { x, y, xref, yref, text, font = {}, xanchor = 'center', yanchor, xshift = 0, yshift = 0, bgcolor } = note;
  const { plot } = panel;
  plot.font(`${font.size ?? 13}px`);
  const dy = { top: 9, bottom: -9 }[yanchor] ?? 0;
  const at = [place(panel, 'x', xref, x, true) + xshift, place(panel, 'y', yref, y, true) - yshift + dy];
  const words = xanchor === 'left' ? fitParts(plot.ctx, text, plot.x1 + 12 - at[0]) : text;
  plot.text(words, ...at, { color: font.color ?? plot.colors.ink, align: xanchor, paper: Boolean(bgcolor) });
}

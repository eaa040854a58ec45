// Draw a chart (vitviz/plots/chart.py) on a canvas: panels with axes, marks, reference lines, labels, a legend whose
// entries hide their lines, and values under the pointer, by keyboard and in words.

import { circle, frame } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, fit, live, tooltip } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameLines } from '../../vitviz/browser/kit/grid.js';
import { grown } from '../../vitviz/browser/kit/figure_scale.js';
import { PALETTE } from '../../vitviz/browser/kit/colour_ramp.js';
import { plural } from '../../vitviz/browser/kit/text.js';
import { nameMargin, Plot } from '../../vitviz/browser/kit/plot.js';
import { drawAxes, drawNote, drawShape, pen, Axis } from './chart_axes.js';
import { drawColorbar, cellsOf, drawNames, drawSymbol, drawTrace, each, barEnds, barHalf } from './chart_marks.js';
import { describeTrace, rowsOf, unifiedRow } from './chart_values.js';

const EDGE_PX = 10;
const MOST_NAME = 0.42; // of the width, for the names at the ends of lines
const END_PX = 4; // radius of a dot
const BEFORE_NAME_PX = 20;
const BAR_ROOM_PX = 52; // right of a panel, for the colours of its cells
const FLAT_BAR_PX = 28; // below it

const groupOf = (trace) => trace.legendgroup ?? trace.name;
const axesOf = (trace) => [trace.xaxis ?? 'x', trace.yaxis ?? 'y'];
const isNamedAtEnd = ({ mode, text }) => /^lines.*text$/.test(mode) && !text;

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
  const used = (all.length ? all : [{}]).map(axesOf); // results that are still awaited have axes already
  const pairs = [...new Map(used.map((pair) => [pair.join(), pair])).values()];
  const axes = new Map(pairs.flat().map((name) => [name, createAxis(name, chart)]));
  const left = axes.get('y').left(ctx, view.width, view.height - 60);
  const start = Math.max(left.room, layout.margin?.l ?? 0);
  const names = all.filter((trace) => isNamedAtEnd(trace) && trace.x.length).map(({ name }) => name);
  const labels = names.length ? Math.min(nameMargin(ctx, chart.colors, names), MOST_NAME * view.width) : 0;
  const right = view.width - Math.max(EDGE_PX + 4, layout.margin?.r ?? 0, labels);
  return pairs.map(([xName, yName]) => {
    const [x, y] = [axes.get(xName), axes.get(yName)];
    const scale = scaled.find((trace) => axesOf(trace)[0] === xName);
    const room = scale && scale.colorbar?.orientation !== 'h' ? BAR_ROOM_PX : 0;
    const [x0, x1] = (x.layout.domain ?? [0, 1]).map((share) => start + share * (right - start));
    const has = (trace) => axesOf(trace).join() === `${xName},${yName}`;
    const heights = xName === 'x' ? left : { ticks: [], titles: [], room: 0 };
    return { xName, scale, x, y, x0, x1: x1 - room, has, left: heights, below: x.below(ctx, x1 - room - x0) };
  });
}

/** Return the panels of a chart {all, hidden, layout, view, colors}, each with a plot. */
function arrange(ctx, chart) {
  ctx.font = `13px ${chart.colors.font}`;
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

const HEIGHT_PX = 360;
const LEAST_PX = 120; // of the canvas, below a legend of many lines
const UNIFIED_TIP_PX = 120; // from the top, if the keyboard reads it
const REACH_PX = 60; // from the pointer to the nearest point
const MOST_LINES = 8; // of the description

/** Return a part of a message in the colours of another theme, with its arrays in place. */
function resolve(part, arrays, colors, key = '') {
  if (typeof part === 'string') return colors[part] ?? part;
  if (Array.isArray(part)) return part.map((value) => resolve(value, arrays, colors));
  if (part === null || typeof part !== 'object') return part;
  if (part.ref) return key === 'z' ? arrays[part.ref] : Array.from(arrays[part.ref].data);
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, resolve(value, arrays, colors, name)]));
}

/** Return the colours of a theme by the same ones of the theme that a chart was made for. */
function swapColors(from, to) {
  if (from === to) return {};
  const roles = Object.entries(PALETTE[from]).map(([role, color]) => [color, PALETTE[to][role]]);
  const stops = PALETTE.DIVERGING[from].map((color, i) => [color, PALETTE.DIVERGING[to][i]]);
  return Object.fromEntries([...stops, ...roles]);
}

/** Return the end of a line and its name, cut to `room` px: a list of one, or empty. */
function findEnd(ctx, { name, line }, { points }, room) {
  const end = points.findLast((point) => point.every(Number.isFinite));
  return end ? [{ x: end[0], y: end[1], name: fit(ctx, name, room), color: line.color }] : [];
}

const isSkipped = (trace) => trace.hoverinfo === 'skip';

export default class Chart {
  constructor({ root }) {
    this.root = root;
    this.legend = el(root, 'div', { class: 'ch-legend' });
    this.view = canvas(root, { class: 'ch-canvas' });
    this.tip = tooltip(root);
    this.announce = live(root);
    Object.assign(this, { hidden: new Set(), rows: [], index: -1 });
    gridNavigation(this.view.node, {
      label: 'Chart',
      grid: () => [Math.max(1, this.rows.length), this.columns()],
      cellAt: (x, y) => this.find(x / grown(1), y / grown(1)),
      hover: (index, event) => this.hover(index, event),
    });
  }

  update(message) {
    const { header, arrays, colors } = message;
    if (this.header !== header || this.mode !== colors.mode) {
      const swapped = swapColors(header.mode, colors.mode);
      this.all = resolve(header.data, arrays, swapped);
      this.layout = resolve(header.layout, arrays, swapped);
      Object.assign(this, { header, mode: colors.mode, isUnified: this.layout.hovermode === 'x unified' });
    }
    Object.assign(this, { colors, width: message.width, height: message.height ?? this.layout.height ?? HEIGHT_PX });
    if (!this.isUnified) this.index = -1; // a place along x outlives a new message
    this.drawLegend();
    this.draw();
    if (!this.pointAt(this.index)) this.tip.hide();
    const hasPoints = this.rows.length > 0;
    this.view.node.tabIndex = hasPoints ? 0 : -1;
    this.view.node.setAttribute('role', hasPoints ? 'application' : 'img');
    if (hasPoints) nameLines(this.view.node, this.describe());
    else this.view.node.setAttribute('aria-label', this.describe());
  }

  drawLegend() {
    const named = this.all.filter((trace) => trace.name && trace.showlegend !== false);
    const entries = this.layout.showlegend ? [...new Map(named.map((trace) => [groupOf(trace), trace])).values()] : [];
    const drawn = JSON.stringify([entries.map(({ name }) => name), this.mode, [...this.hidden]]);
    this.legend.classList.toggle('ch-below', this.layout.legend?.y < 0);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.legend.replaceChildren();
    const isFixed = this.layout.legend?.itemclick === false;
    for (const trace of entries) {
      const isShown = !this.hidden.has(groupOf(trace));
      const acts = { type: 'button', 'aria-pressed': isShown, title: 'Show or hide' };
      const node = el(this.legend, isFixed ? 'span' : 'button', isFixed ? {} : acts);
      if (trace.mode !== 'none') this.drawSwatch(canvas(node), trace);
      el(node, 'span', {}, trace.name);
      if (!isFixed) node.onclick = () => this.toggle(groupOf(trace));
    }
  }

  drawSwatch(swatch, { type, mode = 'lines+markers', line = {}, marker = {}, fillcolor }) {
    const ctx = swatch.size(30, 14);
    const color = each(marker.color, 0) ?? line.color ?? fillcolor;
    if (type === 'bar' || (fillcolor && !line.width)) {
      ctx.fillStyle = color;
      ctx.fillRect(8, 1, 14, 12);
      return;
    }
    if (mode.includes('lines')) {
      pen(ctx, { ...line, width: Math.min(3, line.width ?? 2) }, color);
      ctx.beginPath();
      ctx.moveTo(0, 7);
      ctx.lineTo(30, 7);
      ctx.stroke();
    }
    const edge = { edge: each(marker.line?.color, 0), width: Math.min(2, each(marker.line?.width, 0) ?? 0) };
    const symbol = (each(marker.symbol, 0) ?? 'circle').replace(marker.size?.length ? '-open' : '', '');
    if (mode.includes('markers')) drawSymbol(ctx, symbol, 15, 7, 5, color, edge);
  }

  toggle(group) {
    if (!this.hidden.delete(group)) this.hidden.add(group);
    const place = [...this.legend.children].indexOf(this.root.getRootNode().activeElement);
    this.drawLegend();
    this.legend.children[place]?.focus();
    this.draw();
  }

  draw() {
    const most = this.layout.yaxis?.constraintoward === 'top' ? this.width : Infinity; // below a square there is nothing to show
    const height = Math.min(most, grown(this.height) - this.legend.offsetHeight);
    const ctx = this.view.size(this.width, Math.max(grown(LEAST_PX), height), grown(1));
    this.traces = this.all.filter((trace) => !this.hidden.has(groupOf(trace)));
    const panels = arrange(ctx, this);
    const stacks = this.layout.barmode === 'stack' ? new Map() : null;
    this.rows = [];
    for (const panel of panels) {
      drawAxes(panel);
      const own = this.traces.filter((trace) => panel.has(trace));
      const hasFreeNames = this.layout.uniformtext?.mode === 'hide';
      const [labels, ends, places] = [[], [], []];
      const state = { stacks, before: null };
      panel.plot.clip(() => {
        for (const trace of own) {
          const drawn = drawTrace(panel, trace, state);
          places.push([trace, drawn.points]);
          if (!hasFreeNames) labels.push(drawn.labels);
          if (isNamedAtEnd(trace))
            ends.push(...findEnd(ctx, trace, drawn, this.view.width - panel.plot.x1 - BEFORE_NAME_PX));
          if (!isSkipped(trace) && !this.isUnified) this.rows.push(...rowsOf(trace, drawn));
        }
      });
      const read = this.isUnified ? own.filter((trace) => !isSkipped(trace) && trace.x.length) : [];
      if (read.length) this.rows.push(unifiedRow(panel, read));
      const isHere = ({ xref = 'x' }) => xref === 'paper' || xref.split(' ')[0] === panel.xName;
      (this.layout.shapes ?? []).filter(isHere).forEach((shape) => drawShape(panel, shape));
      labels.forEach((draw) => draw());
      if (hasFreeNames) drawNames(panel, places);
      ends.forEach(({ x, y, color }) => panel.plot.dot(x, y, END_PX, color));
      panel.plot.nameEnds(ends);
      (this.layout.annotations ?? []).filter(isHere).forEach((note) => drawNote(panel, note));
      if (panel.scale) drawColorbar(panel, panel.scale);
    }
    this.mark(ctx);
  }

  columns = () => Math.max(1, ...this.rows.map((row) => row.count));

  /** Return the point nearest to (x, y), -1 if all are far. */
  find(x, y) {
    const columns = this.columns();
    let [best, least] = [-1, REACH_PX];
    this.rows.forEach((row, r) => {
      const [k, distance] = row.nearest(x, y);
      if (distance < least) [best, least] = [r * columns + k, distance];
    });
    return best;
  }

  pointAt(index) {
    const columns = this.columns();
    const row = index < 0 ? undefined : this.rows[Math.floor(index / columns)];
    return row?.at(Math.min(row.count - 1, index % columns));
  }

  hover(index, event) {
    this.index = index;
    this.draw();
    const point = this.pointAt(index);
    if (!point) return this.tip.hide();
    this.announce(point.text.replaceAll('\n', ', '));
    const y = point.y === undefined ? (event?.offsetY ?? UNIFIED_TIP_PX) : grown(point.y);
    this.tip.showOver(this.view.node, grown(point.x), y, point.text);
  }

  /** Mark the point under the pointer. */
  mark(ctx) {
    const point = this.pointAt(this.index);
    if (!point) return;
    if (point.mark) return point.mark();
    if (point.box) return frame(ctx, ...point.box, this.colors.primary, 2);
    circle(ctx, this.colors.ink, 1.5, point.x, point.y, 8);
  }

  /** Return what vitviz/plots/hidden_curves.py has left of a chart. */
  describeConcealed() {
    return this.all.find((trace) => trace.name && isSkipped(trace) && trace.x?.length > 1)?.name;
  }

  /** Return 'test accuracy, % over images: ViT: from 50 at 100 to 90 at 1000'. */
  describe() {
    const titles = ['yaxis', 'xaxis']
      .map((name) => this.layout[name]?.title?.text.replaceAll('\n', ' '))
      .filter(Boolean);
    const drawn = this.all.filter((trace) => !isSkipped(trace));
    const lines = drawn.map((trace) => describeTrace(trace)).filter(Boolean);
    const more = lines.length > MOST_LINES ? `, and ${plural(lines.length - MOST_LINES, 'more line')}` : '';
    const title = this.layout.meta ?? (titles.join(' over ') || 'Figure');
    return [title, lines.slice(0, MOST_LINES).join('; ') + more || this.describeConcealed()].filter(Boolean).join(': ');
  }
}

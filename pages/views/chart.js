// Draw a chart (vitviz/plots/chart.py) on a canvas: panels with axes, marks, reference lines, labels, a legend whose
// entries hide their lines, and values under the pointer, by keyboard and in words.

import { circle, frame } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live, tooltip } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameLines } from '../../vitviz/browser/kit/grid.js';
import { grown } from '../../vitviz/browser/kit/figure_scale.js';
import { PALETTE } from '../../vitviz/browser/kit/palette.js';
import { plural } from '../../vitviz/browser/kit/text.js';
import { drawAxes, drawNote, drawShape, pen } from './chart_axes.js';
import { drawColorbar } from './chart_cells.js';
import { drawSymbol, drawTrace, each, hatch } from './chart_marks.js';
import { arrange, groupOf } from './chart_panels.js';
import { describeTrace, rowsOf } from './chart_points.js';

const HEIGHT_PX = 360;
const LEAST_PX = 120; // of the canvas, below a legend of many lines
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
      hover: (index) => this.hover(index),
    });
  }

  update(message) {
    const { header, arrays, colors } = message;
    if (this.header !== header || this.mode !== colors.mode) {
      const swapped = swapColors(header.mode, colors.mode);
      this.all = resolve(header.data, arrays, swapped);
      this.layout = resolve(header.layout, arrays, swapped);
      Object.assign(this, { header, mode: colors.mode });
    }
    Object.assign(this, { colors, width: message.width });
    this.tip.hide();
    this.index = -1;
    this.drawLegend();
    this.draw();
    const hasPoints = this.rows.length > 0;
    this.view.node.tabIndex = hasPoints ? 0 : -1;
    if (hasPoints) nameLines(this.view.node, this.describe());
    else {
      this.view.node.setAttribute('role', 'img');
      this.view.node.setAttribute('aria-label', this.describe());
    }
  }

  drawLegend() {
    const named = this.all.filter((trace) => trace.name && trace.showlegend !== false);
    const entries = this.layout.showlegend ? [...new Map(named.map((trace) => [groupOf(trace), trace])).values()] : [];
    const drawn = JSON.stringify([entries.map(({ name }) => name), this.mode, [...this.hidden]]);
    this.legend.classList.toggle('ch-below', this.layout.legend?.y < 0);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.legend.replaceChildren();
    for (const trace of entries) {
      const isShown = !this.hidden.has(groupOf(trace));
      const node = el(this.legend, 'button', { type: 'button', 'aria-pressed': isShown, title: 'Show or hide' });
      this.drawSwatch(canvas(node), trace);
      el(node, 'span', {}, trace.name);
      node.onclick = () => this.toggle(groupOf(trace));
    }
  }

  drawSwatch(swatch, { type, mode = 'lines+markers', line = {}, marker = {}, fillcolor }) {
    const ctx = swatch.size(30, 14);
    const color = each(marker.color, 0) ?? line.color ?? fillcolor;
    if (type === 'bar' || (fillcolor && !line.width)) {
      ctx.fillStyle = marker.pattern ? hatch(ctx, marker.pattern) : color;
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
    const { height: wanted = HEIGHT_PX, yaxis } = this.layout;
    const most = yaxis?.constraintoward === 'top' ? this.width : Infinity; // below a square there is nothing to show
    const height = Math.min(most, grown(wanted) - this.legend.offsetHeight);
    const ctx = this.view.size(this.width, Math.max(grown(LEAST_PX), height), grown(1));
    this.traces = this.all.filter((trace) => !this.hidden.has(groupOf(trace)));
    const panels = arrange(ctx, this);
    const stacks = this.layout.barmode === 'stack' ? new Map() : null;
    this.rows = [];
    for (const panel of panels) {
      drawAxes(panel);
      const own = this.traces.filter((trace) => panel.has(trace));
      const labels = [];
      const state = { stacks, before: null };
      panel.plot.clip(() => {
        for (const trace of own) {
          const drawn = drawTrace(panel, trace, state);
          labels.push(drawn.labels);
          if (!isSkipped(trace)) this.rows.push(...rowsOf(trace, drawn));
        }
      });
      const isHere = ({ xref = 'x' }) => xref === 'paper' || xref.split(' ')[0] === panel.xName;
      (this.layout.shapes ?? []).filter(isHere).forEach((shape) => drawShape(panel, shape));
      labels.forEach((draw) => draw());
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

  hover(index) {
    this.index = index;
    this.draw();
    const point = this.pointAt(index);
    if (!point) return this.tip.hide();
    this.announce(point.text.replaceAll('\n', ', '));
    this.tip.showOver(this.view.node, grown(point.x), grown(point.y), point.text);
  }

  /** Mark the point under the pointer. */
  mark(ctx) {
    const point = this.pointAt(this.index);
    if (!point) return;
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

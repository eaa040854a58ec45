// Draw training curves on one canvas, in place: no flicker, and the zoom stays while records arrive.

import { listen, tell } from '../../../vitviz/browser/kit/bus.js';
import { button, canvas, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { brief } from '../../../vitviz/browser/kit/text.js';
import { dragged, drawPanel, heightAt, nameOf, nearest, place, placeOf, smoothed, worded } from './curves_draw.js';

const NUMBERS = [
  ['accuracy', 'validation', 'Validation accuracy'],
  ['loss', 'train', 'Training loss'],
  ['loss', 'validation', 'Validation loss'],
  ['images_per_second', 'train', 'Images per second'],
];
const AXES = ['step', 'epoch', 'seconds']; // in the order of a series' first rows

// Pointer position in drawing coordinates; presentation mode enlarges the canvas.
const pointerPosition = (event) => [event.offsetX / grown(1), event.offsetY / grown(1)];

// The zoom outlives the view, because the page is redrawn when a run ends.
const lastView = { focus: null, zoom: null, axis: 0 };

export default class Curves {
  constructor({ root, send, trigger, onUnmount }) {
    Object.assign(this, { root, send, trigger, now: null, lines: [], panels: [], moment: null, serverMoment: '' });
    this.state = { axis: 0, smoothing: 0.6, log: false, logX: false, zoom: null, extra: 0, cursor: null, drag: null };
    this.buildNumbers();
    this.chart = canvas(root, { class: 'curves-canvas', tabindex: '0', role: 'application' });
    const settings = el(root, 'details', { class: 'curves-settings' });
    el(settings, 'summary', {}, 'Axes and smoothing');
    el(settings, 'p', { class: 'vv-muted' }, 'Drag across the curves to zoom, click to select a step.');
    this.bar = el(settings, 'div', { class: 'vv-row curves-bar' });
    this.tip = tooltip(root);
    this.say = live(root);
    this.buildBar();
    const attributes = { class: 'curves-whole', title: 'Show the whole run (Escape)' };
    this.resetZoom = button(root, 'reset zoom', () => this.zoomTo(null), attributes);
    this.watchPointer();
    this.chart.node.onkeydown = (event) => this.press(event);
    onUnmount(listen('moment', root, (news) => this.onMoment(news)));
  }

  buildBar() {
    const group = el(this.bar, 'span', { class: 'curves-group', role: 'group', 'aria-label': 'Horizontal axis' });
    this.axisButtons = AXES.map((axis, i) => button(group, axis, () => this.change({ axis: i, zoom: null })));
    this.logButton = this.toggle('log y', 'log', 'Logarithmic axis for the loss and the gradient norm');
    this.logXButton = this.toggle('log x', 'logX', 'Logarithmic horizontal axis: shows the first steps in detail');
    const label = el(this.bar, 'label', { class: 'curves-smooth' });
    this.smoothText = el(label, 'span', {}, 'smoothing');
    const range = { type: 'range', min: '0', max: '0.98', step: '0.02', 'aria-label': 'Smoothing' };
    this.smooth = el(label, 'input', range);
    this.smooth.oninput = () => {
      this.state.smoothing = Number(this.smooth.value);
      this.draw();
    };
    this.smooth.onchange = () => this.change({});
    this.extra = el(this.bar, 'select', { 'aria-label': 'Third metric', title: 'Add a third metric' });
    this.extra.onchange = () => this.change({ extra: Number(this.extra.value) });
  }

  watchPointer() {
    const { node } = this.chart;
    node.onpointerdown = (event) => {
      const panel = this.panelAt(event);
      if (!panel || event.button) return;
      const [x] = pointerPosition(event);
      if (event.pointerType === 'mouse') {
        this.state.drag = { panel, from: x, to: x };
        node.setPointerCapture(event.pointerId);
      } else this.point(panel.plot.x.invert(x), event.offsetX, event.offsetY);
    };
    node.onpointermove = (event) => {
      const { drag } = this.state;
      const [x] = pointerPosition(event);
      if (drag) drag.to = Math.min(Math.max(x, drag.panel.x), drag.panel.x + drag.panel.w);
      const panel = drag?.panel ?? this.panelAt(event);
      this.point(panel ? panel.plot.x.invert(x) : null, event.offsetX, event.offsetY);
    };
    node.onpointerup = (event) => this.release(event);
    node.onpointerleave = () => {
      if (!this.state.drag) this.point(null);
    };
    node.ondblclick = () => this.zoomTo(null);
    node.onblur = () => this.point(null);
  }

  release(event) {
    const { drag } = this.state;
    this.state.drag = null;
    const panel = drag?.panel ?? this.panelAt(event);
    if (!panel) return;
    if (dragged(drag)) this.zoomTo([drag.from, drag.to].map(drag.panel.plot.x.invert).sort((a, b) => a - b));
    else this.mark(panel.plot.x.invert(pointerPosition(event)[0]));
  }

  press(event) {
    const base = this.baseLine();
    if (!base) return;
    const x = this.xs(base);
    const i = this.state.cursor === null ? base.n - 1 : nearest(x, this.state.cursor);
    const step = event.shiftKey ? 10 : 1;
    const to = (k) => () => this.say(this.point(x[Math.min(Math.max(k, 0), base.n - 1)])?.text ?? '');
    const act = {
      ArrowLeft: to(i - step),
      ArrowRight: to(i + step),
      Home: to(0),
      End: to(base.n - 1),
      '+': () => this.zoomBy(0.5, x[i]),
      '-': () => this.zoomBy(2, x[i]),
      Enter: () => this.mark(x[i]),
    }[event.key];
    if (event.key === 'Escape') {
      this.state.zoom = null;
      this.point(null);
    } else if (act) {
      event.preventDefault();
      act();
    }
  }

  zoomTo(range) {
    this.state.zoom = range;
    this.draw();
  }

  /** Return the line that arrow keys follow: the shown run's training curve, or the first line. */
  baseLine() {
    const focusLines = this.lines.filter((line) => line.run === this.now.header.focus);
    return focusLines.find((line) => line.split === 'train') ?? this.lines[0];
  }

  toggle(text, name, help) {
    return button(this.bar, text, () => this.change({ [name]: !this.state[name], zoom: null }), { title: help });
  }

  /** Change the view's settings; the server stores them for the next visit of the page. */
  change(view) {
    Object.assign(this.state, view);
    this.draw();
    const { axis, smoothing, log, logX, extra } = this.state;
    this.send('view', { axis: AXES[axis], smoothing, log, log_x: logX, extra });
  }

  // ---- drawing
  xs(line) {
    return line.rows[this.state.axis];
  }

  metric(name) {
    return this.now.header.metrics.find((m) => m.name === name);
  }

  shownMetrics() {
    const [first, second, ...rest] = this.now.header.metrics;
    return [first, second, ...(this.state.extra ? [rest[this.state.extra - 1]] : [])].filter(Boolean);
  }

  readLines() {
    return this.now.header.series.flatMap(({ metrics, ...series }, i) => {
      const { data, shape } = this.now.arrays[`series${i}`];
      const n = shape[1];
      const row = (r) => data.subarray(r * n, (r + 1) * n);
      const rows = [0, 1, 2].map(row);
      return n ? metrics.map((metric, m) => ({ ...series, metric, n, rows, values: row(3 + m) })) : [];
    });
  }

  xRange() {
    const name = AXES[this.state.axis];
    const { runs } = this.now.header;
    const lines = this.lines.filter((line) => !line.ghost); // only runs define the length of the axis
    const ends = [...lines.map((line) => this.xs(line)[line.n - 1]), ...runs.map((run) => run.total?.[name] ?? 0)];
    let end = Math.max(0, ...ends) || 1;
    if (name === 'seconds' && !runs.some((run) => run.total?.seconds)) {
      const unit = 10 ** Math.floor(Math.log10(end));
      end = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((f) => f * unit).find((v) => v >= end);
    }
    if (!this.state.logX) return [0, end];
    const starts = lines.map((line) => this.xs(line).find((x) => x > 0)).filter(Boolean);
    return [Math.min(starts.length ? Math.min(...starts) : 1, end / 10), end];
  }

  yRange(metric, x0, x1) {
    const share = metric.unit === '%';
    const log = this.isLog(metric);
    const { zoom } = this.state;
    if (share && !zoom) return [0, 1];
    let [lo, hi] = [Infinity, -Infinity];
    for (const line of this.lines.filter((one) => one.metric === metric.name)) {
      const x = this.xs(line);
      line.drawn.forEach((y, i) => {
        if (x[i] < x0 || x[i] > x1 || !Number.isFinite(y) || (log && y <= 0)) return;
        [lo, hi] = [Math.min(lo, y), Math.max(hi, y)];
      });
    }
    if (lo > hi) return share ? [0, 1] : log ? [0.1, 1] : [0, metric.top ?? 1];
    if (log) return [lo / 1.2, hi * 1.2];
    if (!zoom) return [0, hi * 1.05 || 1];
    const room = (hi - lo) * 0.08 || Math.abs(hi) * 0.05 || 0.5;
    return share ? [Math.max(0, lo - room), Math.min(1, hi + room)] : [lo - room, hi + room];
  }

  isLog(m) {
    return this.state.log && m.log;
  }

  color(run) {
    return this.now.header.runs.find((r) => r.id === run)?.color ?? this.now.colors.muted;
  }

  draw() {
    if (!this.now) return;
    this.drawBar();
    const { header, width } = this.now;
    Object.assign(lastView, { focus: header.focus, zoom: this.state.zoom, axis: this.state.axis });
    for (const line of this.lines)
      line.drawn = smoothed(line.values, line.split === 'train' && !line.ghost ? this.state.smoothing : 0);
    this.drawNumbers();
    const { panels, height } = place(this.shownMetrics(), width / grown(1));
    this.panels = panels;
    const ctx = this.chart.size(width, grown(height), grown(1));
    ctx.textBaseline = 'middle';
    const range = this.state.zoom ?? this.xRange();
    for (const panel of panels) drawPanel(this, ctx, panel, range);
    this.chart.node.setAttribute('aria-label', this.summary());
  }

  buildNumbers() {
    const list = el(this.root, 'dl', { class: 'curves-numbers' });
    this.numbers = NUMBERS.map(([metric, split, title]) => {
      const pair = el(list, 'div');
      el(pair, 'dt', {}, title);
      return { metric, split, node: el(pair, 'dd', {}, '–') };
    });
  }

  /** Write the shown run's numbers at the selected step, or at its last one. */
  drawNumbers() {
    const x = this.moment === null ? Infinity : this.xOfStep(this.moment);
    for (const { metric, split, node } of this.numbers) {
      const line = this.lines.find((l) => l.run === this.now.header.focus && l.metric === metric && l.split === split);
      const drawn = this.metric(metric);
      const log = { logX: this.state.logX, logY: this.isLog(drawn) };
      const value = line ? heightAt(this.xs(line), line.drawn, x, log) : NaN;
      const text = Number.isFinite(value) ? worded(value, drawn.unit) : '–';
      if (node.textContent !== text) node.textContent = text;
    }
  }

  drawBar() {
    const { axis, log, logX, smoothing, extra, zoom } = this.state;
    const pressed = (node, on) => node.setAttribute('aria-pressed', String(on));
    this.axisButtons.forEach((node, i) => pressed(node, i === axis));
    pressed(this.logButton, log);
    pressed(this.logXButton, logX);
    this.smoothText.textContent = `smoothing ${smoothing.toFixed(2)}`;
    this.smooth.value = String(smoothing);
    this.extra.value = String(extra);
    this.resetZoom.hidden = !zoom;
  }

  /** Convert a step to the current axis by interpolating the shown run's densest line. */
  xOfStep(step) {
    const focusLines = this.lines.filter((l) => l.run === this.now.header.focus);
    const line = focusLines.find((l) => l.split === 'train') ?? focusLines[0];
    if (!line) return null;
    if (this.state.axis === 0) return step;
    const steps = line.rows[0];
    const x = this.xs(line);
    const i = placeOf(steps, step);
    if (steps[i] >= step || i + 1 >= line.n) return steps[i] > step ? (x[i] * step) / steps[i] : x[i];
    return x[i] + ((x[i + 1] - x[i]) * (step - steps[i])) / (steps[i + 1] - steps[i]);
  }

  changes() {
    return this.now.header.runs.find((run) => run.id === this.now.header.focus)?.changes ?? [];
  }

  // ---- reading values
  valuesAt(x) {
    const several = this.now.header.runs.length > 1;
    const rows = [];
    const base = this.baseLine();
    if (!base) return null;
    const i = nearest(this.xs(base), x);
    const head = `step ${brief(base.rows[0][i])} · epoch ${brief(base.rows[1][i])} · ${base.rows[2][i].toFixed(1)} s`;
    for (const m of this.shownMetrics())
      for (const line of this.lines) {
        if (line.metric !== m.name) continue;
        const j = nearest(this.xs(line), x);
        if (!Number.isFinite(this.xs(line)[j])) continue;
        const run = several || line.ghost ? `${nameOf(line, this.now.header.runs)}: ` : '';
        const split = m.splits > 1 ? `${line.split} ` : '';
        rows.push(`${run}${split}${m.title.toLowerCase()} ${worded(line.values[j], m.unit)}`);
      }
    return { x: this.xs(base)[i], step: base.rows[0][i], text: [head, ...rows].join('\n') };
  }

  summary() {
    const { runs } = this.now.header;
    const ends = this.lines.filter(({ metric }) => ['loss', 'accuracy'].includes(metric));
    const parts = ends.map((line) => {
      const { title, unit } = this.metric(line.metric);
      return `${nameOf(line, runs)} ${line.split} ${title.toLowerCase()} ${worded(line.values[line.n - 1], unit)}`;
    });
    const lead = runs.find((run) => run.leads);
    if (lead && runs.length > 1) parts.push(`best validation accuracy: ${lead.name} at step ${brief(lead.best_step)}`);
    const changes = this.changes().map(([step, label]) => `${label} at step ${step}`);
    if (changes.length) parts.push(`changed during training: ${changes.join(', ')}`);
    return `Training curves. ${parts.join(', ') || 'No records yet'}. Arrow keys read values, plus and minus zoom, Enter selects the step.`;
  }

  point(x, px, py) {
    const values = x === null ? null : this.valuesAt(x);
    this.state.cursor = values?.x ?? null;
    this.draw();
    if (!values) {
      this.tip.hide();
      return;
    }
    const [panel] = this.panels;
    const top = this.chart.node.offsetTop + (py ?? grown(panel.y + 8));
    this.tip.show(px ?? grown(panel.plot.x(values.x)), top, values.text);
    return values;
  }

  panelAt(event) {
    const [x, y] = pointerPosition(event);
    const inside = (p) => x >= p.x - 6 && x <= p.x + p.w + 6 && y >= p.y - 8 && y <= p.y + p.h + 8;
    return this.panels.find(inside);
  }

  zoomBy(factor, centre) {
    const full = this.xRange();
    const [a, b] = this.state.zoom ?? full;
    const half = ((b - a) * factor) / 2;
    const whole = 2 * half >= full[1] - full[0];
    this.zoomTo(whole ? null : [Math.max(full[0], centre - half), Math.min(full[1], centre + half)]);
  }

  /** Select the step at x; the timeline and its images follow. */
  mark(x) {
    const values = this.valuesAt(x);
    if (!values) return;
    tell('moment', this.root, { run: this.now.header.focus, step: values.step });
    this.moment = values.step;
    this.draw();
    this.trigger('moment', values.step);
  }

  onMoment({ run, step }) {
    if (run !== this.now?.header.focus) return;
    this.moment = step;
    this.draw();
  }

  /** Load new records, the step selected on the server and, at first, the stored view settings. */
  take(header) {
    this.lines = this.readLines();
    const named = JSON.stringify([header.focus, header.moment]);
    if (header.moment !== undefined && named !== this.serverMoment) {
      this.serverMoment = named;
      this.moment = header.moment;
    }
    if (!this.state.started) this.takeView(header);
    const names = header.metrics.slice(2).map((m) => m.title);
    if (this.extra.dataset.names === names.join()) return;
    this.extra.dataset.names = names.join();
    this.extra.replaceChildren();
    ['+ metric', ...names].forEach((name, i) => el(this.extra, 'option', { value: String(i) }, name.toLowerCase()));
  }

  takeView({ view, focus }) {
    if (view) {
      const axis = AXES.indexOf(view.axis);
      const { smoothing, log, log_x: logX, extra } = view;
      Object.assign(this.state, { axis: Math.max(0, axis), smoothing, log, logX, extra });
    }
    if (lastView.focus === focus && lastView.axis === this.state.axis) this.state.zoom = lastView.zoom;
    this.state.started = true;
  }

  update(message) {
    const fresh = this.now?.header !== message.header;
    this.now = message;
    if (fresh) this.take(message.header);
    this.draw();
  }
}

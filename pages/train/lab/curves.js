// Training curves on one canvas: redrawn in place, so nothing flickers and the zoom stays while records arrive.

import { listen, tell } from '../../views/kit/bus.js';
import { canvas, el, live, tooltip } from '../../views/kit/dom.js';

const RUN_COLORS = {
  light: ['#0072B2', '#C25400', '#00805D', '#A5478A', '#7A6A00', '#566170'],
  dark: ['#56B4E9', '#F0A23C', '#2FBF95', '#DE93BD', '#D6C630', '#A9B4C2'],
};
const AXES = [
  { name: 'step', row: 0, title: 'step' },
  { name: 'epoch', row: 1, title: 'epoch' },
  { name: 'seconds', row: 2, title: 'seconds of training' },
];
const PANEL_HEIGHT = { 1: 212, 2: 264 };
const WIDE = 820;
const LEFT = 40;
const RIGHT = 84;
const TOP = 30;
const BOTTOM = 40;

/** Three significant digits for a number on an axis or in a label. */
function brief(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10000) return `${Math.round(value / 100) / 10}k`;
  if (size >= 100) return `${Math.round(value)}`;
  if (size < 0.001) return value.toExponential(0);
  return `${Number(value.toPrecision(size >= 1 ? 3 : 2))}`;
}

function worded(value, unit) {
  return unit === '%'
    ? `${(100 * value).toFixed(1).replace('100.0', '100')}\u00a0%`
    : `${brief(value)}${unit ? ` ${unit}` : ''}`;
}

/** Round places between lo and hi, about `count` of them. */
function niceTicks(lo, hi, count, log) {
  const ticks = [];
  if (log) {
    const decades = Math.log10(hi / lo);
    const factors = decades > 4 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5];
    for (let p = Math.floor(Math.log10(lo)); p <= Math.ceil(Math.log10(hi)); p++)
      for (const f of factors) {
        const v = f * 10 ** p;
        if (v >= lo * 0.999 && v <= hi * 1.001) ticks.push(v);
      }
    return ticks;
  }
  const raw = (hi - lo) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw) ?? 10 * power;
  for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-6; v += step)
    ticks.push(Number(v.toPrecision(12)));
  return ticks;
}

/** Exponential moving average, corrected for its start; weight 0 leaves the values alone. */
function smoothed(values, weight) {
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

/** Index of the last entry that is <= x, at least 0. */
function placeOf(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (xs[mid] <= x) low = mid;
    else high = mid - 1;
  }
  return low;
}

// The zoom of the run last shown: a page that is drawn anew (a run has ended) must not lose it.
const kept = { focus: null, zoom: null, axis: 0 };

class Curves {
  constructor({ root, send, trigger, onUnmount }) {
    this.root = root;
    this.send = send;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.bar = el(this.root, 'div', { class: 'vv-row curves-bar' });
    this.chart = canvas(this.root, { class: 'curves-canvas', tabindex: '0', role: 'application' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.state = { axis: 0, smoothing: 0.6, log: false, logX: false, zoom: null, extra: 0, cursor: null, drag: null };
    this.now = null;
    this.panels = [];
    this.moment = null;
    this.remembered = '';
    // ---- the toolbar
    this.axisGroup = el(this.bar, 'span', { class: 'curves-group', role: 'group', 'aria-label': 'Horizontal axis' });
    this.axisButtons = AXES.map((axis, i) => {
      const button = el(this.axisGroup, 'button', { type: 'button' }, axis.name);
      button.onclick = () => {
        this.state.axis = i;
        this.state.zoom = null;
        this.changed();
      };
      return button;
    });
    this.logButton = this.toggle('log y', 'log', 'Logarithmic axis for the loss and the gradient norm');
    this.logXButton = this.toggle(
      'log x',
      'logX',
      'Logarithmic horizontal axis: the first steps are the eventful ones',
    );
    this.smoothLabel = el(this.bar, 'label', { class: 'curves-smooth' });
    this.smoothText = el(this.smoothLabel, 'span', {}, 'smoothing');
    this.smooth = el(this.smoothLabel, 'input', {
      type: 'range',
      min: '0',
      max: '0.98',
      step: '0.02',
      'aria-label': 'Smoothing',
    });
    this.smooth.oninput = () => {
      this.state.smoothing = Number(this.smooth.value);
      this.draw();
    };
    this.smooth.onchange = () => this.changed();
    this.extra = el(this.bar, 'select', { 'aria-label': 'Third curve', title: 'A third curve under the two' });
    this.extra.onchange = () => {
      this.state.extra = Number(this.extra.value);
      this.changed();
    };
    this.whole = el(
      this.root,
      'button',
      { type: 'button', class: 'curves-whole', title: 'Show the whole run (Escape)' },
      'whole run',
    );
    this.whole.onclick = () => {
      this.state.zoom = null;
      this.draw();
    };
    this.lines = [];
    this.chart.node.onpointerdown = (event) => {
      const panel = this.panelAt(event);
      if (!panel || event.button) return;
      if (event.pointerType === 'mouse') {
        this.state.drag = { panel, from: event.offsetX, to: event.offsetX };
        this.chart.node.setPointerCapture(event.pointerId);
      } else this.point(panel.unx(event.offsetX), event.offsetX, event.offsetY);
    };
    this.chart.node.onpointermove = (event) => {
      if (this.state.drag)
        this.state.drag.to = Math.min(
          Math.max(event.offsetX, this.state.drag.panel.x),
          this.state.drag.panel.x + this.state.drag.panel.w,
        );
      const panel = this.state.drag?.panel ?? this.panelAt(event);
      this.point(panel ? panel.unx(event.offsetX) : null, event.offsetX, event.offsetY);
    };
    this.chart.node.onpointerup = (event) => {
      const drag = this.state.drag;
      this.state.drag = null;
      const panel = drag?.panel ?? this.panelAt(event);
      if (!panel) return;
      if (drag && Math.abs(drag.to - drag.from) > 4) {
        this.state.zoom = [drag.from, drag.to].map(drag.panel.unx).sort((a, b) => a - b);
        this.draw();
      } else this.mark(panel.unx(event.offsetX));
    };
    this.chart.node.onpointerleave = () => {
      if (!this.state.drag) this.point(null);
    };
    this.chart.node.ondblclick = () => {
      this.state.zoom = null;
      this.draw();
    };
    this.chart.node.onblur = () => this.point(null);
    this.chart.node.onkeydown = (event) => {
      const base = this.lines.find((l) => l.run === this.now.header.focus && l.split === 'train') ?? this.lines[0];
      if (!base) return;
      const x = this.xs(base);
      const i = this.state.cursor === null ? base.n - 1 : this.nearest(x, this.state.cursor);
      const step = event.shiftKey ? 10 : 1;
      const next = { ArrowLeft: i - step, ArrowRight: i + step, Home: 0, End: base.n - 1 }[event.key];
      if (next !== undefined) {
        event.preventDefault();
        this.say(this.point(x[Math.min(Math.max(next, 0), base.n - 1)])?.text ?? '');
      } else if (event.key === '+' || event.key === '-') {
        event.preventDefault();
        this.zoomBy(event.key === '+' ? 0.5 : 2, x[i]);
      } else if (event.key === 'Enter') {
        event.preventDefault();
        this.mark(x[i]);
      } else if (event.key === 'Escape') {
        this.state.zoom = null;
        this.point(null);
      }
    };
    this.onUnmount(listen('moment', this.root, ({ run, step }) => this.onMoment({ run, step })));
  }

  toggle(text, name, help) {
    const button = el(this.bar, 'button', { type: 'button', title: help }, text);
    button.onclick = () => {
      this.state[name] = !this.state[name];
      this.state.zoom = null;
      this.changed();
    };
    return button;
  }

  changed() {
    this.draw();
    this.send('view', {
      axis: AXES[this.state.axis].name,
      smoothing: this.state.smoothing,
      log: this.state.log,
      log_x: this.state.logX,
      extra: this.state.extra,
    });
  }

  // ---- what is drawn
  xs(line) {
    return line.rows[AXES[this.state.axis].row];
  }

  metric(name) {
    return this.now.header.metrics.find((m) => m.name === name);
  }

  shownMetrics() {
    const [first, second, ...rest] = this.now.header.metrics;
    return [first, second, ...(this.state.extra ? [rest[this.state.extra - 1]] : [])].filter(Boolean);
  }

  readLines() {
    return this.now.header.series.flatMap(({ run, split, metrics }, i) => {
      const {
        data,
        shape: [, n],
      } = this.now.arrays[`series${i}`];
      const row = (r) => data.subarray(r * n, (r + 1) * n);
      return n
        ? metrics.map((name, m) => ({ run, split, metric: name, n, rows: [0, 1, 2].map(row), values: row(3 + m) }))
        : [];
    });
  }

  xRange() {
    const name = AXES[this.state.axis].name;
    let hi = 0;
    let lo = Infinity;
    for (const line of this.lines) {
      const x = this.xs(line);
      hi = Math.max(hi, x[line.n - 1]);
      for (const v of x)
        if (v > 0) {
          lo = Math.min(lo, v);
          break;
        }
    }
    for (const run of this.now.header.runs) hi = Math.max(hi, run.total?.[name] ?? 0);
    if (!hi) hi = 1;
    if (name === 'seconds' && !this.now.header.runs.some((run) => run.total?.seconds)) {
      const unit = 10 ** Math.floor(Math.log10(hi));
      hi = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((f) => f * unit).find((v) => v >= hi);
    }
    return this.state.logX ? [Math.min(Number.isFinite(lo) ? lo : 1, hi / 10), hi] : [0, hi];
  }

  yRange(metric, x0, x1) {
    if (metric.unit === '%' && !this.state.zoom) return [0, 1];
    let lo = Infinity;
    let hi = -Infinity;
    for (const line of this.lines) {
      if (line.metric !== metric.name) continue;
      const x = this.xs(line);
      const y = line.drawn;
      for (let i = 0; i < line.n; i++) {
        if (x[i] < x0 || x[i] > x1 || !Number.isFinite(y[i])) continue;
        if (this.isLog(metric) && y[i] <= 0) continue;
        lo = Math.min(lo, y[i]);
        hi = Math.max(hi, y[i]);
      }
    }
    if (!Number.isFinite(lo))
      return metric.unit === '%' ? [0, 1] : this.isLog(metric) ? [0.1, 1] : [0, metric.top ?? 1];
    if (this.isLog(metric)) return [lo / 1.2, hi * 1.2];
    if (!this.state.zoom) return [0, hi * 1.05 || 1];
    const room = (hi - lo) * 0.08 || Math.abs(hi) * 0.05 || 0.5;
    return [
      metric.unit === '%' ? Math.max(0, lo - room) : lo - room,
      metric.unit === '%' ? Math.min(1, hi + room) : hi + room,
    ];
  }

  isLog(m) {
    return this.state.log && m.log;
  }

  color(run) {
    const list = RUN_COLORS[this.now.colors.mode];
    return list[(this.now.header.runs.find((r) => r.id === run)?.color ?? 0) % list.length];
  }

  draw() {
    if (!this.now) return;
    AXES.forEach((_, i) => this.axisButtons[i].setAttribute('aria-pressed', String(i === this.state.axis)));
    this.logButton.setAttribute('aria-pressed', String(this.state.log));
    this.logXButton.setAttribute('aria-pressed', String(this.state.logX));
    this.smoothText.textContent = `smooth ${this.state.smoothing.toFixed(2)}`;
    this.smooth.value = String(this.state.smoothing);
    this.extra.value = String(this.state.extra);
    this.whole.hidden = !this.state.zoom;
    Object.assign(kept, { focus: this.now.header.focus, zoom: this.state.zoom, axis: this.state.axis });
    const shown = this.shownMetrics();
    const columns = this.now.width >= WIDE ? 2 : 1;
    const tall = PANEL_HEIGHT[columns];
    const rows = Math.ceil(shown.length / columns);
    const ctx = this.chart.size(this.now.width, rows * tall);
    ctx.textBaseline = 'middle';
    for (const line of this.lines)
      line.drawn = smoothed(line.values, line.split === 'train' ? this.state.smoothing : 0);
    const range = this.state.zoom ?? this.xRange();
    this.panels = shown.map((m, i) => {
      const wide = columns === 1 || (i === shown.length - 1 && i % columns === 0 && shown.length > 2);
      const column = wide ? 0 : i % columns;
      const width = wide ? this.now.width : (this.now.width - 24) / 2;
      const left = column * (width + 24);
      return {
        metric: m,
        x: left + LEFT,
        y: Math.floor(i / columns) * tall + TOP,
        w: width - LEFT - RIGHT,
        h: tall - TOP - BOTTOM,
        left,
      };
    });
    for (const panel of this.panels) this.drawPanel(ctx, panel, range);
    this.chart.node.setAttribute('aria-label', this.summary());
  }

  drawPanel(ctx, panel, [x0, x1]) {
    const { colors } = this.now;
    const m = panel.metric;
    const [y0, y1] = this.yRange(m, x0, x1);
    const fx = (v) =>
      panel.x +
      panel.w * (this.state.logX ? Math.log(Math.max(v, x0 / 2) / x0) / Math.log(x1 / x0) : (v - x0) / (x1 - x0));
    const fy = (v) =>
      panel.y +
      panel.h * (1 - (this.isLog(m) ? Math.log(Math.max(v, 1e-30) / y0) / Math.log(y1 / y0) : (v - y0) / (y1 - y0)));
    Object.assign(panel, { fx, fy, x0, x1 });
    panel.unx = (px) => {
      const t = (px - panel.x) / panel.w;
      return this.state.logX ? x0 * (x1 / x0) ** t : x0 + t * (x1 - x0);
    };
    ctx.font = `600 14px ${colors.font}`;
    ctx.fillStyle = colors.ink;
    ctx.textAlign = 'left';
    ctx.fillText(m.unit === '%' ? `${m.title}, %` : m.title, panel.left, panel.y - 18);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.lineWidth = 1;
    for (const tick of niceTicks(y0, y1, 4, this.isLog(m))) {
      const y = Math.round(fy(tick)) + 0.5;
      ctx.strokeStyle = colors.line;
      ctx.beginPath();
      ctx.moveTo(panel.x, y);
      ctx.lineTo(panel.x + panel.w, y);
      ctx.stroke();
      ctx.textAlign = 'right';
      ctx.fillText(m.unit === '%' ? `${brief(100 * tick)}` : brief(tick), panel.x - 8, y);
    }
    ctx.textAlign = 'center';
    for (const tick of niceTicks(x0, x1, Math.max(2, panel.w / 70), this.state.logX)) {
      const x = fx(tick);
      if (x < panel.x - 1 || x > panel.x + panel.w + 1) continue;
      ctx.fillText(brief(tick), x, panel.y + panel.h + 12);
    }
    ctx.fillText(AXES[this.state.axis].title, panel.x + panel.w / 2, panel.y + panel.h + 28);
    ctx.save();
    ctx.beginPath();
    ctx.rect(panel.x - 1, panel.y - 6, panel.w + 8, panel.h + 12);
    ctx.clip();
    for (const line of this.lines) if (line.metric === m.name) this.drawLine(ctx, line, fx, fy);
    this.drawMarks(ctx, panel);
    ctx.restore();
    this.drawLabels(ctx, panel);
  }

  stroke(ctx, x, y, fx, fy) {
    ctx.beginPath();
    let pen = false;
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(y[i]) || (this.state.logX && x[i] <= 0)) {
        pen = false;
        continue;
      }
      if (pen) ctx.lineTo(fx(x[i]), fy(y[i]));
      else ctx.moveTo(fx(x[i]), fy(y[i]));
      pen = true;
    }
    ctx.stroke();
  }

  drawLine(ctx, line, fx, fy) {
    const x = this.xs(line);
    const validation = line.split !== 'train';
    ctx.strokeStyle = ctx.fillStyle = this.color(line.run);
    ctx.lineJoin = 'round';
    if (!validation && this.state.smoothing > 0) {
      ctx.globalAlpha = 0.22;
      ctx.lineWidth = 1;
      this.stroke(ctx, x, line.values, fx, fy);
    }
    ctx.globalAlpha = validation ? 1 : 0.6;
    ctx.lineWidth = validation ? 2 : 1.5;
    this.stroke(ctx, x, line.drawn, fx, fy);
    if (validation && line.n <= 60)
      for (let i = 0; i < line.n; i++) {
        if (!Number.isFinite(line.values[i])) continue;
        ctx.beginPath();
        ctx.arc(fx(x[i]), fy(line.values[i]), 2.5, 0, 7);
        ctx.fill();
      }
    ctx.globalAlpha = 1;
  }

  /** x of a step on the present axis, read off the focus run's densest line. */
  xOfStep(step) {
    const of = this.lines.filter((l) => l.run === this.now.header.focus);
    const line = of.find((l) => l.split === 'train') ?? of[0];
    if (!line) return null;
    if (this.state.axis === 0) return step;
    const steps = line.rows[0];
    const x = this.xs(line);
    const i = placeOf(steps, step);
    if (steps[i] >= step || i + 1 >= line.n) return steps[i] > step ? (x[i] * step) / steps[i] : x[i];
    return x[i] + ((x[i + 1] - x[i]) * (step - steps[i])) / (steps[i + 1] - steps[i]);
  }

  drawMarks(ctx, panel) {
    const { colors } = this.now;
    const rule = (x, style, width, dash = []) => {
      ctx.strokeStyle = style;
      ctx.lineWidth = width;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, panel.y - 4);
      ctx.lineTo(x, panel.y + panel.h);
      ctx.stroke();
      ctx.setLineDash([]);
    };
    this.drawChanges(ctx, panel, rule);
    const at = this.moment === null ? null : this.xOfStep(this.moment);
    if (at !== null && at >= panel.x0 && at <= panel.x1) rule(panel.fx(at), colors.query, 1.5);
    for (const run of this.now.header.runs) {
      const line = this.lines.find(
        (l) => l.run === run.id && l.metric === panel.metric.name && l.split === 'validation',
      );
      if (!run.best || panel.metric.name !== 'accuracy' || !line) continue;
      const i = placeOf(line.rows[0], run.best.step);
      const x = panel.fx(this.xs(line)[i]);
      const y = panel.fy(line.values[i]);
      ctx.fillStyle = colors.paper;
      ctx.strokeStyle = this.color(run.id);
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc(x, y, run.leads ? 5.5 : 4, 0, 7);
      ctx.fill();
      ctx.stroke();
    }
    if (this.state.cursor !== null && this.state.cursor >= panel.x0 && this.state.cursor <= panel.x1)
      rule(panel.fx(this.state.cursor), colors.muted, 1, [3, 3]);
    if (this.state.drag && Math.abs(this.state.drag.to - this.state.drag.from) > 4) {
      const a = panel.fx(this.state.drag.panel.unx(this.state.drag.from));
      const b = panel.fx(this.state.drag.panel.unx(this.state.drag.to));
      ctx.fillStyle = colors.ink;
      ctx.globalAlpha = 0.1;
      ctx.fillRect(Math.min(a, b), panel.y, Math.abs(b - a), panel.h);
      ctx.globalAlpha = 1;
    }
  }

  /** Where the visitor changed the focus run while it trained: a dashed line with what it was set to. */
  drawChanges(ctx, panel, rule) {
    const { colors } = this.now;
    const ends = [-Infinity, -Infinity];
    const right = panel.x + panel.w + 6;
    const seen = this.changes()
      .map(({ step, label }) => ({ label, at: this.xOfStep(step) }))
      .filter(({ at }) => at !== null && at >= panel.x0 && at <= panel.x1)
      .map(({ label, at }) => ({ label, x: panel.fx(at) }));
    for (const { x } of seen) rule(x, colors.muted, 1, [2, 3]);
    ctx.font = `12px ${colors.font}`;
    ctx.textAlign = 'left';
    for (const { label, x } of seen) {
      // after every line, so that none crosses a label
      const width = ctx.measureText(label).width;
      const from = x + 5 + width > right ? x - 5 - width : x + 5;
      const row = ends.findIndex((end) => from > end + 6);
      if (row < 0) continue; // no room: the words beside the curves say it
      ends[row] = from + width;
      ctx.fillStyle = colors.paper;
      ctx.fillRect(from - 2, panel.y - 5 + row * 15, width + 4, 15);
      ctx.fillStyle = colors.muted;
      ctx.fillText(label, from, panel.y + 3 + row * 15);
    }
  }

  changes() {
    return this.now.header.runs.find((run) => run.id === this.now.header.focus)?.changes ?? [];
  }

  /** Names and last values at the right edge, pushed apart so that none covers another. */
  drawLabels(ctx, panel) {
    const { header } = this.now;
    const several = header.runs.length > 1;
    const labels = [];
    for (const line of this.lines) {
      if (line.metric !== panel.metric.name || (several && line.split === 'train' && panel.metric.splits > 1)) continue;
      let last = line.n - 1;
      while (last >= 0 && !(Number.isFinite(line.drawn[last]) && this.xs(line)[last] <= panel.x1)) last--;
      if (last < 0) continue;
      const run = header.runs.find((r) => r.id === line.run);
      const best = run?.leads && panel.metric.name === 'accuracy';
      const name = several ? `${best ? '★ ' : ''}${run?.name ?? ''}` : line.split;
      labels.push({
        y: Math.min(panel.y + panel.h, Math.max(panel.y, panel.fy(line.drawn[last]))),
        name,
        value: worded(line.drawn[last], panel.metric.unit),
        color: this.color(line.run),
        strong: line.split !== 'train' || several,
      });
    }
    labels.sort((a, b) => a.y - b.y);
    const gap = 32;
    labels.forEach((label, i) => {
      if (i && label.y - labels[i - 1].y < gap) label.y = labels[i - 1].y + gap;
    });
    const over = labels.length ? labels[labels.length - 1].y + 8 - (panel.y + panel.h) : 0;
    if (over > 0)
      labels.forEach((label, i) => {
        label.y = Math.max(panel.y - 10 + gap * i, label.y - over);
      });
    ctx.textAlign = 'left';
    for (const label of labels) {
      ctx.fillStyle = label.color;
      ctx.globalAlpha = label.strong ? 1 : 0.8;
      ctx.font = `600 13px ${this.now.colors.font}`;
      ctx.fillText(label.value, panel.x + panel.w + 10, label.y - 7);
      ctx.globalAlpha = 1;
      ctx.fillStyle = this.now.colors.muted;
      ctx.font = `12px ${this.now.colors.font}`;
      ctx.fillText(this.fit(ctx, label.name, RIGHT - 14), panel.x + panel.w + 10, label.y + 8);
    }
  }

  fit(ctx, text, width) {
    if (ctx.measureText(text).width <= width) return text;
    while (text.length > 1 && ctx.measureText(`${text}…`).width > width) text = text.slice(0, -1);
    return `${text}…`;
  }

  // ---- reading values
  valuesAt(x) {
    const several = this.now.header.runs.length > 1;
    const rows = [];
    const of = this.lines.filter((l) => l.run === this.now.header.focus);
    const base = of.find((l) => l.split === 'train') ?? this.lines[0];
    if (!base) return null;
    const i = this.nearest(this.xs(base), x);
    const head = `step ${brief(base.rows[0][i])} · epoch ${brief(base.rows[1][i])} · ${base.rows[2][i].toFixed(1)} s`;
    for (const m of this.shownMetrics())
      for (const line of this.lines) {
        if (line.metric !== m.name) continue;
        const j = this.nearest(this.xs(line), x);
        const run = several ? `${this.now.header.runs.find((r) => r.id === line.run)?.name}: ` : '';
        const split = m.splits > 1 ? `${line.split} ` : '';
        rows.push(`${run}${split}${m.title.toLowerCase()} ${worded(line.values[j], m.unit)}`);
      }
    return { x: this.xs(base)[i], step: base.rows[0][i], text: [head, ...rows].join('\n') };
  }

  nearest(values, x) {
    const i = placeOf(values, x);
    return i + 1 < values.length && values[i + 1] - x < x - values[i] ? i + 1 : i;
  }

  summary() {
    const parts = [];
    for (const line of this.lines) {
      if (!['loss', 'accuracy'].includes(line.metric)) continue;
      const m = this.metric(line.metric);
      const run = this.now.header.runs.find((r) => r.id === line.run)?.name ?? '';
      parts.push(`${run} ${line.split} ${m.title.toLowerCase()} ${worded(line.values[line.n - 1], m.unit)}`);
    }
    const lead = this.now.header.runs.find((r) => r.leads);
    if (lead && this.now.header.runs.length > 1)
      parts.push(`the best validation accuracy is ${lead.name}'s, at step ${brief(lead.best.step)}`);
    if (this.changes().length)
      parts.push(
        `changed while it trained: ${this.changes()
          .map(({ step, label }) => `${label} at step ${step}`)
          .join(', ')}`,
      );
    return `Training curves. ${parts.join(', ') || 'No records yet'}. Arrow keys read values, plus and minus zoom, Enter marks the moment.`;
  }

  point(x, px, py) {
    const found = x === null ? null : this.valuesAt(x);
    this.state.cursor = found?.x ?? null;
    this.draw();
    if (!found) {
      this.tip.hide();
      return;
    }
    const panel = this.panels.find((p) => p.x0 !== undefined) ?? this.panels[0];
    this.tip.show(px ?? panel.fx(found.x), this.chart.node.offsetTop + (py ?? panel.y + 8), found.text);
    return found;
  }

  panelAt(event) {
    return this.panels.find(
      (p) =>
        event.offsetX >= p.x - 6 &&
        event.offsetX <= p.x + p.w + 6 &&
        event.offsetY >= p.y - 8 &&
        event.offsetY <= p.y + p.h + 8,
    );
  }

  zoomBy(factor, centre) {
    const whole = this.xRange();
    const [a, b] = this.state.zoom ?? whole;
    const width = (b - a) * factor;
    this.state.zoom =
      width >= whole[1] - whole[0]
        ? null
        : [Math.max(whole[0], centre - width / 2), Math.min(whole[1], centre + width / 2)];
    this.draw();
  }

  /** The visitor asks for the moment at x: the timeline follows, and so do the pictures. */
  mark(x) {
    const found = this.valuesAt(x);
    if (!found) return;
    this.announceMoment(found.step);
    this.trigger('moment', found.step);
  }

  onMoment({ run, step }) {
    if (run !== this.now?.header.focus) return;
    this.moment = step;
    this.draw();
  }

  announceMoment(step) {
    tell('moment', this.root, { run: this.now.header.focus, step });
    this.moment = step;
    this.draw();
  }

  update(message) {
    const fresh = this.now?.header !== message.header;
    this.now = message;
    if (fresh) {
      const { header } = this.now;
      this.lines = this.readLines();
      if (header.moment !== undefined && JSON.stringify([header.focus, header.moment]) !== this.remembered) {
        this.remembered = JSON.stringify([header.focus, header.moment]);
        this.moment = header.moment;
      }
      if (header.view && !this.state.started) {
        this.state.axis = Math.max(
          0,
          AXES.findIndex((axis) => axis.name === header.view.axis),
        );
        Object.assign(this.state, {
          smoothing: header.view.smoothing,
          log: header.view.log,
          logX: header.view.log_x,
          extra: header.view.extra,
        });
      }
      if (!this.state.started && kept.focus === header.focus && kept.axis === this.state.axis)
        this.state.zoom = kept.zoom;
      this.state.started = true;
      const names = header.metrics.slice(2).map((m) => m.title);
      if (this.extra.dataset.names !== names.join()) {
        this.extra.dataset.names = names.join();
        this.extra.replaceChildren();
        ['+ curve', ...names].forEach((name, i) => el(this.extra, 'option', { value: String(i) }, name.toLowerCase()));
      }
    }
    this.draw();
  }
}

export default function curves(context) {
  const view = new Curves(context);
  return (message) => view.update(message);
}

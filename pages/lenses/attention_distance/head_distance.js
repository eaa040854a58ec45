// Heads by layer: a dot per head, the selected head's attention around its query, and a slider over training.

import { circle, fill, frame as frameBox, line } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { blit, heat } from '../../../vitviz/browser/kit/pixels.js';
import { nameMoment, surround } from '../../../vitviz/browser/kit/training_moments.js';
import { counted, percent } from '../../../vitviz/browser/kit/text.js';
import { SEQUENTIAL_LUT, headColor, rampImage } from '../../../vitviz/browser/kit/colour_ramp.js';
import { mix } from '../../../vitviz/browser/kit/motion.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';

const PLOT_LABEL =
  'Distance of each head by layer. Left and right arrows: layer; up and down arrows: head; Enter: select the head.';
const FLOW_MS = 150; // from one moment of a training to the next
const GAP = 32; // as in the style sheet
const LEAST_SIDE = 200; // as in the style sheet

export default class HeadDistance {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, dots: [], picked: { series: 0, layer: 0, head: 0 } });
    this.buildPlot();
    this.time = timeline(root, {
      class: 'hd-time',
      last: () => this.shape[0] - 1,
      words: (place) => nameMoment(this.message.header.training, place),
      show: () => this.draw(),
      dwell: 50,
      first: 500,
      ms: 450,
      flow: FLOW_MS,
      file: 'attention_distance_training',
      faces: { play: ['▶ Play', 'Play through training'], pause: ['❚❚ Pause', 'Pause'] },
    });
    this.announce = live(root);
    this.listenPlot();
    onUnmount(() => this.time.stop());
  }

  buildPlot() {
    this.stage = el(this.root, 'div', { class: 'hd-stage' });
    this.plotBox = el(this.stage, 'div', { class: 'hd-plot' });
    this.plot = canvas(this.plotBox, { tabindex: '0', role: 'application', 'aria-label': PLOT_LABEL });
    this.key = el(this.plotBox, 'div', { class: 'hd-key' });
    this.side = el(this.stage, 'div', { class: 'hd-side' });
    this.title = el(this.side, 'div', { class: 'hd-title' });
    this.map = canvas(this.side, { 'aria-hidden': 'true' });
    this.legend = el(this.side, 'div', { class: 'hd-legend' });
    el(this.legend, 'span', {}, '0');
    this.ramp = canvas(this.legend, { 'aria-hidden': 'true' });
    this.peak = el(this.legend, 'span');
    this.note = el(this.side, 'div', { class: 'hd-note' });
  }

  listenPlot() {
    this.plot.node.onpointermove = (event) => this.select(this.nearest(event));
    this.plot.node.onpointerdown = (event) => this.select(this.nearest(event));
    this.plot.node.onclick = (event) => {
      if (this.nearest(event)) this.trigger('pick', [this.picked.layer, this.picked.head]);
    };
    this.plot.node.onkeydown = (event) => {
      const [, layers, heads] = this.shape;
      const p = this.picked;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (moves[event.key]) {
        event.preventDefault();
        const [dl, dh] = moves[event.key];
        const layer = Math.min(layers - 1, Math.max(0, p.layer + dl));
        let head = Math.min(heads - 1, Math.max(0, p.head + dh));
        while (head > 0 && Number.isNaN(this.at(`values${p.series}`, 0, layer, head))) head--; // a stage with fewer heads
        this.select({ series: p.series, layer, head });
      } else if (event.key === 'Enter') {
        event.preventDefault();
        this.trigger('pick', [this.picked.layer, this.picked.head]);
      }
    };
  }

  at(name, s, layer, head) {
    const { data, shape } = this.message.arrays[name];
    return data[(s * shape[1] + layer) * shape[2] + head];
  }

  /** Interpolate between snapshots, so that dots move smoothly. */
  value(name, layer, head) {
    const [low, high, share] = surround(this.message.header.training, this.time.place);
    return mix(this.at(name, low, layer, head), this.at(name, high, layer, head), share);
  }

  scale() {
    let top = 0;
    this.message.header.series.forEach((_, i) => {
      const spread = this.message.arrays[`spread${i}`].data;
      this.message.arrays[`values${i}`].data.forEach((v, k) => {
        if (v + spread[k] > top) top = v + spread[k];
      });
    }); // the comparison skips NaN
    for (const line of this.message.header.lines) top = Math.max(top, line.value);
    return top * 1.06 || 1;
  }

  draw() {
    const beside = Math.round(this.message.width * 0.66);
    const narrow = this.message.width - beside - GAP - 1 < LEAST_SIDE; // the side panel would wrap below the plot
    const width = narrow ? this.message.width : beside;
    const ctx = this.plot.size(width, grown(narrow ? 320 : 532), grown(1));
    const plot = this.drawAxes(ctx);
    this.dots = [];
    const [, layers, heads] = this.shape;
    for (let s = this.message.header.series.length - 1; s >= 0; s--)
      for (let layer = 0; layer < layers; layer++)
        for (let head = 0; head < heads; head++) this.drawHead(ctx, plot, s, layer, head);
    this.key.textContent = this.message.header.series
      .map((_, s) => `${s ? '○' : '●'} ${this.nameSeries(s)} (bar: ${this.message.header.bars[s]})`)
      .join('   ');
    for (const { label, value } of this.message.header.lines) this.nameLine(ctx, plot, label, plot.y(value));
    this.inspect(narrow ? Math.min(this.message.width, 280) : this.message.width - width - GAP - 1);
    this.time.draw();
  }

  /** Draw the axes and reference lines; return the plot, whose x is a layer from 0. */
  drawAxes(ctx) {
    const { colors, header } = this.message;
    const [, layers] = this.shape;
    const { width, height } = this.plot;
    const domains = { x: [-0.5, layers - 0.5], y: [0, this.scale()] };
    const plot = new Plot(ctx, colors, [48, width - 12, 16, height - 44], domains);
    plot.axisY(plot.y.ticks(4), (value) => String(+value.toPrecision(4)), header.axis);
    const every = Math.ceil(layers / Math.max(1, Math.floor((width - 60) / 28)));
    const ticks = Array.from({ length: Math.ceil(layers / every) }, (_, i) => i * every);
    plot.axisX(ticks, (layer) => String(layer + 1), 'layer');
    for (const { value } of header.lines) plot.level(value, colors.muted, 1, [4, 4]);
    return plot;
  }

  /** Draw one head with its bar: a dot for the first series, a ring for others. */
  drawHead(ctx, plot, series, layer, head) {
    const [, , heads] = this.shape;
    const v = this.value(`values${series}`, layer, head);
    if (Number.isNaN(v)) return; // a stage with fewer heads
    const apart = heads > 1 ? (head / (heads - 1) - 0.5) * 0.5 : 0;
    const [x, y] = [plot.x(layer + apart), plot.y(v)];
    const color = headColor(head, heads);
    const spread = this.value(`spread${series}`, layer, head);
    const [top, bottom] = [plot.y(v + spread), plot.y(Math.max(0, v - spread))];
    ctx.globalAlpha = series ? 0.6 : 0.35;
    line(ctx, color, series ? 1 : 3, x, bottom, x, top);
    ctx.globalAlpha = 1;
    if (series === 0) plot.dot(x, y, 5, color);
    else circle(ctx, color, 1.5, x, y, 4);
    const { picked } = this;
    if (picked.series === series && picked.layer === layer && picked.head === head)
      circle(ctx, this.message.colors.ink, 2, x, y, 9);
    this.dots.push({ series, layer, head, x, y, top, bottom });
  }

  /** Label a line at the nearest place where the label covers no dot and no bar; above the plot there is none. */
  nameLine(ctx, plot, text, level) {
    const wide = ctx.measureText(text).width + 8;
    const room = plot.x1 - plot.x0 - wide - 2;
    const lefts = Array.from({ length: 21 }, (_, i) => plot.x0 + 6 + (i * room) / 20);
    const places = [-9, 10, -20, 21].flatMap((below) => lefts.map((x) => [x, level + below]));
    const isFree = ([x, y]) =>
      !this.dots.some((d) => d.x > x - 10 && d.x < x + wide + 2 && d.top < y + 14 && d.bottom > y - 14);
    const [x, y] = places.find(isFree) ?? [lefts[0], plot.y0 - 8];
    plot.text(text, x, y, { align: 'left', paper: true });
  }

  /** Return a series' label; the first one's moment where the timeline moves it. */
  nameSeries(s) {
    const { series, training } = this.message.header;
    return s || this.shape[0] < 2 ? series[s] : nameMoment(training, this.time.place);
  }

  inspect(width) {
    const { header, arrays } = this.message;
    const { series, layer, head } = this.picked;
    const size = Math.max(60, Math.min(width, 260));
    const offsets = arrays[`offsets${series}`];
    const shown = Boolean(offsets) && this.time.place === header.shown;
    const [v, d] = [`values${series}`, `spread${series}`].map((name) => this.value(name, layer, head));
    const format = (value) => value.toFixed(value < 10 ? 2 : 1);
    const far = header.unit === 'px' ? ' away on average' : '';
    const text = `${format(v)} ${header.unit}${far} (± ${format(d)}: ${header.bars[series]})`;
    const top = shown ? arrays[`tops${series}`].data[layer * this.shape[2] + head] : 0;
    const share = percent(top);
    this.side.style.flexBasis = `${width}px`;
    this.map.node.style.display = offsets ? 'block' : 'none';
    this.title.textContent = `Layer ${layer + 1}, head ${head + 1} · ${this.nameSeries(series)}`;
    const other = offsets ? ` The map is available at step ${counted(header.steps[header.shown])}.` : '';
    const mapNote = ` Map: where the head attends to, relative to the attending patch (centre); at most ${share}.`;
    this.note.textContent = `${text}.${shown ? mapNote : other}`;
    this.announce(`${this.title.textContent}: ${text}`);
    this.legend.style.visibility = shown ? 'visible' : 'hidden';
    this.drawMap(this.map.size(size, size), size, shown && offsets, share);
  }

  /** Draw the head's mean attention around its query with its scale, or an empty panel if it is missing. */
  drawMap(ctx, size, offsets, share) {
    const { colors } = this.message;
    if (!offsets) return fill(ctx, colors.panel, 0, 0, size, size);
    const wide = Math.min(140, size - 80);
    blit(this.ramp.size(wide, 8), rampImage(SEQUENTIAL_LUT), 0, 0, wide, 8, true);
    this.peak.textContent = share;
    const [, heads, rows, cols] = offsets.shape;
    const start = (this.picked.layer * heads + this.picked.head) * rows * cols;
    const side = size / Math.max(rows, cols);
    const image = heat(offsets.data, rows, cols, SEQUENTIAL_LUT, 0, 255, start);
    blit(ctx, image, 0, 0, side * cols, side * rows);
    frameBox(ctx, side * ((cols - 1) / 2), side * ((rows - 1) / 2), side, side);
  }

  nearest(event) {
    const box = this.plot.node.getBoundingClientRect();
    const px = (event.clientX - box.left) / grown(1);
    const py = (event.clientY - box.top) / grown(1);
    let [best, least] = [null, 24 ** 2];
    for (const dot of this.dots) {
      const distance = (dot.x - px) ** 2 + (dot.y - py) ** 2 + (dot.series ? 4 : 0);
      if (distance < least) [best, least] = [dot, distance];
    }
    return best;
  }

  select(dot) {
    if (dot) {
      this.picked = { series: dot.series, layer: dot.layer, head: dot.head };
      this.draw();
    }
  }

  update(message) {
    const fresh = message.header !== this.message?.header;
    this.message = message;
    this.shape = message.arrays.values0.shape; // steps, layers, heads
    if (fresh) {
      this.time.stop();
      this.time.at = message.header.shown;
      const [, layers, heads] = this.shape;
      const { layer, head, series } = this.picked;
      if (layer >= layers || head >= heads || series >= message.header.series.length)
        this.picked = { series: 0, layer: 0, head: 0 };
    }
    this.draw();
  }
}

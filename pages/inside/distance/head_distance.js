// Heads against depth: a dot per head, its reach around the query under the pointer, training time as a slider.

import { canvas, el, live } from '../../views/kit/dom.js';
import { animate } from '../../views/kit/motion.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { SEQUENTIAL_LUT, headColor } from '../../views/kit/ramp.js';

class HeadDistance {
  constructor({ root, trigger, onUnmount }) {
    this.root = root;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.buildPlot();
    this.buildTime();
    this.beginState();
    this.listenPlot();
    this.listenTime();
  }

  buildPlot() {
    this.stage = el(this.root, 'div', { class: 'hd-stage' });
    this.plotBox = el(this.stage, 'div', { class: 'hd-plot' });
    this.plot = canvas(this.plotBox);
    this.side = el(this.stage, 'div', { class: 'hd-side' });
    this.title = el(this.side, 'div', { class: 'hd-title' });
    this.map = canvas(this.side, { 'aria-hidden': 'true' });
    this.legend = el(this.side, 'div', { class: 'hd-legend' });
    el(this.legend, 'span', {}, '0');
    this.ramp = canvas(this.legend, { 'aria-hidden': 'true' });
    this.peak = el(this.legend, 'span');
    this.note = el(this.side, 'div', { class: 'hd-note' });
  }

  buildTime() {
    this.time = el(this.root, 'div', { class: 'hd-time' });
    this.play = el(
      this.time,
      'button',
      { type: 'button', class: 'hd-play', 'aria-label': 'Play through training' },
      '▶',
    );
    this.slider = el(this.time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Training step' });
    this.stepText = el(this.time, 'output', { class: 'hd-step' });
    this.say = live(this.root);
  }

  beginState() {
    this.now = null;
    this.step = 0;
    this.place = 0;
    this.picked = { series: 0, layer: 0, head: 0 };
    this.stopMotion = () => {};
    this.dots = [];
    this.playing = 0;
    this.message = null;
  }

  listenPlot() {
    this.plot.node.tabIndex = 0;
    this.plot.node.setAttribute('role', 'application');
    this.plot.node.setAttribute(
      'aria-label',
      'Heads against depth. Left and right change the layer, up and down the head, Enter pins the head.',
    );
    this.plot.node.onpointermove = (event) => this.choose(this.nearest(event));
    this.plot.node.onpointerdown = (event) => this.choose(this.nearest(event));
    this.plot.node.onclick = (event) => {
      if (this.nearest(event)) this.trigger('pick', [this.picked.layer, this.picked.head]);
    };
    this.plot.node.onkeydown = (event) => {
      const [, layers, heads] = this.shape();
      const p = this.picked;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (moves[event.key]) {
        event.preventDefault();
        const [dl, dh] = moves[event.key];
        const layer = Math.min(layers - 1, Math.max(0, p.layer + dl));
        let head = Math.min(heads - 1, Math.max(0, p.head + dh));
        while (head > 0 && Number.isNaN(this.at(`values${p.series}`, 0, layer, head))) head--; // a stage with fewer heads
        this.choose({ series: p.series, layer, head });
      } else if (event.key === 'Enter') {
        event.preventDefault();
        this.trigger('pick', [this.picked.layer, this.picked.head]);
      }
    };
  }

  listenTime() {
    this.slider.oninput = () => {
      this.pause();
      this.show(+this.slider.value, 200);
    };
    this.play.onclick = () => {
      if (this.playing) return this.pause();
      this.play.textContent = '❚❚';
      this.play.setAttribute('aria-label', 'Pause');
      if (this.step === this.shape()[0] - 1) this.show(0, 0);
      this.playing = setInterval(
        () => (this.step < this.shape()[0] - 1 ? this.show(this.step + 1, 450) : this.pause()),
        500,
      );
    };
    this.onUnmount(() => {
      this.pause();
      this.stopMotion();
    });
  }

  shape() {
    return this.now.arrays.values0.shape;
  }
  // steps, layers, heads

  at(name, s, layer, head) {
    const {
      data,
      shape: [, layers, heads],
    } = this.now.arrays[name];
    return data[(s * layers + layer) * heads + head];
  }

  /** A value between snapshots, so that a dot glides instead of jumping. */
  value(name, layer, head) {
    const low = Math.floor(this.place);
    const high = Math.min(low + 1, this.shape()[0] - 1);
    const t = this.place - low;
    return (1 - t) * this.at(name, low, layer, head) + t * this.at(name, high, layer, head);
  }

  scale() {
    let top = 0;
    this.now.header.series.forEach((_, i) => {
      for (const v of this.now.arrays[`values${i}`].data) if (v > top) top = v;
    }); // never a NaN
    for (const line of this.now.header.lines) top = Math.max(top, line.value);
    return top * 1.06 || 1;
  }

  draw() {
    if (!this.now) return;
    const { colors, header } = this.now;
    const [, layers, heads] = this.shape();
    const narrow = this.now.width < 640;
    const width = narrow ? this.now.width : Math.round(this.now.width * 0.66);
    const height = narrow ? 320 : 400;
    const ctx = this.plot.size(width, height);
    const left = 48;
    const right = 12;
    const top = 16;
    const bottom = 44;
    const high = this.scale();
    const w = width - left - right;
    const h = height - top - bottom;
    const x = (layer, head) => left + (w * (layer + 0.5 + (heads > 1 ? (head / (heads - 1) - 0.5) * 0.5 : 0))) / layers;
    const y = (v) => top + h * (1 - v / high);
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    const tick = this.niceStep(high / 4);
    for (let v = 0; v <= high; v += tick) {
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, Math.round(y(v)) + 0.5);
      ctx.lineTo(width - right, Math.round(y(v)) + 0.5);
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'right';
      ctx.fillText(String(+v.toPrecision(4)), left - 8, y(v));
    }
    ctx.textAlign = 'center';
    ctx.fillStyle = colors.muted;
    const every = Math.ceil(layers / Math.max(1, Math.floor(w / 28)));
    for (let layer = 0; layer < layers; layer += every)
      ctx.fillText(String(layer + 1), left + (w * (layer + 0.5)) / layers, height - bottom + 16);
    ctx.fillText('layer', left + w / 2, height - 8);
    ctx.save();
    ctx.translate(12, top + h / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(header.axis, 0, 0);
    ctx.restore();
    const labels = [];
    for (const line of header.lines) {
      ctx.strokeStyle = colors.muted;
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(left, y(line.value));
      ctx.lineTo(width - right, y(line.value));
      ctx.stroke();
      ctx.setLineDash([]);
      labels.push([line.label, y(line.value)]);
    }
    this.dots = [];
    for (let s = header.series.length - 1; s >= 0; s--)
      for (let layer = 0; layer < layers; layer++)
        for (let head = 0; head < heads; head++) {
          const v = this.value(`values${s}`, layer, head);
          const d = this.value(`spread${s}`, layer, head);
          if (Number.isNaN(v)) continue; // a stage with fewer heads
          const px = x(layer, head);
          const py = y(v);
          const color = headColor(head, heads);
          const chosen = this.picked.series === s && this.picked.layer === layer && this.picked.head === head;
          ctx.strokeStyle = color;
          ctx.fillStyle = color;
          if (s === 0) {
            ctx.globalAlpha = 0.35;
            ctx.lineWidth = 3;
            ctx.beginPath();
            ctx.moveTo(px, y(Math.max(0, v - d)));
            ctx.lineTo(px, y(v + d));
            ctx.stroke();
            ctx.globalAlpha = 1;
            ctx.beginPath();
            ctx.arc(px, py, 5, 0, 7);
            ctx.fill();
          } else {
            ctx.lineWidth = 1.5;
            ctx.globalAlpha = 0.8;
            ctx.beginPath();
            ctx.arc(px, py, 4, 0, 7);
            ctx.stroke();
            ctx.globalAlpha = 1;
          }
          if (chosen) {
            ctx.strokeStyle = colors.ink;
            ctx.lineWidth = 2;
            ctx.beginPath();
            ctx.arc(px, py, 9, 0, 7);
            ctx.stroke();
          }
          this.dots.push({ series: s, layer, head, x: px, y: py });
        }
    ctx.textAlign = 'left';
    for (const [text, level] of labels) {
      // at that end and side of its line where it hides the fewest dots
      const wide = ctx.measureText(text).width + 8;
      const ends = [left + 2, width - right - wide];
      const places = [level - 9, level + 10].flatMap((py) => ends.map((px) => [px, py]));
      const hidden = ([px, py]) =>
        this.dots.filter((d) => d.x > px - 6 && d.x < px + wide + 6 && Math.abs(d.y - py) < 14).length;
      const [px, py] = places.reduce((best, other) => (hidden(other) < hidden(best) ? other : best));
      ctx.globalAlpha = 0.8;
      ctx.fillStyle = colors.paper;
      ctx.fillRect(px, py - 8, wide, 16);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colors.muted;
      ctx.fillText(text, px + 4, py);
    }
    this.inspect(narrow ? Math.min(this.now.width, 280) : this.now.width - width - 32);
  }

  inspect(width) {
    const { header, colors, arrays } = this.now;
    const p = this.picked;
    this.side.style.flexBasis = `${width}px`;
    const size = Math.max(60, Math.min(width, 260));
    this.map.node.style.display = arrays[`offsets${p.series}`] ? 'block' : 'none';
    const ctx = this.map.size(size, size);
    const v = this.value(`values${p.series}`, p.layer, p.head);
    const d = this.value(`spread${p.series}`, p.layer, p.head);
    this.title.textContent = `Layer ${p.layer + 1}, head ${p.head + 1} · ${header.series[p.series]}`;
    const text = `${v.toFixed(v < 10 ? 2 : 1)} ${header.unit} (± ${d.toFixed(d < 10 ? 2 : 1)} over pictures)`;
    const offsets = arrays[`offsets${p.series}`];
    const shown = this.place === header.shown && offsets;
    const share = shown
      ? `${(100 * arrays[`tops${p.series}`].data[p.layer * this.shape()[2] + p.head]).toFixed(1)} %`
      : '';
    this.note.textContent = shown
      ? `${text}. Middle: the query. Brightest place: ${share} of its attention.`
      : offsets
        ? `${text}. The map belongs to step ${header.steps[header.shown]}.`
        : `${text}.`;
    this.say(`${this.title.textContent}: ${text}`);
    this.legend.style.visibility = shown ? 'visible' : 'hidden';
    if (shown) {
      const wide = Math.min(140, size - 80);
      blit(
        this.ramp.size(wide, 8),
        heat(
          Float32Array.from({ length: 256 }, (_, i) => i),
          1,
          256,
          SEQUENTIAL_LUT,
          0,
          255,
        ),
        0,
        0,
        wide,
        8,
        true,
      );
      this.peak.textContent = share;
      const [, heads, rows, cols] = offsets.shape;
      const start = (p.layer * heads + p.head) * rows * cols;
      const table = SEQUENTIAL_LUT;
      const side = size / Math.max(rows, cols);
      blit(ctx, heat(offsets.data, rows, cols, table, 0, 255, start), 0, 0, side * cols, side * rows);
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(side * ((cols - 1) / 2), side * ((rows - 1) / 2), side, side);
      return;
    }
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, size, size);
  }

  nearest(event) {
    const box = this.plot.node.getBoundingClientRect();
    const px = event.clientX - box.left;
    const py = event.clientY - box.top;
    let best = null;
    let bestD = 24 * 24;
    for (const dot of this.dots) {
      const d = (dot.x - px) ** 2 + (dot.y - py) ** 2 + (dot.series ? 4 : 0);
      if (d < bestD) {
        bestD = d;
        best = dot;
      }
    }
    return best;
  }

  choose(dot) {
    if (dot) {
      this.picked = { series: dot.series, layer: dot.layer, head: dot.head };
      this.draw();
    }
  }

  show(target, ms) {
    this.stopMotion();
    const from = this.place;
    this.stopMotion = animate(ms, (t) => {
      this.place = t === 1 ? target : from + (target - from) * t;
      this.draw();
    });
    this.step = target;
    this.slider.value = String(target);
    this.stepText.textContent = `step ${this.now.header.steps[target].toLocaleString('en')}`;
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = '▶';
    this.play.setAttribute('aria-label', 'Play through training');
  }

  niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    const unit = rough / power;
    return power * (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1);
  }

  update(next) {
    const fresh = next.header !== this.message;
    this.now = next;
    this.message = next.header;
    if (fresh) {
      this.pause();
      const [steps, layers, heads] = this.shape();
      this.slider.max = String(steps - 1);
      this.time.style.display = steps > 1 ? 'flex' : 'none';
      if (
        this.picked.layer >= layers ||
        this.picked.head >= heads ||
        this.picked.series >= this.now.header.series.length
      )
        this.picked = { series: 0, layer: 0, head: 0 };
      this.stopMotion();
      this.place = this.now.header.shown;
      this.show(this.now.header.shown, 0);
    }
    this.draw();
  }
}

export default function headDistance(context) {
  const view = new HeadDistance(context);
  return (message) => view.update(message);
}

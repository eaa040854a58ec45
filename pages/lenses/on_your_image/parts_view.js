// Draw an image with parts that can be dragged, and every model's prediction for it.

import { el, live, canvas } from '../../../vitviz/browser/kit/dom.js';
import { line } from '../../../vitviz/browser/kit/axes.js';
import { nameMargin, Plot } from '../../../vitviz/browser/kit/plot.js';
import { percent } from '../../../vitviz/browser/kit/text.js';
import { RequestQueue, Panels, chancesOf, describePredictions } from './sweep_panels.js';
import { atHome, encode, fromNumbers, PartsStage } from './parts_stage.js';

const ROW = 64;
const FOOT = 28;
const END = 16; // px beyond 0 % and 100 %, for the dots

class PartsChart {
  constructor(parent) {
    this.box = el(parent, 'div', { class: 'op-chart op-confidence' });
    this.title = el(this.box, 'div', { class: 'op-title' });
    this.note = el(this.box, 'div', { class: 'op-note vv-muted' });
    this.view = canvas(this.box, { role: 'img' });
  }

  /** Draws rows of {name, color, before, now}: the probabilities of the class `className`. */
  draw(rows, className, colors, width) {
    this.title.textContent = `Confidence in ${className}`;
    this.note.textContent = 'Ring: whole image. Dot: current parts.';
    const ctx = this.view.size(width, ROW * rows.length + FOOT);
    const names = rows.map(({ name }) => name);
    const left = nameMargin(ctx, colors, names);
    const plot = new Plot(ctx, colors, [left, width - END, 0, ROW * rows.length]);
    plot.axisX([0, 0.5, 1], (share) => percent(share, 0), '', { grid: true });
    plot.font('13px');
    rows.forEach((row, i) => this.row(plot, row, ROW * (i + 0.5)));
    const labels = rows.map(({ name, before, now }) => `${name} ${percent(before)}, now ${percent(now)}`);
    this.view.node.setAttribute('aria-label', `Confidence in ${className}: ${labels.join('; ')}`);
  }

  row(plot, { name, color, before, now }, y) {
    const [from, to] = [before, now].map(plot.x);
    plot.text(name, plot.x0 - 8 - END, y, { color: plot.colors.ink, align: 'right' });
    line(plot.ctx, color, 2.5, from, y, to, y);
    plot.dot(from, y, 6.5, color, { ring: true });
    plot.dot(to, y, 4.5, color);
    const [align, shift] = now > 0.5 ? ['right', -12] : ['left', 12];
    if (now !== before) plot.text(percent(now), to + shift, y - 13, { align });
  }
}

const NARROW = 600;

export default class PartsView {
  constructor({ root, send, onUnmount }) {
    Object.assign(this, { root, send });
    const top = el(root, 'div', { class: 'op-top' });
    this.left = el(top, 'div', { class: 'op-left' });
    const right = el(top, 'div', { class: 'op-right' });
    const toggleInput = () => {
      this.seen = !this.seen;
      this.move(this.parts, true);
    };
    this.stage = new PartsStage(root, this.left, (parts, done) => this.move(parts, done), toggleInput);
    this.chart = new PartsChart(right);
    this.panels = new Panels(root);
    this.announce = live(root);
    this.mark = null;
    this.requests = new RequestQueue(() => this.sendParts(), onUnmount);
  }

  update(message) {
    this.now = message;
    const { header } = message;
    if (header.mark !== this.mark) {
      this.mark = header.mark;
      this.parts = header.parts.map(fromNumbers);
      this.seen = header.seen;
    }
    this.predictedParts = header.parts.map(fromNumbers);
    this.draw();
    this.requests.receive();
  }

  /** Draws moved parts at once; requests predictions during a drag and at its end. */
  move(parts, done) {
    this.parts = parts;
    this.draw();
    if (done) this.requests.sendNow();
    else this.requests.sendSoon();
  }

  sendParts() {
    this.send('moved', { apart: encode(this.parts, this.now.header.signs), apart_seen: this.seen, mark: this.mark });
  }

  draw() {
    const { header, arrays, colors, width } = this.now;
    const narrow = width < NARROW;
    this.root.classList.toggle('op-narrow', narrow);
    this.stage.draw(this.now, this.parts, this.seen);
    const at = this.predictedParts.every(atHome) ? 0 : 1;
    this.panels.draw(this.now, { at });
    const rows = header.models.map(({ name, color }, m) => ({
      name,
      color,
      before: chancesOf(arrays.chances, m, 0)[header.watched],
      now: chancesOf(arrays.chances, m, at)[header.watched],
    }));
    const room = narrow ? width : width - this.left.clientWidth - 24;
    this.chart.draw(rows, header.classes[header.watched], colors, room);
    this.root.dataset.parts = encode(this.predictedParts, header.signs);
    this.announce(describePredictions(this.now, at));
  }
}

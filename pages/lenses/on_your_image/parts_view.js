// Draw an image with parts that can be dragged, and every model's prediction for it.

import { el, live } from '../../../vitviz/browser/kit/dom.js';
import { RequestQueue } from './request_queue.js';
import { PartsChart } from './parts_chart.js';
import { atHome, encode, fromNumbers } from './parts_link.js';
import { PartsStage } from './parts_stage.js';
import { Panels, chancesOf, describePredictions } from './sweep_panels.js';

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

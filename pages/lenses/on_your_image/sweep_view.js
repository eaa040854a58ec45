// Draw an image changed by a slider, and every model's prediction; one message holds all strengths.

import { el, live } from '../../../vitviz/browser/kit/dom.js';
import { RequestQueue } from './request_queue.js';
import { Chart } from './sweep_chart.js';
import { Panels, chancesOf, describePredictions, predictedOf } from './sweep_panels.js';
import { Stage } from './sweep_stage.js';

const NARROW = 600;

export default class SweepView {
  constructor({ root, send, onUnmount }) {
    this.root = root;
    const top = el(root, 'div', { class: 'op-top' });
    this.left = el(top, 'div', { class: 'op-left' });
    this.right = el(top, 'div', { class: 'op-right' });
    this.stage = new Stage(root, this.left, (changes, done) => this.move(changes, done));
    const go = (at, done) => this.move({ at }, done);
    this.current = new Chart(this.right, 'This image: confidence in the initial prediction', go);
    this.stored = new Chart(this.right, '', go);
    this.panels = new Panels(root);
    this.announce = live(root);
    this.mark = null;
    this.requests = new RequestQueue(() => send('moved', { ...this.hand, mark: this.mark }), onUnmount);
  }

  update(message) {
    this.now = message;
    const { hand, mark } = message.header;
    if (mark !== this.mark) {
      this.mark = mark;
      this.hand = { ...hand };
    }
    this.draw();
    this.requests.receive();
  }

  /** Draws moved values at once; sends them at the end of a drag, and during it for the occluding square. */
  move(changes, done) {
    this.hand = { ...this.hand, ...changes };
    this.draw();
    if (done) this.requests.sendNow();
    else if ('place' in changes) this.requests.sendSoon();
  }

  draw() {
    const { header, width } = this.now;
    const narrow = width < NARROW;
    this.root.classList.toggle('op-narrow', narrow);
    this.stage.draw(this.now, this.hand);
    this.panels.draw(this.now, this.hand);
    const room = narrow ? width : width - this.left.clientWidth - 24;
    this.drawCurrent(room);
    this.drawStored(room);
    this.root.dataset.at = String(this.hand.at);
    this.announce(`${header.words[this.hand.at]}. ${describePredictions(this.now, this.hand.at)}`);
  }

  drawCurrent(width) {
    const { header, arrays, colors } = this.now;
    const { words, revealed, neutral } = header;
    const lines = header.models.map(({ name, color }, m) => {
      const first = predictedOf(chancesOf(arrays.chances, m, neutral));
      const points = [];
      for (let at = 0; revealed && at < words.length; at++) {
        const chances = chancesOf(arrays.chances, m, at);
        points.push([at, chances[first], predictedOf(chances) === first]);
      }
      return { name, color, points, now: chancesOf(arrays.chances, m, this.hand.at)[first] };
    });
    this.current.note.textContent = revealed
      ? 'Bold: the model still predicts that initial class. Drag in the chart to move the slider.'
      : 'Grey: the range of all models. Predict to see each model.';
    const whose = revealed ? 'Confidence in each model’s initial prediction' : 'Range of all models’ confidence';
    const label = `${whose}, from ${words[0]} to ${words.at(-1)}`;
    const { band } = arrays;
    this.current.draw({ lines, band, words, at: this.hand.at, colors, width, height: this.height(), label });
  }

  /** Returns the chart's height; alone it is as high as the image. */
  height = () => (this.now.header.pictures && this.now.header.revealed ? 168 : 320);

  drawStored(width) {
    const { header, arrays, colors } = this.now;
    const shown = Boolean(header.pictures) && header.revealed;
    this.stored.box.style.display = shown ? '' : 'none';
    if (!shown) return;
    const { data, shape } = arrays.curve;
    const places = [...arrays.curve_at.data];
    const lines = header.models.map(({ name, color }, m) => ({
      name,
      color,
      points: places.map((at, k) => [at, data[m * shape[1] + k], true]),
      now: null,
    }));
    this.stored.title.textContent = `Accuracy over ${header.pictures.toLocaleString('en')} test images`;
    this.stored.note.textContent = 'Stored experiment. Dashed: your slider position.';
    const label = `Accuracy over ${header.pictures} test images under the same change`;
    this.stored.draw({ lines, words: header.words, at: this.hand.at, colors, width, height: 168, label });
  }
}

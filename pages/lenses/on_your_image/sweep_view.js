// Draw an image changed by a slider, and every model's prediction; one message holds all strengths.

import { listen, tell } from '../../../vitviz/browser/kit/bus.js';
import { button, el, live, canvas } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { nameMargin, Plot } from '../../../vitviz/browser/kit/plot.js';
import { percent } from '../../../vitviz/browser/kit/text.js';
import { words } from '../../../vitviz/browser/engine/live_model.js';
import { LiveSweep, replaceImage } from './sweep_live.js';
import { RequestQueue, Panels, chancesOf, describePredictions, isKnown, predictedOf } from './sweep_panels.js';
import { Stage } from './sweep_stage.js';

class SweepChart {
  /** go(at, done) receives the strength under the pressed pointer. */
  constructor(parent, title, go) {
    this.box = el(parent, 'div', { class: 'op-chart' });
    this.title = el(this.box, 'div', { class: 'op-title' }, title);
    this.note = el(this.box, 'div', { class: 'op-note vv-muted' });
    this.view = canvas(this.box, { role: 'img' });
    const node = this.view.node;
    const follow = (event, done) => {
      if (!this.plot) return;
      const x = event.clientX - node.getBoundingClientRect().left;
      const at = Math.round(this.plot.x.invert(x / grown(1)));
      go(Math.max(0, Math.min(this.last, at)), done);
    };
    node.onpointerdown = (event) => {
      node.setPointerCapture(event.pointerId);
      follow(event, false);
    };
    node.onpointermove = (event) => {
      if (node.hasPointerCapture(event.pointerId)) follow(event, false);
    };
    node.onpointerup = (event) => follow(event, true);
  }

  /**
   * Draw the lines {name, color, points: [[at, share, kept]], now: share or null}; a stretch that is not `kept` is
   * drawn thin. band: (2, strengths), the lowest and the highest of the lines, in their place. words: of every strength; at: the slider's position; width, height in px.
   */
  draw({ lines, band, words, at, colors, width, height, label }) {
    this.last = words.length - 1;
    const ctx = this.view.size(width, height, grown(1));
    const names = lines.map(({ name }) => name);
    const right = this.view.width - nameMargin(ctx, colors, names);
    const edges = [56, right, 10, this.view.height - 26];
    this.plot = new Plot(ctx, colors, edges, { x: [0, Math.max(1, this.last)] });
    this.plot.axisY([0, 0.5, 1], (share) => percent(share, 0));
    const ticks = [...new Set([0, ...(this.last > 1 ? [Math.round(this.last / 2)] : []), this.last])];
    this.plot.axisX(ticks, (tick) => words[tick], '', { inside: true });
    this.plot.upright(at, colors.muted, 1, [3, 3]);
    if (band) this.band(band);
    else this.plot.nameEnds(lines.map((shown, i) => this.line(shown, i, at)).filter(Boolean), 15);
    this.view.node.setAttribute('aria-label', label);
  }

  band({ data, shape: [, steps] }) {
    this.plot.band([...Array(steps).keys()], data.subarray(0, steps), data.subarray(steps));
  }

  line({ name, color, points, now }, i, at) {
    const bold = points.map(([place, share, kept]) => [place, kept ? share : NaN]);
    const end = this.plot.line(points, i, { color, width: 1 });
    this.plot.line(bold, i, { color });
    if (now !== null) this.plot.dot(this.plot.x(at), this.plot.y(now), 4.5, color);
    return end && { ...end, name, column: this.plot.x1 };
  }
}

const NARROW = 600;
const REST_MS = 300; // of a drag, until the server learns of it

export default class SweepView {
  /** alone: true in a file, where no server answers: the engine computes every strength, also for an opened image. */
  constructor({ root, send, onUnmount, alone = false }) {
    Object.assign(this, { root, alone });
    const top = el(root, 'div', { class: 'op-top' });
    this.left = el(top, 'div', { class: 'op-left' });
    this.title = el(this.left, 'div', { class: 'op-title' });
    this.right = el(top, 'div', { class: 'op-right' });
    this.stage = new Stage(root, this.left, (changes, done) => this.move(changes, done));
    this.own = el(this.left, 'div', { class: 'vv-row' });
    const file = el(this.own, 'input', { type: 'file', accept: 'image/*', hidden: '', 'aria-label': 'Image file' });
    file.onchange = () => {
      this.open(file.files[0]);
      tell('file', root, file.files[0]);
    };
    onUnmount(listen('file', root, (opened) => this.open(opened)));
    button(this.own, 'Open or photograph an image', () => file.click());
    this.progress = el(this.own, 'progress', { hidden: '', 'aria-label': 'Computed predictions' });
    this.note = el(this.own, 'span', { role: 'status' });
    const go = (at, done) => this.move({ at }, done);
    this.current = new SweepChart(this.right, 'This image: confidence in the initial prediction', go);
    this.stored = new SweepChart(this.right, '', go);
    this.panels = new Panels(root);
    this.announce = live(root);
    this.mark = null;
    this.requests = new RequestQueue(() => send('moved', { ...this.hand, mark: this.mark }), onUnmount);
    this.live = new LiveSweep(
      (message, hand, all) => this.showLive(message, hand, all),
      (message, left) => this.showStrength(message, left),
    );
    this.opened = 0;
    this.words = words(root);
    this.rest = 0;
    onUnmount(() => {
      this.words.end();
      clearTimeout(this.rest);
    });
  }

  update(news) {
    const { colors, width } = news;
    const message = this.alone && this.now ? { ...this.now, colors, width } : news; // a file has no other message
    this.now = message;
    this.answered = message;
    const { hand, mark } = message.header;
    if (mark !== this.mark) {
      this.mark = mark;
      this.hand = { ...hand };
    }
    delete this.root.dataset.live;
    this.title.textContent = this.alone ? message.header.title : '';
    this.own.style.display = this.alone && this.live.answers(message) ? '' : 'none';
    this.words.behind(false);
    this.draw();
    this.requests.receive();
  }

  /** Compute the models' predictions for a user's image, at every strength. */
  async open(file) {
    if (!file || !this.live.answers(this.now)) return;
    this.opened += 1;
    const number = this.opened;
    this.note.textContent = 'Reading the image …';
    let problem = '';
    try {
      const replace = await replaceImage(this.now, file);
      if (number !== this.opened) return; // another file was opened meanwhile
      this.now = replace(this.now); // what moves from here on moves the new image
      this.note.textContent = 'Computing the predictions …';
      this.draw();
      await this.live.followImage(this.now, () => this.hand);
    } catch (error) {
      problem = error.message;
    }
    if (number !== this.opened) return;
    this.note.textContent = problem;
    this.progress.hidden = true;
  }

  /** Draw what the engine has computed so far for an opened image. */
  showStrength(message, left) {
    const { colors, width } = this.now;
    this.now = { ...message, colors, width };
    const steps = message.header.words.length;
    Object.assign(this.progress, { hidden: false, max: steps, value: steps - left });
    this.draw();
    if (!left) this.root.dataset.live = JSON.stringify([this.hand.place, this.hand.pieces]);
  }

  /** Draw what the engine has computed for a moved cover or piece, unless the server has answered meanwhile. */
  showLive(message, hand, all) {
    if (!all && (message.header !== this.now.header || this.hand.at !== hand.at)) return;
    const { colors, width } = this.now;
    this.now = { ...message, colors, width }; // what moves next is drawn with these answers until its own are there
    if (all) {
      this.draw();
      this.root.dataset.live = JSON.stringify([hand.place, hand.pieces]);
      return;
    }
    if (this.hand.seen || !message.header.photograph) this.stage.draw(message, this.hand); // the photo follows in `move`
    this.panels.draw(message, hand);
    this.drawCurrent(this.room, message);
    this.root.dataset.live = JSON.stringify([hand.place, hand.pieces]);
    this.announce(`${message.header.words[hand.at]}. ${describePredictions(message, hand.at)}`);
  }

  /**
   * Draws moved values at once; sends them at the end of a drag or when it rests, and during it for the occluding square
   * if the browser does not run all models.
   */
  move(changes, done) {
    this.hand = { ...this.hand, ...changes };
    const read = 'place' in changes || 'pieces' in changes;
    if (read) this.live.follow(this.now, this.hand);
    if (read) this.words.behind(true);
    if (read && String(this.hand.at) === this.root.dataset.at)
      this.stage.draw(this.now, this.hand); // the rest waits for the answer
    else this.draw();
    clearTimeout(this.rest);
    if (this.alone && read) this.rest = setTimeout(() => this.live.follow(this.now, this.hand, true), REST_MS);
    else if (done) this.ask();
    else if (this.live.answers(this.now)) this.rest = setTimeout(() => this.ask(), REST_MS);
    else if ('place' in changes) this.requests.sendSoon();
  }

  /** Ask the server about what is shown, or draw its last answer if that was about the same: it sends no second one. */
  ask() {
    const { header } = this.answered;
    const isSame = Object.entries(header.hand).every(([name, value]) => String(value) === String(this.hand[name]));
    if (this.requests.waiting || !isSame) return this.requests.sendNow();
    const { colors, width } = this.now;
    this.update({ ...this.answered, header: { ...header }, colors, width }); // another header: what is computed now is late
  }

  draw() {
    const { header, width } = this.now;
    const narrow = width < NARROW;
    this.root.classList.toggle('op-narrow', narrow);
    const isAnswered = isKnown(this.now, this.hand.at);
    if (!isAnswered) this.live.change(this.now, this.hand);
    this.stage.draw(this.now, this.hand);
    if (isAnswered) this.panels.draw(this.now, this.hand);
    this.room = narrow ? width : width - this.left.clientWidth - 24;
    this.drawCurrent(this.room, this.now);
    this.drawStored(this.room);
    this.root.dataset.at = String(this.hand.at);
    if (isAnswered) this.announce(`${header.words[this.hand.at]}. ${describePredictions(this.now, this.hand.at)}`);
  }

  drawCurrent(width, { header, arrays, colors }) {
    const { words, revealed, neutral } = header;
    const lines = header.models.map(({ name, color }, m) => {
      const first = predictedOf(chancesOf(arrays.chances, m, neutral));
      const points = [];
      for (let at = 0; revealed && at < words.length; at++) {
        const chances = chancesOf(arrays.chances, m, at);
        points.push([at, chances[first] ?? NaN, predictedOf(chances) === first]);
      }
      return { name, color, points, now: chancesOf(arrays.chances, m, this.hand.at)[first] };
    });
    this.current.note.textContent = revealed
      ? 'Bold: the prediction is still the initial one. Drag in the chart to move the slider.'
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
    const missing = lines.filter(({ points }) => points.every(([, share]) => Number.isNaN(share)));
    const lacks = missing.length ? ` Not measured in it: ${missing.map(({ name }) => name).join(', ')}.` : '';
    this.stored.note.textContent = `Stored experiment. Vertical line: your slider position.${lacks}`;
    const label = `Accuracy over ${header.pictures} test images under the same change`;
    this.stored.draw({ lines, words: header.words, at: this.hand.at, colors, width, height: 168, label });
  }
}

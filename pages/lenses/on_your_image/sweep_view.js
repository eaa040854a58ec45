// A picture changed by a slider, and every model's answer to it: the whole slider came in one message.

import { el, live } from '../../views/kit/dom.js';
import { percent } from '../../views/kit/words.js';
import { Asker } from './asker.js';
import { Chart } from './sweep_chart.js';
import { Panels, answerOf, chancesOf } from './sweep_panels.js';
import { Stage } from './sweep_stage.js';

const NARROW = 600;

class SweepView {
  constructor({ root, send, onUnmount }) {
    this.root = root;
    const top = el(root, 'div', { class: 'op-top' });
    this.left = el(top, 'div', { class: 'op-left' });
    this.right = el(top, 'div', { class: 'op-right' });
    this.stage = new Stage(root, this.left, (changes, done) => this.move(changes, done));
    const go = (at, done) => this.move({ at }, done);
    this.own = new Chart(this.right, 'This picture: how sure each model stays of its first answer', go);
    this.stored = new Chart(this.right, '', go);
    this.panels = new Panels(root);
    this.say = live(root);
    this.mark = null;
    this.asker = new Asker(() => send('moved', { ...this.hand, mark: this.mark }), onUnmount);
  }

  update(message) {
    this.now = message;
    const { hand, mark, place } = message.header;
    this.root.dataset.place = place.join();
    if (mark !== this.mark) {
      this.mark = mark;
      this.hand = { ...hand };
      this.seen = [hand.at, hand.at]; // the way there would answer half of the page's question
    }
    this.draw();
    this.asker.answered();
  }

  /** The visitor moves something: drawn at once; the server is told at rest, and while a cover is dragged. */
  move(changes, done) {
    this.hand = { ...this.hand, ...changes };
    const { at } = this.hand;
    this.seen = [Math.min(this.seen[0], at), Math.max(this.seen[1], at)];
    this.draw();
    if (done) this.asker.now();
    else if ('place' in changes) this.asker.soon();
  }

  draw() {
    const { header, width } = this.now;
    const narrow = width < NARROW;
    this.root.classList.toggle('op-narrow', narrow);
    this.stage.draw(this.now, this.hand);
    this.panels.draw(this.now, this.hand);
    const room = narrow ? width : width - this.left.clientWidth - 24;
    this.drawOwn(room);
    this.drawStored(room);
    this.root.dataset.at = String(this.hand.at);
    this.say(this.told(header.models.map((model, m) => `${model.name} ${this.answer(m)}`)));
  }

  told = (answers) => `${this.now.header.words[this.hand.at]}: ${answers.join(', ')}`;

  answer(m) {
    const { header, arrays } = this.now;
    const chances = chancesOf(arrays.chances, m, this.hand.at);
    const top = answerOf(chances);
    return `${header.classes[top]} ${percent(chances[top])}`;
  }

  drawOwn(width) {
    const { header, arrays, colors } = this.now;
    const [from, to] = header.revealed ? [0, header.words.length - 1] : this.seen;
    const lines = header.models.map(({ name, color }, m) => {
      const first = answerOf(chancesOf(arrays.chances, m, header.neutral));
      const points = [];
      for (let at = from; at <= to; at++) {
        const chances = chancesOf(arrays.chances, m, at);
        points.push([at, chances[first], answerOf(chances) === first]);
      }
      return { name, color, points, now: chancesOf(arrays.chances, m, this.hand.at)[first] };
    });
    this.own.note.textContent = header.revealed
      ? 'Bold where the model still gives that answer. Drag in the chart, too.'
      : 'Drawn as far as you have moved the slider.';
    const { words } = header;
    const where = from === to ? `at ${words[from]}` : `from ${words[from]} to ${words[to]}`;
    const label = `The probability of each model's first answer, ${where}`;
    this.own.draw({ lines, words, at: this.hand.at, colors, width, height: this.height(), label });
  }

  /** Alone the chart is as high as the picture. */
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
    this.stored.title.textContent = `${header.pictures.toLocaleString('en')} test pictures: how many are right`;
    this.stored.note.textContent = 'Stored by an experiment; the dashed line is where your slider stands.';
    const label = `Accuracy on ${header.pictures} test pictures under the same change`;
    this.stored.draw({ lines, words: header.words, at: this.hand.at, colors, width, height: 168, label });
  }
}

export default function sweepView(context) {
  const view = new SweepView(context);
  return (message) => view.update(message);
}

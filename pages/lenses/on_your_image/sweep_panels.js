// Draw one panel per model: its prediction, the map of what it uses, and its most probable classes; and limit a view's
// requests to the server.

import { el } from '../../../vitviz/browser/kit/dom.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { accentLut } from '../../../vitviz/browser/kit/colour_ramp.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

const SHOWN = 3; // classes
const BY = {
  attention: 'orange: patches that the readout attends to (last layer)',
  gradient: 'orange: pixels to which the predicted class is sensitive (gradient × input)',
};

const NO_MAP = 'no map: it needs gradients, which the browser does not compute';

/** Returns one image of a series (images, S, S, 3). */
export const frameOf = ({ data, shape: [, rows, cols] }, at) =>
  picture({ data: data.subarray(3 * at * rows * cols), shape: [rows, cols, 3] });

/** Returns a model's probabilities at a strength; while they are concealed there are those of one strength. */
export function chancesOf({ data, shape: [, steps, classes] }, model, at) {
  const from = (model * steps + Math.min(at, steps - 1)) * classes;
  return data.subarray(from, from + classes);
}

/** Returns true if all models have answered a strength; of a new image, answers come one after the other. */
export const isKnown = ({ header, arrays }, at) =>
  header.models.every((_, m) => !Number.isNaN(chancesOf(arrays.chances, m, at)[0]));

/** Returns the most probable class. */
export const predictedOf = (chances) => chances.indexOf(Math.max(...chances));

/** Returns every model's name and prediction at a strength. */
export function describePredictions({ header, arrays }, at) {
  const models = header.models.map(({ name }, m) => {
    const chances = chancesOf(arrays.chances, m, at);
    const top = predictedOf(chances);
    return `${name}: ${header.classes[top]} ${percent(chances[top])}`;
  });
  return models.join('; ');
}

/** Returns the pointer's position in an element, in [0, 1]. */
export function placeIn(node, event) {
  const box = node.getBoundingClientRect();
  const within = (share) => Math.max(0, Math.min(1, share));
  return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
}

export class Panels {
  constructor(parent) {
    this.box = el(parent, 'div', { class: 'op-panels' });
    this.panels = [];
  }

  build(models) {
    this.box.replaceChildren();
    this.panels = models.map(() => {
      const box = el(this.box, 'section', { class: 'op-panel' });
      const head = el(box, 'div', { class: 'op-name' });
      const chip = el(head, 'i', { 'aria-hidden': 'true' });
      const name = el(head, 'span');
      const answer = el(box, 'div', { class: 'op-answer' });
      const before = el(box, 'div', { class: 'op-before vv-muted' });
      const view = el(box, 'canvas', { class: 'op-view vv-pixels', role: 'img' });
      const bars = el(box, 'div', { class: 'op-bars', role: 'table', 'aria-label': 'Most probable classes' });
      const by = el(box, 'div', { class: 'op-by vv-muted' });
      return { box, chip, name, answer, before, view, bars, by };
    });
  }

  draw({ header, arrays, colors, live }, hand) {
    if (this.panels.length !== header.models.length) this.build(header.models);
    const at = arrays.band ? header.neutral : hand.at; // concealed: the unchanged image alone
    const seen = frameOf(arrays.frames, at);
    const table = accentLut(colors.query);
    this.panels.forEach((panel, m) => {
      const model = header.models[m];
      panel.chip.style.background = model.color;
      panel.name.textContent = model.name;
      const by = live && model.by === 'gradient' ? NO_MAP : BY[model.by];
      panel.by.textContent = by;
      this.answer(panel, header, arrays, m, at);
      this.view(panel, arrays[`view${m}`], seen, table, at);
      panel.view.setAttribute('aria-label', `${model.name}: ${by}`);
    });
  }

  answer(panel, { classes, truth, neutral }, { chances }, m, at) {
    const now = chancesOf(chances, m, at);
    const before = chancesOf(chances, m, neutral);
    const [first, top] = [predictedOf(before), predictedOf(now)];
    panel.answer.textContent = `${classes[top]} ${percent(now[top])}`;
    panel.box.classList.toggle('op-lost', top !== first);
    panel.before.textContent =
      at === neutral
        ? truth < 0
          ? 'unchanged image'
          : first === truth
            ? 'correct'
            : `wrong, the class is ${classes[truth]}`
        : `${top === first ? 'still' : 'no longer'} ${classes[first]}: ${percent(before[first])} → ${percent(now[first])}`;
    this.bars(panel.bars, classes, now, first);
  }

  bars(table, classes, now, first) {
    const order = [...now.keys()].sort((a, b) => now[b] - now[a]).slice(0, SHOWN);
    if (!order.includes(first)) order[order.length - 1] = first;
    while (table.children.length < order.length) {
      const row = el(table, 'div', { class: 'op-bar', role: 'row' });
      el(row, 'span', { role: 'rowheader' });
      el(el(row, 'span', { class: 'op-track', role: 'presentation' }), 'i');
      el(row, 'span', { class: 'op-value', role: 'cell' });
    }
    [...table.children].forEach((row, k) => {
      row.hidden = k >= order.length;
      if (row.hidden) return;
      const c = order[k];
      row.children[0].textContent = classes[c];
      row.children[1].firstChild.style.width = `${100 * now[c]}%`;
      row.children[1].firstChild.className = c === first ? 'op-own' : '';
      row.children[2].textContent = percent(now[c]);
    });
  }

  /** Draws the image in grey and the map over it. */
  view({ view }, { data, shape: [steps, rows, cols] }, seen, table, at) {
    const side = 8 * seen.width;
    if (view.width !== side) view.width = view.height = side;
    const ctx = view.getContext('2d');
    ctx.filter = 'grayscale(1) brightness(0.92) contrast(0.8)';
    blit(ctx, seen, 0, 0, side, side);
    ctx.filter = 'none';
    blit(ctx, heat(data, rows, cols, table, 0, 255, Math.min(at, steps - 1) * rows * cols), 0, 0, side, side);
  }
}

const REST_MS = 90; // between two requests during a drag

export class RequestQueue {
  /** `send` sends the current state; `onUnmount` is the view's. */
  constructor(send, onUnmount) {
    Object.assign(this, { send, timer: 0, waiting: false, outdated: false });
    onUnmount(() => clearTimeout(this.timer));
  }

  sendNow() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: 0, waiting: true, outdated: false });
    this.send();
  }

  /** Sends a moving state soon, or once the response to the running request has arrived. */
  sendSoon() {
    this.outdated = true;
    if (!this.waiting && !this.timer) this.timer = setTimeout(() => this.sendNow(), REST_MS);
  }

  /** Handles a response; sends what moved meanwhile. */
  receive() {
    this.waiting = false;
    if (this.outdated) this.sendNow();
  }
}

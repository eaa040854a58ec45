// A projector and two phones: the phones follow the projector's pin, and a patch selected on a phone is its answer.

import { fill, lattice } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live, setText } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { animate } from '../../vitviz/browser/kit/motion.js';
import { mark } from '../../vitviz/browser/kit/pin.js';
import { blit, photo } from '../../vitviz/browser/kit/pixels.js';
import { patchName, percent } from '../../vitviz/browser/kit/text.js';

const PHONES = 2;
const DELAY_MS = 150; // of the first phone; the second needs twice as long
const FLIGHT_MS = 450;
const NARROW_PX = 640;
const SIDES_PX = { wide: [340, 168], narrow: [176, 116] }; // of the image on the projector and on a phone
const PROMPT = 'Which patch tells most about the class?';

/** Return the attention weights of a patch by patch; of the strongest weights alone, the largest of all heads. */
function weightsOf({ header, arrays }, patch) {
  const [count, most] = arrays.keys.shape;
  const weights = new Float32Array(count);
  const row = (patch + header.prefix) * most;
  for (let i = row; i < row + most; i++) {
    const key = arrays.keys.data[i];
    weights[key] = Math.max(weights[key], arrays.weights.data[i] / 65535);
  }
  return weights.subarray(header.prefix);
}

/** An image with its patches on a screen: attention of the pinned patch, the pin and answers. */
class Screen {
  constructor(parent, kind, options) {
    this.box = el(parent, 'div', { class: 'cl-image' });
    this.map = canvas(this.box);
    this.pin = el(this.box, 'i', { class: `cl-pin ${kind}`, 'aria-hidden': 'true' });
    this.under = el(this.box, 'i', { class: 'cl-under', 'aria-hidden': 'true', hidden: '' });
    gridNavigation(this.map.node, options);
  }

  draw(message, bitmap, patch, side) {
    const [rows, cols] = message.header.grid;
    const ctx = this.map.size(side, side);
    const weights = weightsOf(message, patch);
    const most = Math.max(...weights, 1e-6);
    const cell = side / cols;
    if (bitmap) blit(ctx, bitmap, 0, 0, side, side);
    weights.forEach((weight, i) => {
      if (weight)
        fill(
          ctx,
          message.colors.query,
          (i % cols) * cell,
          Math.floor(i / cols) * cell,
          cell,
          cell,
          (0.9 * weight) / most,
        );
    });
    lattice(ctx, 'rgba(128, 128, 128, 0.6)', 1, rows, cols, side, side);
    mark(this.pin, [rows, cols], patch);
    return weights;
  }
}

export default class ClassPreview {
  constructor({ root, onUnmount }) {
    Object.assign(this, { root, latest: null, pinned: -1, answers: Array(PHONES).fill(-1), timers: [], dots: [] });
    const stage = el(root, 'div', { class: 'cl' });
    const wall = el(stage, 'div', { class: 'cl-wall' });
    const grid = () => this.latest.header.grid;
    this.projector = new Screen(wall, 'leads', {
      label: 'Projector: move the pin',
      grid,
      start: () => this.pinned,
      hover: (patch) => patch >= 0 && this.movePin(patch),
    });
    const words = el(wall, 'div', { class: 'cl-words' });
    el(words, 'p', { class: 'cl-prompt' }, 'Move the pin: the phones follow.');
    this.place = el(words, 'p', { role: 'status' });
    this.model = el(words, 'p', { class: 'vv-muted' });
    el(words, 'p', { class: 'cl-prompt cl-question' }, PROMPT);
    this.count = el(words, 'p', { role: 'status' });
    const phones = el(stage, 'div', { class: 'cl-phones' });
    this.phones = this.answers.map((_, i) => {
      const body = el(phones, 'div', { class: 'cl-phone' });
      el(body, 'p', {}, `Phone ${i + 1}`);
      const screen = new Screen(body, 'follows', {
        label: `Phone ${i + 1}: select a patch as the answer`,
        grid,
        hover: (patch) => this.point(i, patch),
        pick: (patch) => this.answer(i, patch),
      });
      screen.note = el(body, 'p', {}, 'Tap a patch to answer');
      return screen;
    });
    this.announce = live(root);
    this.image = photo(root);
    onUnmount(() => this.timers.forEach(clearTimeout));
  }

  movePin(patch) {
    if (patch === this.pinned) return;
    this.pinned = patch;
    this.timers.splice(0).forEach(clearTimeout);
    this.drawProjector();
    this.phones.forEach((phone, i) => this.timers.push(setTimeout(() => this.drawPhone(phone), (i + 1) * DELAY_MS)));
  }

  point(phone, patch) {
    mark(this.phones[phone].under, this.latest.header.grid, patch);
    if (patch >= 0) this.announce(patchName(patch, this.latest.header.grid[1]));
  }

  /** Take a phone's answer, and let it fly from the phone to the projector. */
  answer(phone, patch) {
    this.answers[phone] = patch;
    this.placeDots();
    const [from, to] = this.dots[phone].map((dot) => dot.getBoundingClientRect());
    const { style } = this.dots[phone][1];
    animate(FLIGHT_MS, (t) => {
      style.transform = `translate(${(1 - t) * (from.x - to.x)}px, ${(1 - t) * (from.y - to.y)}px)`;
    });
  }

  /** Place each phone's answer on the phone and on the projector. */
  placeDots() {
    const { grid } = this.latest.header;
    this.answers.forEach((patch, i) => {
      if (patch < 0) return;
      this.dots[i] ??= [this.phones[i], this.projector].map(({ box }) =>
        el(box, 'i', { class: `cl-dot cl-dot-${i}`, 'aria-hidden': 'true' }, String(i + 1)),
      );
      for (const dot of this.dots[i]) mark(dot, grid, patch);
      setText(this.phones[i].note, 'Answer sent');
    });
    const given = this.answers.filter((patch) => patch >= 0);
    setText(this.count, `${given.length} of ${PHONES} answers`);
  }

  drawProjector() {
    const { header } = this.latest;
    const weights = this.projector.draw(this.latest, this.image.bitmap, this.pinned, this.sides[0]);
    const strongest = weights.indexOf(Math.max(...weights));
    const name = patchName(this.pinned, header.grid[1]);
    setText(
      this.place,
      `${name[0].toUpperCase()}${name.slice(1)}: largest weight of any head ${percent(weights[strongest])}, on patch ${strongest + 1}`,
    );
  }

  drawPhone(phone) {
    phone.draw(this.latest, this.image.bitmap, this.pinned, this.sides[1]);
  }

  draw() {
    this.drawProjector();
    this.phones.forEach((phone) => this.drawPhone(phone));
    this.placeDots();
  }

  update(message) {
    this.latest = message;
    this.sides = SIDES_PX[message.width < NARROW_PX ? 'narrow' : 'wide'];
    if (this.pinned < 0) this.pinned = message.header.pin;
    setText(this.model, message.header.title);
    this.draw();
    this.image.show(message, () => this.draw());
  }
}

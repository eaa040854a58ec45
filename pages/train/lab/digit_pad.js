// Drawing pad for digits: sends strokes as a small grey image, shows class probabilities and attention.

import { fill } from '../../../vitviz/browser/kit/axes.js';
import { button, canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { Pad } from '../../../vitviz/browser/kit/drawing_pad.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { accentLut } from '../../../vitviz/browser/kit/colour_ramp.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

const SEND_MS = 250;
const SEEN = 80;

export default class DigitPad {
  constructor({ root, send }) {
    this.root = root;
    this.now = null;
    this.rows = [];
    this.build();
    const deliver = (text) => {
      clearTimeout(this.timer);
      Object.assign(this, { timer: 0, sent: performance.now() });
      send('drawing', text);
    };
    this.pad = new Pad({
      paint: () => this.draw(),
      changed: deliver,
      moved: () => (this.timer ||= setTimeout(() => deliver(this.pad.text), this.wait())),
      say: this.say,
    });
    this.pad.attach(this.board.node);
  }

  wait() {
    return Math.max(0, SEND_MS - (performance.now() - (this.sent ?? 0)));
  }

  build() {
    this.wrap = el(this.root, 'div', { class: 'pad-wrap' });
    this.left = el(this.wrap, 'div', { class: 'pad-left' });
    this.board = canvas(this.left, { class: 'pad-canvas' });
    const buttons = el(this.left, 'div', { class: 'vv-row pad-buttons' });
    button(buttons, 'Undo', () => this.pad.undo());
    button(buttons, 'Clear', () => this.pad.clear());
    this.middle = el(this.wrap, 'figure', { class: 'pad-middle' });
    this.seen = canvas(this.middle, {
      role: 'img',
      'aria-label': 'Input of the model with the attention of its readout',
    });
    this.seenNote = el(this.middle, 'figcaption', { class: 'vv-muted' });
    this.right = el(this.wrap, 'div', { class: 'pad-right' });
    this.head = el(this.right, 'div', { class: 'pad-head' });
    this.bars = el(this.right, 'div', { class: 'pad-bars' });
    this.say = live(this.root);
  }

  draw() {
    if (!this.now) return;
    const { header, colors } = this.now;
    this.left.hidden = !header.pad;
    if (header.pad) this.drawPad(colors);
    const { shown, attention } = this.now.arrays;
    const hasInput = shown && !(header.pad && this.pad.empty);
    const ctx = this.seen.size(SEEN, SEEN);
    fill(ctx, colors.panel, 0, 0, SEEN, SEEN);
    if (hasInput) {
      if (attention) ctx.globalAlpha = 0.7;
      blit(ctx, picture(shown), 0, 0, SEEN, SEEN);
      ctx.globalAlpha = 1;
      if (attention)
        blit(ctx, heat(attention.data, ...attention.shape, accentLut(colors.query), 0, 255), 0, 0, SEEN, SEEN);
    }
    this.seenNote.textContent = hasInput && header.note ? header.note : 'Input of the model';
    this.fill();
  }

  drawPad(colors) {
    const side = Math.min(grown(160), this.left.clientWidth || grown(160));
    this.pad.paint(this.board.size(side, side), side, colors);
  }

  fill() {
    const { header } = this.now;
    const p = this.now.arrays.probabilities?.data;
    const names = header.classes ?? [];
    if (this.rows.map(({ name }) => name).join('\n') !== names.join('\n')) {
      this.bars.replaceChildren();
      this.rows = names.map((name) => {
        const row = el(this.bars, 'div', { class: 'pad-row' });
        el(row, 'span', { class: 'pad-name' }, name);
        const rail = el(row, 'span', { class: 'pad-rail' });
        const bar = el(rail, 'span', { class: 'pad-bar' });
        return { name, row, bar, value: el(row, 'span', { class: 'pad-value' }) };
      });
    }
    const shown = p && !(header.pad && this.pad.empty) ? p : null;
    let best = 0;
    this.rows.forEach((row, i) => {
      if (shown && shown[i] > shown[best]) best = i;
      row.bar.style.width = shown ? `${(100 * shown[i]).toFixed(1)}%` : '0';
      row.value.textContent = shown ? `${(100 * shown[i]).toFixed(shown[i] > 0.0995 ? 0 : 1)} %` : '';
    });
    this.rows.forEach((row, i) => row.row.classList.toggle('pad-best', Boolean(shown) && i === best));
    this.head.textContent = shown
      ? `${names[best]} with probability ${percent(shown[best])}, at ${header.model}`
      : header.model
        ? `Draw a digit to classify it at ${header.model}`
        : header.waiting;
    if (shown) this.say(this.head.textContent);
  }

  update(message) {
    this.now = message;
    this.draw();
  }
}

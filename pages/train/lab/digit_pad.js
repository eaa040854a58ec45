// Drawing pad for digits: sends strokes as a small grey image, shows class probabilities and attention.

import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/grow.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { accentLut } from '../../../vitviz/browser/kit/ramp.js';

const SIDE = 56;
const INK = 5.2;
const SEND_MS = 250;
const SEEN = 168;

class DigitPad {
  constructor({ root, send }) {
    this.root = root;
    this.send = send;
    this.build();
    this.buildInk();
    this.listenPointer();
    this.listenKeys();
  }

  build() {
    this.wrap = el(this.root, 'div', { class: 'pad-wrap' });
    this.left = el(this.wrap, 'div', { class: 'pad-left' });
    this.pad = canvas(this.left, { class: 'pad-canvas', tabindex: '0', role: 'application' });
    this.pad.node.setAttribute(
      'aria-label',
      'Drawing pad. Draw a digit with the mouse or a finger; arrow keys move the pen, space lowers it, Delete clears.',
    );
    this.buttons = el(this.left, 'div', { class: 'vv-row pad-buttons' });
    this.clear = el(this.buttons, 'button', { type: 'button' }, 'clear');
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

  buildInk() {
    this.ink = document.createElement('canvas');
    this.ink.width = this.ink.height = SIDE;
    this.pen = this.ink.getContext('2d', { willReadFrequently: true });
    this.state = { drawing: false, empty: true, sent: 0, timer: 0, x: SIDE / 2, y: SIDE / 2, down: false, key: false };
    this.now = null;
    this.rows = [];
    this.wipe();
  }

  listenPointer() {
    this.pad.node.onpointerdown = (event) => {
      if (event.button) return;
      event.preventDefault();
      this.pad.node.focus();
      this.pad.node.setPointerCapture(event.pointerId);
      this.state.drawing = true;
      this.state.key = false;
      [this.state.x, this.state.y] = this.place(event);
      this.line(this.state.x, this.state.y, this.state.x, this.state.y);
    };
    this.pad.node.onpointermove = (event) => {
      if (!this.state.drawing) return;
      for (const part of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) {
        const [x, y] = this.place(part);
        this.line(this.state.x, this.state.y, x, y);
        [this.state.x, this.state.y] = [x, y];
      }
    };
    this.pad.node.onpointerup = this.pad.node.onpointercancel = () => {
      this.state.drawing = false;
    };
  }

  listenKeys() {
    this.pad.node.onkeydown = (event) => {
      const move = { ArrowLeft: [-2, 0], ArrowRight: [2, 0], ArrowUp: [0, -2], ArrowDown: [0, 2] }[event.key];
      if (move) {
        event.preventDefault();
        this.state.key = true;
        const x = Math.min(SIDE - 2, Math.max(2, this.state.x + move[0]));
        const y = Math.min(SIDE - 2, Math.max(2, this.state.y + move[1]));
        if (this.state.down) this.line(this.state.x, this.state.y, x, y);
        [this.state.x, this.state.y] = [x, y];
        this.draw();
      } else if (event.key === ' ') {
        event.preventDefault();
        this.state.down = !this.state.down;
        this.state.key = true;
        this.say(this.state.down ? 'pen down' : 'pen up');
        this.draw();
      } else if (event.key === 'Delete' || event.key === 'Backspace') {
        event.preventDefault();
        this.clear.onclick();
      }
    };
    this.clear.onclick = () => {
      this.wipe();
      this.state.down = false;
      this.draw();
      clearTimeout(this.state.timer);
      this.deliver();
    };
  }

  wipe() {
    this.pen.fillStyle = '#000';
    this.pen.fillRect(0, 0, SIDE, SIDE);
    this.pen.strokeStyle = '#fff';
    this.pen.lineWidth = INK;
    this.pen.lineCap = this.pen.lineJoin = 'round';
    this.state.empty = true;
  }

  line(x0, y0, x1, y1) {
    this.pen.beginPath();
    this.pen.moveTo(x0, y0);
    this.pen.lineTo(x1 + 0.01, y1);
    this.pen.stroke();
    this.state.empty = false;
    this.draw();
    if (!this.state.timer)
      this.state.timer = setTimeout(() => this.deliver(), Math.max(0, SEND_MS - (performance.now() - this.state.sent)));
  }

  deliver() {
    this.state.timer = 0;
    this.state.sent = performance.now();
    if (this.state.empty) {
      this.send('drawing', '');
      return;
    }
    const { data } = this.pen.getImageData(0, 0, SIDE, SIDE);
    let text = '';
    for (let i = 0; i < SIDE * SIDE; i++) text += String.fromCharCode(data[4 * i]);
    this.send('drawing', btoa(text));
  }

  place(event) {
    const box = this.pad.node.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  }

  draw() {
    if (!this.now) return;
    const { header, colors } = this.now;
    this.left.hidden = !header.pad;
    if (header.pad) this.drawPad(colors);
    const { shown, attention } = this.now.arrays;
    const hasInput = shown && !(header.pad && this.state.empty);
    const ctx = this.seen.size(SEEN, SEEN);
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, SEEN, SEEN);
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
    const side = Math.min(grown(232), this.left.clientWidth || grown(232));
    const ctx = this.pad.size(side, side);
    blit(ctx, this.ink, 0, 0, side, side, true);
    if (this.state.empty) {
      ctx.fillStyle = '#9DA9B8';
      ctx.font = `14px ${colors.font}`;
      ctx.textAlign = 'center';
      ctx.textBaseline = 'middle';
      ctx.fillText('draw here', side / 2, side / 2);
    }
    if (this.state.key) {
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc((this.state.x * side) / SIDE, (this.state.y * side) / SIDE, this.state.down ? 4 : 7, 0, 7);
      ctx.stroke();
    }
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
    const shown = p && !(header.pad && this.state.empty) ? p : null;
    let best = 0;
    this.rows.forEach((row, i) => {
      if (shown && shown[i] > shown[best]) best = i;
      row.bar.style.width = shown ? `${(100 * shown[i]).toFixed(1)}%` : '0';
      row.value.textContent = shown ? `${(100 * shown[i]).toFixed(shown[i] > 0.0995 ? 0 : 1)} %` : '';
    });
    this.rows.forEach((row, i) => row.row.classList.toggle('pad-best', Boolean(shown) && i === best));
    this.head.textContent = shown
      ? `${names[best]} with probability ${(100 * shown[best]).toFixed(1).replace('100.0', '100')}\u00a0%, by ${header.model}`
      : header.model
        ? `Draw a digit to classify it with ${header.model}`
        : header.waiting;
    if (shown) this.say(this.head.textContent);
  }

  update(message) {
    this.now = message;
    this.draw();
  }
}

export default function digitPad(context) {
  const view = new DigitPad(context);
  return (message) => view.update(message);
}

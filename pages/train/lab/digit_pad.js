// A pad to draw a digit on; the strokes travel as a small grey picture, the answer comes back as bars and attention.

import { canvas, el, live } from '../../views/kit/dom.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { accentLut } from '../../views/kit/ramp.js';

const SIDE = 56,
  INK = 5.2,
  SEND_MS = 250,
  SEEN = 168;

export default function digitPad({ root, send }) {
  const wrap = el(root, 'div', { class: 'pad-wrap' });
  const left = el(wrap, 'div', { class: 'pad-left' });
  const pad = canvas(left, { class: 'pad-canvas', tabindex: '0', role: 'application' });
  pad.node.setAttribute(
    'aria-label',
    'Drawing pad. Draw a digit with the mouse or a finger; arrow keys move a pen, space sets it down, Delete clears.',
  );
  const buttons = el(left, 'div', { class: 'vv-row pad-buttons' });
  const clear = el(buttons, 'button', { type: 'button' }, 'clear');
  const middle = el(wrap, 'figure', { class: 'pad-middle' });
  const seen = canvas(middle, { role: 'img', 'aria-label': 'What the model sees, with the attention of its readout' });
  const seenNote = el(middle, 'figcaption', { class: 'vv-muted' });
  const right = el(wrap, 'div', { class: 'pad-right' });
  const head = el(right, 'div', { class: 'pad-head' }),
    bars = el(right, 'div', { class: 'pad-bars' });
  const say = live(root);
  const ink = document.createElement('canvas');
  ink.width = ink.height = SIDE;
  const pen = ink.getContext('2d', { willReadFrequently: true });
  const state = { drawing: false, empty: true, sent: 0, timer: 0, x: SIDE / 2, y: SIDE / 2, down: false, key: false };
  let now = null,
    rows = [];
  wipe();

  function wipe() {
    pen.fillStyle = '#000';
    pen.fillRect(0, 0, SIDE, SIDE);
    pen.strokeStyle = '#fff';
    pen.lineWidth = INK;
    pen.lineCap = pen.lineJoin = 'round';
    state.empty = true;
  }

  function line(x0, y0, x1, y1) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1 + 0.01, y1);
    pen.stroke();
    state.empty = false;
    draw();
    if (!state.timer) state.timer = setTimeout(deliver, Math.max(0, SEND_MS - (performance.now() - state.sent)));
  }

  function deliver() {
    state.timer = 0;
    state.sent = performance.now();
    if (state.empty) {
      send('drawing', '');
      return;
    }
    const { data } = pen.getImageData(0, 0, SIDE, SIDE);
    let text = '';
    for (let i = 0; i < SIDE * SIDE; i++) text += String.fromCharCode(data[4 * i]);
    send('drawing', btoa(text));
  }

  const place = (event) => {
    const box = pad.node.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  };
  pad.node.onpointerdown = (event) => {
    if (event.button) return;
    event.preventDefault();
    pad.node.focus();
    pad.node.setPointerCapture(event.pointerId);
    state.drawing = true;
    state.key = false;
    [state.x, state.y] = place(event);
    line(state.x, state.y, state.x, state.y);
  };
  pad.node.onpointermove = (event) => {
    if (!state.drawing) return;
    for (const part of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) {
      const [x, y] = place(part);
      line(state.x, state.y, x, y);
      [state.x, state.y] = [x, y];
    }
  };
  pad.node.onpointerup = pad.node.onpointercancel = () => {
    state.drawing = false;
  };
  pad.node.onkeydown = (event) => {
    const move = { ArrowLeft: [-2, 0], ArrowRight: [2, 0], ArrowUp: [0, -2], ArrowDown: [0, 2] }[event.key];
    if (move) {
      event.preventDefault();
      state.key = true;
      const x = Math.min(SIDE - 2, Math.max(2, state.x + move[0])),
        y = Math.min(SIDE - 2, Math.max(2, state.y + move[1]));
      if (state.down) line(state.x, state.y, x, y);
      [state.x, state.y] = [x, y];
      draw();
    } else if (event.key === ' ') {
      event.preventDefault();
      state.down = !state.down;
      state.key = true;
      say(state.down ? 'pen down' : 'pen up');
      draw();
    } else if (event.key === 'Delete' || event.key === 'Backspace') {
      event.preventDefault();
      clear.onclick();
    }
  };
  clear.onclick = () => {
    wipe();
    state.down = false;
    draw();
    clearTimeout(state.timer);
    deliver();
  };

  function draw() {
    if (!now) return;
    const { header, colors } = now;
    left.hidden = !header.pad;
    if (header.pad) drawPad(colors);
    const { shown, attention } = now.arrays,
      there = shown && !(header.pad && state.empty);
    const ctx = seen.size(SEEN, SEEN);
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, SEEN, SEEN);
    if (there) {
      if (attention) ctx.globalAlpha = 0.7;
      blit(ctx, picture(shown), 0, 0, SEEN, SEEN);
      ctx.globalAlpha = 1;
      if (attention)
        blit(ctx, heat(attention.data, ...attention.shape, accentLut(colors.query), 0, 255), 0, 0, SEEN, SEEN);
    }
    seenNote.textContent = there && header.note ? header.note : 'What the model sees';
    fill();
  }

  function drawPad(colors) {
    const side = Math.min(232, left.clientWidth || 232),
      ctx = pad.size(side, side);
    blit(ctx, ink, 0, 0, side, side, true);
    if (state.empty) {
      ctx.fillStyle = '#9DA9B8';
      ctx.font = `14px ${colors.font}`;
      ctx.textAlign = 'center';
      ctx.textBaseline = 'middle';
      ctx.fillText('draw here', side / 2, side / 2);
    }
    if (state.key) {
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc((state.x * side) / SIDE, (state.y * side) / SIDE, state.down ? 4 : 7, 0, 7);
      ctx.stroke();
    }
  }

  function fill() {
    const { header } = now,
      p = now.arrays.probabilities?.data;
    const names = header.classes ?? [];
    if (rows.map(({ name }) => name).join('\n') !== names.join('\n')) {
      bars.replaceChildren();
      rows = names.map((name) => {
        const row = el(bars, 'div', { class: 'pad-row' });
        el(row, 'span', { class: 'pad-name' }, name);
        const rail = el(row, 'span', { class: 'pad-rail' }),
          bar = el(rail, 'span', { class: 'pad-bar' });
        return { name, row, bar, value: el(row, 'span', { class: 'pad-value' }) };
      });
    }
    const shown = p && !(header.pad && state.empty) ? p : null;
    let best = 0;
    rows.forEach((row, i) => {
      if (shown && shown[i] > shown[best]) best = i;
      row.bar.style.width = shown ? `${(100 * shown[i]).toFixed(1)}%` : '0';
      row.value.textContent = shown ? `${(100 * shown[i]).toFixed(shown[i] > 0.0995 ? 0 : 1)} %` : '';
    });
    rows.forEach((row, i) => row.row.classList.toggle('pad-best', Boolean(shown) && i === best));
    head.textContent = shown
      ? `${names[best]} with ${(100 * shown[best]).toFixed(1).replace('100.0', '100')}\u00a0%, by ${header.model}`
      : header.model
        ? `Draw a digit: ${header.model} answers`
        : header.waiting;
    if (shown) say(head.textContent);
  }

  return (message) => {
    now = message;
    draw();
  };
}

// The teacher's pen: points and strokes over the largest picture of the page, which fade after ten seconds. Places are
// shares of the picture's sides, so that a learner's picture may have another size.

import { button, canvas, el } from '../../vitviz/browser/kit/dom.js';

const COLOR = '#2457a6'; // orange is attention
const KEPT_MS = 10000;
const FADE_MS = 1000;
const WIDTH_PX = 4;
const DOT_PX = 7;
const LEAST_PX = 60; // height of a picture
const NO_PICTURE = '.st-key-class_asked, .st-key-class_bar, .st-key-lesson_panel';

function* listPictures(node) {
  for (const child of node.querySelectorAll('*')) {
    if (['CANVAS', 'svg', 'IMG'].includes(child.nodeName)) yield child;
    if (child.shadowRoot) yield* listPictures(child.shadowRoot);
  }
}

/** Return the place of the page's largest picture on the screen; null if there is none. */
export function findPicture() {
  const views = [...document.querySelectorAll('[data-testid="stMain"] [data-testid="stElementContainer"][data-drawn]')];
  const boxes = views
    .filter((view) => !view.closest(NO_PICTURE))
    .flatMap((view) => [...listPictures(view)].map((node) => node.getBoundingClientRect()))
    .filter(({ height }) => height > LEAST_PX);
  const area = ({ width, height }) => width * height;
  return boxes.reduce((best, box) => (!best || area(box) > area(best) ? box : best), null);
}

const contains = ({ left, top, right, bottom }, { clientX: x, clientY: y }) =>
  x >= left && x <= right && y >= top && y <= bottom;

/** Keep every n-th point, so that no more than `limit` are left. */
export const thin = (points, limit) => {
  const step = Math.ceil(points.length / limit);
  return points.filter((_, i) => i % step === 0);
};

export default class Pen {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { trigger, strokes: [], on: false, drawing: null, pending: 0 });
    this.layer = el(document.body, 'div', { class: 'class-pen', 'aria-hidden': 'true' });
    Object.assign(this.layer.style, { position: 'fixed', inset: '0', zIndex: '999970', pointerEvents: 'none' });
    this.map = canvas(this.layer);
    this.switch = button(root, 'Pen', () => this.turn(!this.on), {
      'aria-pressed': 'false',
      title: 'Draw on the picture: your class sees each stroke for ten seconds.',
    });
    this.switch.hidden = true;
    this.layer.onpointerdown = (event) => this.begin(event);
    this.layer.onpointermove = (event) => this.move(event);
    this.layer.onpointerup = this.layer.onpointercancel = () => this.end();
    this.layer.onwheel = () => this.turn(false); // the page scrolls
    const key = (event) => event.key === 'Escape' && this.on && this.turn(false);
    document.addEventListener('keydown', key);
    onUnmount(() => {
      document.removeEventListener('keydown', key);
      cancelAnimationFrame(this.pending);
      this.layer.remove();
    });
  }

  update({ header }) {
    this.limit = header.limit;
    this.switch.hidden = !header.draws;
    const now = performance.now();
    if (!header.draws)
      this.strokes = header.strokes.map(([left, points]) => ({
        points,
        until: now + 1000 * Math.min(left, KEPT_MS / 1000),
      }));
    this.schedule();
  }

  turn(on) {
    this.on = on;
    this.switch.setAttribute('aria-pressed', String(on));
    Object.assign(this.layer.style, { pointerEvents: on ? 'auto' : 'none', cursor: 'crosshair', touchAction: 'none' });
  }

  placeOf({ clientX, clientY }) {
    const box = this.picture;
    const share = (at, from, size) => Number(Math.min(2, Math.max(-1, (at - from) / size)).toFixed(4));
    return [share(clientX, box.left, box.width), share(clientY, box.top, box.height)];
  }

  begin(event) {
    this.picture = findPicture();
    if (!this.picture || !contains(this.picture, event)) return this.turn(false); // what is beside it stays in reach
    if (event.button) return;
    this.layer.setPointerCapture(event.pointerId);
    this.drawing = { points: [this.placeOf(event)], until: Infinity };
    this.strokes.push(this.drawing);
    this.schedule();
  }

  move(event) {
    if (!this.drawing) return;
    this.drawing.points.push(this.placeOf(event));
    this.schedule();
  }

  end() {
    if (!this.drawing) return;
    this.drawing.until = performance.now() + KEPT_MS;
    this.trigger('stroke', thin(this.drawing.points, this.limit));
    this.drawing = null;
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const now = performance.now();
    this.strokes = this.strokes.filter(({ until }) => until > now);
    const ctx = this.map.size(innerWidth, innerHeight);
    const box = this.strokes.length ? findPicture() : null;
    this.layer.dataset.strokes = String(box ? this.strokes.length : 0);
    if (!box) return;
    for (const { points, until } of this.strokes)
      this.drawStroke(ctx, box, points, Math.min(1, (until - now) / FADE_MS));
    this.schedule(); // the page may scroll, and strokes fade
  }

  drawStroke(ctx, box, points, alpha) {
    const places = points.map(([x, y]) => [box.left + x * box.width, box.top + y * box.height]);
    ctx.globalAlpha = alpha;
    ctx.lineCap = ctx.lineJoin = 'round';
    for (const [color, more] of [
      ['#fff', 3],
      [COLOR, 0],
    ]) {
      ctx.beginPath();
      if (places.length === 1) ctx.arc(...places[0], DOT_PX + more / 2, 0, 2 * Math.PI);
      else places.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = WIDTH_PX + more;
      if (places.length === 1) ctx.fill();
      else ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }
}

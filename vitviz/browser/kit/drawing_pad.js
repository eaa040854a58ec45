// Draw digits with pointer, finger or keys. Strokes are text, as in permalinks (vitviz/data/drawings.py).

import { circle, clipped, fill, write } from './axes.js';

const GRID = 512; // positions per axis
const INK = 46; // width of a stroke on the grid
const MOST = 960; // characters
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const CORNER = 0.8; // radians; a smaller turn is drawn as a curve
const KEY_STEP = 12; // on the grid
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export const encode = (strokes) =>
  strokes
    .map((stroke) => stroke.map(([x, y]) => ALPHABET[x >> 3] + ALPHABET[((x & 7) << 3) | (y >> 6)] + ALPHABET[y & 63]))
    .map((points) => points.join(''))
    .join('.');

export function decode(text) {
  const place = (three) => {
    const [a, b, c] = [...three].map((letter) => ALPHABET.indexOf(letter));
    return [(a << 3) | (b >> 3), ((b & 7) << 6) | c];
  };
  return text
    .split('.')
    .filter(Boolean)
    .map((stroke) => stroke.match(/.{3}/g).map(place));
}

/** Return a stroke without the points that lie within `tolerance` of the line through the others (Ramer 1972). */
function simplify(points, tolerance) {
  if (points.length < 3) return points;
  const [[x0, y0], [x1, y1]] = [points[0], points.at(-1)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  let [far, most] = [0, tolerance];
  points.forEach(([x, y], i) => {
    const off = length ? Math.abs((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / length : Math.hypot(x - x0, y - y0);
    if (off > most) [far, most] = [i, off];
  });
  if (!far) return [points[0], points.at(-1)];
  return [...simplify(points.slice(0, far + 1), tolerance).slice(0, -1), ...simplify(points.slice(far), tolerance)];
}

/** Draw strokes in white; `frame` is the shown square [left, top, side] in shares of the pad. */
export function drawStrokes(ctx, strokes, side, [left, top, size] = [0, 0, 1]) {
  const scale = side / (GRID * size);
  ctx.save();
  ctx.scale(scale, scale);
  ctx.translate(-left * GRID, -top * GRID);
  ctx.strokeStyle = '#fff';
  ctx.lineWidth = INK;
  ctx.lineCap = ctx.lineJoin = 'round';
  for (const stroke of strokes) {
    ctx.beginPath();
    ctx.moveTo(...stroke[0]);
    stroke.slice(1, -1).forEach(([x, y], i) => {
      const [[u, v], [s, t]] = [stroke[i], stroke[i + 2]];
      const turn = Math.abs(Math.atan2((x - u) * (t - y) - (y - v) * (s - x), (x - u) * (s - x) + (y - v) * (t - y)));
      if (turn > CORNER) ctx.lineTo(x, y);
      else ctx.quadraticCurveTo(x, y, (x + s) / 2, (y + t) / 2);
    });
    ctx.lineTo(stroke.at(-1)[0] + 0.01, stroke.at(-1)[1]); // a dot too has a length
    ctx.stroke();
  }
  ctx.restore();
}

/**
 * A pad on a canvas.
 *   acts: {paint(): draw it again, changed(text): the pen was lifted, or strokes were undone or cleared,
 *          moved(text) (optional): the pen moves, say(text)}
 */
export class Pad {
  constructor(acts) {
    Object.assign(this, { acts, strokes: [], before: [], line: null, pen: null, down: false, on: true });
  }

  get text() {
    return encode(this.line ? [...this.strokes, this.line] : this.strokes);
  }

  get empty() {
    return !this.strokes.length && !this.line;
  }

  /** Let a canvas take the strokes. */
  attach(node) {
    node.classList.add('vv-pad');
    Object.assign(node, { tabIndex: 0, role: 'application' });
    node.setAttribute(
      'aria-label',
      'Drawing pad. Draw a digit with mouse or finger. Arrow keys move the pen, space lowers it, Backspace undoes, Delete clears.',
    );
    const place = ({ clientX, clientY }) => {
      const box = node.getBoundingClientRect();
      return [(clientX - box.left) / box.width, (clientY - box.top) / box.height].map(onGrid);
    };
    node.onpointerdown = (event) => {
      if (event.button || !event.isPrimary || !this.on) return;
      event.preventDefault();
      node.focus({ preventScroll: true });
      if (event.isTrusted) node.setPointerCapture(event.pointerId);
      this.lift();
      this.pen = null;
      this.begin(place(event));
    };
    node.onpointermove = (event) => {
      if (!this.line || this.pen) return;
      for (const part of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event])
        this.extend(place(part));
    };
    node.onpointerup = node.onpointercancel = () => this.pen || this.lift();
    node.onkeydown = (event) => this.on && this.key(event);
    node.onblur = () => {
      this.lift();
      this.pen = null;
      this.acts.paint();
    };
  }

  key(event) {
    const step = STEPS[event.key];
    if (step) {
      this.pen = (this.pen ?? [GRID / 2, GRID / 2]).map((at, i) => onGrid((at + step[i] * KEY_STEP) / GRID));
      if (this.line) this.extend(this.pen);
      this.acts.paint();
    } else if (event.key === ' ') {
      this.pen ??= [GRID / 2, GRID / 2];
      if (this.line) this.lift();
      else this.begin(this.pen);
      this.acts.say(this.line ? 'pen down' : 'pen up');
    } else if (event.key === 'Backspace' || (event.key === 'z' && (event.ctrlKey || event.metaKey))) this.undo();
    else if (event.key === 'Delete') this.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  begin(point) {
    this.line = [point];
    this.moved();
  }

  extend(point) {
    const [x, y] = this.line.at(-1);
    if (point[0] === x && point[1] === y) return;
    this.line.push(point);
    this.moved();
  }

  moved() {
    this.acts.moved?.(this.text);
    this.acts.paint();
  }

  /** End the stroke; strokes are simplified until their text is short enough for a permalink. */
  lift() {
    if (!this.line) return;
    const strokes = [...this.strokes, this.line];
    this.line = null;
    for (let tolerance = 1; tolerance < 24; tolerance *= 1.5) {
      const simple = strokes.map((stroke) => simplify(stroke, tolerance));
      if (encode(simple).length <= MOST) return this.change(simple);
    }
    this.acts.say('The pad is full: undo or clear.');
    this.acts.paint();
  }

  change(strokes) {
    this.before.push(this.strokes);
    this.show(strokes);
  }

  show(strokes) {
    this.strokes = strokes;
    this.acts.paint();
    this.acts.changed(this.text);
  }

  undo() {
    this.line = null;
    if (this.before.length) this.show(this.before.pop());
    else if (this.strokes.length) this.show(this.strokes.slice(0, -1));
  }

  clear() {
    this.line = null;
    if (this.strokes.length) this.change([]);
  }

  /** Show strokes that came from elsewhere. */
  set(text) {
    if (text === encode(this.strokes)) return;
    Object.assign(this, { strokes: decode(text), before: [], line: null });
  }

  /** Draw the pad on a square of `side` px. */
  paint(ctx, side, colors, frame) {
    const draw = () => {
      fill(ctx, '#000', 0, 0, side, side);
      drawStrokes(ctx, this.line ? [...this.strokes, this.line] : this.strokes, side, frame);
    };
    clipped(ctx, [0, 0, side, side], draw, 6);
    const hint = { style: '15px', color: '#9DA9B8', align: 'center' };
    if (this.empty) write(ctx, colors, 'Draw a digit here', side / 2, side / 2, hint);
    if (!this.pen) return;
    const [x, y] = this.pen.map((at) => (at * side) / GRID);
    circle(ctx, colors.primary, 2, x, y, this.line ? 4 : 7);
  }
}

const onGrid = (share) => Math.max(0, Math.min(GRID - 1, Math.round(share * GRID)));

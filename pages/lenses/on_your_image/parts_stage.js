// Draw the image with its parts, which are moved by pointer or keys; new parts are cut out of it. The parts are moved,
// misplaced and encoded as in vitviz/analysis/image_parts.py.

import { button, disable, el } from '../../../vitviz/browser/kit/dom.js';
import { animate, mix } from '../../../vitviz/browser/kit/motion.js';
import { photo } from '../../../vitviz/browser/kit/pixels.js';
import { frameOf, placeIn } from './sweep_panels.js';

const FIELDS = ['left', 'top', 'width', 'height', 'x', 'y'];

export const fromNumbers = (numbers) => Object.fromEntries(FIELDS.map((name, i) => [name, numbers[i]]));

export const atHome = ({ left, top, x, y }) => left === x && top === y;

/** Returns the text of a link: six characters per part; sides count from 1. */
export const encode = (parts, signs) =>
  parts.flatMap((part) => FIELDS.map((name, i) => signs[part[name] - (i === 2 || i === 3 ? 1 : 0)])).join('');

const within = (at, side, size) => Math.max(0, Math.min(size - side, at));

/** Returns a part moved to (x, y), clipped to the image. */
const moved = (part, x, y, size) => ({
  ...part,
  x: within(x, part.width, size),
  y: within(y, part.height, size),
});

const whole = (parts) => parts.map((part) => ({ ...part, x: part.left, y: part.top }));

/** Returns every part centred on another part's place; a single part is mirrored at the image's centre. */
function putWrong(parts, size) {
  const by = Math.floor(parts.length / 2);
  return parts.map((part, i) => {
    const other = parts[(i + by) % parts.length];
    const x = by ? other.left + ((other.width - part.width) >> 1) : size - part.width - part.left;
    const y = by ? other.top + ((other.height - part.height) >> 1) : size - part.height - part.top;
    return moved(part, x, y, size);
  });
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const WAY_MS = 320;
const EMPTY = 2; // index of the frame without the parts

export class PartsStage {
  /** tell(parts, done) receives moved parts, done at the end of a drag; see() switches photo and model input. */
  constructor(root, parent, tell, see) {
    this.tell = tell;
    this.box = el(parent, 'div', { class: 'op-apart' });
    this.node = el(this.box, 'canvas', { class: 'op-picture', role: 'img' });
    this.over = el(this.box, 'div', { class: 'op-parts' });
    const row = el(parent, 'div', { class: 'vv-row op-keys' });
    this.wrong = button(row, 'Misplace parts', () => this.go(putWrong(this.parts, this.size)));
    this.back = button(row, 'Restore parts', () => this.go(whole(this.parts)));
    this.cutter = button(row, 'Cut out a part', (event) => this.begin(event.detail === 0));
    this.less = button(row, 'Remove part', () => this.remove(this.last));
    this.toggle = button(row, 'Show model input', see);
    this.hint = el(parent, 'div', { class: 'vv-muted op-hint' });
    this.photo = photo(root);
    this.last = -1; // index of the part that was touched last
    this.cutting = false;
    this.over.onpointerdown = (event) => this.open(event);
  }

  get size() {
    return this.now.arrays.frames.shape[1];
  }

  /** Returns the pointer's position in pixels of the model input. */
  placeOf(event) {
    return placeIn(this.over, event).map((share) => share * this.size);
  }

  draw(now, parts, seen) {
    this.now = now;
    this.parts = parts;
    this.seen = seen;
    if (this.last >= parts.length) this.last = -1;
    this.updateButtons();
    if (this.going === parts) return; // an animation moves them
    this.going = null;
    this.place(parts);
    this.photo.show(now, () => this.paint(this.parts));
    this.paint(parts);
  }

  // ------------------------------------------------------------ drawing

  updateButtons() {
    const { header } = this.now;
    disable(this.wrong, this.parts.length ? '' : 'Cut out a part first');
    disable(this.back, this.parts.every(atHome) ? 'No part is misplaced' : '');
    disable(this.cutter, this.parts.length >= header.most ? `At most ${header.most} parts` : '');
    this.cutter.setAttribute('aria-pressed', String(this.cutting));
    const only = this.parts.length < 2;
    disable(this.less, only ? 'One part must stay' : this.last < 0 ? 'Select a part first' : '');
    this.toggle.style.display = header.photograph ? '' : 'none';
    this.toggle.setAttribute('aria-pressed', String(this.seen));
    this.hint.textContent = this.cutting
      ? 'Draw a rectangle on the image.'
      : 'Drag a part, or move it with the arrow keys.';
    const out = this.parts.filter((part) => !atHome(part)).length;
    this.node.setAttribute('aria-label', `Image with ${out} of ${this.parts.length} parts misplaced`);
    this.over.classList.toggle('op-cutting', this.cutting);
  }

  nameOf(part, i) {
    const { named } = this.now.header;
    const known = Object.entries(named).find(([, [left, top, width, height]]) =>
      [left - part.left, top - part.top, width - part.width, height - part.height].every((by) => by === 0),
    );
    return known ? known[0] : `part ${i + 1}`;
  }

  /** Places a button over every part, in its size. */
  place(parts) {
    while (this.over.children.length > parts.length) this.over.lastChild.remove();
    while (this.over.children.length < parts.length) this.handle(this.over.children.length);
    const share = (value) => `${(100 * value) / this.size}%`;
    parts.forEach((part, i) => {
      const node = this.over.children[i];
      Object.assign(node.style, {
        left: share(part.x),
        top: share(part.y),
        width: share(part.width),
        height: share(part.height),
      });
      const where = atHome(part) ? 'in place' : `at column ${part.x + 1}, row ${part.y + 1}`;
      node.setAttribute('aria-label', `${this.nameOf(part, i)}, ${where}`);
      node.title = this.nameOf(part, i);
      node.classList.toggle('op-last', i === this.last);
    });
  }

  /** Draws the image without its parts and the parts over it, in the photo's resolution or the models'. */
  paint(parts) {
    const { header, arrays } = this.now;
    const { bitmap } = this.photo;
    const seen = this.seen || !header.photograph || !bitmap;
    const side = seen ? 384 : Math.max(256, bitmap.width);
    if (this.node.width !== side) this.node.width = this.node.height = side;
    const ctx = this.node.getContext('2d');
    ctx.imageSmoothingEnabled = !seen;
    const [from, below, wide] = seen
      ? [frameOf(arrays.frames, 0), frameOf(arrays.frames, EMPTY), this.size]
      : [bitmap, bitmap, bitmap.width];
    ctx.drawImage(below, 0, seen ? 0 : wide, wide, wide, 0, 0, side, side);
    const [cut, put] = [wide / this.size, side / this.size];
    for (const { left, top, width, height, x, y } of parts)
      ctx.drawImage(
        from,
        ...[left, top, width, height].map((value) => value * cut),
        ...[x, y, width, height].map((value) => value * put),
      );
    this.node.dataset.shows = seen ? 'seen' : 'photo';
  }

  // ------------------------------------------------------------ moving

  /** Moves all parts in an animation. */
  go(parts) {
    const before = this.parts;
    this.going = parts;
    this.tell(parts, true);
    animate(WAY_MS, (t) => {
      if (this.going !== parts) return; // a newer move replaced this one
      if (t === 1) this.going = null;
      const on = parts.map((part, i) => ({
        ...part,
        x: mix(before[i].x, part.x, t),
        y: mix(before[i].y, part.y, t),
      }));
      this.paint(on);
      this.place(t < 1 ? on : parts);
    });
  }

  touch(i) {
    this.last = i;
    this.updateButtons();
    this.place(this.parts);
  }

  put(i, x, y, done) {
    this.last = i;
    this.tell(
      this.parts.map((part, k) => (k === i ? moved(part, x, y, this.size) : part)),
      done,
    );
  }

  handle(i) {
    const node = button(this.over, '', () => {}, { class: 'op-part' });
    let grip = null;
    node.onpointerdown = (event) => {
      if (this.cutting) return; // the image below starts a new part
      event.stopPropagation();
      node.setPointerCapture(event.pointerId);
      const [x, y] = this.placeOf(event);
      grip = [x - this.parts[i].x, y - this.parts[i].y];
      this.touch(i);
    };
    const follow = (event, done) => {
      if (!grip) return;
      const [x, y] = this.placeOf(event);
      this.put(i, Math.round(x - grip[0]), Math.round(y - grip[1]), done);
      if (done) grip = null;
    };
    node.onpointermove = (event) => follow(event, false);
    node.onpointerup = (event) => follow(event, true);
    node.onpointercancel = () => (grip = null);
    node.onfocus = () => this.touch(i);
    node.onkeydown = (event) => this.key(event, i);
  }

  key(event, i) {
    const part = this.parts[i];
    if (event.key === 'Delete' || event.key === 'Backspace') this.remove(i);
    else if (event.key === 'Home') this.put(i, part.left, part.top, true);
    else if (ARROWS[event.key] && event.shiftKey) this.cutElsewhere(i, ...ARROWS[event.key]);
    else if (ARROWS[event.key]) this.put(i, part.x + ARROWS[event.key][0], part.y + ARROWS[event.key][1], true);
    else if (event.key === '+' || event.key === '-') this.resize(i, event.key === '+' ? 1 : -1);
    else return;
    event.preventDefault();
  }

  change(i, values) {
    const part = { ...this.parts[i], ...values };
    part.left = Math.max(0, Math.min(this.size - part.width, part.left));
    part.top = Math.max(0, Math.min(this.size - part.height, part.top));
    this.last = i;
    this.tell(
      this.parts.map((one, k) => (k === i ? moved(part, part.x, part.y, this.size) : one)),
      true,
    );
  }

  /** Moves the cut and the part together. */
  cutElsewhere(i, dx, dy) {
    const { left, top, x, y } = this.parts[i];
    this.change(i, { left: left + dx, top: top + dy, x: x + dx, y: y + dy });
  }

  resize(i, by) {
    const { width, height } = this.parts[i];
    const side = (value) => Math.max(this.now.header.least, Math.min(this.size, value + by));
    this.change(i, { width: side(width), height: side(height) });
  }

  remove(i) {
    if (this.parts.length < 2 || i < 0) return;
    this.last = -1;
    this.tell(
      this.parts.filter((_, k) => k !== i),
      true,
    );
  }

  // ------------------------------------------------------------ cutting

  /** Starts a new part: by pointer, the next drag draws it; by keys, a square in the centre. */
  begin(byKeys) {
    if (byKeys) {
      const side = Math.floor(this.size / 4);
      const at = (this.size - side) >> 1;
      return this.add({ left: at, top: at, width: side, height: side });
    }
    this.cutting = !this.cutting;
    this.updateButtons();
  }

  add(cut) {
    this.cutting = false;
    this.last = this.parts.length;
    this.tell([...this.parts, { ...cut, x: cut.left, y: cut.top }], true);
    this.over.children[this.last]?.focus();
  }

  /** Draws the rectangle of a new part until the pointer goes up. */
  open(event) {
    if (!this.cutting) return;
    event.preventDefault();
    this.over.setPointerCapture(event.pointerId);
    const from = this.placeOf(event).map(Math.floor);
    const frame = el(this.box, 'div', { class: 'op-new' });
    const rectangle = (moveEvent) => {
      const to = this.placeOf(moveEvent).map(Math.ceil);
      const [left, top] = [0, 1].map((k) => Math.min(from[k], to[k]));
      return { left, top, width: Math.abs(to[0] - from[0]), height: Math.abs(to[1] - from[1]) };
    };
    this.over.onpointermove = (moveEvent) => {
      for (const [name, value] of Object.entries(rectangle(moveEvent)))
        frame.style[name] = `${(100 * value) / this.size}%`;
    };
    const end = (endEvent, cut) => {
      this.over.onpointermove = this.over.onpointerup = this.over.onpointercancel = null;
      frame.remove();
      const drawn = rectangle(endEvent);
      if (cut && Math.min(drawn.width, drawn.height) >= this.now.header.least) this.add(drawn);
    };
    this.over.onpointerup = (endEvent) => end(endEvent, true);
    this.over.onpointercancel = (endEvent) => end(endEvent, false);
  }
}

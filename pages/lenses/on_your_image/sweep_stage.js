// Draw the changed image: the photo or the model input, its slider, a square to drag, pieces to swap. A photo is changed as
// in vitviz/analysis/image_changes.py, at its original resolution.

import { button, el } from '../../../vitviz/browser/kit/dom.js';
import { frame, fill } from '../../../vitviz/browser/kit/axes.js';
import { stepTo } from '../../../vitviz/browser/kit/grid.js';
import { photo, blit, createContext, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { coverPixels } from './input_changes.js';
import { frameOf, placeIn } from './sweep_panels.js';

const NOISE_CODES = 32;
const rgb = (color) => `rgb(${color.join(', ')})`;

/** Returns a drawer of the photo transformed by `place(ctx, side, options)` over the border's mean colour. */
function transformed(place) {
  return (ctx, side, options) => {
    fill(ctx, rgb(options.border), 0, 0, side, side);
    ctx.save();
    ctx.translate(side / 2, side / 2);
    place(ctx, side, options);
    ctx.translate(-side / 2, -side / 2);
    ctx.drawImage(options.bitmap, 0, 0, side, side);
    ctx.restore();
  };
}

/** Returns a drawer of the photo with `create(side, options, pixels)(value, channel, x, y)` for every channel of every pixel. */
function perPixel(create) {
  return (ctx, side, options) => {
    const context = createContext(side, side, { willReadFrequently: true });
    context.drawImage(options.bitmap, 0, 0, side, side);
    const image = context.getImageData(0, 0, side, side);
    const map = create(side, options, image.data);
    for (let i = 0; i < side * side; i++)
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = map(image.data[4 * i + c], c, i % side, Math.floor(i / side));
    ctx.drawImage(offscreen(image), 0, 0);
  };
}

/** Returns the mean of every channel. */
function meanOf(data) {
  const sums = [0, 0, 0];
  for (let i = 0; i < data.length; i += 4) for (let c = 0; c < 3; c++) sums[c] += data[i + c];
  return sums.map((sum) => (4 * sum) / data.length);
}

function tiles(ctx, side, bitmap, order) {
  const count = Math.round(Math.sqrt(order.length));
  const from = bitmap.width / count;
  const to = side / count;
  order.forEach((tile, n) => {
    const [x, y] = [tile % count, Math.floor(tile / count)];
    ctx.drawImage(bitmap, x * from, y * from, from, from, (n % count) * to, Math.floor(n / count) * to, to, to);
  });
}

/** Returns the occluding square [left, top, side] in shares of the image's side. */
const coverOf = (header, hand, grain) => coverPixels(header, hand, grain).map((px) => px / grain);

const DRAW = {
  shift: transformed((ctx, side, { value, grain }) => ctx.translate((value * side) / grain, 0)),
  rotate: transformed((ctx, side, { value }) => ctx.rotate((value * Math.PI) / 180)),
  zoom: transformed((ctx, side, { value }) => ctx.scale(value, value)),
  blur(ctx, side, { bitmap, value, grain }) {
    ctx.drawImage(bitmap, 0, 0, side, side);
    ctx.filter = `blur(${(value * side) / grain}px)`;
    ctx.drawImage(bitmap, 0, 0, side, side);
    ctx.filter = 'none';
  },
  brightness: perPixel(
    (side, { value }) =>
      (v) =>
        v + 255 * value,
  ),
  contrast: perPixel((side, { value }, pixels) => {
    const mean = meanOf(pixels);
    return (v, c) => mean[c] + value * (v - mean[c]);
  }),
  noise: perPixel((side, { value, grain, arrays }) => {
    const { data } = arrays.noise;
    const at = (place) => Math.floor((place * grain) / side);
    return (v, c, x, y) => v + (255 * value * data[3 * (at(y) * grain + at(x)) + c]) / NOISE_CODES;
  }),
  shuffle(ctx, side, { bitmap, hand, arrays }) {
    const count = arrays.orders.shape[1];
    tiles(ctx, side, bitmap, [...arrays.orders.data.subarray(hand.at * count, (hand.at + 1) * count)]);
  },
  pieces(ctx, side, { bitmap, value, hand }) {
    tiles(ctx, side, bitmap, value ? hand.pieces : hand.pieces.map((_, i) => i));
  },
  occlude(ctx, side, { bitmap, border, cover }) {
    ctx.drawImage(bitmap, 0, 0, side, side);
    fill(ctx, rgb(border), cover[0] * side, cover[1] * side, cover[2] * side, cover[2] * side);
  },
};

/** Returns true if this browser can draw the change; not every browser can blur. */
const canDraw = (change, ctx) => change !== 'blur' || 'filter' in ctx;

/** Draws a changed photo on a square canvas of `side` pixels. */
function drawChanged(ctx, side, bitmap, { header, arrays }, hand) {
  const value = header.values[hand.at];
  const grain = arrays.frames.shape[1];
  const cover = header.change === 'occlude' ? coverOf(header, hand, grain) : null;
  const options = { bitmap, value, border: header.border, grain, arrays, hand, cover };
  ctx.imageSmoothingEnabled = true;
  DRAW[header.change](ctx, side, options);
}

const STEP = 1 / 32; // of the side, for an arrow key that moves the cover
const PIECES = 4;

export class Stage {
  /** tell(changes, done) receives the moved values, done at the end of a drag. */
  constructor(root, parent, tell) {
    this.tell = tell;
    this.box = el(parent, 'div', { class: 'op-stage' });
    this.node = el(this.box, 'canvas', { class: 'op-picture' });
    const row = el(parent, 'div', { class: 'op-slide' });
    this.slider = el(row, 'input', { type: 'range', min: '0', step: '1' });
    this.words = el(row, 'span', { class: 'op-strength' });
    this.keys = el(parent, 'div', { class: 'vv-row op-keys' });
    this.toggle = button(this.keys, 'Show model input', () => tell({ seen: !this.hand.seen }, true));
    this.back = button(this.keys, 'Restore pieces', () => this.order([...Array(PIECES * PIECES).keys()]));
    this.wrong = button(this.keys, 'Misplace pieces', () => this.order(this.mixed()));
    this.hint = el(this.keys, 'span', { class: 'vv-muted' });
    this.photo = photo(root);
    this.held = -1; // the selected piece
    this.listen();
  }

  listen() {
    this.slider.oninput = () => this.tell({ at: Number(this.slider.value) }, false);
    this.slider.onchange = () => this.tell({ at: Number(this.slider.value) }, true);
    const node = this.node;
    node.onpointerdown = (event) => {
      if (!this.handled()) return;
      node.setPointerCapture(event.pointerId);
      this.down = this.pieceAt(event);
      if (this.covers()) this.cover(event, false);
    };
    node.onpointermove = (event) => {
      if (this.covers() && node.hasPointerCapture(event.pointerId)) this.cover(event, false);
    };
    node.onpointerup = (event) => {
      if (this.covers()) this.cover(event, true);
      else if (this.cuts()) this.drop(this.down, this.pieceAt(event));
    };
    node.onkeydown = (event) => this.key(event);
  }

  covers = () => this.now.header.change === 'occlude';
  cuts = () => this.now.header.change === 'pieces';
  handled = () => this.covers() || this.cuts();

  pieceAt(event) {
    const [x, y] = placeIn(this.node, event).map((at) => Math.min(PIECES - 1, Math.floor(at * PIECES)));
    return y * PIECES + x;
  }

  cover(event, done) {
    const place = placeIn(this.node, event).map((at) => Number(at.toFixed(3)));
    this.tell({ place, at: this.hand.at || 2 }, done); // a drag on the unchanged image covers a part
  }

  /** Swaps two pieces: by a drag from one to the other, or by a click on each. */
  drop(from, to) {
    if (from !== to) this.exchange(from, to);
    else if (this.held >= 0 && this.held !== to) this.exchange(this.held, to);
    else {
      this.held = this.held === to ? -1 : to;
      this.draw(this.now, this.hand);
    }
  }

  exchange(a, b) {
    const pieces = [...this.hand.pieces];
    [pieces[a], pieces[b]] = [pieces[b], pieces[a]];
    this.order(pieces);
  }

  order(pieces) {
    this.held = -1;
    this.tell({ pieces, at: 1 }, true);
  }

  /** Returns an order with rows reversed and columns swapped in pairs, which misplaces every part of a face. */
  mixed = () => Array.from({ length: 16 }, (_, n) => (3 - Math.floor(n / 4)) * 4 + ((n % 4) ^ 1));

  key(event) {
    if (this.covers()) return this.push(event);
    if (!this.cuts()) return;
    const next = stepTo(event.key, this.cursor ?? -1, PIECES, PIECES);
    if (next === undefined && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    if (next !== undefined) this.cursor = next;
    else if (this.cursor >= 0) this.drop(this.cursor, this.cursor);
    this.draw(this.now, this.hand);
  }

  push(event) {
    const by = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    if (!by) return;
    event.preventDefault();
    const place = this.hand.place.map((at, i) => Number(Math.max(0, Math.min(1, at + by[i])).toFixed(3)));
    this.tell({ place }, true);
  }

  /** Updates the slider, the buttons and the hint. */
  updateControls() {
    const { header } = this.now;
    this.slider.max = String(header.words.length - 1);
    this.slider.value = String(this.hand.at);
    this.slider.setAttribute('aria-label', header.title);
    this.slider.setAttribute('aria-valuetext', header.words[this.hand.at]);
    this.words.textContent = header.words[this.hand.at];
    this.toggle.style.display = header.photograph ? '' : 'none';
    this.toggle.setAttribute('aria-pressed', String(this.hand.seen));
    this.back.style.display = this.wrong.style.display = this.cuts() ? '' : 'none';
    this.hint.textContent = this.covers()
      ? 'Drag the square over the image.'
      : this.cuts()
        ? 'Drag a piece onto another to swap them.'
        : '';
    this.keys.style.display = header.photograph || this.handled() ? '' : 'none';
    this.name();
  }

  name() {
    const label = `Image, ${this.now.header.title.toLowerCase()}: ${this.now.header.words[this.hand.at]}`;
    this.node.setAttribute('role', this.handled() ? 'application' : 'img');
    this.node.setAttribute(
      'aria-label',
      this.handled() ? `${label}. Arrow keys move${this.cuts() ? ', Enter swaps' : ' the square'}.` : label,
    );
    this.node.tabIndex = this.handled() ? 0 : -1;
    this.node.style.touchAction = this.handled() ? 'none' : 'pan-y';
    this.node.style.cursor = this.handled() ? 'grab' : '';
  }

  draw(now, hand) {
    this.now = now;
    this.hand = hand;
    this.updateControls();
    this.photo.show(now, (bitmap) => this.paint(bitmap));
    if (!this.photo.bitmap) this.paint(null);
  }

  /** Draws the photo in its original resolution, or one frame of the model input. */
  paint(bitmap) {
    const { header, arrays, colors } = this.now;
    const ctx = this.node.getContext('2d');
    const seen = this.hand.seen || !header.photograph || !bitmap || !canDraw(header.change, ctx);
    const side = seen ? 384 : Math.max(256, bitmap.width);
    if (this.node.width !== side) this.node.width = this.node.height = side;
    if (seen) blit(ctx, frameOf(arrays.frames, this.hand.at), 0, 0, side, side);
    else drawChanged(ctx, side, bitmap, this.now, this.hand);
    this.node.dataset.shows = seen ? 'seen' : 'photo';
    this.outline(ctx, side, colors);
  }

  outline(ctx, side, colors) {
    if (this.covers() && this.now.header.values[this.hand.at]) {
      const [left, top, wide] = coverOf(this.now.header, this.hand, this.now.arrays.frames.shape[1]);
      frame(ctx, left * side, top * side, wide * side, wide * side);
    }
    if (!this.cuts()) return;
    const cell = side / PIECES;
    for (const [piece, color] of [
      [this.cursor ?? -1, colors.primary],
      [this.held, undefined],
    ])
      if (piece >= 0) frame(ctx, (piece % PIECES) * cell, Math.floor(piece / PIECES) * cell, cell, cell, color, 3);
  }
}

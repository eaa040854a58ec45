// Apply the changes of vitviz/analysis/changes.py to a photo at its original resolution.

import { offscreen } from '../../../vitviz/browser/kit/pixels.js';

const NOISE_CODES = 32;
const rgb = (color) => `rgb(${color.join(', ')})`;

/** Transforms the canvas by `place(ctx)` over the border's mean colour; returns a function that undoes it. */
function moved(ctx, side, border, place) {
  ctx.fillStyle = rgb(border);
  ctx.fillRect(0, 0, side, side);
  ctx.save();
  ctx.translate(side / 2, side / 2);
  place(ctx);
  ctx.translate(-side / 2, -side / 2);
  return () => ctx.restore();
}

/** Applies `map(value, channel, x, y)` to every channel of every pixel. */
function perPixel(ctx, side, draw, map) {
  const node = document.createElement('canvas');
  node.width = node.height = side;
  const context = node.getContext('2d', { willReadFrequently: true });
  draw(context);
  const image = context.getImageData(0, 0, side, side);
  for (let i = 0; i < side * side; i++)
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = map(image.data[4 * i + c], c, i % side, Math.floor(i / side));
  ctx.drawImage(offscreen(image), 0, 0);
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

/** Returns the occluding square [left, top, side] in shares of the image's side, rounded as on the server. */
export function coverOf({ values }, hand, grain) {
  const px = Math.round(values[hand.at] * grain);
  const [left, top] = hand.place.map((at) => Math.round(at * grain - px / 2) / grain);
  return [left, top, px / grain];
}

const DRAW = {
  shift(ctx, side, { bitmap, value, border, grain }) {
    const end = moved(ctx, side, border, (context) => context.translate((value * side) / grain, 0));
    ctx.drawImage(bitmap, 0, 0, side, side);
    end();
  },
  rotate(ctx, side, { bitmap, value, border }) {
    const end = moved(ctx, side, border, (context) => context.rotate((value * Math.PI) / 180));
    ctx.drawImage(bitmap, 0, 0, side, side);
    end();
  },
  zoom(ctx, side, { bitmap, value, border }) {
    const end = moved(ctx, side, border, (context) => context.scale(value, value));
    ctx.drawImage(bitmap, 0, 0, side, side);
    end();
  },
  blur(ctx, side, { bitmap, value, grain }) {
    ctx.drawImage(bitmap, 0, 0, side, side);
    ctx.filter = `blur(${(value * side) / grain}px)`;
    ctx.drawImage(bitmap, 0, 0, side, side);
    ctx.filter = 'none';
  },
  brightness(ctx, side, { bitmap, value }) {
    perPixel(
      ctx,
      side,
      (context) => context.drawImage(bitmap, 0, 0, side, side),
      (v) => v + 255 * value,
    );
  },
  contrast(ctx, side, { bitmap, value }) {
    let mean = [0, 0, 0];
    const draw = (context) => {
      context.drawImage(bitmap, 0, 0, side, side);
      mean = meanOf(context.getImageData(0, 0, side, side).data);
    };
    perPixel(ctx, side, draw, (v, c) => mean[c] + value * (v - mean[c]));
  },
  noise(ctx, side, { bitmap, value, grain, arrays }) {
    const { data } = arrays.noise;
    const at = (place) => Math.floor((place * grain) / side);
    perPixel(
      ctx,
      side,
      (context) => context.drawImage(bitmap, 0, 0, side, side),
      (v, c, x, y) => v + (255 * value * data[3 * (at(y) * grain + at(x)) + c]) / NOISE_CODES,
    );
  },
  shuffle(ctx, side, { bitmap, hand, arrays }) {
    const count = arrays.orders.shape[1];
    tiles(ctx, side, bitmap, [...arrays.orders.data.subarray(hand.at * count, (hand.at + 1) * count)]);
  },
  pieces(ctx, side, { bitmap, value, hand }) {
    tiles(ctx, side, bitmap, value ? hand.pieces : hand.pieces.map((_, i) => i));
  },
  occlude(ctx, side, { bitmap, border, cover }) {
    ctx.drawImage(bitmap, 0, 0, side, side);
    ctx.fillStyle = rgb(border);
    ctx.fillRect(cover[0] * side, cover[1] * side, cover[2] * side, cover[2] * side);
  },
};

/** Returns true if this browser can draw the change; not every browser can blur. */
export const canDraw = (change, ctx) => change !== 'blur' || 'filter' in ctx;

/** Draws a changed photo on a square canvas of `side` pixels. */
export function drawChanged(ctx, side, bitmap, { header, arrays }, hand) {
  const value = header.values[hand.at];
  const grain = arrays.frames.shape[1];
  const cover = header.change === 'occlude' ? coverOf(header, hand, grain) : null;
  const options = { bitmap, value, border: header.border, grain, arrays, hand, cover };
  ctx.imageSmoothingEnabled = true;
  DRAW[header.change](ctx, side, options);
}

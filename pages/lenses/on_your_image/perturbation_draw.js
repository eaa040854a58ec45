// Apply the changes of vitviz/analysis/image_changes.py to a photo at its original resolution.

import { fill } from '../../../vitviz/browser/kit/axes.js';
import { createContext, offscreen } from '../../../vitviz/browser/kit/pixels.js';

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

/** Returns the occluding square [left, top, side] in shares of the image's side, rounded as on the server. */
export function coverOf({ values }, hand, grain) {
  const px = Math.round(values[hand.at] * grain);
  const [left, top] = hand.place.map((at) => Math.round(at * grain - px / 2) / grain);
  return [left, top, px / grain];
}

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

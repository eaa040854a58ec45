// A photograph changed as vitviz/analysis/changes.py changes what the models read, at its own resolution.

import { offscreen } from '../../views/kit/pixels.js';

const NOISE_CODES = 32;
const rgb = (color) => `rgb(${color.join(', ')})`;

/** The picture moved by `place(ctx)`, on the colour of its border. */
function moved(ctx, side, border, place) {
  ctx.fillStyle = rgb(border);
  ctx.fillRect(0, 0, side, side);
  ctx.save();
  ctx.translate(side / 2, side / 2);
  place(ctx);
  ctx.translate(-side / 2, -side / 2);
  return () => ctx.restore();
}

/** Every value of every pixel through `map(value, channel, x, y)`. */
function perPixel(ctx, side, draw, map) {
  const node = document.createElement('canvas');
  node.width = node.height = side;
  const own = node.getContext('2d', { willReadFrequently: true });
  draw(own);
  const image = own.getImageData(0, 0, side, side);
  for (let i = 0; i < side * side; i++)
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = map(image.data[4 * i + c], c, i % side, Math.floor(i / side));
  ctx.drawImage(offscreen(image), 0, 0);
}

/** The mean of every channel. */
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

/** The square that covers the picture: [left, top, side] in shares of its side, as the server cuts it. */
export function coverOf({ values }, hand, grain) {
  const px = Math.round(values[hand.at] * grain);
  const [left, top] = hand.place.map((at) => Math.round(at * grain - px / 2) / grain);
  return [left, top, px / grain];
}

const DRAW = {
  shift(ctx, side, { bitmap, value, border, grain }) {
    const end = moved(ctx, side, border, (own) => own.translate((value * side) / grain, 0));
    ctx.drawImage(bitmap, 0, 0, side, side);
    end();
  },
  rotate(ctx, side, { bitmap, value, border }) {
    const end = moved(ctx, side, border, (own) => own.rotate((value * Math.PI) / 180));
    ctx.drawImage(bitmap, 0, 0, side, side);
    end();
  },
  zoom(ctx, side, { bitmap, value, border }) {
    const end = moved(ctx, side, border, (own) => own.scale(value, value));
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
      (own) => own.drawImage(bitmap, 0, 0, side, side),
      (v) => v + 255 * value,
    );
  },
  contrast(ctx, side, { bitmap, value }) {
    let mean = [0, 0, 0];
    const draw = (own) => {
      own.drawImage(bitmap, 0, 0, side, side);
      mean = meanOf(own.getImageData(0, 0, side, side).data);
    };
    perPixel(ctx, side, draw, (v, c) => mean[c] + value * (v - mean[c]));
  },
  noise(ctx, side, { bitmap, value, grain, arrays }) {
    const { data } = arrays.noise;
    const at = (place) => Math.floor((place * grain) / side);
    perPixel(
      ctx,
      side,
      (own) => own.drawImage(bitmap, 0, 0, side, side),
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

/** Whether a photograph can be drawn so in this browser: not every one blurs. */
export const canDraw = (change, ctx) => change !== 'blur' || 'filter' in ctx;

/** Draws a photograph changed, on a square canvas whose pixels are `side` a side. */
export function drawChanged(ctx, side, bitmap, { header, arrays }, hand) {
  const value = header.values[hand.at];
  const grain = arrays.frames.shape[1];
  const cover = header.change === 'occlude' ? coverOf(header, hand, grain) : null;
  const about = { bitmap, value, border: header.border, grain, arrays, hand, cover };
  ctx.imageSmoothingEnabled = true;
  DRAW[header.change](ctx, side, about);
}

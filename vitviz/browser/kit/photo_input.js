// A photo as its model reads it: the counterpart of `prepare` in vitviz/data/image_preprocessing.py.

import { prepareGrey } from './digit_input.js';
import { resample } from './resample.js';

const STORED = { resize: 'shorter', crop_rounding: 'even', pixel_range: 255, whole_levels: true, crop_fraction: 1 };
const LUMINANCE = [0.299, 0.587, 0.114]; // ITU-R BT.601

/** Round to the nearest integer, halves to the even one, as NumPy and Python do. */
const rint = (value) => (Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

function channel({ data, width, height }, c) {
  const values = new Uint8ClampedArray(width * height);
  for (let i = 0; i < values.length; i++) values[i] = data[4 * i + c];
  return { data: values, width, height };
}

function luminance({ data, width, height }) {
  const grey = new Uint8ClampedArray(width * height);
  for (let i = 0; i < grey.length; i++) grey[i] = rint(LUMINANCE.reduce((sum, w, c) => sum + w * data[4 * i + c], 0));
  return { data: grey, width, height };
}

/** Return the size of the resized image and the square that is cut from it; null where it must be padded. */
function place({ width, height }, { image_size: side, crop_fraction: share, resize, crop_rounding: rounding }) {
  const px = Math.floor(side / share + 1e-6);
  const longer = Math.trunc((px * Math.max(width, height)) / Math.min(width, height));
  const ratio = Math.max(width, height) / px;
  const [wide, high] = {
    none: [width, height],
    squash: [px, px],
    longer: [Math.max(1, rint(width / ratio)), Math.max(1, rint(height / ratio))],
    shorter: height <= width ? [longer, px] : [px, longer],
  }[resize];
  if (Math.min(wide, high) < side) return null;
  const edge = (room) => (rounding === 'down' ? Math.floor(room / 2) : rint(room / 2));
  return { wide, high, left: edge(wide - side), top: edge(high - side), side };
}

/** Cut a square from grey values. */
function cut({ data, width }, { left, top, side }) {
  const out = new Uint8ClampedArray(side * side);
  for (let r = 0; r < side; r++)
    out.set(data.subarray((top + r) * width + left, (top + r) * width + left + side), r * side);
  return out;
}

/** Return the levels of each channel as the model's input. */
function normalise(levels, { mean, std, pixel_range: range }) {
  const area = levels[0].length;
  const pixels = new Float32Array(levels.length * area);
  levels.forEach((values, c) =>
    values.forEach((value, i) => (pixels[c * area + i] = (value / range - mean[c]) / std[c])),
  );
  return pixels;
}

/** Return levels of one channel or three as an image {data: RGBA, width, height}. */
export function toImage(levels, side) {
  const data = new Uint8ClampedArray(4 * side * side);
  for (let i = 0; i < side * side; i++) {
    for (let c = 0; c < 3; c++) data[4 * i + c] = levels[levels.length > 1 ? c : 0][i];
    data[4 * i + 3] = 255;
  }
  return { data, width: side, height: side };
}

/**
 * Return {pixels: the model's input, seen: the image that the model sees, box: the square of the photo that it shows, null
 * for a digit, which is redrawn} of a photo {data: RGBA, width, height}; throws an Error with a sentence for the user.
 */
export function preparePhoto(photo, stated) {
  const preparation = { ...STORED, ...stated };
  const { image_size: side, mean, digit, interpolation, whole_levels: whole } = preparation;
  const grey = mean.length === 1;
  if (digit && (photo.width !== side || photo.height !== side)) {
    const shown = grey && prepareGrey(luminance(photo), side);
    if (!shown) throw new Error('No digit was found: its background must be even, such as white paper in even light.');
    return { pixels: normalise([shown], preparation), seen: toImage([shown], side), box: null };
  }
  const placed = place(photo, preparation);
  if (!placed || !whole || !['box', 'bilinear', 'bicubic'].includes(interpolation))
    throw new Error('This page cannot prepare photos as this model needs them.');
  const { wide, high } = placed;
  const colours = [0, 1, 2].map((c) => cut(resample(channel(photo, c), wide, high, interpolation), placed));
  const levels = grey ? [luminance(toImage(colours, side)).data] : colours;
  const [across, down] = [photo.width / wide, photo.height / high];
  const box = [placed.left * across, placed.top * down, side * across, side * down];
  return { pixels: normalise(levels, preparation), seen: toImage(levels, side), box };
}

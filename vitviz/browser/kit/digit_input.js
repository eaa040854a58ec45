// A drawn digit as its model reads it: the counterpart of vitviz/data/drawings.py and digit_placement.py, step by step.

import { resample } from './resample.js';

const GRID = 512; // positions of a stroke per axis
const INK = 46; // width of a stroke on the grid
const SIDE = 224; // px of the drawing
const RADIUS = (INK * SIDE) / GRID / 2;
const FAR = 1e9;
const LEVELS = 16; // a stroke is at least this much brighter than the ground,
const SHARE = 0.25; // and at least this share of the strongest stroke's
const LEAST_PART = 0.1; // of the ink of the digit's largest part
const [EVEN_LEVELS, EVEN_SHARE] = [8, 0.8]; // an even ground: most of the edge within as many levels
const [MNIST, BOX] = [28, 20]; // MNIST's frame and the box that a digit fills
const [GRAIN, COLUMNS] = [8, 6]; // scikit-learn's digits: counted on an 8 x 8 grid, at most 6 columns wide

/** Draw strokes [[x, y], …] on the grid in white: each pixel's share within the stroke's width. */
function drawInk(strokes) {
  const near = new Float32Array(SIDE * SIDE).fill(FAR); // squared distance from the nearest line
  for (const stroke of strokes) {
    const points = stroke.map((point) => point.map((at) => (at * SIDE) / GRID));
    points.forEach(([x, y], i) => {
      const [u, v] = points[i + 1] ?? points[i];
      if (i && !points[i + 1]) return;
      measure(near, x, y, u - x, v - y);
    });
  }
  const grey = new Uint8ClampedArray(near.length);
  for (let i = 0; i < near.length; i++)
    if (near[i] < FAR) grey[i] = Math.floor(255 * Math.min(1, Math.max(0, RADIUS + 0.5 - Math.sqrt(near[i]))) + 0.5);
  return grey;
}

/** Lower the distances around one line from (x, y) by (dx, dy). */
function measure(near, x, y, dx, dy) {
  const reach = RADIUS + 1;
  const bound = (at) => Math.max(0, Math.min(SIDE, at));
  const length = dx * dx + dy * dy;
  const [left, right] = [bound(Math.floor(Math.min(x, x + dx) - reach)), bound(Math.ceil(Math.max(x, x + dx) + reach))];
  const [top, bottom] = [bound(Math.floor(Math.min(y, y + dy) - reach)), bound(Math.ceil(Math.max(y, y + dy) + reach))];
  for (let row = top; row < bottom; row++)
    for (let column = left; column < right; column++) {
      const u = column + 0.5 - x;
      const v = row + 0.5 - y;
      const along = length ? Math.min(1, Math.max(0, (u * dx + v * dy) / length)) : 0;
      const squared = (u - along * dx) ** 2 + (v - along * dy) ** 2;
      const at = row * SIDE + column;
      if (squared < near[at]) near[at] = squared;
    }
}

// ------------------------------------------------------------ the ink

const middle = (values) => {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/** Return the indices of the edge, corners twice. */
const edge = Array.from({ length: SIDE }, (_, i) => [i, (SIDE - 1) * SIDE + i, i * SIDE, i * SIDE + SIDE - 1]).flat();

/** True if the ground is one level: most of the edge, averaged over 5 x 5 px, is close to its median. */
function isEven(grey, ground) {
  const inside = (at) => Math.max(0, Math.min(SIDE - 1, at));
  const close = edge.filter((at) => {
    let sum = 0;
    for (let r = -2; r <= 2; r++)
      for (let c = -2; c <= 2; c++) sum += grey[inside(Math.floor(at / SIDE) + r) * SIDE + inside((at % SIDE) + c)];
    return Math.abs(sum / 25 - ground) <= EVEN_LEVELS;
  });
  return close.length >= EVEN_SHARE * edge.length;
}

/** Label the connected parts (8 neighbours) of what is at least `low`: labels from 1, and each part's sum. */
function findParts(contrast, low) {
  const labels = new Uint16Array(contrast.length);
  const sums = [0];
  const stack = [];
  const visit = (at) => {
    if (labels[at] || contrast[at] < low) return;
    labels[at] = sums.length;
    stack.push(at);
  };
  for (let start = 0; start < contrast.length; start++) {
    if (labels[start] || contrast[start] < low) continue;
    let sum = 0;
    visit(start);
    while (stack.length) {
      const at = stack.pop();
      sum += contrast[at];
      forNear(at, visit);
    }
    sums.push(sum);
  }
  return { labels, sums };
}

function forNear(at, act) {
  const row = Math.floor(at / SIDE);
  const column = at % SIDE;
  for (let r = Math.max(0, row - 1); r <= Math.min(SIDE - 1, row + 1); r++)
    for (let c = Math.max(0, column - 1); c <= Math.min(SIDE - 1, column + 1); c++) act(r * SIDE + c);
}

/** Return the ink over the ground, its strongest at 255, without specks; null where the ground is not even. */
function findInk(grey) {
  const ground = middle(edge.map((at) => grey[at]));
  if (!isEven(grey, ground)) return null;
  let [least, most] = [255, 0];
  for (const value of grey) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const sign = ground - least > most - ground ? -1 : 1;
  const contrast = new Float32Array(grey.length);
  for (let i = 0; i < grey.length; i++) contrast[i] = sign * (grey[i] - ground);
  const strongest = sign < 0 ? ground - least : most - ground;
  const { labels, sums } = findParts(contrast, Math.max(LEVELS, SHARE * strongest));
  const largest = Math.max(...sums);
  const ink = new Uint8ClampedArray(contrast.length);
  if (sums.length === 1) return ink;
  const kept = new Uint8Array(contrast.length); // strong parts with the soft edge of their strokes
  let top = 0;
  const keep = (near) => (kept[near] = 1);
  for (let at = 0; at < labels.length; at++) {
    if (!labels[at] || sums[labels[at]] < LEAST_PART * largest) continue;
    top = Math.max(top, contrast[at]);
    forNear(at, keep);
  }
  for (let at = 0; at < ink.length; at++)
    if (kept[at] && contrast[at] >= LEVELS) ink[at] = rint((contrast[at] * 255) / top);
  return ink;
}

// ------------------------------------------------------------ the digit in its frame

/** Cut out the smallest rectangle with ink: {digit, row, column}; null without ink. */
function cut(ink) {
  let [top, bottom, left, right] = [SIDE, -1, SIDE, -1];
  for (let at = 0; at < ink.length; at++) {
    if (!ink[at]) continue;
    const row = Math.floor(at / SIDE);
    const column = at % SIDE;
    top = Math.min(top, row);
    bottom = row;
    left = Math.min(left, column);
    right = Math.max(right, column);
  }
  if (bottom < 0) return null;
  const [width, height] = [right - left + 1, bottom - top + 1];
  const data = new Uint8ClampedArray(width * height);
  for (let r = 0; r < height; r++)
    data.set(ink.subarray((top + r) * SIDE + left, (top + r) * SIDE + right + 1), r * width);
  return { digit: { data, width, height }, row: top, column: left };
}

/** Brighten the digit until its strongest tenth is white. */
function fullInk({ data, ...size }) {
  const inked = data.filter((value) => value > 0).sort();
  if (!inked.length) return { data, ...size };
  const at = 0.9 * (inked.length - 1);
  const low = Math.floor(at);
  const white = inked[low] + (at - low) * ((inked[low + 1] ?? inked[low]) - inked[low]);
  return { data: data.map((value) => rint(Math.min((value * 255) / white, 255))), ...size };
}

/** Round to the nearest integer, halves to the even one, as NumPy and Python do. */
const rint = (value) => (Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

function place({ data, width, height }, size, top, left) {
  const frame = new Uint8ClampedArray(size * size);
  for (let r = 0; r < height; r++) frame.set(data.subarray(r * width, (r + 1) * width), (top + r) * size + left);
  return frame;
}

/** Return where a digit lies if its centre of mass is in the middle of the frame: [top, left]. */
function placeByMass({ data, width, height }, size) {
  let [mass, down, right] = [0, 0, 0];
  data.forEach((value, i) => {
    mass += value;
    down += value * (Math.floor(i / width) + 0.5);
    right += value * ((i % width) + 0.5);
  });
  const corner = (centre, side) => Math.min(Math.max(rint(size / 2 - centre), 0), size - side);
  return mass ? [corner(down / mass, height), corner(right / mass, width)] : [0, 0];
}

const scaled = (digit, height, width) =>
  resample(digit, Math.max(1, rint(width)), Math.max(1, rint(height)), 'bilinear');

/** Return the frame (size, size) that a model trained on digits reads, and at 28 px the seen square in shares of the pad. */
function centre({ digit, row, column }, size) {
  const { width, height } = digit;
  if (size === MNIST) {
    const pitch = Math.max(width, height) / BOX;
    const small = fullInk(scaled(digit, height / pitch, width / pitch));
    const [top, left] = placeByMass(small, size);
    const frame = [column - left * pitch, row - top * pitch, MNIST * pitch].map((at) => at / SIDE);
    return { shown: place(small, size, top, left), frame };
  }
  const widest = (size * COLUMNS) / GRAIN;
  const large = scaled(digit, size, Math.min((width * size) / height, widest));
  const framed = place(large, size, (size - large.height) >> 1, (size - large.width) >> 1);
  const grain = fullInk(resample({ data: framed, width: size, height: size }, GRAIN, GRAIN, 'box'));
  return { shown: resample(grain, size, size, 'bicubic').data, frame: null };
}

/** Return the frame that a model of `size` px reads of a digit on even ground {data, width, height}; null without one. */
export function prepareGrey(photo, size) {
  const scale = SIDE / Math.max(photo.width, photo.height);
  const [width, height] = [photo.width, photo.height].map((px) => Math.max(1, Math.round(px * scale)));
  const small = resample(photo, width, height, 'box');
  const ground = middle([...small.data.subarray(0, width), ...small.data.subarray((height - 1) * width)]);
  const square = new Uint8ClampedArray(SIDE * SIDE).fill(ground);
  const [top, left] = [(SIDE - height) >> 1, (SIDE - width) >> 1];
  for (let r = 0; r < height; r++) square.set(small.data.subarray(r * width, (r + 1) * width), (top + r) * SIDE + left);
  const ink = findInk(square);
  const found = ink && cut(ink);
  return found ? centre(found, size).shown : null;
}

/**
 * Return {shown: grey values (S, S), pixels: the model's input, frame: the seen square or null} of strokes; null where
 * only the server can prepare them, such as a pad whose edge is full of ink.
 */
export function prepareDigit(strokes, { image_size: size, mean, std, digit }) {
  if (!digit || mean.length !== 1) return null;
  const ink = findInk(drawInk(strokes));
  if (!ink) return null;
  const found = cut(ink);
  const { shown, frame } = found ? centre(found, size) : { shown: new Uint8ClampedArray(size * size), frame: null };
  return { shown, frame, pixels: Float32Array.from(shown, (value) => (value / 255 - mean[0]) / std[0]) };
}

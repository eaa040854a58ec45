// Change what the models read, on levels (S, S, 3), as vitviz/analysis/image_changes.py does.

const PIECES = 4; // on a side
const TRUNCATE = 4; // standard deviations, the reach of scipy's Gaussian filter

/** Round to the nearest integer, halves to the even one, as Python does. */
const rint = (value) => (Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

const toLevel = (value) => rint(Math.max(0, Math.min(255, value)));

/** Return the covered square [left, top, side] in pixels of the models' input. */
export function coverPixels({ values }, { at, place }, size) {
  const side = rint(values[at] * size);
  const [left, top] = place.map((share) => rint(share * size - side / 2));
  return [left, top, side];
}

/** Return the mean colour (3) of the outermost pixels. */
function borderOf(levels, size) {
  const edge = Array.from({ length: size * size }, (_, i) => i).filter((i) =>
    [Math.floor(i / size), i % size].some((at) => at === 0 || at === size - 1),
  );
  return [0, 1, 2].map((c) => edge.reduce((sum, i) => sum + levels[3 * i + c], 0) / edge.length);
}

/** Return the border's colour in whole levels. */
export const borderLevels = (levels, size) => borderOf(levels, size).map(rint);

function cover(levels, size, { header, hand }) {
  const changed = levels.slice();
  const [left, top, side] = coverPixels(header, hand, size);
  for (let y = Math.max(0, top); y < Math.min(size, top + side); y++)
    for (let x = Math.max(0, left); x < Math.min(size, left + side); x++)
      changed.set(header.border, 3 * (y * size + x));
  return changed;
}

function rearrange(levels, size, { hand }) {
  const changed = levels.slice();
  const piece = size / PIECES;
  hand.pieces.forEach((from, to) => {
    for (let y = 0; y < piece; y++) {
      const row = (n) => 3 * ((Math.floor(n / PIECES) * piece + y) * size + (n % PIECES) * piece);
      changed.set(levels.subarray(row(from), row(from) + 3 * piece), row(to));
    }
  });
  return changed;
}

/** Return the image turned clockwise about its middle, read between its pixels bilinearly. */
function rotate(levels, size, { value }) {
  const border = borderOf(levels, size);
  const angle = (value * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const middle = (size - 1) / 2;
  const clip = (at) => Math.max(-1, Math.min(size - 1e-9, at)); // one pixel of the border lies around the image
  const read = (y, x, c) => (y >= 0 && y < size && x >= 0 && x < size ? levels[3 * (y * size + x) + c] : border[c]);
  return levels.map((_, i) => {
    const [c, pixel] = [i % 3, Math.floor(i / 3)];
    const [x, y] = [(pixel % size) - middle, Math.floor(pixel / size) - middle];
    const fromX = clip(cos * x + sin * y + middle);
    const fromY = clip(cos * y - sin * x + middle);
    const [left, top] = [Math.floor(fromX), Math.floor(fromY)];
    const [right, below] = [fromX - left, fromY - top];
    const row = (y) => read(y, left, c) * (1 - right) + read(y, left + 1, c) * right;
    return toLevel(row(top) * (1 - below) + row(top + 1) * below);
  });
}

/** Return the image blurred by a Gaussian whose standard deviation is `value` px; edges are repeated. */
function blur(levels, size, { value }) {
  const reach = Math.floor(TRUNCATE * value + 0.5);
  const kernel = Array.from({ length: 2 * reach + 1 }, (_, k) => Math.exp(-((k - reach) ** 2) / (2 * value * value)));
  const sum = kernel.reduce((a, b) => a + b);
  const inside = (at) => Math.max(0, Math.min(size - 1, at));
  const smooth = (from, place) =>
    Float64Array.from(from, (_, i) => {
      const [c, x, y] = [i % 3, Math.floor(i / 3) % size, Math.floor(i / 3 / size)];
      return kernel.reduce((mean, weight, k) => mean + (weight / sum) * from[3 * place(x, y, k - reach) + c], 0);
    });
  const down = smooth(levels, (x, y, k) => inside(y + k) * size + x);
  const smoothed = smooth(down, (x, y, k) => y * size + inside(x + k));
  return levels.map((_, i) => toLevel(smoothed[i]));
}

const CHANGES = { occlude: cover, pieces: rearrange, rotate, blur };

/** Return the models' input (S, S, 3) in levels, at the strength and place of `hand`. */
export function changeInput({ header, arrays }, hand) {
  const { data, shape } = arrays.frames;
  const size = shape[1];
  const levels = data.subarray(3 * header.neutral * size * size, 3 * (header.neutral + 1) * size * size);
  const value = header.values[hand.at];
  if (hand.at === header.neutral) return levels.slice();
  return CHANGES[header.change](levels, size, { header, hand, value });
}

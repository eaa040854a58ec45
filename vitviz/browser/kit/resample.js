// Resize images as Pillow does: a filter as wide as the reduction, rows before columns, 8 bits in between.

const BITS = 22; // of a weight in fixed point

const cubic = (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2);
const FILTERS = {
  box: [0.5, (x) => (x > -0.5 && x <= 0.5 ? 1 : 0)],
  bilinear: [1, (x) => Math.max(0, 1 - Math.abs(x))],
  bicubic: [2, (x) => (Math.abs(x) < 2 ? cubic(Math.abs(x)) : 0)],
};

/** Return for each output position the first input position and the weights from there. */
function weightsOf(from, to, name) {
  const [reach, filter] = FILTERS[name];
  const scale = from / to;
  const wide = Math.max(scale, 1);
  return Array.from({ length: to }, (_, i) => {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - reach * wide + 0.5));
    const last = Math.min(from, Math.trunc(centre + reach * wide + 0.5));
    const shares = Array.from({ length: last - first }, (_, k) => filter((first + k - centre + 0.5) / wide));
    const sum = shares.reduce((a, b) => a + b, 0);
    return { first, weights: shares.map((share) => Math.round((share / sum) * 2 ** BITS)) };
  });
}

/** Resize one axis: `lines` rows of `from` values, `step` apart. */
function resizeAxis(data, [lines, lineStep, lineStepOut], [from, to, step], name) {
  const out = new Uint8ClampedArray(lines * to);
  weightsOf(from, to, name).forEach(({ first, weights }, i) => {
    const count = weights.length;
    for (let line = 0; line < lines; line++) {
      let sum = 2 ** (BITS - 1);
      const start = line * lineStep + first * step;
      for (let k = 0; k < count; k++) sum += weights[k] * data[start + k * step]; // a photo has millions of pixels
      out[line * lineStepOut + i * (lineStepOut === 1 ? lines : 1)] = Math.floor(sum / 2 ** BITS);
    }
  });
  return out;
}

/** Resize grey values (height, width); `name` is 'box', 'bilinear' or 'bicubic'. */
export function resample({ data, width, height }, wide, high, name) {
  let values = data;
  if (wide !== width) values = resizeAxis(values, [height, width, wide], [width, wide, 1], name);
  if (high !== height) values = resizeAxis(values, [wide, 1, 1], [height, high, wide], name);
  return { data: values, width: wide, height: high };
}

// The arithmetic of the models on row-major Float32Arrays: a tensor is {shape, data}, as in the views' messages. There is no
// batch axis: tokens are (N, D), feature maps (C, H, W). Sums are taken in double precision, as JavaScript's numbers are.

export const count = (shape) => shape.reduce((product, side) => product * side, 1);

export const tensor = (shape, data = new Float32Array(count(shape))) => ({ shape, data });

export const reshape = ({ data }, ...shape) => tensor(shape, data);

/** Return a tensor of the same shape with `change(value, index)` applied to every value. */
export function map(x, change) {
  const y = tensor(x.shape);
  for (let i = 0; i < y.data.length; i++) y.data[i] = change(x.data[i], i);
  return y;
}

export const add = (x, y) => map(x, (value, i) => value + y.data[i]);

/** Dot product of `k` values of `x` from `a` and of `w` from `b`. */
function dot(x, a, w, b, k) {
  let sum = 0;
  for (let p = 0; p < k; p++) sum += x[a + p] * w[b + p];
  return sum;
}

/**
 * out[i, j] = Σ_p x[i, p] w[j, p]: rows of x (m, k) times rows of w (n, k), which is x Wᵀ. All indices start at an offset.
 * Four rows times two are summed at once, so that six loads serve eight products; the last block of an uneven size overlaps
 * the one before it.
 */
export function product(m, n, k, [x, xAt = 0], [w, wAt = 0], [out, outAt = 0]) {
  if (m < 4 || n < 2) {
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) out[outAt + i * n + j] = dot(x, xAt + i * k, w, wAt + j * k, k);
    return;
  }
  for (let row = 0; row < m; row += 4) {
    const i = Math.min(row, m - 4);
    for (let column = 0; column < n; column += 2) {
      const j = Math.min(column, n - 2);
      block(k, x, xAt + i * k, w, wAt + j * k, out, outAt + i * n + j, n);
    }
  }
}

/** Compute 4 x 2 dot products of rows of length k. */
function block(k, x, x0, w, w0, out, at, n) {
  const x1 = x0 + k;
  const x2 = x1 + k;
  const x3 = x2 + k;
  const w1 = w0 + k;
  let a0 = 0;
  let a1 = 0;
  let b0 = 0;
  let b1 = 0;
  let c0 = 0;
  let c1 = 0;
  let d0 = 0;
  let d1 = 0;
  for (let p = 0; p < k; p++) {
    const u = w[w0 + p];
    const v = w[w1 + p];
    const a = x[x0 + p];
    const b = x[x1 + p];
    const c = x[x2 + p];
    const d = x[x3 + p];
    a0 += a * u;
    a1 += a * v;
    b0 += b * u;
    b1 += b * v;
    c0 += c * u;
    c1 += c * v;
    d0 += d * u;
    d1 += d * v;
  }
  out[at] = a0;
  out[at + 1] = a1;
  out[at + n] = b0;
  out[at + n + 1] = b1;
  out[at + 2 * n] = c0;
  out[at + 2 * n + 1] = c1;
  out[at + 3 * n] = d0;
  out[at + 3 * n + 1] = d1;
}

/** y = x Wᵀ + b over the last axis, as torch's nn.Linear; a convolution's weight is read as a matrix. */
export function linear(x, weight, bias) {
  const outputs = weight.shape[0];
  const k = weight.data.length / outputs;
  const rows = x.data.length / k;
  const y = tensor([...x.shape.slice(0, -1), outputs]);
  product(rows, outputs, k, [x.data], [weight.data], [y.data]);
  if (bias) for (let i = 0; i < y.data.length; i++) y.data[i] += bias.data[i % outputs];
  return y;
}

/** Normalise the last axis to mean 0 and variance 1, then scale and shift each channel. */
export function layerNorm(x, { weight, bias }, eps) {
  const width = x.shape.at(-1);
  const y = tensor(x.shape);
  for (let from = 0; from < x.data.length; from += width) {
    let mean = 0;
    for (let i = 0; i < width; i++) mean += x.data[from + i];
    mean /= width;
    let variance = 0;
    for (let i = 0; i < width; i++) variance += (x.data[from + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / width + eps);
    for (let i = 0; i < width; i++)
      y.data[from + i] = (x.data[from + i] - mean) * scale * weight.data[i] + bias.data[i];
  }
  return y;
}

/** Turn each row of scores into weights that sum to 1. The largest score is subtracted first, so that no exp overflows. */
export function softmax(x) {
  const width = x.shape.at(-1);
  const y = tensor(x.shape);
  for (let from = 0; from < x.data.length; from += width) {
    let highest = -Infinity;
    for (let i = 0; i < width; i++) highest = Math.max(highest, x.data[from + i]);
    let sum = 0;
    for (let i = 0; i < width; i++) sum += y.data[from + i] = Math.exp(x.data[from + i] - highest);
    for (let i = 0; i < width; i++) y.data[from + i] /= sum;
  }
  return y;
}

/** The error function to 1.5e-7 (Abramowitz and Stegun, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

export const ACTIVATIONS = {
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  quick_gelu: (x) => x * sigmoid(1.702 * x),
  relu: (x) => Math.max(0, x),
  silu: (x) => x * sigmoid(x),
};

/** Reorder axes: axis i of the result is axis order[i] of x. */
export function permute(x, order) {
  const shape = order.map((axis) => x.shape[axis]);
  const strides = order.map((axis) => count(x.shape.slice(axis + 1)));
  const y = tensor(shape, new x.data.constructor(x.data.length));
  const last = shape.length - 1;
  let to = 0;
  (function walk(axis, from) {
    if (axis < last) for (let i = 0; i < shape[axis]; i++) walk(axis + 1, from + i * strides[axis]);
    else for (let i = 0; i < shape[last]; i++) y.data[to++] = x.data[from + i * strides[last]];
  })(0, 0);
  return y;
}

export const rows = (x, from, to = x.shape[0]) => {
  const width = x.data.length / x.shape[0];
  return tensor([to - from, ...x.shape.slice(1)], x.data.subarray(from * width, to * width));
};

/** Put tensors one after the other along the first axis. */
export function concat(parts) {
  const y = tensor([parts.reduce((sum, { shape }) => sum + shape[0], 0), ...parts[0].shape.slice(1)]);
  let at = 0;
  for (const { data } of parts) {
    y.data.set(data, at);
    at += data.length;
  }
  return y;
}

/** Return the mean of the first axis. */
export function meanRows(x) {
  const y = tensor(x.shape.slice(1));
  const width = y.data.length;
  for (let i = 0; i < width; i++) {
    let sum = 0;
    for (let at = i; at < x.data.length; at += width) sum += x.data[at];
    y.data[i] = sum / x.shape[0];
  }
  return y;
}

// ------------------------------------------------------------ feature maps (C, H, W)

/** Lay the k x k surroundings of every output pixel in a row: (H' W', C k k), zeros beyond the edge. */
export function unfold({ shape: [channels, height, width], data }, size, stride = size, padding = 0) {
  const high = Math.floor((height + 2 * padding - size) / stride) + 1;
  const wide = Math.floor((width + 2 * padding - size) / stride) + 1;
  const y = tensor([high * wide, channels * size * size]);
  let to = 0;
  for (let i = 0; i < high * wide; i++) {
    const top = Math.floor(i / wide) * stride - padding;
    const left = (i % wide) * stride - padding;
    for (let c = 0; c < channels; c++)
      for (let r = top; r < top + size; r++)
        for (let s = left; s < left + size; s++, to++)
          if (r >= 0 && r < height && s >= 0 && s < width) y.data[to] = data[(c * height + r) * width + s];
  }
  return { patches: y, high, wide };
}

/** Convolve a map with a kernel (outputs, C, k, k): every output is a row of the kernel times the surroundings. */
export function convolve(x, weight, { stride = 1, padding = 0, bias = null } = {}) {
  const [outputs, channels, size] = weight.shape;
  const { patches, high, wide } = unfold(x, size, stride, padding);
  const y = tensor([outputs, high, wide]);
  product(outputs, high * wide, channels * size * size, [weight.data], [patches.data], [y.data]);
  if (bias) for (let i = 0; i < y.data.length; i++) y.data[i] += bias.data[Math.floor(i / (high * wide))];
  return y;
}

/** Scale and shift each channel by the statistics of training. */
export function batchNorm(x, { weight, bias, running_mean: mean, running_var: variance }, activation) {
  const y = tensor(x.shape);
  const area = x.shape[1] * x.shape[2];
  for (let c = 0; c < x.shape[0]; c++) {
    const scale = weight.data[c] / Math.sqrt(variance.data[c] + 1e-5);
    const shift = bias.data[c] - mean.data[c] * scale;
    for (let i = c * area; i < (c + 1) * area; i++) y.data[i] = x.data[i] * scale + shift;
  }
  return activation ? map(y, ACTIVATIONS[activation]) : y;
}

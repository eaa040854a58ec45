// Build the operations of an opened part for one token: formula, formula with numbers, and values.

import { nameCell, signed, tokenName } from '../../vitviz/browser/kit/text.js';

const LISTED = 6; // keys or classes of a softmax that are listed by name
const BARS = 8;
const MOST_ROWS = 800; // of a table

export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
export const norm = (values) => Math.sqrt(dot(values, values));
export const plus = (a, b) => Float32Array.from(a, (value, i) => value + b[i]);
export const times = (a, b) => Float32Array.from(a, (value, i) => value * b[i]);

/** Return the indices of values, the largest first; equal ones in their order. */
export const largestFirst = (values) => [...values.keys()].sort((a, b) => values[b] - values[a]);
export const strongestFirst = (values) => largestFirst(Array.from(values, Math.abs));
export const highest = (values) => largestFirst(values)[0];

/** Return an index that was asked for, or the default where it is missing or out of range. */
export const selectIndex = (index, count, standard) => (index >= 0 && index < count ? index : standard);

/** Return rows of one length as one array. */
export function stack(rows, shape = [rows.length, rows[0].length]) {
  const data = new Float32Array(rows.length * rows[0].length);
  rows.forEach((row, i) => data.set(row, i * row.length));
  return { shape, data };
}

/** Return the rows of an array along its first axis. */
export const rowsOf = ({ shape, data }) => {
  const size = data.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => data.subarray(i * size, (i + 1) * size));
};

export function layerNorm(values, { data: weight }, { data: bias }, eps) {
  const mean = sum(values) / values.length;
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length;
  return Float32Array.from(values, (value, i) => ((value - mean) / Math.sqrt(variance + eps)) * weight[i] + bias[i]);
}

/** Return '[CLS]', or 'the patch in row 3, column 5'. */
export const nameToken = ({ prefix, grid }, token) =>
  token < prefix.length ? tokenName(prefix[token]) : `the patch in ${nameCell(token - prefix.length, grid[1])}`;

/** Return a sum in words: '−0.085 − 0.013 = −0.098'. */
const formatSum = (a, b) => `${signed(a, 3)} ${b < 0 ? '−' : '+'} ${Math.abs(b).toFixed(3)} = ${signed(a + b, 3)}`;

/** Build one output of a linear map: x ⊙ weights elementwise, (C, h, w) each, plus the bias. */
export function buildProduct({ title, formula = 'x · e + b', x, weights, bias, channel }) {
  const products = times(x.data, weights);
  const total = sum(products);
  return {
    ...{ kind: 'product', title, formula, shape: x.shape, channel, bias, sum: total, result: total + bias },
    numbers: bias ? formatSum(total, bias) : `Σ = ${signed(total, 3)}`,
    values: stack([x.data, weights, products], [3, ...x.shape]),
  };
}

/** Build the sum a + b with all three norms and the cosine similarity of a and b. */
export function buildSum(title, formula, [a, b], labels, shape) {
  const total = plus(a, b);
  const lengths = [a, b, total].map(norm);
  const cosine = lengths[0] * lengths[1] ? dot(a, b) / (lengths[0] * lengths[1]) : 0;
  const [first, second, whole] = lengths.map((length) => length.toFixed(2));
  const numbers = `lengths ${first} and ${second}, cosine ${signed(cosine)}; length of the sum ${whole}`;
  return { kind: 'sum', title, formula, numbers, labels, shape, lengths, values: stack([a, b, total]) };
}

/** Build one vector or several. */
export function buildVectors(title, formula, rows, shape, labels = [''], numbers = '') {
  const length = `length ${norm(rows.at(-1)).toFixed(2)}`;
  return { kind: 'vector', title, formula, numbers: numbers || length, labels, shape, values: stack(rows) };
}

/** Build the LayerNorm of one token. */
export function buildLayerNorm(title, formula, before, after, shape) {
  const mean = sum(before) / before.length;
  const spread = Math.sqrt(before.reduce((total, value) => total + (value - mean) ** 2, 0) / before.length);
  const numbers =
    `μ = ${signed(mean, 3)}, σ = ${spread.toFixed(3)} over ${before.length} channels;` +
    ` length ${norm(before).toFixed(2)} becomes ${norm(after).toFixed(2)}`;
  return buildVectors(title, formula, [before, after], shape, ['before', 'after'], numbers);
}

/** Build a sum from its largest summands, the rest and the bias; without a bias: the values alone. */
export function buildBars(title, formula, shares, name, bias = null) {
  const index = strongestFirst(shares).slice(0, BARS);
  const values = Float32Array.from(index, (i) => shares[i]);
  const total = sum(shares);
  const built = { kind: 'bars', title, formula, shape: [shares.length], names: index.map(name) };
  const largest = `largest: ${built.names[0]} with ${signed(values[0], 3)}`;
  const step = { ...built, numbers: largest, values: { shape: [values.length], data: values } };
  if (bias === null) return step;
  const numbers = `${bias ? formatSum(total, bias) : `Σ = ${signed(total, 3)}`}; ${largest}`;
  return { ...step, numbers, rest: total - sum(values), bias, result: total + bias };
}

/** Build one softmax row, recomputed as exp(s − s_max) over its sum; `of` is 'keys' or 'classes'. */
export function buildSoftmaxRow({ title, formula, dots, scores, weights, keys, name, of }) {
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const powers = Array.from(scores, (score) => Math.exp(score - top));
  const total = sum(powers);
  const order = largestFirst(weights);
  const rows = order.slice(0, LISTED).map((i) => ({
    ...{ key: keys[i], name: name(keys[i]), dot: dots[i], score: scores[i] },
    ...{ exp: powers[i], weight: powers[i] / total },
  }));
  const [best] = rows;
  const others = order.slice(LISTED);
  const rest = sum(others.map((i) => powers[i]));
  if (others.length) rows.push({ key: -1, name: `the other ${others.length}`, exp: rest, weight: rest / total });
  return {
    ...{ kind: 'softmax', title, formula, rows, total, of, keys: [...keys], shape: [keys.length] },
    numbers: `${best.name}: ${best.exp.toFixed(3)} / ${total.toFixed(3)} = ${best.weight.toFixed(3)}`,
    values: stack([dots, scores, weights]),
  };
}

/** Build maps (k, h, w) on one scale, symmetric around zero if `signedScale`. */
export function buildMaps(title, formula, numbers, values, names, signedScale) {
  const { data, shape } = values;
  const most = (start, of) => data.reduce((top, value) => Math.max(top, of(value)), start);
  const hi = most(0, signedScale ? Math.abs : (value) => value);
  const lo = signedScale ? -hi : -most(-hi, (value) => -value);
  return { kind: 'maps', title, formula, numbers, shape, names, lo, hi, values };
}

/** Build a table from columns by name; `rows` names its rows. */
export function buildTable(title, file, columns, rows = null) {
  const names = Object.keys(columns);
  const count = Math.min(MOST_ROWS, columns[names[0]].length);
  const data = new Float32Array(count * names.length);
  names.forEach((name, column) => {
    for (let i = 0; i < count; i++) data[i * names.length + column] = columns[name][i];
  });
  return {
    title,
    file,
    columns: names,
    rows: rows && rows.slice(0, MOST_ROWS),
    values: { shape: [count, names.length], data },
  };
}

// Draw an opened part's operations: formula, formula with numbers, and values.

import { button, canvas, el } from '../../vitviz/browser/kit/dom.js';
import { blit, heat, picture } from '../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, accentLut, greatest, headColor } from '../../vitviz/browser/kit/colour_ramp.js';
import { percent, signed } from '../../vitviz/browser/kit/text.js';
import { drawStrip } from './map_tiles.js';

/**
 * Draw all steps of an opened part (map_open.js).
 *   acts: {ask(more): request another head, class or channel, deeper(): show the tables,
 *          zero(parent, head): add the button that zeroes out a head}
 */
export function buildSteps(parent, opened, view, acts) {
  opened.steps.forEach((step, i) => {
    const card = el(parent, 'div', { class: `mp-step mp-step-${step.kind}` });
    const head = el(card, 'div', { class: 'mp-step-head' });
    el(head, 'b', {}, opened.steps.length > 1 ? `${i + 1}\u2002${step.title}` : step.title);
    if (step.shape?.length) el(head, 'span', { class: 'vv-muted' }, step.shape.join('\u2009×\u2009'));
    const drawing = el(card, 'div', { class: 'mp-drawing' });
    drawing.onclick = (event) => {
      if (!event.target.closest('button')) acts.deeper();
    };
    DRAW[step.kind]?.(drawing, step, step.values, { ...view, opened, acts });
    if (step.formula) el(card, 'div', { class: 'mp-formula' }, step.formula);
    if (step.numbers) el(card, 'div', { class: 'mp-put-in' }, step.numbers);
    if (step.say) el(card, 'div', { class: 'mp-put-in' }, step.say);
  });
}

/** Create a canvas with a label for screen readers. */
function board(parent, width, height, label) {
  const view = canvas(parent, { role: 'img', 'aria-label': label });
  return { view, ctx: view.size(width, height) };
}

/** Return one row of an array. */
const rowOf = ({ data, shape }, i) => data.subarray(i * size(shape), (i + 1) * size(shape));
const size = (shape) => shape.slice(1).reduce((a, b) => a * b, 1);

const STRIP_W = 240;

function strip(parent, values, label, top) {
  const line = el(parent, 'div', { class: 'mp-strip' });
  if (label) el(line, 'span', { class: 'mp-strip-name' }, label);
  const words = `${label || 'values'}: ${values.length} values up to ±${signed(top)}`;
  const { view, ctx } = board(line, STRIP_W, 14, words);
  view.node.style.width = '';
  drawStrip(ctx, values, [0, 0, STRIP_W, 14], top);
  return line;
}

/** Draw vectors, those of a 'quad' on one scale. */
function drawVector(parent, step, array) {
  const topOf = (row) => greatest(step.kind === 'quad' ? array.data : row);
  step.labels.forEach((label, i) => strip(parent, rowOf(array, i), label, topOf(rowOf(array, i))));
}

/** Draw two vectors and their sum on one scale, as in a residual addition. */
function drawSum(parent, step, array) {
  const top = greatest(array.data);
  const longest = Math.max(...step.lengths);
  step.labels.forEach((label, i) => {
    const line = strip(parent, rowOf(array, i), `${['', '+ ', '= '][i]}${label}`, top);
    const bar = el(line, 'span', { class: `mp-length mp-length-${i}`, 'data-label': label });
    bar.style.width = `${Math.max(2, (56 * step.lengths[i]) / longest)}px`;
    el(line, 'span', { class: 'vv-muted' }, step.lengths[i].toFixed(1));
  });
}

/** Add a canvas with a caption to a row; return its context. */
function plane(row, width, height, label, caption = label) {
  const figure = el(row, 'figure');
  const { ctx } = board(figure, width, height, label);
  if (caption) el(figure, 'figcaption', {}, caption);
  return ctx;
}

/** Draw the values of one patch, in colour if it has three channels. */
function pixels({ data, shape }, lo, hi) {
  const [channels, rows, cols] = shape;
  const level = (value) => Math.round((255 * (value - lo)) / (hi - lo || 1));
  const valueAt = (_, i) => level(data[(i % channels) * rows * cols + Math.floor(i / channels)]);
  return picture({ data: Uint8ClampedArray.from(data, valueAt), shape: [rows, cols, channels] });
}

const PLANE = 72;
const CHANNELS = ['red', 'green', 'blue'];

function drawPixels(parent, step, array) {
  const [channels, rows, cols] = array.shape;
  const row = el(parent, 'div', { class: 'mp-planes' });
  const whole = plane(row, PLANE, PLANE, step.title, 'the patch');
  blit(whole, pixels(array, step.lo, step.hi), 0, 0, PLANE, PLANE);
  for (let c = 0; c < channels && channels > 1; c++) {
    const ctx = plane(row, PLANE, PLANE, CHANNELS[c] ?? `channel ${c + 1}`);
    const image = heat(array.data, rows, cols, SEQUENTIAL_LUT, step.lo, step.hi, c * rows * cols);
    blit(ctx, image, 0, 0, PLANE, PLANE);
  }
}

/** Draw x, a column of E and their product per channel; the sum plus the bias is one output channel. */
function drawProduct(parent, step, array) {
  const row = el(parent, 'div', { class: 'mp-planes' });
  const [, channels, rows, cols] = array.shape;
  const wide = channels > 1 ? 32 : PLANE;
  const tall = (wide * rows) / cols;
  ['x', '⊙ weights', '= product'].forEach((label, i) => {
    const values = rowOf(array, i);
    const top = greatest(values);
    const ctx = plane(row, channels * (wide + 2) - 2, tall, `${label}, up to ±${signed(top)}`, label);
    for (let c = 0; c < channels; c++)
      blit(ctx, heat(values, rows, cols, DIVERGING_LUT, -top, top, c * rows * cols), c * (wide + 2), 0, wide, tall);
  });
  const out = el(parent, 'div', { class: 'mp-result' });
  el(out, 'span', { class: 'vv-muted' }, `sum ${signed(step.sum, 3)} + bias ${signed(step.bias, 3)} = `);
  el(out, 'b', {}, `channel ${step.channel + 1}: ${signed(step.result, 3)}`);
}

/** Return the layout of an array's columns: [first patch, rows, cols]. */
function gridOf({ model, opened }, count) {
  const part = model.byId.get(opened.part);
  const [rows, cols] = part?.grid ?? model.header.grid;
  return [count - rows * cols, rows, cols];
}

/** Draw the attention of every head over the grey image; a click selects the head of the next steps. */
function drawHeads(parent, step, array, context) {
  const [heads, count] = array.shape;
  const [first, rows, cols] = gridOf(context, count);
  const row = el(parent, 'div', { class: 'mp-heads', role: 'group', 'aria-label': 'Heads' });
  for (let h = 0; h < heads; h++) {
    const own = rowOf(array, h);
    const pick = button(row, '', () => context.acts.ask({ head: h }), { 'aria-pressed': String(h === step.selected) });
    const side = heads > 6 ? 52 : 72;
    const { ctx } = board(pick, side, (side * rows) / cols, `head ${h + 1}`);
    over(ctx, own.subarray(Math.max(0, first)), rows, cols, side, context);
    const name = el(pick, 'span', {}, `head ${h + 1}`);
    name.style.setProperty('--mp-head', headColor(h, heads));
  }
  context.acts.zero(parent, step.selected);
}

function over(ctx, values, rows, cols, side, { grey, colors }) {
  const tall = (side * rows) / cols;
  if (grey) blit(ctx, grey, 0, 0, side, tall, grey.width > 128);
  const top = values.reduce((most, value) => Math.max(most, value), 0);
  if (values.length >= rows * cols)
    blit(ctx, heat(values, rows, cols, accentLut(colors.query), 0, top), 0, 0, side, tall);
}

/** Draw a softmax row: dot product, score, exponential and weight of the strongest entries. */
function drawSoftmax(parent, step) {
  const table = el(parent, 'table', { class: 'mp-softmax' });
  const head = el(el(table, 'thead'), 'tr');
  const of = step.of === 'classes' ? 'class' : 'key';
  const columns = step.of === 'classes' ? [of, 's', 'exp', 'weight', ''] : [of, 'q·k', 's', 'exp', 'weight', ''];
  for (const text of columns) el(head, text ? 'th' : 'td', text ? { scope: 'col' } : {}, text);
  const body = el(table, 'tbody');
  const most = Math.max(...step.rows.filter(({ key }) => key >= 0).map(({ weight }) => weight));
  for (const { key, name, dot, score, exp, weight } of step.rows) {
    const row = el(body, 'tr');
    el(row, 'th', { scope: 'row' }, name.replace(/^the /, ''));
    const exact = (value) => (key < 0 || !Number.isFinite(value) ? '' : signed(value));
    if (step.of !== 'classes') el(row, 'td', {}, exact(dot));
    el(row, 'td', {}, exact(score));
    el(row, 'td', {}, Number.isFinite(exp) ? exp.toFixed(3) : '');
    el(row, 'td', {}, percent(weight));
    const cell = el(row, 'td', { class: 'mp-cell-bar' });
    if (key < 0) row.className = 'mp-rest';
    else el(cell, 'i').style.width = `${(100 * weight) / most}%`;
  }
  el(parent, 'div', { class: 'vv-muted' }, `Σ exp = ${step.total.toFixed(3)}`);
}

/** Draw signed bars, largest first, then the rest, the bias and the sum. */
function drawBars(parent, step, { data }) {
  const top = greatest([...data, step.rest ?? 0, step.bias ?? 0]);
  const whole = Math.min(...data, step.rest ?? 0, step.bias ?? 0) >= 0; // nothing lies left of zero
  const box = el(parent, 'div', { class: 'mp-bars' });
  const line = (name, value, kind = '') => {
    const row = el(box, 'div', { class: `mp-bar-row ${kind}` });
    el(row, 'span', {}, name);
    const track = el(row, 'span', { class: `mp-track${whole ? ' mp-whole-track' : ''}` });
    const bar = el(track, 'i', { class: value < 0 ? 'mp-minus' : 'mp-plus' });
    const share = ((whole ? 100 : 50) * Math.min(1, Math.abs(value) / top)).toFixed(1);
    Object.assign(bar.style, { width: `${share}%`, left: whole ? '0' : value < 0 ? `${50 - share}%` : '50%' });
    el(row, 'span', { class: 'mp-value' }, signed(value, 3));
  };
  step.names.forEach((name, i) => line(name, data[i]));
  if (step.result === undefined) return; // the values alone
  line('all others', step.rest, 'mp-rest');
  line('bias', step.bias, 'mp-rest');
  const row = el(box, 'div', { class: 'mp-bar-row mp-total' });
  el(row, 'span', {}, 'sum');
  el(row, 'span');
  el(row, 'b', { class: 'mp-value' }, signed(step.result, 3));
}

function drawMaps(parent, step, array) {
  const [count, rows, cols] = array.shape;
  const row = el(parent, 'div', { class: 'mp-planes' });
  const side = count > 1 ? 60 : 112;
  const tall = (side * rows) / cols;
  const table = step.lo < 0 ? DIVERGING_LUT : SEQUENTIAL_LUT;
  step.names.forEach((name, i) => {
    const ctx = plane(row, side, tall, name);
    blit(ctx, heat(array.data, rows, cols, table, step.lo, step.hi, i * rows * cols), 0, 0, side, tall);
  });
}

const DRAW = {
  pixels: drawPixels,
  product: drawProduct,
  vector: drawVector,
  sum: drawSum,
  heads: drawHeads,
  softmax: drawSoftmax,
  bars: drawBars,
  maps: drawMaps,
  quad: drawVector,
};

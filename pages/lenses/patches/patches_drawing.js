// Draw the image divided into patches, the strip of tokens and the columns of E; and the selected patch: its pixels, their
// products with a column of E, and the resulting value of its token.
// A view has `message`, `last` (sizes and images), `detail` (elements and canvases), `column`, `value`.

import { frame, write, writeOutlined, fill, outline } from '../../../vitviz/browser/kit/axes.js';
import { el } from '../../../vitviz/browser/kit/dom.js';
import { blit, drawPatch, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';

const THUMB = 36;
/** Pixels from one token of the strip to the next. */
export const STEP = 40;
/** Side of a column of E drawn as an image, in pixels. */
export const TILE = 36;

/** A number; in powers of ten where it would be 0.000. */
export const number = (v, digits = 3) =>
  (v && Math.abs(v) < 0.5 / 10 ** digits ? v.toExponential(1) : v.toFixed(digits)).replaceAll('-', '−');

/** The largest absolute value, 1 where all are 0. */
export const peak = (values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;

export function drawMap(view) {
  const { rows, cols, dim } = view.message.header;
  const step = view.last.side / Math.max(rows, cols);
  const ctx = view.map.size(cols * step, rows * step);
  const chosen = view.patchOf(view.active());
  const pinned = view.patchOf(view.pinned);
  const tokens = view.message.arrays.tokens.data;
  for (let i = 0; i < rows * cols; i++) {
    const box = view.cellBox(i);
    drawPatch(ctx, view.last.image, [rows, cols], i, [box.x, box.y, box.side, box.side]);
    if (view.showsResponse) {
      const level = 4 * Math.round(127.5 * (1 + tokens[i * dim + view.column] / view.last.columnPeak(view.column)));
      fill(ctx, `rgb(${DIVERGING_LUT.subarray(level, level + 3).join()})`, box.x, box.y, box.side, box.side, 0.86);
    }
    if (view.apart < 0.04) {
      outline(ctx, 'rgba(255,255,255,0.55)', 1, box.x, box.y, box.side, box.side);
      outline(ctx, 'rgba(0,0,0,0.35)', 0.5, box.x, box.y, box.side, box.side);
    }
  }
  for (let i = 0; i < rows * cols; i++) {
    const box = view.cellBox(i); // a number may reach beyond a small patch
    if ((i < cols || i % cols === 0) && box.side >= 18) writeNumber(view, ctx, box, i + 1);
  }
  for (const index of [pinned, chosen]) {
    if (index < 0) continue;
    const box = view.cellBox(index);
    frame(ctx, box.x, box.y, box.side, box.side, undefined, index === chosen ? 3 : 1.5);
    if (box.side >= 28) writeNumber(view, ctx, box, index + 1); // a smaller frame would cover it
  }
}

function writeNumber(view, ctx, box, text) {
  const px = Math.max(13, Math.min(14, box.side * 0.34));
  Object.assign(ctx, { textAlign: 'left', textBaseline: 'top' });
  writeOutlined(ctx, `600 ${px}px ${view.message.colors.font}`, text, box.x + 4, box.y + 3);
}

export function drawStrip(view) {
  const { rows, cols, prefix } = view.message.header;
  const total = view.prefixes + view.count;
  const colors = view.message.colors;
  const ctx = view.strip.size(Math.min(view.message.width, total * STEP), THUMB + 24);
  const from = view.scroller.scrollLeft;
  const first = Math.max(0, Math.floor(from / STEP));
  const end = Math.min(total, Math.ceil((from + view.message.width) / STEP));
  const under = { align: 'center', base: 'alphabetic' };
  for (let t = first; t < end; t++) {
    const x = t * STEP - from + 2;
    const patch = view.patchOf(t);
    if (patch < 0) {
      fill(ctx, colors.panel, x, 2, THUMB, THUMB);
      outline(ctx, colors.muted, 1, x + 0.5, 2.5, THUMB - 1, THUMB - 1);
      const name = { ...under, style: '600 13px', color: colors.ink };
      write(ctx, colors, prefix[t].toUpperCase(), x + THUMB / 2, 24, name);
    } else drawPatch(ctx, view.last.image, [rows, cols], patch, [x, 2, THUMB, THUMB]);
    const active = t === view.active();
    if (active) frame(ctx, x, 2, THUMB, THUMB);
    else if (t === view.pinned) outline(ctx, colors.ink, 2, x, 2, THUMB, THUMB);
    const style = { ...under, ...(active && { style: '600 13px', color: colors.ink }) };
    if (patch >= 0) write(ctx, colors, String(patch + 1), x + THUMB / 2, THUMB + 18, style);
  }
}

export function drawFilters(view) {
  const across = view.perRow;
  const total = view.shownFilters;
  const ctx = view.filters.size(view.message.width, Math.ceil(total / across) * (TILE + 4));
  view.last.filters.slice(0, total).forEach((image, d) => {
    const x = (d % across) * (TILE + 4);
    const y = Math.floor(d / across) * (TILE + 4);
    blit(ctx, image, x, y, TILE, TILE);
    if (d === view.column) frame(ctx, x + 1.5, y + 1.5, TILE - 3, TILE - 3);
  });
}

export function filterImage(view, d) {
  const { patch: P, channels } = view.message.header;
  const K = view.size;
  const w = view.message.arrays.weight.data.subarray(d * K, (d + 1) * K);
  if (channels !== 3) return heat(w, P * channels, P, DIVERGING_LUT, -peak(w), peak(w));
  const lo = w.reduce((a, b) => Math.min(a, b));
  const hi = w.reduce((a, b) => Math.max(a, b));
  const data = new Uint8Array(P * P * 3);
  for (let i = 0; i < P * P; i++)
    for (let c = 0; c < 3; c++) data[3 * i + c] = (255 * (w[c * P * P + i] - lo)) / (hi - lo || 1);
  return picture({ data, shape: [P, P, 3] });
}

const HEADING = { style: '13px', base: 'alphabetic' };

/** A factor of a product, in brackets where it is negative. */
const factor = (v) => (v < 0 ? `(${number(v)})` : number(v));

export function drawDetail(view) {
  const { patch: P, cols, channels } = view.message.header;
  const token = view.active();
  const patch = view.patchOf(token);
  const tall = view.last.tile * channels + 4 * (channels - 1);
  if (patch < 0) {
    view.detail.title.textContent = `[${view.message.header.prefix[token].toUpperCase()}] · no patch`;
    view.detail.place.textContent = `a vector of the model, independent of the image${describeResponse(view)}`;
    drawPrefix(view, token, tall);
    view.detail.flatLabel.textContent = 'No pixels, so no product with E';
    view.detail.flat.size(view.last.rightWidth, 12 * channels);
    view.detail.sum.textContent = 'The same vector is used for every image.\nIt is a parameter of the model.';
  } else {
    const row = Math.floor(patch / cols);
    const col = patch % cols;
    const flat = view.patchValues(patch);
    const K = flat.length;
    const filter = view.message.arrays.weight.data.subarray(view.column * K, (view.column + 1) * K);
    const product = flat.map((v, k) => v * filter[k]);
    view.detail.title.textContent = `Patch ${patch + 1} of ${view.count} · row ${row + 1}, column ${col + 1}`;
    view.detail.place.textContent = `pixels x ${col * P + 1}–${(col + 1) * P}, y ${row * P + 1}–${(row + 1) * P}${describeResponse(view)}`;
    drawPlanes(view, patch, flat, filter, product, tall);
    drawFlat(view, flat);
    writeSum(view, flat, filter, product, patch);
  }
  drawToken(view, token);
}

function drawPrefix(view, token, tall) {
  const vector = view.vectorOf(token);
  const dim = vector.length;
  const ctx = view.detail.tiles.size(view.last.rightWidth, tall + 20);
  const rows = [8, 6, 4, 3, 2].find((n) => dim % n === 0) ?? 1;
  write(ctx, view.message.colors, `${dim} values in ${rows} rows`, 0, 12, HEADING);
  const image = heat(vector, rows, dim / rows, DIVERGING_LUT, -peak(vector), peak(vector));
  blit(ctx, image, 0, 20, view.last.rightWidth, tall);
  view.detail.scale.textContent = `±${number(peak(vector))}`;
}

/** The scale of the patches' colours while they show the response. */
function describeResponse({ showsResponse, column, last }) {
  const top = showsResponse && number(last.columnPeak(column));
  return top ? ` · x·E + b, column ${column + 1}: blue −${top} to orange ${top}` : '';
}

function drawPlanes(view, patch, flat, filter, product, tall) {
  const { patch: P, rows, cols, channels } = view.message.header;
  const ctx = view.detail.tiles.size(view.last.rightWidth, tall + 20);
  const t = view.last.tile;
  const side = tall > 110 ? tall : t;
  drawPatch(ctx, view.last.image, [rows, cols], patch, [0, 20, side, side]);
  write(ctx, view.message.colors, 'pixels', 0, 12, HEADING);
  const planes = [
    ['x', flat, view.last.valuePeak],
    [`E, column ${view.column + 1}`, filter, peak(filter)],
    ['x ⊙ E', product, peak(product)],
  ];
  planes.forEach(([title, values, top], i) => {
    const x = view.last.tileLeft + i * (t + 8);
    const name = ctx.measureText(title).width > t + 2 ? title.split(',')[0] : title;
    write(ctx, view.message.colors, name, x, 12, HEADING);
    for (let c = 0; c < channels; c++)
      blit(ctx, heat(values, P, P, DIVERGING_LUT, -top, top, c * P * P), x, 20 + c * (t + 4), t, t);
    if (view.value >= 0) {
      const c = Math.floor(view.value / (P * P));
      const y = Math.floor(view.value / P) % P;
      const cell = t / P;
      frame(ctx, x + (view.value % P) * cell, 20 + c * (t + 4) + y * cell, cell, cell);
    }
  });
  view.detail.scale.textContent = `orange positive, blue negative, up to x ±${number(view.last.valuePeak, 2)}, E ±${number(peak(filter), 3)}, x ⊙ E ±${number(peak(product), 3)}`;
}

function drawFlat(view, flat) {
  const { channels, patch: P } = view.message.header;
  const run = P * P;
  const ctx = view.detail.flat.size(view.last.rightWidth, 12 * channels);
  const order = channels === 3 ? 'red, then green, then blue, each ' : '';
  view.detail.flatLabel.textContent = `x flattened: ${flat.length.toLocaleString('en')} values, ${order}row by row`;
  const { rightWidth, valuePeak } = view.last;
  for (let c = 0; c < channels; c++)
    blit(ctx, heat(flat, 1, run, DIVERGING_LUT, -valuePeak, valuePeak, c * run), 0, 12 * c, rightWidth, 11);
  if (view.value < 0) return;
  const width = rightWidth / run;
  const [x, y] = [(view.value % run) * width - 1, 12 * Math.floor(view.value / run)];
  frame(ctx, x, y, Math.max(3, width), 11);
}

function writeSum(view, flat, filter, product, patch) {
  const { dim } = view.message.header;
  const sum = product.reduce((a, v) => a + v, 0);
  const total = sum + view.message.arrays.bias.data[view.column];
  const bias = number(total.toFixed(4) - sum.toFixed(4), 4); // so that the written sum is right
  const modelValue = view.message.arrays.tokens.data[patch * dim + view.column];
  const middle = view.value >= 0 ? view.value : view.last.rightWidth < 560 ? 0 : 1;
  const shown = [...new Set([0, middle, flat.length - 1])].filter((k) => k < flat.length).sort((a, b) => a - b);
  view.detail.sum.replaceChildren();
  el(
    view.detail.sum,
    'div',
    { class: 'pt-plain' },
    `Each value times its weight in column ${view.column + 1}, added up:`,
  );
  const line = el(view.detail.sum, 'div', {}, 'x·E + b = ');
  shown.forEach((k, i) => {
    const before = i ? shown[i - 1] : -1;
    el(line, 'span', {}, `${i ? ' + ' : ''}${k > before + 1 ? '… + ' : ''}`);
    const attributes = k === view.value ? { class: 'vv-chosen pt-strong' } : {};
    el(line, 'span', attributes, `${factor(flat[k])}·${factor(filter[k])}`);
  });
  el(line, 'span', {}, ` + ${bias.startsWith('−') ? `(${bias})` : bias}`);
  const end = el(
    view.detail.sum,
    'div',
    {},
    `= ${number(sum, 4)} ${bias.startsWith('−') ? `− ${bias.slice(1)}` : `+ ${bias}`} = `,
  );
  el(end, 'span', { class: 'pt-strong', 'data-role': 'dot' }, number(total, 4));
  el(end, 'span', { class: 'vv-muted' }, `   model: ${number(modelValue, 4)}`);
  if (view.value >= 0) {
    const P = view.message.header.patch;
    const c = Math.floor(view.value / (P * P));
    const channel = view.message.header.channels === 3 ? ['red', 'green', 'blue'][c] : 'grey';
    view.detail.scale.textContent = `k = ${view.value + 1}: ${channel}, y ${Math.floor(view.value / P) % P}, x ${view.value % P} of the patch: ${factor(flat[view.value])}·${factor(filter[view.value])} = ${number(product[view.value], 4)}`;
  }
}

function drawToken(view, token) {
  const vector = view.vectorOf(token);
  const { dim } = view.message.header;
  const top = peak(vector);
  const ctx = view.detail.out.size(view.last.rightWidth, 24);
  blit(ctx, heat(vector, 1, dim, DIVERGING_LUT, -top, top), 0, 4, view.last.rightWidth, 16);
  const width = view.last.rightWidth / dim;
  frame(ctx, view.column * width, 3, Math.max(3, width), 18);
  view.detail.outLabel.textContent = `Its token: D = ${dim} values, before positions are added`;
  view.detail.outNote.textContent = `value ${view.column + 1}: ${number(vector[view.column], 4)} · length ${number(Math.hypot(...vector))}`;
}

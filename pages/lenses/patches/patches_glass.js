// The patch under the glass: its pixels, times a column of E, summed to one value of its token.
// A view has `now` (the message), `last` (sizes and pictures), `glass` (what is drawn on), `column`, `value`.

import { blitPart } from './patches_map.js';
import { factor, number, peak } from './patches_words.js';
import { el } from '../../views/kit/dom.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

export function drawGlass(view) {
  const { patch: P, cols, channels } = view.now.header;
  const token = view.active();
  const patch = view.patchOf(token);
  const tall = view.last.tile * channels + 4 * (channels - 1);
  if (patch < 0) {
    view.glass.title.textContent = `[${view.now.header.prefix[token].toUpperCase()}] · no patch`;
    view.glass.place.textContent = 'a learned vector: it is cut from no pixel';
    drawLearned(view, token, tall);
    view.glass.flatLabel.textContent = 'Nothing is cut, flattened or multiplied by E';
    view.glass.flat.size(view.last.rightWidth, 12 * channels);
    view.glass.sum.textContent = 'The same vector stands here for every picture.\nIt is learned like any other weight.';
  } else {
    const row = Math.floor(patch / cols);
    const col = patch % cols;
    const flat = view.patchValues(patch);
    const K = flat.length;
    const filter = view.now.arrays.weight.data.subarray(view.column * K, (view.column + 1) * K);
    const product = flat.map((v, k) => v * filter[k]);
    view.glass.title.textContent = `Patch ${patch + 1} of ${view.count()} · row ${row + 1}, column ${col + 1}`;
    view.glass.place.textContent = `pixels x ${col * P}–${col * P + P - 1}, y ${row * P}–${row * P + P - 1}`;
    drawTiles(view, patch, flat, filter, product, tall);
    drawFlat(view, flat);
    spell(view, flat, filter, product, patch);
  }
  drawOut(view, token);
}

function drawLearned(view, token, tall) {
  // the vector in rows, as large as a patch's pictures
  const vector = view.vectorOf(token);
  const dim = vector.length;
  const ctx = view.glass.tiles.size(view.last.rightWidth, tall + 20);
  const rows = [8, 6, 4, 3, 2].find((n) => dim % n === 0) ?? 1;
  ctx.font = `13px ${view.now.colors.font}`;
  ctx.fillStyle = view.now.colors.muted;
  ctx.textAlign = 'left';
  ctx.fillText(`its ${dim} values, in ${rows} rows`, 0, 12);
  blit(
    ctx,
    heat(vector, rows, dim / rows, DIVERGING_LUT, -peak(vector), peak(vector)),
    0,
    20,
    view.last.rightWidth,
    tall,
  );
  view.glass.scale.textContent = `blue − · white 0 · orange +   ±${number(peak(vector))}`;
}

function drawTiles(view, patch, flat, filter, product, tall) {
  const { patch: P, cols, channels } = view.now.header;
  const ctx = view.glass.tiles.size(view.last.rightWidth, tall + 20);
  const t = view.last.tile;
  ctx.font = `13px ${view.now.colors.font}`;
  ctx.fillStyle = view.now.colors.muted;
  ctx.textBaseline = 'alphabetic';
  ctx.textAlign = 'left';
  blitPart(view, ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, 0, 20, tall > 110 ? tall : t);
  ctx.fillText('pixels', 0, 12);
  const planes = [
    ['x', flat, view.last.valuePeak],
    [`E, column ${view.column + 1}`, filter, peak(filter)],
    ['x ⊙ E', product, peak(product)],
  ];
  planes.forEach(([title, values, top], i) => {
    const x = view.last.tileLeft + i * (t + 8);
    const name = ctx.measureText(title).width > t + 2 ? title.split(',')[0] : title;
    ctx.fillStyle = view.now.colors.muted;
    ctx.fillText(name, x, 12);
    for (let c = 0; c < channels; c++)
      blit(ctx, heat(values, P, P, DIVERGING_LUT, -top, top, c * P * P), x, 20 + c * (t + 4), t, t);
    if (view.value >= 0) {
      const c = Math.floor(view.value / (P * P));
      const y = Math.floor(view.value / P) % P;
      const cell = t / P;
      ctx.strokeStyle = view.now.colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(x + (view.value % P) * cell, 20 + c * (t + 4) + y * cell, cell, cell);
    }
  });
  view.glass.scale.textContent = `blue − · white 0 · orange +   x ±${number(view.last.valuePeak, 2)}, E ±${number(peak(filter), 3)}, x ⊙ E ±${number(peak(product), 3)}`;
}

function drawFlat(view, flat) {
  const { channels, patch: P } = view.now.header;
  const run = P * P;
  const ctx = view.glass.flat.size(view.last.rightWidth, 12 * channels);
  const order = channels === 3 ? 'red, then green, then blue, each ' : '';
  view.glass.flatLabel.textContent = `x flattened: ${flat.length.toLocaleString('en')} values, ${order}row by row`;
  for (let c = 0; c < channels; c++)
    blit(
      ctx,
      heat(flat, 1, run, DIVERGING_LUT, -view.last.valuePeak, view.last.valuePeak, c * run),
      0,
      12 * c,
      view.last.rightWidth,
      11,
    );
  if (view.value < 0) return;
  const width = view.last.rightWidth / run;
  ctx.strokeStyle = view.now.colors.query;
  ctx.lineWidth = 2;
  ctx.strokeRect((view.value % run) * width - 1, 12 * Math.floor(view.value / run), Math.max(3, width), 11);
}

function spell(view, flat, filter, product, patch) {
  const { dim } = view.now.header;
  const bias = view.now.arrays.bias.data[view.column];
  const sum = product.reduce((a, v) => a + v, 0);
  const own = view.now.arrays.tokens.data[patch * dim + view.column];
  const middle = view.value >= 0 ? view.value : view.last.rightWidth < 520 ? 0 : 1;
  const shown = [...new Set([0, middle, flat.length - 1])].filter((k) => k < flat.length).sort((a, b) => a - b);
  view.glass.sum.replaceChildren();
  el(view.glass.sum, 'div', {}, `x·E + b = Σ xₖ Eₖ + b,  k = 1 … ${flat.length.toLocaleString('en')}`);
  const line = el(view.glass.sum, 'div', {}, '= ');
  shown.forEach((k, i) => {
    const before = i ? shown[i - 1] : -1;
    el(line, 'span', {}, `${i ? ' + ' : ''}${k > before + 1 ? '… + ' : ''}`);
    el(
      line,
      'span',
      k === view.value ? { class: 'vv-query pt-strong' } : {},
      `${factor(flat[k])}·${factor(filter[k])}`,
    );
  });
  el(line, 'span', {}, ` + ${factor(bias)}`);
  const end = el(view.glass.sum, 'div', {}, `= ${number(sum, 4)} + ${factor(bias)} = `);
  el(end, 'span', { class: 'pt-strong', 'data-role': 'dot' }, number(sum + bias, 4));
  el(end, 'span', { class: 'vv-muted' }, `   the model’s own: ${number(own, 4)}`);
  if (view.value >= 0) {
    const P = view.now.header.patch;
    const c = Math.floor(view.value / (P * P));
    const channel = view.now.header.channels === 3 ? ['red', 'green', 'blue'][c] : 'grey';
    view.glass.scale.textContent = `k = ${view.value + 1}: ${channel}, y ${Math.floor(view.value / P) % P}, x ${view.value % P} of the patch: ${factor(flat[view.value])}·${factor(filter[view.value])} = ${number(product[view.value], 4)}`;
  }
}

function drawOut(view, token) {
  const vector = view.vectorOf(token);
  const { dim } = view.now.header;
  const top = peak(vector);
  const ctx = view.glass.out.size(view.last.rightWidth, 24);
  blit(ctx, heat(vector, 1, dim, DIVERGING_LUT, -top, top), 0, 4, view.last.rightWidth, 16);
  const width = view.last.rightWidth / dim;
  ctx.strokeStyle = view.now.colors.query;
  ctx.lineWidth = 2;
  ctx.strokeRect(view.column * width, 3, Math.max(3, width), 18);
  view.glass.outLabel.textContent = `The token that comes out: D = ${dim} values, before positions`;
  view.glass.outNote.textContent = `value ${view.column + 1} is ${number(vector[view.column], 4)} · all within ±${number(top)} · length ‖·‖ = ${number(Math.hypot(...vector))}`;
}

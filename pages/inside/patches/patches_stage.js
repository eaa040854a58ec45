// The picture cut into patches, the strip of tokens, one patch under the glass, and E's columns.
// header: {patch, rows, cols, channels, dim, prefix, pin, column, columns, label}
// arrays: shown (S, S, 3) uint8, values (C, S, S), weight (D, C P P), bias (D), tokens (N, D), prefix_tokens (p, D)

import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { animate } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const THUMB = 36,
  STEP = 40,
  TILE = 36,
  GAP_SHARE = 0.3;
const number = (v, digits = 3) =>
  (v && Math.abs(v) < 0.5 / 10 ** digits ? v.toExponential(1) : v.toFixed(digits)).replaceAll('-', '−');
const factor = (v) => (v < 0 ? `(${number(v)})` : number(v));
const peak = (values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;

export default function patchesStage({ root, trigger }) {
  let now = null,
    apart = 0,
    stop = () => {},
    hover = -1,
    pinned = 0,
    column = 0,
    value = -1,
    last = {};
  const on = { numbers: true, response: false };
  const layout = el(root, 'div', { class: 'pt-layout' });
  const left = el(layout, 'div', { class: 'pt-left' }),
    right = el(layout, 'div', { class: 'pt-right' });
  const bar = el(left, 'div', { class: 'vv-row pt-bar' });
  const toggle = (text, act) => {
    const node = el(bar, 'button', { type: 'button', 'aria-pressed': 'false' }, text);
    node.onclick = () => act(node);
    return node;
  };
  const pull = toggle('Pull apart', () => glide(apart < 0.5 ? 1 : 0));
  const gap = el(bar, 'input', {
    type: 'range',
    min: 0,
    max: 100,
    value: 0,
    'aria-label': 'Gap between the patches, percent',
  });
  gap.oninput = () => {
    stop();
    setApart(gap.value / 100);
  };
  const numbers = toggle('Numbers', (node) => switchOn('numbers', node));
  const response = toggle('Response', (node) => switchOn('response', node));
  response.title = 'Colour every patch by its dot product with the chosen column of E';
  const map = canvas(left, { class: 'pt-map' });
  const glass = {};
  glass.title = el(right, 'div', { class: 'pt-title', 'data-role': 'title' });
  glass.place = el(right, 'div', { class: 'vv-muted', 'data-role': 'place' });
  glass.tiles = canvas(right, { class: 'pt-tiles' });
  glass.scale = el(right, 'div', { class: 'vv-muted pt-small' });
  glass.flatLabel = el(right, 'div', { class: 'pt-label' });
  glass.flat = canvas(right);
  glass.sum = el(right, 'div', { class: 'vv-mono pt-sum', 'data-role': 'sum' });
  glass.outLabel = el(right, 'div', { class: 'pt-label' });
  glass.out = canvas(right);
  glass.outNote = el(right, 'div', { class: 'vv-muted pt-small', 'data-role': 'token' });
  const stripLabel = el(root, 'div', { class: 'pt-label pt-above' });
  const scroller = el(root, 'div', { class: 'pt-scroll' });
  const spacer = el(scroller, 'div', { class: 'pt-spacer' }),
    strip = canvas(spacer, { class: 'pt-sticky' });
  const filterLabel = el(root, 'div', { class: 'pt-label pt-above' });
  const filters = canvas(root),
    tip = tooltip(root),
    say = live(root);

  // ------------------------------------------------------------ what is where
  const count = () => now.header.rows * now.header.cols;
  const prefixes = () => now.header.prefix.length;
  const size = () => now.header.patch ** 2 * now.header.channels;
  const active = () => (hover >= 0 ? hover : pinned); // a place in the sequence
  const patchOf = (token) => token - prefixes();
  const vectorOf = (token) => {
    const patch = patchOf(token),
      { dim } = now.header;
    return patch < 0
      ? now.arrays.prefix_tokens.data.subarray(token * dim, (token + 1) * dim)
      : now.arrays.tokens.data.subarray(patch * dim, (patch + 1) * dim);
  };
  const cellBox = (index) => {
    const { rows, cols } = now.header,
      side = last.side;
    const step = side / Math.max(rows, cols),
      space = step * GAP_SHARE * apart;
    const x0 = space / 2,
      y0 = space / 2;
    return { x: x0 + (index % cols) * step, y: y0 + Math.floor(index / cols) * step, side: step - space };
  };
  const patchAt = (x, y) => {
    const { rows, cols } = now.header;
    const step = last.side / Math.max(rows, cols);
    const col = Math.floor(x / step),
      row = Math.floor(y / step);
    return col >= 0 && row >= 0 && col < cols && row < rows ? row * cols + col : -1;
  };
  const patchValues = (patch) => {
    const { patch: P, cols, channels } = now.header,
      S = now.arrays.values.shape[2];
    const flat = new Float32Array(size()),
      top = Math.floor(patch / cols) * P,
      start = (patch % cols) * P;
    for (let c = 0, k = 0; c < channels; c++)
      for (let y = 0; y < P; y++)
        for (let x = 0; x < P; x++, k++) flat[k] = now.arrays.values.data[(c * S + top + y) * S + start + x];
    return flat;
  };

  // ------------------------------------------------------------ motion and choice
  function glide(to) {
    stop();
    const from = apart;
    stop = animate(450, (t) => setApart(from + (to - from) * t));
  }
  function setApart(amount) {
    apart = amount;
    gap.value = Math.round(100 * amount);
    pull.textContent = amount < 0.5 ? 'Pull apart' : 'Put together';
    pull.setAttribute('aria-pressed', String(amount >= 0.5));
    drawMap();
  }
  function switchOn(name, node) {
    on[name] = !on[name];
    node.setAttribute('aria-pressed', String(on[name]));
    drawMap();
  }
  function point(token, from) {
    if (token === hover) return;
    hover = token;
    if (from === 'map' && token >= 0) reveal(token);
    drawMap();
    drawStrip();
    drawGlass();
    if (token >= 0) say(`${glass.title.textContent}, ${glass.place.textContent}`);
  }
  function pin(token) {
    pinned = token;
    hover = -1;
    drawMap();
    drawStrip();
    drawGlass();
    trigger('pin', token);
  }
  function choose(index) {
    column = index;
    value = -1;
    drawMap();
    drawGlass();
    drawFilters();
    trigger('column', index);
  }
  function reveal(token) {
    const at = token * STEP,
      { scrollLeft, clientWidth } = scroller;
    if (at < scrollLeft || at + STEP > scrollLeft + clientWidth) scroller.scrollLeft = at - (clientWidth - STEP) / 2;
  }
  function pointValue(k) {
    if (k === value) return;
    value = k;
    drawGlass();
  }

  // ------------------------------------------------------------ drawing
  function drawMap() {
    const { patch: P, rows, cols, dim } = now.header,
      ctx = map.size(last.mapWidth, last.side),
      colors = now.colors;
    const chosen = patchOf(active()),
      hold = patchOf(pinned),
      tokens = now.arrays.tokens.data;
    for (let i = 0; i < rows * cols; i++) {
      const box = cellBox(i),
        row = Math.floor(i / cols),
        col = i % cols;
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(last.image, col * P, row * P, P, P, box.x, box.y, box.side, box.side);
      if (on.response) {
        const level = 4 * Math.round(127.5 * (1 + tokens[i * dim + column] / last.columnPeak(column)));
        ctx.fillStyle = `rgba(${DIVERGING_LUT.subarray(level, level + 3).join()}, 0.86)`;
        ctx.fillRect(box.x, box.y, box.side, box.side);
      }
      if (apart < 0.04) {
        ctx.strokeStyle = 'rgba(255,255,255,0.55)';
        ctx.lineWidth = 1;
        ctx.strokeRect(box.x, box.y, box.side, box.side);
        ctx.strokeStyle = 'rgba(0,0,0,0.35)';
        ctx.lineWidth = 0.5;
        ctx.strokeRect(box.x, box.y, box.side, box.side);
      }
      if (on.numbers && box.side >= 18) label(ctx, box, i + 1);
    }
    for (const [index, colour, width] of [
      [hold, colors.paper, 4],
      [hold, colors.ink, 2],
      [chosen, colors.query, 3],
    ]) {
      if (index < 0) continue;
      const box = cellBox(index);
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect(box.x + width / 2, box.y + width / 2, box.side - width, box.side - width);
    }
  }
  function label(ctx, box, text) {
    const px = Math.max(10, Math.min(14, box.side * 0.34));
    ctx.font = `600 ${px}px ${now.colors.font}`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'top';
    ctx.lineWidth = 3;
    ctx.lineJoin = 'round';
    ctx.strokeStyle = 'rgba(0,0,0,0.7)';
    ctx.fillStyle = '#fff';
    ctx.strokeText(text, box.x + 4, box.y + 3);
    ctx.fillText(text, box.x + 4, box.y + 3);
  }
  function drawStrip() {
    const { patch: P, cols, prefix } = now.header,
      total = prefixes() + count(),
      colors = now.colors;
    const ctx = strip.size(Math.min(now.width, total * STEP), THUMB + 24),
      from = scroller.scrollLeft;
    const first = Math.max(0, Math.floor(from / STEP)),
      end = Math.min(total, Math.ceil((from + now.width) / STEP));
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    for (let t = first; t < end; t++) {
      const x = t * STEP - from + 2,
        patch = patchOf(t);
      if (patch < 0) {
        ctx.fillStyle = colors.panel;
        ctx.fillRect(x, 2, THUMB, THUMB);
        ctx.strokeStyle = colors.muted;
        ctx.lineWidth = 1;
        ctx.strokeRect(x + 0.5, 2.5, THUMB - 1, THUMB - 1);
        ctx.fillStyle = colors.ink;
        ctx.font = `600 11px ${colors.font}`;
        ctx.fillText(prefix[t].toUpperCase(), x + THUMB / 2, 24);
      } else blit2(ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, x, 2, THUMB);
      const lit = t === active();
      if (lit || t === pinned) {
        ctx.strokeStyle = lit ? colors.query : colors.ink;
        ctx.lineWidth = lit ? 3 : 2;
        ctx.strokeRect(x, 2, THUMB, THUMB);
      }
      ctx.fillStyle = lit ? colors.query : colors.muted;
      ctx.font = `${lit ? 600 : 400} 12px ${colors.font}`;
      ctx.fillText(patch < 0 ? '' : String(patch + 1), x + THUMB / 2, THUMB + 18);
    }
  }
  function blit2(ctx, sx, sy, from, x, y, to) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(last.image, sx, sy, from, from, x, y, to, to);
  }
  function drawGlass() {
    const { patch: P, cols, channels, dim } = now.header,
      token = active(),
      patch = patchOf(token);
    const tall = last.tile * channels + 4 * (channels - 1);
    if (patch < 0) {
      glass.title.textContent = `[${now.header.prefix[token].toUpperCase()}] · no patch`;
      glass.place.textContent = 'a learned vector: it is cut from no pixel';
      drawLearned(token, tall);
      glass.flatLabel.textContent = 'Nothing is cut, flattened or multiplied by E';
      glass.flat.size(last.rightWidth, 12 * channels);
      glass.sum.textContent = 'The same vector stands here for every picture.\nIt is learned like any other weight.';
    } else {
      const row = Math.floor(patch / cols),
        col = patch % cols,
        flat = patchValues(patch),
        K = flat.length;
      const filter = now.arrays.weight.data.subarray(column * K, (column + 1) * K);
      const product = flat.map((v, k) => v * filter[k]);
      glass.title.textContent = `Patch ${patch + 1} of ${count()} · row ${row + 1}, column ${col + 1}`;
      glass.place.textContent = `pixels x ${col * P}–${col * P + P - 1}, y ${row * P}–${row * P + P - 1}`;
      drawTiles(patch, flat, filter, product, tall);
      drawFlat(flat);
      spell(flat, filter, product, patch);
    }
    drawOut(token);
  }
  function drawLearned(token, tall) {
    // the vector in rows, as large as a patch's pictures
    const vector = vectorOf(token),
      dim = vector.length,
      ctx = glass.tiles.size(last.rightWidth, tall + 20);
    const rows = [8, 6, 4, 3, 2].find((n) => dim % n === 0) ?? 1;
    ctx.font = `13px ${now.colors.font}`;
    ctx.fillStyle = now.colors.muted;
    ctx.textAlign = 'left';
    ctx.fillText(`its ${dim} values, in ${rows} rows`, 0, 12);
    blit(ctx, heat(vector, rows, dim / rows, DIVERGING_LUT, -peak(vector), peak(vector)), 0, 20, last.rightWidth, tall);
    glass.scale.textContent = `blue − · white 0 · orange +   ±${number(peak(vector))}`;
  }
  function drawTiles(patch, flat, filter, product, tall) {
    const { patch: P, cols, channels } = now.header,
      ctx = glass.tiles.size(last.rightWidth, tall + 20),
      t = last.tile;
    ctx.font = `13px ${now.colors.font}`;
    ctx.fillStyle = now.colors.muted;
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'left';
    blit2(ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, 0, 20, tall > 110 ? tall : t);
    ctx.fillText('pixels', 0, 12);
    const planes = [
      ['x', flat, last.valuePeak],
      [`E, column ${column + 1}`, filter, peak(filter)],
      ['x ⊙ E', product, peak(product)],
    ];
    planes.forEach(([title, values, top], i) => {
      const x = last.tileLeft + i * (t + 8),
        name = ctx.measureText(title).width > t + 2 ? title.split(',')[0] : title;
      ctx.fillStyle = now.colors.muted;
      ctx.fillText(name, x, 12);
      for (let c = 0; c < channels; c++)
        blit(ctx, heat(values, P, P, DIVERGING_LUT, -top, top, c * P * P), x, 20 + c * (t + 4), t, t);
      if (value >= 0) {
        const c = Math.floor(value / (P * P)),
          y = Math.floor(value / P) % P,
          cell = t / P;
        ctx.strokeStyle = now.colors.query;
        ctx.lineWidth = 2;
        ctx.strokeRect(x + (value % P) * cell, 20 + c * (t + 4) + y * cell, cell, cell);
      }
    });
    glass.scale.textContent = `blue − · white 0 · orange +   x ±${number(last.valuePeak, 2)}, E ±${number(peak(filter), 3)}, x ⊙ E ±${number(peak(product), 3)}`;
  }
  function drawFlat(flat) {
    const { channels, patch: P } = now.header,
      run = P * P,
      ctx = glass.flat.size(last.rightWidth, 12 * channels);
    const order = channels === 3 ? 'red, then green, then blue, each ' : '';
    glass.flatLabel.textContent = `x flattened: ${flat.length.toLocaleString('en')} values, ${order}row by row`;
    for (let c = 0; c < channels; c++)
      blit(
        ctx,
        heat(flat, 1, run, DIVERGING_LUT, -last.valuePeak, last.valuePeak, c * run),
        0,
        12 * c,
        last.rightWidth,
        11,
      );
    if (value < 0) return;
    const width = last.rightWidth / run;
    ctx.strokeStyle = now.colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect((value % run) * width - 1, 12 * Math.floor(value / run), Math.max(3, width), 11);
  }
  function spell(flat, filter, product, patch) {
    const { dim } = now.header,
      bias = now.arrays.bias.data[column],
      sum = product.reduce((a, v) => a + v, 0);
    const own = now.arrays.tokens.data[patch * dim + column],
      middle = value >= 0 ? value : last.rightWidth < 520 ? 0 : 1;
    const shown = [...new Set([0, middle, flat.length - 1])].filter((k) => k < flat.length).sort((a, b) => a - b);
    glass.sum.replaceChildren();
    el(glass.sum, 'div', {}, `x·E + b = Σ xₖ Eₖ + b,  k = 1 … ${flat.length.toLocaleString('en')}`);
    const line = el(glass.sum, 'div', {}, '= ');
    shown.forEach((k, i) => {
      const before = i ? shown[i - 1] : -1;
      el(line, 'span', {}, `${i ? ' + ' : ''}${k > before + 1 ? '… + ' : ''}`);
      el(line, 'span', k === value ? { class: 'vv-query pt-strong' } : {}, `${factor(flat[k])}·${factor(filter[k])}`);
    });
    el(line, 'span', {}, ` + ${factor(bias)}`);
    const end = el(glass.sum, 'div', {}, `= ${number(sum, 4)} + ${factor(bias)} = `);
    el(end, 'span', { class: 'pt-strong', 'data-role': 'dot' }, number(sum + bias, 4));
    el(end, 'span', { class: 'vv-muted' }, `   the model’s own: ${number(own, 4)}`);
    if (value >= 0) {
      const P = now.header.patch,
        c = Math.floor(value / (P * P)),
        channel = now.header.channels === 3 ? ['red', 'green', 'blue'][c] : 'grey';
      glass.scale.textContent = `k = ${value + 1}: ${channel}, y ${Math.floor(value / P) % P}, x ${value % P} of the patch: ${factor(flat[value])}·${factor(filter[value])} = ${number(product[value], 4)}`;
    }
  }
  function drawOut(token) {
    const vector = vectorOf(token),
      { dim } = now.header,
      top = peak(vector),
      ctx = glass.out.size(last.rightWidth, 24);
    blit(ctx, heat(vector, 1, dim, DIVERGING_LUT, -top, top), 0, 4, last.rightWidth, 16);
    const width = last.rightWidth / dim;
    ctx.strokeStyle = now.colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect(column * width, 3, Math.max(3, width), 18);
    glass.outLabel.textContent = `The token that comes out: D = ${dim} values, before positions`;
    glass.outNote.textContent = `value ${column + 1} is ${number(vector[column], 4)} · all within ±${number(top)} · length ‖·‖ = ${number(Math.hypot(...vector))}`;
  }
  // Full rows where not every column has room.
  const shownFilters = () => {
    const { dim, columns } = now.header;
    return dim <= columns ? dim : Math.floor(columns / perRow()) * perRow();
  };
  const perRow = () => Math.max(1, Math.floor((now.width + 4) / (TILE + 4)));
  function drawFilters() {
    const across = perRow(),
      total = shownFilters(),
      ctx = filters.size(now.width, Math.ceil(total / across) * (TILE + 4));
    last.filters.slice(0, total).forEach((image, d) => {
      const x = (d % across) * (TILE + 4),
        y = Math.floor(d / across) * (TILE + 4);
      blit(ctx, image, x, y, TILE, TILE);
      if (d !== column) return;
      ctx.strokeStyle = now.colors.query;
      ctx.lineWidth = 3;
      ctx.strokeRect(x + 1.5, y + 1.5, TILE - 3, TILE - 3);
    });
  }
  function filterImage(d) {
    const { patch: P, channels } = now.header,
      K = size(),
      w = now.arrays.weight.data.subarray(d * K, (d + 1) * K);
    if (channels !== 3) return heat(w, P * channels, P, DIVERGING_LUT, -peak(w), peak(w));
    const lo = w.reduce((a, b) => Math.min(a, b)),
      hi = w.reduce((a, b) => Math.max(a, b)),
      data = new Uint8Array(P * P * 3);
    for (let i = 0; i < P * P; i++)
      for (let c = 0; c < 3; c++) data[3 * i + c] = (255 * (w[c * P * P + i] - lo)) / (hi - lo || 1);
    return picture({ data, shape: [P, P, 3] });
  }

  // ------------------------------------------------------------ pointing
  const pulls = { e: () => glide(apart < 0.5 ? 1 : 0), E: () => glide(apart < 0.5 ? 1 : 0) };
  gridNavigation(map.node, {
    label: 'The picture cut into patches; E pulls them apart',
    rows: () => now.header.rows,
    cols: () => now.header.cols,
    cellAt: patchAt,
    keys: pulls,
    hover: (i) => point(i < 0 ? -1 : i + prefixes(), 'map'),
    pick: (i) => pin(i + prefixes()),
  });
  gridNavigation(strip.node, {
    label: 'Tokens in reading order',
    rows: () => 1,
    cols: () => prefixes() + count(),
    keys: pulls,
    cellAt: (x) => {
      const t = Math.floor((x + scroller.scrollLeft) / STEP);
      return t < prefixes() + count() ? t : -1;
    },
    hover: (i, event) => {
      point(i, 'strip');
      if (event?.type === 'keydown' && i >= 0) reveal(i);
    },
    pick: pin,
  });
  scroller.onscroll = () => drawStrip();
  gridNavigation(glass.tiles.node, {
    label: 'Values of this patch, channel above channel',
    rows: () => now.header.patch * now.header.channels,
    cols: () => now.header.patch,
    cellAt: (x, y) => {
      const { patch: P, channels } = now.header,
        t = last.tile,
        across = (x - last.tileLeft) % (t + 8);
      const big = x < last.tileLeft - 8,
        c = big ? 0 : Math.floor((y - 20) / (t + 4));
      if (big || across < 0 || across >= t || c < 0 || c >= channels || x > last.tileLeft + 3 * (t + 8)) return -1;
      const inside = y - 20 - c * (t + 4);
      return inside >= t ? -1 : c * P * P + Math.floor((inside / t) * P) * P + Math.floor((across / t) * P);
    },
    hover: pointValue,
    pick: () => {},
  });
  gridNavigation(glass.flat.node, {
    label: 'The flattened patch',
    rows: () => now.header.channels,
    cols: () => now.header.patch ** 2,
    hover: pointValue,
    pick: () => {},
  });
  gridNavigation(glass.out.node, {
    label: 'The token’s values; Enter chooses the column of E',
    rows: () => 1,
    cols: () => now.header.dim,
    hover(i) {
      if (i >= 0)
        glass.outNote.textContent = `value ${i + 1} is ${number(vectorOf(active())[i], 4)} · click to see its column of E`;
      else drawGlass();
    },
    pick: choose,
  });
  gridNavigation(filters.node, {
    label: 'Columns of E as pictures; Enter chooses one',
    rows: () => Math.ceil(shownFilters() / perRow()),
    cols: perRow,
    cellAt(x, y) {
      const d = Math.floor(y / (TILE + 4)) * perRow() + Math.floor(x / (TILE + 4));
      return Math.floor(x / (TILE + 4)) < perRow() && d < shownFilters() ? d : -1;
    },
    hover(d) {
      if (d < 0 || d >= shownFilters()) return tip.hide();
      const text = `column ${d + 1} · answer of this patch ${number(vectorOf(active())[d])}`;
      say(text);
      tip.show(
        filters.node.offsetLeft + (d % perRow()) * (TILE + 4),
        filters.node.offsetTop + Math.floor(d / perRow()) * (TILE + 4),
        text,
      );
    },
    pick: (d) => d < shownFilters() && choose(d),
  });

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, arrays, width } = now,
      wide = width >= 760;
    layout.classList.toggle('pt-wide', wide);
    const leftWidth = wide ? Math.min(480, Math.floor((width - 32) * 0.47)) : width;
    left.style.width = `${leftWidth}px`;
    last.mapWidth = last.side = Math.min(leftWidth, 460);
    last.rightWidth = wide ? width - leftWidth - 32 : width;
    const rows = header.channels,
      big = rows > 1;
    // Four pictures in a row for grey; for colour one large one and three columns of planes.
    last.tile = big
      ? Math.min(72, Math.floor((last.rightWidth - 32) / 6.2))
      : Math.min(104, Math.floor((last.rightWidth - 24) / 4));
    last.tileLeft = (big ? last.tile * rows + 4 * (rows - 1) : last.tile) + (big ? 16 : 8);
    if (fresh) {
      hover = value = -1;
      pinned = header.pin;
      column = header.column;
      last.image = picture(arrays.shown);
      last.valuePeak = peak(arrays.values.data);
      last.filters = Array.from({ length: Math.min(header.dim, header.columns) }, (_, d) => filterImage(d));
      const peaks = {};
      last.columnPeak = (d) =>
        (peaks[d] ??= Math.max(
          1e-9,
          ...Array.from({ length: count() }, (_, i) => Math.abs(arrays.tokens.data[i * header.dim + d])),
        ));
    }
    numbers.setAttribute('aria-pressed', String(on.numbers));
    response.setAttribute('aria-pressed', String(on.response));
    const named = header.prefix.map((name) => `[${name.toUpperCase()}]`).join(', ');
    stripLabel.textContent = `The sequence: ${named ? `${named}, then ` : ''}${count()} patches in reading order`;
    filterLabel.textContent =
      shownFilters() < header.dim
        ? `E’s first ${shownFilters()} of ${header.dim} columns as pictures, each stretched to its own range: click one, or give its number above`
        : `E’s ${header.dim} columns as pictures, each stretched to its own range: click one`;
    spacer.style.width = `${(prefixes() + count()) * STEP}px`;
    drawMap();
    drawStrip();
    drawGlass();
    drawFilters();
    if (fresh) {
      reveal(pinned);
      drawStrip();
    }
  };
}

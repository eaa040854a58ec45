// The picture cut into patches, the strip of tokens, one patch under the glass, and E's columns.
// header: {patch, rows, cols, channels, dim, prefix, pin, column, columns, label}
// arrays: shown (S, S, 3) uint8, values (C, S, S), weight (D, C P P), bias (D), tokens (N, D), prefix_tokens (p, D)

import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { animate } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const THUMB = 36;
const STEP = 40;
const TILE = 36;
const GAP_SHARE = 0.3;
const number = (v, digits = 3) =>
  (v && Math.abs(v) < 0.5 / 10 ** digits ? v.toExponential(1) : v.toFixed(digits)).replaceAll('-', '−');
const factor = (v) => (v < 0 ? `(${number(v)})` : number(v));
const peak = (values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;

class PatchesStage {
  constructor({ root, trigger }) {
    this.root = root;
    this.trigger = trigger;
    this.now = null;
    this.apart = 0;
    this.stop = () => {};
    this.hover = -1;
    this.pinned = 0;
    this.column = 0;
    this.value = -1;
    this.last = {};
    this.on = { numbers: true, response: false };
    this.layout = el(this.root, 'div', { class: 'pt-layout' });
    this.left = el(this.layout, 'div', { class: 'pt-left' });
    this.right = el(this.layout, 'div', { class: 'pt-right' });
    this.bar = el(this.left, 'div', { class: 'vv-row pt-bar' });
    this.pull = this.toggle('Pull apart', () => this.glide(this.apart < 0.5 ? 1 : 0));
    this.gap = el(this.bar, 'input', {
      type: 'range',
      min: 0,
      max: 100,
      value: 0,
      'aria-label': 'Gap between the patches, percent',
    });
    this.gap.oninput = () => {
      this.stop();
      this.setApart(this.gap.value / 100);
    };
    this.numbers = this.toggle('Numbers', (node) => this.switchOn('numbers', node));
    this.response = this.toggle('Response', (node) => this.switchOn('response', node));
    this.response.title = 'Colour every patch by its dot product with the chosen column of E';
    this.map = canvas(this.left, { class: 'pt-map' });
    this.glass = {};
    this.glass.title = el(this.right, 'div', { class: 'pt-title', 'data-role': 'title' });
    this.glass.place = el(this.right, 'div', { class: 'vv-muted', 'data-role': 'place' });
    this.glass.tiles = canvas(this.right, { class: 'pt-tiles' });
    this.glass.scale = el(this.right, 'div', { class: 'vv-muted pt-small' });
    this.glass.flatLabel = el(this.right, 'div', { class: 'pt-label' });
    this.glass.flat = canvas(this.right);
    this.glass.sum = el(this.right, 'div', { class: 'vv-mono pt-sum', 'data-role': 'sum' });
    this.glass.outLabel = el(this.right, 'div', { class: 'pt-label' });
    this.glass.out = canvas(this.right);
    this.glass.outNote = el(this.right, 'div', { class: 'vv-muted pt-small', 'data-role': 'token' });
    this.stripLabel = el(this.root, 'div', { class: 'pt-label pt-above' });
    this.scroller = el(this.root, 'div', { class: 'pt-scroll' });
    this.spacer = el(this.scroller, 'div', { class: 'pt-spacer' });
    this.strip = canvas(this.spacer, { class: 'pt-sticky' });
    this.filterLabel = el(this.root, 'div', { class: 'pt-label pt-above' });
    this.filters = canvas(this.root);
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    // ------------------------------------------------------------ pointing
    this.pulls = { e: () => this.glide(this.apart < 0.5 ? 1 : 0), E: () => this.glide(this.apart < 0.5 ? 1 : 0) };
    gridNavigation(this.map.node, {
      label: 'The picture cut into patches; E pulls them apart',
      rows: () => this.now.header.rows,
      cols: () => this.now.header.cols,
      cellAt: (x, y) => this.patchAt(x, y),
      keys: this.pulls,
      hover: (i) => this.point(i < 0 ? -1 : i + this.prefixes(), 'map'),
      pick: (i) => this.pin(i + this.prefixes()),
    });
    gridNavigation(this.strip.node, {
      label: 'Tokens in reading order',
      rows: () => 1,
      cols: () => this.prefixes() + this.count(),
      keys: this.pulls,
      cellAt: (x) => {
        const t = Math.floor((x + this.scroller.scrollLeft) / STEP);
        return t < this.prefixes() + this.count() ? t : -1;
      },
      hover: (i, event) => {
        this.point(i, 'strip');
        if (event?.type === 'keydown' && i >= 0) this.reveal(i);
      },
      pick: (token) => this.pin(token),
    });
    this.scroller.onscroll = () => this.drawStrip();
    gridNavigation(this.glass.tiles.node, {
      label: 'Values of this patch, channel above channel',
      rows: () => this.now.header.patch * this.now.header.channels,
      cols: () => this.now.header.patch,
      cellAt: (x, y) => {
        const { patch: P, channels } = this.now.header;
        const t = this.last.tile;
        const across = (x - this.last.tileLeft) % (t + 8);
        const big = x < this.last.tileLeft - 8;
        const c = big ? 0 : Math.floor((y - 20) / (t + 4));
        if (big || across < 0 || across >= t || c < 0 || c >= channels || x > this.last.tileLeft + 3 * (t + 8))
          return -1;
        const inside = y - 20 - c * (t + 4);
        return inside >= t ? -1 : c * P * P + Math.floor((inside / t) * P) * P + Math.floor((across / t) * P);
      },
      hover: (k) => this.pointValue(k),
      pick: () => {},
    });
    gridNavigation(this.glass.flat.node, {
      label: 'The flattened patch',
      rows: () => this.now.header.channels,
      cols: () => this.now.header.patch ** 2,
      hover: (k) => this.pointValue(k),
      pick: () => {},
    });
    gridNavigation(this.glass.out.node, {
      label: 'The token’s values; Enter chooses the column of E',
      rows: () => 1,
      cols: () => this.now.header.dim,
      hover: (i) => {
        if (i >= 0)
          this.glass.outNote.textContent = `value ${i + 1} is ${number(this.vectorOf(this.active())[i], 4)} · click to see its column of E`;
        else this.drawGlass();
      },
      pick: (index) => this.choose(index),
    });
    gridNavigation(this.filters.node, {
      label: 'Columns of E as pictures; Enter chooses one',
      rows: () => Math.ceil(this.shownFilters() / this.perRow()),
      cols: () => this.perRow(),
      cellAt: (x, y) => {
        const d = Math.floor(y / (TILE + 4)) * this.perRow() + Math.floor(x / (TILE + 4));
        return Math.floor(x / (TILE + 4)) < this.perRow() && d < this.shownFilters() ? d : -1;
      },
      hover: (d) => {
        if (d < 0 || d >= this.shownFilters()) return this.tip.hide();
        const text = `column ${d + 1} · answer of this patch ${number(this.vectorOf(this.active())[d])}`;
        this.say(text);
        this.tip.show(
          this.filters.node.offsetLeft + (d % this.perRow()) * (TILE + 4),
          this.filters.node.offsetTop + Math.floor(d / this.perRow()) * (TILE + 4),
          text,
        );
      },
      pick: (d) => d < this.shownFilters() && this.choose(d),
    });
  }

  toggle(text, act) {
    const node = el(this.bar, 'button', { type: 'button', 'aria-pressed': 'false' }, text);
    node.onclick = () => act(node);
    return node;
  }

  // ------------------------------------------------------------ what is where
  count() {
    return this.now.header.rows * this.now.header.cols;
  }

  prefixes() {
    return this.now.header.prefix.length;
  }

  size() {
    return this.now.header.patch ** 2 * this.now.header.channels;
  }

  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }
  // a place in the sequence

  patchOf(token) {
    return token - this.prefixes();
  }

  vectorOf(token) {
    const patch = this.patchOf(token);
    const { dim } = this.now.header;
    return patch < 0
      ? this.now.arrays.prefix_tokens.data.subarray(token * dim, (token + 1) * dim)
      : this.now.arrays.tokens.data.subarray(patch * dim, (patch + 1) * dim);
  }

  cellBox(index) {
    const { rows, cols } = this.now.header;
    const side = this.last.side;
    const step = side / Math.max(rows, cols);
    const space = step * GAP_SHARE * this.apart;
    const x0 = space / 2;
    const y0 = space / 2;
    return { x: x0 + (index % cols) * step, y: y0 + Math.floor(index / cols) * step, side: step - space };
  }

  patchAt(x, y) {
    const { rows, cols } = this.now.header;
    const step = this.last.side / Math.max(rows, cols);
    const col = Math.floor(x / step);
    const row = Math.floor(y / step);
    return col >= 0 && row >= 0 && col < cols && row < rows ? row * cols + col : -1;
  }

  patchValues(patch) {
    const { patch: P, cols, channels } = this.now.header;
    const S = this.now.arrays.values.shape[2];
    const flat = new Float32Array(this.size());
    const top = Math.floor(patch / cols) * P;
    const start = (patch % cols) * P;
    for (let c = 0, k = 0; c < channels; c++)
      for (let y = 0; y < P; y++)
        for (let x = 0; x < P; x++, k++) flat[k] = this.now.arrays.values.data[(c * S + top + y) * S + start + x];
    return flat;
  }

  // ------------------------------------------------------------ motion and choice
  glide(to) {
    this.stop();
    const from = this.apart;
    this.stop = animate(450, (t) => this.setApart(from + (to - from) * t));
  }

  setApart(amount) {
    this.apart = amount;
    this.gap.value = Math.round(100 * amount);
    this.pull.textContent = amount < 0.5 ? 'Pull apart' : 'Put together';
    this.pull.setAttribute('aria-pressed', String(amount >= 0.5));
    this.drawMap();
  }

  switchOn(name, node) {
    this.on[name] = !this.on[name];
    node.setAttribute('aria-pressed', String(this.on[name]));
    this.drawMap();
  }

  point(token, from) {
    if (token === this.hover) return;
    this.hover = token;
    if (from === 'map' && token >= 0) this.reveal(token);
    this.drawMap();
    this.drawStrip();
    this.drawGlass();
    if (token >= 0) this.say(`${this.glass.title.textContent}, ${this.glass.place.textContent}`);
  }

  pin(token) {
    this.pinned = token;
    this.hover = -1;
    this.drawMap();
    this.drawStrip();
    this.drawGlass();
    this.trigger('pin', token);
  }

  choose(index) {
    this.column = index;
    this.value = -1;
    this.drawMap();
    this.drawGlass();
    this.drawFilters();
    this.trigger('column', index);
  }

  reveal(token) {
    const at = token * STEP;
    const { scrollLeft, clientWidth } = this.scroller;
    if (at < scrollLeft || at + STEP > scrollLeft + clientWidth)
      this.scroller.scrollLeft = at - (clientWidth - STEP) / 2;
  }

  pointValue(k) {
    if (k === this.value) return;
    this.value = k;
    this.drawGlass();
  }

  // ------------------------------------------------------------ drawing
  drawMap() {
    const { patch: P, rows, cols, dim } = this.now.header;
    const ctx = this.map.size(this.last.mapWidth, this.last.side);
    const colors = this.now.colors;
    const chosen = this.patchOf(this.active());
    const hold = this.patchOf(this.pinned);
    const tokens = this.now.arrays.tokens.data;
    for (let i = 0; i < rows * cols; i++) {
      const box = this.cellBox(i);
      const row = Math.floor(i / cols);
      const col = i % cols;
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(this.last.image, col * P, row * P, P, P, box.x, box.y, box.side, box.side);
      if (this.on.response) {
        const level = 4 * Math.round(127.5 * (1 + tokens[i * dim + this.column] / this.last.columnPeak(this.column)));
        ctx.fillStyle = `rgba(${DIVERGING_LUT.subarray(level, level + 3).join()}, 0.86)`;
        ctx.fillRect(box.x, box.y, box.side, box.side);
      }
      if (this.apart < 0.04) {
        ctx.strokeStyle = 'rgba(255,255,255,0.55)';
        ctx.lineWidth = 1;
        ctx.strokeRect(box.x, box.y, box.side, box.side);
        ctx.strokeStyle = 'rgba(0,0,0,0.35)';
        ctx.lineWidth = 0.5;
        ctx.strokeRect(box.x, box.y, box.side, box.side);
      }
      if (this.on.numbers && box.side >= 18) this.label(ctx, box, i + 1);
    }
    for (const [index, colour, width] of [
      [hold, colors.paper, 4],
      [hold, colors.ink, 2],
      [chosen, colors.query, 3],
    ]) {
      if (index < 0) continue;
      const box = this.cellBox(index);
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect(box.x + width / 2, box.y + width / 2, box.side - width, box.side - width);
    }
  }

  label(ctx, box, text) {
    const px = Math.max(10, Math.min(14, box.side * 0.34));
    ctx.font = `600 ${px}px ${this.now.colors.font}`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'top';
    ctx.lineWidth = 3;
    ctx.lineJoin = 'round';
    ctx.strokeStyle = 'rgba(0,0,0,0.7)';
    ctx.fillStyle = '#fff';
    ctx.strokeText(text, box.x + 4, box.y + 3);
    ctx.fillText(text, box.x + 4, box.y + 3);
  }

  drawStrip() {
    const { patch: P, cols, prefix } = this.now.header;
    const total = this.prefixes() + this.count();
    const colors = this.now.colors;
    const ctx = this.strip.size(Math.min(this.now.width, total * STEP), THUMB + 24);
    const from = this.scroller.scrollLeft;
    const first = Math.max(0, Math.floor(from / STEP));
    const end = Math.min(total, Math.ceil((from + this.now.width) / STEP));
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    for (let t = first; t < end; t++) {
      const x = t * STEP - from + 2;
      const patch = this.patchOf(t);
      if (patch < 0) {
        ctx.fillStyle = colors.panel;
        ctx.fillRect(x, 2, THUMB, THUMB);
        ctx.strokeStyle = colors.muted;
        ctx.lineWidth = 1;
        ctx.strokeRect(x + 0.5, 2.5, THUMB - 1, THUMB - 1);
        ctx.fillStyle = colors.ink;
        ctx.font = `600 11px ${colors.font}`;
        ctx.fillText(prefix[t].toUpperCase(), x + THUMB / 2, 24);
      } else this.blit2(ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, x, 2, THUMB);
      const lit = t === this.active();
      if (lit || t === this.pinned) {
        ctx.strokeStyle = lit ? colors.query : colors.ink;
        ctx.lineWidth = lit ? 3 : 2;
        ctx.strokeRect(x, 2, THUMB, THUMB);
      }
      ctx.fillStyle = lit ? colors.query : colors.muted;
      ctx.font = `${lit ? 600 : 400} 12px ${colors.font}`;
      ctx.fillText(patch < 0 ? '' : String(patch + 1), x + THUMB / 2, THUMB + 18);
    }
  }

  blit2(ctx, sx, sy, from, x, y, to) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.last.image, sx, sy, from, from, x, y, to, to);
  }

  drawGlass() {
    const { patch: P, cols, channels, dim } = this.now.header;
    const token = this.active();
    const patch = this.patchOf(token);
    const tall = this.last.tile * channels + 4 * (channels - 1);
    if (patch < 0) {
      this.glass.title.textContent = `[${this.now.header.prefix[token].toUpperCase()}] · no patch`;
      this.glass.place.textContent = 'a learned vector: it is cut from no pixel';
      this.drawLearned(token, tall);
      this.glass.flatLabel.textContent = 'Nothing is cut, flattened or multiplied by E';
      this.glass.flat.size(this.last.rightWidth, 12 * channels);
      this.glass.sum.textContent =
        'The same vector stands here for every picture.\nIt is learned like any other weight.';
    } else {
      const row = Math.floor(patch / cols);
      const col = patch % cols;
      const flat = this.patchValues(patch);
      const K = flat.length;
      const filter = this.now.arrays.weight.data.subarray(this.column * K, (this.column + 1) * K);
      const product = flat.map((v, k) => v * filter[k]);
      this.glass.title.textContent = `Patch ${patch + 1} of ${this.count()} · row ${row + 1}, column ${col + 1}`;
      this.glass.place.textContent = `pixels x ${col * P}–${col * P + P - 1}, y ${row * P}–${row * P + P - 1}`;
      this.drawTiles(patch, flat, filter, product, tall);
      this.drawFlat(flat);
      this.spell(flat, filter, product, patch);
    }
    this.drawOut(token);
  }

  drawLearned(token, tall) {
    // the vector in rows, as large as a patch's pictures
    const vector = this.vectorOf(token);
    const dim = vector.length;
    const ctx = this.glass.tiles.size(this.last.rightWidth, tall + 20);
    const rows = [8, 6, 4, 3, 2].find((n) => dim % n === 0) ?? 1;
    ctx.font = `13px ${this.now.colors.font}`;
    ctx.fillStyle = this.now.colors.muted;
    ctx.textAlign = 'left';
    ctx.fillText(`its ${dim} values, in ${rows} rows`, 0, 12);
    blit(
      ctx,
      heat(vector, rows, dim / rows, DIVERGING_LUT, -peak(vector), peak(vector)),
      0,
      20,
      this.last.rightWidth,
      tall,
    );
    this.glass.scale.textContent = `blue − · white 0 · orange +   ±${number(peak(vector))}`;
  }

  drawTiles(patch, flat, filter, product, tall) {
    const { patch: P, cols, channels } = this.now.header;
    const ctx = this.glass.tiles.size(this.last.rightWidth, tall + 20);
    const t = this.last.tile;
    ctx.font = `13px ${this.now.colors.font}`;
    ctx.fillStyle = this.now.colors.muted;
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'left';
    this.blit2(ctx, (patch % cols) * P, Math.floor(patch / cols) * P, P, 0, 20, tall > 110 ? tall : t);
    ctx.fillText('pixels', 0, 12);
    const planes = [
      ['x', flat, this.last.valuePeak],
      [`E, column ${this.column + 1}`, filter, peak(filter)],
      ['x ⊙ E', product, peak(product)],
    ];
    planes.forEach(([title, values, top], i) => {
      const x = this.last.tileLeft + i * (t + 8);
      const name = ctx.measureText(title).width > t + 2 ? title.split(',')[0] : title;
      ctx.fillStyle = this.now.colors.muted;
      ctx.fillText(name, x, 12);
      for (let c = 0; c < channels; c++)
        blit(ctx, heat(values, P, P, DIVERGING_LUT, -top, top, c * P * P), x, 20 + c * (t + 4), t, t);
      if (this.value >= 0) {
        const c = Math.floor(this.value / (P * P));
        const y = Math.floor(this.value / P) % P;
        const cell = t / P;
        ctx.strokeStyle = this.now.colors.query;
        ctx.lineWidth = 2;
        ctx.strokeRect(x + (this.value % P) * cell, 20 + c * (t + 4) + y * cell, cell, cell);
      }
    });
    this.glass.scale.textContent = `blue − · white 0 · orange +   x ±${number(this.last.valuePeak, 2)}, E ±${number(peak(filter), 3)}, x ⊙ E ±${number(peak(product), 3)}`;
  }

  drawFlat(flat) {
    const { channels, patch: P } = this.now.header;
    const run = P * P;
    const ctx = this.glass.flat.size(this.last.rightWidth, 12 * channels);
    const order = channels === 3 ? 'red, then green, then blue, each ' : '';
    this.glass.flatLabel.textContent = `x flattened: ${flat.length.toLocaleString('en')} values, ${order}row by row`;
    for (let c = 0; c < channels; c++)
      blit(
        ctx,
        heat(flat, 1, run, DIVERGING_LUT, -this.last.valuePeak, this.last.valuePeak, c * run),
        0,
        12 * c,
        this.last.rightWidth,
        11,
      );
    if (this.value < 0) return;
    const width = this.last.rightWidth / run;
    ctx.strokeStyle = this.now.colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect((this.value % run) * width - 1, 12 * Math.floor(this.value / run), Math.max(3, width), 11);
  }

  spell(flat, filter, product, patch) {
    const { dim } = this.now.header;
    const bias = this.now.arrays.bias.data[this.column];
    const sum = product.reduce((a, v) => a + v, 0);
    const own = this.now.arrays.tokens.data[patch * dim + this.column];
    const middle = this.value >= 0 ? this.value : this.last.rightWidth < 520 ? 0 : 1;
    const shown = [...new Set([0, middle, flat.length - 1])].filter((k) => k < flat.length).sort((a, b) => a - b);
    this.glass.sum.replaceChildren();
    el(this.glass.sum, 'div', {}, `x·E + b = Σ xₖ Eₖ + b,  k = 1 … ${flat.length.toLocaleString('en')}`);
    const line = el(this.glass.sum, 'div', {}, '= ');
    shown.forEach((k, i) => {
      const before = i ? shown[i - 1] : -1;
      el(line, 'span', {}, `${i ? ' + ' : ''}${k > before + 1 ? '… + ' : ''}`);
      el(
        line,
        'span',
        k === this.value ? { class: 'vv-query pt-strong' } : {},
        `${factor(flat[k])}·${factor(filter[k])}`,
      );
    });
    el(line, 'span', {}, ` + ${factor(bias)}`);
    const end = el(this.glass.sum, 'div', {}, `= ${number(sum, 4)} + ${factor(bias)} = `);
    el(end, 'span', { class: 'pt-strong', 'data-role': 'dot' }, number(sum + bias, 4));
    el(end, 'span', { class: 'vv-muted' }, `   the model’s own: ${number(own, 4)}`);
    if (this.value >= 0) {
      const P = this.now.header.patch;
      const c = Math.floor(this.value / (P * P));
      const channel = this.now.header.channels === 3 ? ['red', 'green', 'blue'][c] : 'grey';
      this.glass.scale.textContent = `k = ${this.value + 1}: ${channel}, y ${Math.floor(this.value / P) % P}, x ${this.value % P} of the patch: ${factor(flat[this.value])}·${factor(filter[this.value])} = ${number(product[this.value], 4)}`;
    }
  }

  drawOut(token) {
    const vector = this.vectorOf(token);
    const { dim } = this.now.header;
    const top = peak(vector);
    const ctx = this.glass.out.size(this.last.rightWidth, 24);
    blit(ctx, heat(vector, 1, dim, DIVERGING_LUT, -top, top), 0, 4, this.last.rightWidth, 16);
    const width = this.last.rightWidth / dim;
    ctx.strokeStyle = this.now.colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect(this.column * width, 3, Math.max(3, width), 18);
    this.glass.outLabel.textContent = `The token that comes out: D = ${dim} values, before positions`;
    this.glass.outNote.textContent = `value ${this.column + 1} is ${number(vector[this.column], 4)} · all within ±${number(top)} · length ‖·‖ = ${number(Math.hypot(...vector))}`;
  }

  // Full rows where not every column has room.
  shownFilters() {
    const { dim, columns } = this.now.header;
    return dim <= columns ? dim : Math.floor(columns / this.perRow()) * this.perRow();
  }

  perRow() {
    return Math.max(1, Math.floor((this.now.width + 4) / (TILE + 4)));
  }

  drawFilters() {
    const across = this.perRow();
    const total = this.shownFilters();
    const ctx = this.filters.size(this.now.width, Math.ceil(total / across) * (TILE + 4));
    this.last.filters.slice(0, total).forEach((image, d) => {
      const x = (d % across) * (TILE + 4);
      const y = Math.floor(d / across) * (TILE + 4);
      blit(ctx, image, x, y, TILE, TILE);
      if (d !== this.column) return;
      ctx.strokeStyle = this.now.colors.query;
      ctx.lineWidth = 3;
      ctx.strokeRect(x + 1.5, y + 1.5, TILE - 3, TILE - 3);
    });
  }

  filterImage(d) {
    const { patch: P, channels } = this.now.header;
    const K = this.size();
    const w = this.now.arrays.weight.data.subarray(d * K, (d + 1) * K);
    if (channels !== 3) return heat(w, P * channels, P, DIVERGING_LUT, -peak(w), peak(w));
    const lo = w.reduce((a, b) => Math.min(a, b));
    const hi = w.reduce((a, b) => Math.max(a, b));
    const data = new Uint8Array(P * P * 3);
    for (let i = 0; i < P * P; i++)
      for (let c = 0; c < 3; c++) data[3 * i + c] = (255 * (w[c * P * P + i] - lo)) / (hi - lo || 1);
    return picture({ data, shape: [P, P, 3] });
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const { header, arrays, width } = this.now;
    const wide = width >= 760;
    this.layout.classList.toggle('pt-wide', wide);
    const leftWidth = wide ? Math.min(480, Math.floor((width - 32) * 0.47)) : width;
    this.left.style.width = `${leftWidth}px`;
    this.last.mapWidth = this.last.side = Math.min(leftWidth, 460);
    this.last.rightWidth = wide ? width - leftWidth - 32 : width;
    const rows = header.channels;
    const big = rows > 1;
    // Four pictures in a row for grey; for colour one large one and three columns of planes.
    this.last.tile = big
      ? Math.min(72, Math.floor((this.last.rightWidth - 32) / 6.2))
      : Math.min(104, Math.floor((this.last.rightWidth - 24) / 4));
    this.last.tileLeft = (big ? this.last.tile * rows + 4 * (rows - 1) : this.last.tile) + (big ? 16 : 8);
    if (fresh) {
      this.hover = this.value = -1;
      this.pinned = header.pin;
      this.column = header.column;
      this.last.image = picture(arrays.shown);
      this.last.valuePeak = peak(arrays.values.data);
      this.last.filters = Array.from({ length: Math.min(header.dim, header.columns) }, (_, d) => this.filterImage(d));
      const peaks = {};
      this.last.columnPeak = (d) =>
        (peaks[d] ??= Math.max(
          1e-9,
          ...Array.from({ length: this.count() }, (_, i) => Math.abs(arrays.tokens.data[i * header.dim + d])),
        ));
    }
    this.numbers.setAttribute('aria-pressed', String(this.on.numbers));
    this.response.setAttribute('aria-pressed', String(this.on.response));
    const named = header.prefix.map((name) => `[${name.toUpperCase()}]`).join(', ');
    this.stripLabel.textContent = `The sequence: ${named ? `${named}, then ` : ''}${this.count()} patches in reading order`;
    this.filterLabel.textContent =
      this.shownFilters() < header.dim
        ? `E’s first ${this.shownFilters()} of ${header.dim} columns as pictures, each stretched to its own range: click one, or give its number above`
        : `E’s ${header.dim} columns as pictures, each stretched to its own range: click one`;
    this.spacer.style.width = `${(this.prefixes() + this.count()) * STEP}px`;
    this.drawMap();
    this.drawStrip();
    this.drawGlass();
    this.drawFilters();
    if (fresh) {
      this.reveal(this.pinned);
      this.drawStrip();
    }
  }
}

export default function patchesStage(context) {
  const view = new PatchesStage(context);
  return (message) => view.update(message);
}

// The image divided into patches, the strip of tokens, the selected patch and the columns of E.
// header: {patch, rows, cols, channels, dim, prefix, pin, column, columns, label}
// arrays: shown (H, W, 3) uint8, values (C, H, W), weight (D, C P P), bias (D), tokens (N, D), prefix_tokens (p, D)

import { tokenName } from '../../../vitviz/browser/kit/text.js';
import { button, canvas, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { animate } from '../../../vitviz/browser/kit/motion.js';
import { pinOf } from '../../../vitviz/browser/kit/pin.js';
import { picture } from '../../../vitviz/browser/kit/pixels.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import {
  drawDetail,
  STEP,
  TILE,
  drawFilters,
  drawMap,
  drawStrip,
  filterImage,
  number,
  peak,
} from './patches_drawing.js';

const GAP_SHARE = 0.3;

export default class PatchesStage {
  constructor({ root, trigger, alone = false }) {
    Object.assign(this, { root, trigger, alone });
    this.opened = false;
    this.apart = 0;
    this.stop = () => {};
    this.hover = -1;
    this.pinned = 0;
    this.column = 0;
    this.value = -1;
    this.last = {};
    this.showsResponse = false;
    this.layout = el(this.root, 'div', { class: 'pt-layout' });
    this.left = el(this.layout, 'div', { class: 'pt-left' });
    this.right = el(this.layout, 'div', { class: 'pt-right' });
    this.buildBar();
    this.map = canvas(this.left, { class: 'pt-map' });
    this.summary = el(this.left, 'div', { class: 'pt-summary' });
    this.buildDetail();
    this.buildRows();
    this.listenMap();
    this.listenDetail();
    this.listenFilters();
  }

  buildBar() {
    this.bar = el(this.right, 'div', { class: 'vv-row pt-bar' });
    this.pull = button(this.bar, 'Separate patches', () => this.glide(this.apart < 0.5 ? 1 : 0));
    this.pull.setAttribute('aria-pressed', 'false');
    this.response = button(this.bar, 'Show response', () => this.switchResponse());
    this.response.title = 'Colour each patch by x·E + b for the selected column of E';
  }

  buildDetail() {
    this.detail = {};
    this.detail.title = el(this.right, 'div', { class: 'pt-title', 'data-role': 'title' });
    this.detail.place = el(this.right, 'div', { class: 'vv-muted', 'data-role': 'place' });
    this.detail.tiles = canvas(this.right, { class: 'pt-tiles' });
    this.detail.scale = el(this.right, 'div', { class: 'vv-muted pt-small' });
    this.detail.flatLabel = el(this.right, 'div', { class: 'pt-label' });
    this.detail.flat = canvas(this.right);
    this.detail.outLabel = el(this.right, 'div', { class: 'pt-label' });
    this.detail.out = canvas(this.right);
    this.detail.outNote = el(this.right, 'div', { class: 'vv-muted pt-small', 'data-role': 'token' });
    this.detail.sum = el(this.right, 'div', { class: 'vv-mono pt-sum', 'data-role': 'sum' });
  }

  buildRows() {
    this.stripLabel = el(this.root, 'div', { class: 'pt-label pt-above' });
    this.scroller = el(this.root, 'div', { class: 'pt-scroll' });
    this.spacer = el(this.scroller, 'div', { class: 'pt-spacer' });
    this.strip = canvas(this.spacer, { class: 'pt-sticky' });
    this.filterLabel = el(this.root, 'div', { class: 'pt-label pt-above' });
    this.filters = canvas(this.root);
    this.tip = tooltip(this.root);
    this.say = live(this.root);
  }

  listenMap() {
    const pull = () => this.pull.click();
    this.pulls = { e: pull, E: pull };
    gridNavigation(this.map.node, {
      label: 'Image divided into patches; key E separates them',
      grid: () => [this.message.header.rows, this.message.header.cols],
      cellAt: (x, y) => this.patchAt(x, y),
      keys: this.pulls,
      start: () => Math.max(0, this.patchOf(this.pinned)),
      hover: (i) => this.point(i < 0 ? -1 : i + this.prefixes, 'map'),
      pick: (i) => this.pin(i + this.prefixes),
    });
    gridNavigation(this.strip.node, {
      label: 'Tokens in reading order',
      grid: () => [1, this.prefixes + this.count],
      keys: this.pulls,
      start: () => this.pinned,
      cellAt: (x) => {
        const t = Math.floor((x + this.scroller.scrollLeft) / STEP);
        return t < this.prefixes + this.count ? t : -1;
      },
      hover: (i, event) => {
        this.point(i, 'strip');
        if (event?.type === 'keydown' && i >= 0) this.reveal(i);
      },
      pick: (token) => this.pin(token),
    });
    this.scroller.onscroll = () => drawStrip(this);
  }

  listenDetail() {
    gridNavigation(this.detail.tiles.node, {
      label: 'Values of this patch, one channel per block',
      grid: () => [this.message.header.patch * this.message.header.channels, this.message.header.patch],
      cellAt: (x, y) => {
        const { patch: P, channels } = this.message.header;
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
    });
    gridNavigation(this.detail.flat.node, {
      label: 'Flattened patch',
      grid: () => [this.message.header.channels, this.message.header.patch ** 2],
      hover: (k) => this.pointValue(k),
    });
    gridNavigation(this.detail.out.node, {
      label: 'Token values; Enter selects the column of E',
      grid: () => [1, this.message.header.dim],
      hover: (i) => {
        if (i >= 0)
          this.detail.outNote.textContent = `value ${i + 1}: ${number(this.vectorOf(this.active())[i], 4)} · click to select its column of E`;
        else drawDetail(this);
      },
      pick: (index) => this.choose(index),
    });
  }

  listenFilters() {
    gridNavigation(this.filters.node, {
      label: 'Columns of E as images; Enter selects one',
      grid: () => [Math.ceil(this.shownFilters / this.perRow), this.perRow],
      cellAt: (x, y) => {
        const d = Math.floor(y / (TILE + 4)) * this.perRow + Math.floor(x / (TILE + 4));
        return Math.floor(x / (TILE + 4)) < this.perRow && d < this.shownFilters ? d : -1;
      },
      start: () => Math.min(this.column, this.shownFilters - 1),
      hover: (d) => {
        if (d < 0 || d >= this.shownFilters) return this.tip.hide();
        const text = `column ${d + 1} · response of this patch ${number(this.vectorOf(this.active())[d])}`;
        this.say(text);
        const [x, y] = [d % this.perRow, Math.floor(d / this.perRow)];
        this.tip.showOver(this.filters.node, x * (TILE + 4), y * (TILE + 4), text);
      },
      pick: (d) => d < this.shownFilters && this.choose(d),
    });
  }

  // ------------------------------------------------------------ geometry
  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  patchOf(token) {
    return token - this.prefixes;
  }

  vectorOf(token) {
    const patch = this.patchOf(token);
    const { dim } = this.message.header;
    return patch < 0
      ? this.message.arrays.prefix_tokens.data.subarray(token * dim, (token + 1) * dim)
      : this.message.arrays.tokens.data.subarray(patch * dim, (patch + 1) * dim);
  }

  cellBox(index) {
    const { rows, cols } = this.message.header;
    const side = this.last.side;
    const step = side / Math.max(rows, cols);
    const space = step * GAP_SHARE * this.apart;
    const at = (cell) => space / 2 + cell * step;
    return { x: at(index % cols), y: at(Math.floor(index / cols)), side: step - space };
  }

  patchAt(x, y) {
    const { rows, cols } = this.message.header;
    const step = this.last.side / Math.max(rows, cols);
    return evenCell(x, y, { width: step * cols, height: step * rows }, rows, cols);
  }

  patchValues(patch) {
    const { patch: P, cols, channels } = this.message.header;
    const {
      data,
      shape: [, high, wide],
    } = this.message.arrays.values;
    const flat = new Float32Array(this.size);
    const top = Math.floor(patch / cols) * P;
    const start = (patch % cols) * P;
    for (let c = 0, k = 0; c < channels; c++)
      for (let y = 0; y < P; y++)
        for (let x = 0; x < P; x++, k++) flat[k] = data[(c * high + top + y) * wide + start + x];
    return flat;
  }

  // ------------------------------------------------------------ motion and selection
  glide(to) {
    this.stop();
    const from = this.apart;
    this.stop = animate(450, (t) => this.setApart(from + (to - from) * t));
  }

  setApart(amount) {
    this.apart = amount;
    this.root.dataset.apart = amount.toFixed(2);
    this.pull.textContent = amount < 0.5 ? 'Separate patches' : 'Join patches';
    this.pull.setAttribute('aria-pressed', String(amount >= 0.5));
    drawMap(this);
  }

  switchResponse() {
    this.showsResponse = !this.showsResponse;
    this.press();
    drawMap(this);
    drawDetail(this);
  }

  press() {
    this.response.setAttribute('aria-pressed', String(this.showsResponse));
  }

  point(token, from) {
    if (token === this.hover) return;
    this.hover = token;
    if (from === 'map' && token >= 0) this.reveal(token);
    drawMap(this);
    drawStrip(this);
    drawDetail(this);
    if (token >= 0) this.say(`${this.detail.title.textContent}, ${this.detail.place.textContent}`);
  }

  pin(token) {
    this.pinned = token;
    this.hover = -1;
    drawMap(this);
    drawStrip(this);
    drawDetail(this);
    const { rows, cols, prefix } = this.message.header;
    this.trigger('pin', prefix[token] ?? pinOf([rows, cols], this.patchOf(token)));
  }

  choose(index) {
    this.column = index;
    this.value = -1;
    drawMap(this);
    drawDetail(this);
    drawFilters(this);
    this.trigger('column', index + 1);
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
    drawDetail(this);
  }

  update(message, fresh) {
    this.message = message;
    const { rows, cols, channels, patch, prefix, dim, columns } = message.header;
    Object.assign(this, { count: rows * cols, prefixes: prefix.length, size: patch ** 2 * channels });
    this.perRow = Math.max(1, Math.floor((message.width + 4) / (TILE + 4)));
    // Columns of E that are drawn: full rows only where not all fit.
    this.shownFilters = dim <= columns ? dim : Math.floor(columns / this.perRow) * this.perRow;
    this.layOut(message);
    if (fresh) this.load(message);
    this.press();
    this.nameRows(message.header, message.width);
    drawMap(this);
    drawStrip(this);
    drawDetail(this);
    drawFilters(this);
    if (!fresh) return;
    if (this.opened) this.reveal(this.pinned); // a strip opens at its beginning, with [CLS]
    this.opened = true;
    drawStrip(this);
  }

  layOut({ header, width }) {
    const wide = width >= 640;
    const left = wide ? Math.min(grown(540), Math.floor((width - 32) * 0.56)) : width;
    const right = wide ? width - left - 32 : width;
    this.layout.classList.toggle('pt-wide', wide);
    this.left.style.width = `${left}px`;
    this.last.side = left; // of the longer side
    this.last.rightWidth = right;
    // Grey: four images in a row. Colour: one large image and three columns of planes.
    const rows = header.channels;
    const tile = rows > 1 ? Math.min(72, Math.floor((right - 32) / 6.2)) : Math.min(128, Math.floor((right - 24) / 4));
    this.last.tile = tile;
    this.last.tileLeft = rows > 1 ? tile * rows + 4 * (rows - 1) + 16 : tile + 8;
  }

  load({ header, arrays }) {
    this.hover = this.value = -1;
    this.pinned = header.pin;
    this.column = header.column;
    this.last.image = picture(arrays.shown);
    this.last.valuePeak = peak(arrays.values.data);
    const count = Math.min(header.dim, header.columns);
    this.last.filters = Array.from({ length: count }, (_, d) => filterImage(this, d));
    const peaks = {};
    const responses = (d) =>
      Array.from({ length: this.count }, (_, i) => Math.abs(arrays.tokens.data[i * header.dim + d]));
    this.last.columnPeak = (d) => (peaks[d] ??= Math.max(1e-9, ...responses(d)));
  }

  nameRows({ prefix, dim }, width) {
    this.spacer.style.width = `${(this.prefixes + this.count) * STEP}px`;
    const prefixNames = prefix.map(tokenName).join(', ');
    const total = this.shownFilters;
    const columns = total < dim ? `First ${total} of ${dim} columns of E` : `${dim} columns of E`;
    const more = total < dim && !this.alone ? ', or enter its number in Options' : '';
    const sizes = `${this.count} patches of ${this.size} values become ${this.count} tokens of ${dim} values.`;
    this.summary.textContent = `${sizes} Click a patch.`;
    this.stripLabel.textContent = `Sequence: ${prefixNames ? `${prefixNames}, then ` : ''}${this.count} patches in reading order${this.spacer.offsetWidth > width ? ' (scrolls sideways)' : ''}`;
    this.filterLabel.textContent = `${columns}, each scaled to its own range: click to select one${more}`;
  }
}

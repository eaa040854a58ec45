// Filter tiles: rows of P x P pictures, one sheet per model, all snapshots in one flip-book. A tile under the pointer is
// enlarged: its colours, its channels on a diverging scale, and its weights in numbers where they fit.

import { timeline } from '../../views/kit/player.js';
import { legend } from '../../views/kit/ramp.js';
import { canvas, el, live } from '../../views/kit/dom.js';
import { grown } from '../../views/kit/grow.js';
import { gridNavigation, nameGrid } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';
import { counted, signed } from '../../views/kit/words.js';

const GUT = 4;
const BARS = 34;
const TILE_FRAME_MS = 420;

class TilesView {
  constructor({ root, onUnmount }) {
    this.root = root;
    this.onUnmount = onUnmount;
    this.say = live(this.root);
    this.build();
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'ti-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div', { class: 'ti-lens' });
    this.area = el(this.left, 'div', { class: 'ti-sheets' });
    this.time = timeline(this.left, {
      class: 'ti-time',
      last: () => this.frames() - 1,
      words: () => this.momentWords(),
      show: () => this.drawAll(),
      dwell: TILE_FRAME_MS,
    });
    this.head = el(this.right, 'div', { class: 'ti-title' });
    this.note = el(this.right, 'div', { class: 'ti-note' });
    this.big = canvas(this.right, { role: 'img' });
    this.planes = el(this.right, 'div', { class: 'ti-planes' });
    this.read = el(this.right, 'div', { class: 'ti-read vv-muted' });
    this.lines = Array.from({ length: 3 }, () => el(this.read, 'div'));
    this.scaleMap = canvas(this.right, { role: 'img' });
    this.sheets = [];
    this.channelMaps = [];
    this.now = null;
    this.active = 0;
    this.tile = 0;
    this.onUnmount(() => this.time.stop());
  }

  shape(s) {
    return this.now.arrays[`tiles${s}`].shape;
  }
  // frames, k, P, P, C

  frames() {
    return Math.max(...this.now.header.sheets.map((_, s) => this.shape(s)[0]));
  }

  frameOf(s) {
    return Math.round((this.time.at * (this.shape(s)[0] - 1)) / Math.max(1, this.frames() - 1));
  }

  columnsOf(s) {
    return Math.min(this.now.header.columns, this.shape(s)[1]);
  }

  rowsOf(s) {
    return Math.ceil(this.shape(s)[1] / this.columnsOf(s));
  }

  bytesAt(s, k) {
    const [, n, p, , c] = this.shape(s);
    const size = p * p * c;
    const from = (this.frameOf(s) * n + k) * size;
    return this.now.arrays[`tiles${s}`].data.subarray(from, from + size);
  }

  ends(s, k) {
    const at = 2 * (this.frameOf(s) * this.shape(s)[1] + k);
    const { data } = this.now.arrays[`ends${s}`];
    return [data[at], data[at + 1]];
  }

  weight(s, k, i) {
    const [lo, hi] = this.ends(s, k);
    return lo + (this.bytesAt(s, k)[i] / 255) * (hi - lo);
  }

  share(s, k) {
    return this.now.arrays[`shares${s}`]?.data[this.frameOf(s) * this.shape(s)[1] + k];
  }

  tileImage(s, k) {
    const [, , p, , c] = this.shape(s);
    return picture({ data: this.bytesAt(s, k), shape: [p, p, c] });
  }

  dec(v) {
    return `${v < 0 ? '−' : ''}${Math.abs(v) >= 1 ? Math.abs(v).toFixed(1) : Math.abs(v).toFixed(2).replace(/^0/, '')}`;
  }

  tellSheet(s, { title, note, moments, told }) {
    const self = this.sheets[s];
    self.title.textContent = title;
    self.note.textContent = [note, moments[this.frameOf(s)]].filter(Boolean).join(' · ');
    self.told.textContent = told[this.frameOf(s)] ?? '';
    const said = self.told.textContent || self.note.textContent;
    nameGrid(self.map.node, `${title}: ${counted(this.shape(s)[1])} tiles. ${said}`);
  }

  drawSheet(s) {
    const { map, bars, side } = this.sheets[s];
    const { colors, header } = this.now;
    const cols = this.columnsOf(s);
    const rows = this.rowsOf(s);
    const ctx = map.size(cols * (side + GUT) - GUT, rows * (side + GUT) - GUT);
    for (let k = 0; k < this.shape(s)[1]; k++)
      blit(ctx, this.tileImage(s, k), (k % cols) * (side + GUT), Math.floor(k / cols) * (side + GUT), side, side);
    if (s === this.active) {
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2.5;
      ctx.strokeRect(
        (this.tile % cols) * (side + GUT) + 1.25,
        Math.floor(this.tile / cols) * (side + GUT) + 1.25,
        side - 2.5,
        side - 2.5,
      );
    }
    this.tellSheet(s, header.sheets[s]);
    bars.node.style.display = this.now.arrays[`shares${s}`] ? '' : 'none';
    if (!this.now.arrays[`shares${s}`]) return;
    const width = map.width;
    const b = bars.size(width, BARS);
    const n = this.shape(s)[1];
    const w = width / n;
    let top = 1e-9;
    for (let k = 0; k < n; k++) top = Math.max(top, this.share(s, k));
    for (let k = 0; k < n; k++) {
      const h = Math.max(1, (this.share(s, k) / top) * (BARS - 6));
      b.fillStyle = s === this.active && k === this.tile ? colors.query : colors.primary;
      b.fillRect(k * w, BARS - h, Math.max(1, w - 2), h);
    }
    bars.node.setAttribute(
      'aria-label',
      `Share of the variance of each of ${n} components, the first ${(100 * this.share(s, 0)).toFixed(1)} %`,
    );
  }

  drawLens() {
    const [, n] = this.shape(this.active);
    const k = Math.min(this.tile, n - 1);
    const main = Math.min(this.right.wanted, grown(240));
    const { word, sheets } = this.now.header;
    this.head.textContent = `${word[0].toUpperCase()}${word.slice(1)} ${k + 1} of ${n}`;
    this.note.textContent = sheets[this.active].title;
    blit(this.big.size(main, main), this.tileImage(this.active, k), 0, 0, main, main);
    this.big.node.setAttribute('aria-label', `${this.head.textContent}, enlarged`);
    const [lo, hi] = this.ends(this.active, k);
    const peak = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
    this.drawChannels(k, peak);
    this.tellTile(k, lo, hi);
    legend(this.scaleMap, {
      table: DIVERGING_LUT,
      width: main,
      words: [this.dec(-peak), '0', this.dec(peak)],
      colors: this.now.colors,
      label: `Colour scale of the weights, from ${this.dec(-peak)} to ${this.dec(peak)}, white at zero`,
    });
    return `${this.head.textContent}: ${this.lines[0].textContent}`;
  }

  /** The tile's weights, a plane a channel, in numbers where they fit. */
  drawChannels(k, peak) {
    const [, , p, , channels] = this.shape(this.active);
    const side = this.right.wanted;
    const plane = channels > 1 ? Math.floor((side - 16) / 3) : Math.min(side, 240);
    while (this.channelMaps.length < channels) this.channelMaps.push(canvas(this.planes, { role: 'img' }));
    this.channelMaps.forEach((map, c) => {
      map.node.style.display = c < channels ? '' : 'none';
      if (c >= channels) return;
      const name = channels > 1 ? ['red', 'green', 'blue'][c] : '';
      const ctx = map.size(plane, plane + (name ? 18 : 0));
      const values = Float32Array.from({ length: p * p }, (_, i) => this.weight(this.active, k, i * channels + c));
      blit(ctx, heat(values, p, p, DIVERGING_LUT, -peak, peak), 0, 0, plane, plane);
      ctx.textAlign = 'center';
      ctx.textBaseline = 'middle';
      if (plane / p >= 20) this.writeWeights(ctx, values, p, plane / p, peak);
      if (name) {
        ctx.font = `12px ${this.now.colors.font}`;
        ctx.fillStyle = this.now.colors.muted;
        ctx.fillText(name, plane / 2, plane + 10);
      }
      const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => signed(value, 3));
      map.node.setAttribute('aria-label', `Weights${name && ` of the ${name} channel`}, from ${low} to ${high}`);
    });
  }

  writeWeights(ctx, values, p, cell, peak) {
    ctx.font = `${cell >= 30 ? 11.5 : 9}px ${this.now.colors.font}`;
    values.forEach((v, i) => {
      ctx.fillStyle = Math.abs(v) / peak > 0.66 ? '#FFFFFF' : '#1B2430';
      ctx.fillText(this.dec(v), ((i % p) + 0.5) * cell, (Math.floor(i / p) + 0.5) * cell);
    });
  }

  tellTile(k, lo, hi) {
    const [, , p, , channels] = this.shape(this.active);
    const part = this.share(this.active, k);
    let sum = 0;
    for (let i = 0; part !== undefined && i <= k; i++) sum += this.share(this.active, i);
    const first = k ? `; the first ${k + 1}: ${(100 * sum).toFixed(1)} %` : '';
    const explained = part === undefined ? '' : `${(100 * part).toFixed(1)} % of the variance${first}`;
    this.lines[0].textContent = explained || `${p} × ${p} × ${channels} weights`;
    this.lines[1].textContent = `weights from ${this.dec(lo)} to ${this.dec(hi)}; each tile has its own range`;
    this.lines[2].textContent = explained ? 'its sign is arbitrary' : '';
  }

  drawAll() {
    this.now.header.sheets.forEach((_, s) => this.drawSheet(s));
    this.time.draw();
    return this.drawLens();
  }

  momentWords() {
    const moving = this.now.header.sheets.findIndex((_, s) => this.shape(s)[0] > 1);
    return moving >= 0 ? this.now.header.sheets[moving].moments[this.frameOf(moving)] : '';
  }

  addSheet(s) {
    const box = el(this.area, 'div');
    const self = {
      box,
      side: 16,
      title: el(box, 'div', { class: 'ti-title' }),
      note: el(box, 'div', { class: 'ti-note' }),
    };
    self.map = canvas(box, { class: 'ti-map' });
    self.bars = canvas(box, { role: 'img' });
    self.told = el(box, 'div', { class: 'ti-told' });
    this.sheets[s] = self;
    gridNavigation(self.map.node, {
      label: `Tiles of sheet ${s + 1}`,
      rows: () => this.rowsOf(s),
      cols: () => this.columnsOf(s),
      start: () => (s === this.active ? this.tile : 0),
      hover: (i, event) => {
        if (i < 0 || i >= this.shape(s)[1]) return; // the last tile stays enlarged
        this.active = s;
        this.tile = i;
        const text = this.drawAll();
        if (event?.type === 'keydown') this.say(text);
      },
    });
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const count = this.now.header.sheets.length;
    if (fresh) {
      this.time.stop();
      this.time.at = this.now.header.frame;
      while (this.sheets.length < count) this.addSheet(this.sheets.length);
      this.active = Math.min(this.now.header.active, count - 1);
      this.tile = Math.min(this.tile, this.shape(this.active)[1] - 1);
    }
    const wide = this.now.width >= 460;
    const rightWidth = wide ? Math.max(216, Math.floor((this.now.width - 24) * 0.29)) : this.now.width;
    const leftWidth = wide ? this.now.width - rightWidth - 25 : this.now.width; // 25: the root's width may be a fraction less
    this.left.style.width = `${leftWidth}px`;
    this.right.style.width = `${rightWidth}px`;
    this.right.wanted = rightWidth;
    const across = this.now.width >= 640 && count > 1 ? 2 : 1;
    const column = Math.floor((leftWidth - 24 * (across - 1)) / across);
    this.area.style.gridTemplateColumns = `repeat(${across}, ${column}px)`;
    this.sheets.forEach((sheet, s) => {
      sheet.box.style.display = s < count ? '' : 'none';
      if (s < count)
        sheet.side = Math.max(
          8,
          Math.min(grown(72), Math.floor((column - GUT * (this.columnsOf(s) - 1)) / this.columnsOf(s))),
        );
    });
    this.drawAll();
  }
}

export default function tilesView(context) {
  const view = new TilesView(context);
  return (message) => view.update(message);
}

// Filter tiles: rows of P x P images, one sheet per model, with a timeline of snapshots. The tile under the pointer is
// enlarged: its colours, its channels on a diverging scale, and its weights in numbers where they fit.

import { fill, frame, write } from '../../../vitviz/browser/kit/axes.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { canvas, el, live, setCount, setText } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { gridNavigation, nameGrid } from '../../../vitviz/browser/kit/grid.js';
import { TileStack, colour, fillPixels } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, inkOn, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { MovingPanels } from '../../../vitviz/browser/kit/training_moments.js';
import { counted, signed } from '../../../vitviz/browser/kit/text.js';

const GUT = 4;
const BARS = 34;
const TILE_FRAME_MS = 420;
const TILE_FLOW_MS = 150;

export default class TilesView extends MovingPanels {
  constructor({ root, onUnmount }) {
    super();
    Object.assign(this, { root, say: live(root) });
    this.build();
    onUnmount(() => this.time.stop());
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'ti-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div', { class: 'ti-lens' });
    this.area = el(this.left, 'div', { class: 'ti-sheets' });
    this.time = timeline(this.left, {
      class: 'ti-time',
      last: () => this.frames - 1,
      words: () => this.momentWords(this.moving),
      show: () => this.drawAll(),
      dwell: TILE_FRAME_MS,
      flow: TILE_FLOW_MS,
      file: 'filters_training',
    });
    this.head = el(this.right, 'div', { class: 'ti-title' });
    this.note = el(this.right, 'div', { class: 'ti-note' });
    this.big = canvas(this.right, { role: 'img' });
    this.planes = el(this.right, 'div', { class: 'ti-planes' });
    this.read = el(this.right, 'div', { class: 'ti-read vv-muted' });
    this.lines = Array.from({ length: 2 }, () => el(this.read, 'div'));
    this.scaleMap = canvas(this.right, { role: 'img' });
    this.sheets = [];
    this.channelMaps = [];
    this.active = 0;
    this.tile = 0;
  }

  /** (frames, k, P, P, C) of a sheet. */
  shape(s) {
    return this.message.arrays[`tiles${s}`].shape;
  }

  /** `size` values from `start` on of a sheet's array at the timeline's place. */
  valuesOf(s, name, start, size) {
    return this.valuesAt(s, this.message.arrays[`${name}${s}`], start, size);
  }

  columnsOf(s) {
    return Math.min(this.message.header.columns, this.shape(s)[1]);
  }

  rowsOf(s) {
    return Math.ceil(this.shape(s)[1] / this.columnsOf(s));
  }

  bytesAt(s, k) {
    const [, , p, , c] = this.shape(s);
    return this.valuesOf(s, 'tiles', k * p * p * c, p * p * c);
  }

  ends(s, k) {
    return this.valuesOf(s, 'ends', 2 * k, 2);
  }

  /** The weights of a tile. */
  weights(s, k) {
    const [lo, hi] = this.ends(s, k);
    return Float32Array.from(this.bytesAt(s, k), (byte) => lo + (byte / 255) * (hi - lo));
  }

  share(s, k) {
    return this.message.arrays[`shares${s}`] && this.valuesOf(s, 'shares', k, 1)[0];
  }

  /** Return a sheet's tiles at the timeline's place, painted if it has moved. */
  stackOf(s) {
    const sheet = this.sheets[s];
    const [, count, p, , channels] = this.shape(s);
    const [{ data }, place] = [this.message.arrays[`tiles${s}`], this.placeOf(s)];
    if (sheet.painted === data && sheet.place === place) return sheet.stack;
    Object.assign(sheet, { painted: data, place, stack: TileStack.of(sheet.stack, count, p, p) });
    sheet.stack.paint((image) => fillPixels(image, this.valuesOf(s, 'tiles', 0, count * p * p * channels), channels));
    return sheet.stack;
  }

  formatWeight(v) {
    return Math.abs(v) >= 1 ? signed(v, 1) : signed(v).replace('0.', '.');
  }

  labelSheet(s, { title, note, told }) {
    const sheet = this.sheets[s];
    setText(sheet.title, title);
    setText(sheet.note, note);
    setText(sheet.told, told[this.frameOf(s)] ?? '');
    const description = sheet.told.textContent || sheet.note.textContent;
    nameGrid(sheet.map.node, `${title}: ${counted(this.shape(s)[1])} tiles. ${description}`);
  }

  drawSheet(s) {
    const { map, bars, side } = this.sheets[s];
    const { colors, header } = this.message;
    const cols = this.columnsOf(s);
    const rows = this.rowsOf(s);
    const ctx = map.size(cols * (side + GUT) - GUT, rows * (side + GUT) - GUT);
    const corner = (k) => [(k % cols) * (side + GUT), Math.floor(k / cols) * (side + GUT)];
    const stack = this.stackOf(s);
    for (let k = 0; k < stack.count; k++) stack.draw(ctx, k, ...corner(k), side, side);
    if (s === this.active) frame(ctx, ...corner(this.tile), side, side);
    this.labelSheet(s, header.sheets[s]);
    bars.node.style.display = this.message.arrays[`shares${s}`] ? '' : 'none';
    if (!this.message.arrays[`shares${s}`]) return;
    const width = map.width;
    const b = bars.size(width, BARS);
    const n = this.shape(s)[1];
    const w = width / n;
    const top = Math.max(1e-9, ...Array.from({ length: n }, (_, k) => this.share(s, k)));
    for (let k = 0; k < n; k++) {
      const h = Math.max(1, (this.share(s, k) / top) * (BARS - 6));
      const color = s === this.active && k === this.tile ? colors.ink : colors.primary;
      fill(b, color, k * w, BARS - h, Math.max(1, w - 2), h);
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
    const { word, sheets } = this.message.header;
    setText(this.head, `${word[0].toUpperCase()}${word.slice(1)} ${k + 1} of ${n}`);
    const { title } = sheets[this.active];
    setText(this.note, [title, this.momentWords(this.active)].filter(Boolean).join(' · '));
    this.stackOf(this.active).draw(this.big.size(main, main), k, 0, 0, main, main);
    this.big.node.setAttribute('aria-label', `${this.head.textContent}, enlarged`);
    const [lo, hi] = this.ends(this.active, k);
    const peak = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
    this.drawChannels(k, peak);
    this.describeTile(k, lo, hi);
    legend(this.scaleMap, {
      table: DIVERGING_LUT,
      width: main,
      words: [this.formatWeight(-peak), '0', this.formatWeight(peak)],
      colors: this.message.colors,
      label: `Colour scale of the ${this.noun}, from ${this.formatWeight(-peak)} to ${this.formatWeight(peak)}, neutral at zero`,
    });
    return `${this.head.textContent}: ${this.lines[0].textContent}`;
  }

  /** Draws the tile's weights, one plane per channel, in numbers where they fit. */
  drawChannels(k, peak) {
    const [, , p, , channels] = this.shape(this.active);
    const side = this.right.wanted;
    const plane = channels > 1 ? Math.floor((side - 16) / 3) : Math.min(side, 240);
    const weights = this.weights(this.active, k);
    const planes = Array.from({ length: channels }, (_, c) => weights.filter((_, i) => i % channels === c));
    this.planeStack = TileStack.of(this.planeStack, channels, p, p);
    this.planeStack.paint((image) =>
      colour(
        image,
        planes.flatMap((values) => [...values]),
        DIVERGING_LUT,
        -peak,
        peak,
      ),
    );
    while (this.channelMaps.length < channels) this.channelMaps.push(canvas(this.planes, { role: 'img' }));
    this.channelMaps.forEach((map, c) => {
      map.node.style.display = c < channels ? '' : 'none';
      if (c >= channels) return;
      const name = channels > 1 ? ['red', 'green', 'blue'][c] : '';
      const ctx = map.size(plane, plane + (name ? 18 : 0));
      const values = planes[c];
      this.planeStack.draw(ctx, c, 0, 0, plane, plane);
      ctx.textAlign = 'center';
      ctx.textBaseline = 'middle';
      if (plane / p >= 26) this.writeWeights(ctx, values, p, plane / p, peak);
      if (name) write(ctx, this.message.colors, name, plane / 2, plane + 10, { align: 'center' });
      const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => signed(value, 3));
      map.node.setAttribute('aria-label', `Values${name && ` of the ${name} channel`}, from ${low} to ${high}`);
    });
  }

  writeWeights(ctx, values, p, cell, peak) {
    ctx.font = `12px ${this.message.colors.font}`;
    values.forEach((v, i) => {
      ctx.fillStyle = inkOn(DIVERGING_LUT, (v / peak + 1) / 2);
      ctx.fillText(this.formatWeight(v), ((i % p) + 0.5) * cell, (Math.floor(i / p) + 0.5) * cell);
    });
  }

  describeTile(k, lo, hi) {
    const [, , p, , channels] = this.shape(this.active);
    const part = this.share(this.active, k);
    let sum = 0;
    for (let i = 0; part !== undefined && i <= k; i++) sum += this.share(this.active, i);
    const first = k && this.message.header.summed ? `; the first ${k + 1}: ${(100 * sum).toFixed(1)}\u00a0%` : '';
    const explained =
      part === undefined ? '' : `explains ${(100 * part).toFixed(1)}\u00a0% of all differences (the variance)${first}`;
    setText(this.lines[0], explained || `${p} × ${p} × ${channels} ${this.noun}`);
    setText(this.lines[1], `${this.noun} from ${this.formatWeight(lo)} to ${this.formatWeight(hi)}`);
  }

  drawAll() {
    this.message.header.sheets.forEach((_, s) => this.drawSheet(s));
    this.time.draw();
    return this.drawLens();
  }

  addSheet(s) {
    const box = el(this.area, 'div');
    const sheet = {
      box,
      side: 16,
      title: el(box, 'div', { class: 'ti-title' }),
      note: el(box, 'div', { class: 'ti-note' }),
    };
    sheet.map = canvas(box, { class: 'ti-map' });
    sheet.bars = canvas(box, { role: 'img' });
    sheet.told = el(box, 'div', { class: 'ti-told' });
    gridNavigation(sheet.map.node, {
      label: `Tiles of panel ${s + 1}`,
      grid: () => [this.rowsOf(s), this.columnsOf(s)],
      start: () => (s === this.active ? this.tile : 0),
      hover: (i, event) => {
        if (i < 0 || i >= this.shape(s)[1]) return; // the last tile stays enlarged
        this.active = s;
        this.tile = i;
        const text = this.drawAll();
        if (event?.type === 'keydown') this.say(text);
      },
    });
    return sheet;
  }

  update(message, fresh) {
    this.message = message;
    const { sheets } = message.header;
    const count = sheets.length;
    this.setPanels(
      sheets,
      sheets.map((_, s) => message.arrays[`tiles${s}`]),
    );
    // An image holds a patch's values or products, not only weights.
    this.noun = message.header.word === 'image' ? 'values' : 'weights';
    if (fresh) {
      this.time.stop();
      this.time.at = this.message.header.frame;
      setCount(this.sheets, count, (s) => this.addSheet(s));
      this.active = 0;
      this.tile = Math.min(this.tile, this.shape(this.active)[1] - 1);
    }
    const wide = this.message.width >= 460;
    const rightWidth = wide ? Math.max(216, Math.floor((this.message.width - 24) * 0.29)) : this.message.width;
    const leftWidth = wide ? this.message.width - rightWidth - 25 : this.message.width; // 25: the root may be up to 1 px narrower
    this.left.style.width = `${leftWidth}px`;
    this.right.style.width = `${rightWidth}px`;
    this.right.wanted = rightWidth;
    const across = this.message.width >= 640 && count > 1 ? 2 : 1;
    const column = Math.floor((leftWidth - 24 * (across - 1)) / across);
    this.area.style.gridTemplateColumns = `repeat(${across}, ${column}px)`;
    this.sheets.forEach((sheet, s) => {
      const most = grown(this.shape(s)[1] > 8 ? 72 : 160);
      const columns = this.columnsOf(s);
      sheet.side = Math.max(8, Math.min(most, Math.floor((column - GUT * (columns - 1)) / columns)));
    });
    this.drawAll();
  }
}

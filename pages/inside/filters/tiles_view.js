// Filter tiles: rows of P x P pictures, one sheet per model, all snapshots in one flip-book. A tile under the pointer is
// enlarged: its colours, its channels on a diverging scale, and its weights in numbers where they fit.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const GUT = 4;
const BARS = 34;
const TILE_FRAME_MS = 420;

class TilesView {
  constructor({ root, onUnmount }) {
    this.root = root;
    this.onUnmount = onUnmount;
    this.say = live(this.root);
    this.stage = el(this.root, 'div', { class: 'ti-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div', { class: 'ti-lens' });
    this.area = el(this.left, 'div', { class: 'ti-sheets' });
    this.time = el(this.left, 'div', { class: 'ti-time' });
    this.play = el(this.time, 'button', { type: 'button' }, '▶ Play');
    this.slider = el(this.time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' });
    this.moment = el(this.time, 'span');
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
    this.frame = 0;
    this.playing = 0;
    this.onUnmount(() => clearInterval(this.playing));
    this.play.onclick = () => {
      if (this.playing) return this.stop();
      if (this.frame >= this.frames() - 1) this.frame = 0;
      this.play.textContent = '❚❚ Pause';
      this.drawAll();
      this.playing = setInterval(() => {
        if (this.frame >= this.frames() - 1) this.stop();
        else {
          this.frame += 1;
          this.drawAll();
        }
      }, TILE_FRAME_MS);
    };
    this.slider.oninput = () => {
      this.stop();
      this.frame = Number(this.slider.value);
      this.drawAll();
    };
  }

  shape(s) {
    return this.now.arrays[`tiles${s}`].shape;
  }
  // frames, k, P, P, C

  frames() {
    return Math.max(...this.now.header.sheets.map((_, s) => this.shape(s)[0]));
  }

  frameOf(s) {
    return Math.round((this.frame * (this.shape(s)[0] - 1)) / Math.max(1, this.frames() - 1));
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

  drawSheet(s) {
    const { map, bars, title, note: sub, told, side } = this.sheets[s];
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
    const sheet = header.sheets[s];
    title.textContent = sheet.title;
    sub.textContent = [sheet.note, sheet.moments[this.frameOf(s)]].filter(Boolean).join(' · ');
    told.textContent = sheet.told[this.frameOf(s)] ?? '';
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
    const { colors, header } = this.now;
    const [, n, p, , channels] = this.shape(this.active);
    const k = Math.min(this.tile, n - 1);
    const side = this.right.wanted;
    const main = Math.min(side, 240);
    const [lo, hi] = this.ends(this.active, k);
    const peak = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
    this.head.textContent = `${header.word[0].toUpperCase()}${header.word.slice(1)} ${k + 1} of ${n}`;
    this.note.textContent = header.sheets[this.active].title;
    const ctx = this.big.size(main, main);
    blit(ctx, this.tileImage(this.active, k), 0, 0, main, main);
    this.big.node.setAttribute('aria-label', `${this.head.textContent}, enlarged`);
    const plane = channels > 1 ? Math.floor((side - 16) / 3) : Math.min(side, 240);
    while (this.channelMaps.length < channels) this.channelMaps.push(canvas(this.planes, { role: 'img' }));
    this.channelMaps.forEach((map, c) => {
      map.node.style.display = c < channels ? '' : 'none';
      if (c >= channels) return;
      const draw = map.size(plane, plane + (channels > 1 ? 18 : 0));
      const cell = plane / p;
      const values = Float32Array.from({ length: p * p }, (_, i) => this.weight(this.active, k, i * channels + c));
      blit(draw, heat(values, p, p, DIVERGING_LUT, -peak, peak), 0, 0, plane, plane);
      draw.textAlign = 'center';
      draw.textBaseline = 'middle';
      if (cell >= 20) {
        draw.font = `${cell >= 30 ? 11.5 : 9}px ${colors.font}`;
        values.forEach((v, i) => {
          draw.fillStyle = Math.abs(v) / peak > 0.66 ? '#FFFFFF' : '#1B2430';
          draw.fillText(this.dec(v), ((i % p) + 0.5) * cell, (Math.floor(i / p) + 0.5) * cell);
        });
      }
      if (channels > 1) {
        draw.font = `12px ${colors.font}`;
        draw.fillStyle = colors.muted;
        draw.fillText(['red', 'green', 'blue'][c], plane / 2, plane + 10);
      }
      map.node.setAttribute(
        'aria-label',
        channels > 1 ? `Weights of the ${['red', 'green', 'blue'][c]} channel` : 'Weights',
      );
    });
    const part = this.share(this.active, k);
    let sum = 0;
    for (let i = 0; part !== undefined && i <= k; i++) sum += this.share(this.active, i);
    this.lines[0].textContent =
      part === undefined
        ? `${p} × ${p} × ${channels} weights`
        : `${(100 * part).toFixed(1)} % of the variance${k ? `; the first ${k + 1}: ${(100 * sum).toFixed(1)} %` : ''}`;
    this.lines[1].textContent = `weights from ${this.dec(lo)} to ${this.dec(hi)}; each tile has its own range`;
    this.lines[2].textContent = part === undefined ? '' : 'its sign is arbitrary';
    const bar = this.scaleMap.size(Math.min(side, 240), 32);
    blit(
      bar,
      heat(
        Float32Array.from({ length: 256 }, (_, i) => i),
        1,
        256,
        DIVERGING_LUT,
        0,
        255,
      ),
      0,
      4,
      this.scaleMap.width,
      8,
      true,
    );
    bar.font = `12px ${colors.font}`;
    bar.fillStyle = colors.muted;
    bar.textBaseline = 'top';
    for (const [t, x, a] of [
      [this.dec(-peak), 0, 'left'],
      ['0', this.scaleMap.width / 2, 'center'],
      [this.dec(peak), this.scaleMap.width, 'right'],
    ]) {
      bar.textAlign = a;
      bar.fillText(t, x, 16);
    }
    this.scaleMap.node.setAttribute(
      'aria-label',
      `Colour scale of the weights, from ${this.dec(-peak)} to ${this.dec(peak)}, white at zero`,
    );
    return `${this.head.textContent}: ${this.lines[0].textContent}`;
  }

  drawAll() {
    this.now.header.sheets.forEach((_, s) => this.drawSheet(s));
    this.time.style.display = this.frames() > 1 ? '' : 'none';
    this.slider.max = String(this.frames() - 1);
    this.slider.value = String(this.frame);
    const moving = this.now.header.sheets.findIndex((_, s) => this.shape(s)[0] > 1);
    this.moment.textContent = moving >= 0 ? this.now.header.sheets[moving].moments[this.frameOf(moving)] : '';
    this.slider.setAttribute('aria-valuetext', this.moment.textContent);
    return this.drawLens();
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
      hover: (i, event) => {
        if (i < 0 || i >= this.shape(s)[1]) return; // the last tile stays enlarged
        this.active = s;
        this.tile = i;
        const text = this.drawAll();
        if (event?.type === 'keydown') this.say(text);
      },
    });
  }

  stop() {
    clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = '▶ Play';
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const count = this.now.header.sheets.length;
    if (fresh) {
      this.stop();
      this.frame = this.now.header.frame;
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
    const across = this.now.width >= 720 && count > 1 ? 2 : 1;
    const column = Math.floor((leftWidth - 24 * (across - 1)) / across);
    this.area.style.gridTemplateColumns = `repeat(${across}, ${column}px)`;
    this.sheets.forEach((sheet, s) => {
      sheet.box.style.display = s < count ? '' : 'none';
      if (s < count)
        sheet.side = Math.max(
          8,
          Math.min(72, Math.floor((column - GUT * (this.columnsOf(s) - 1)) / this.columnsOf(s))),
        );
    });
    this.play.style.display = reducedMotion() ? 'none' : '';
    this.drawAll();
  }
}

export default function tilesView(context) {
  const view = new TilesView(context);
  return (message) => view.update(message);
}

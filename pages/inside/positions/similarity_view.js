// The similarity grid of the ViT paper's figure 7: tile (r, c) of a mosaic is the map of position (r, c)'s similarity to all.
// One canvas per encoding, one scale for all; what is under the pointer in one is lit in the others and on the picture.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../views/kit/ramp.js';

const GUTTER = 2;
const HEADINGS = 18;
const GAP = 24;
const FRAME_MS = 420;

/** Two decimals with a true minus sign; three where a panel carries exact values. */
function valueText(value, digits = 2) {
  return `${value < -0.5 * 10 ** -digits ? '−' : ''}${Math.abs(value).toFixed(digits)}`;
}

class SimilarityView {
  constructor({ root, trigger, onUnmount }) {
    this.root = root;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.say = live(this.root);
    this.stage = el(this.root, 'div', { class: 'sim-stage' });
    this.mosaics = []; // one per encoding: {box, title, note, map, nav}
    this.lens = { box: el(this.stage, 'div') };
    this.lens.title = el(this.lens.box, 'div', { class: 'sim-title' });
    this.lens.note = el(this.lens.box, 'div', { class: 'sim-note' });
    this.lens.map = canvas(this.lens.box, { class: 'sim-map' });
    this.foot = el(this.root, 'div', { class: 'sim-foot' });
    this.left = el(this.foot, 'div');
    this.right = el(this.foot, 'div', { class: 'sim-pair' });
    this.scale = canvas(this.left, { role: 'img' });
    this.time = el(this.left, 'div', { class: 'sim-time' });
    this.play = el(this.time, 'button', { type: 'button' }, '▶ Play');
    this.slider = el(this.time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' });
    this.moment = el(this.time, 'span');
    this.told = el(this.left, 'div', { class: 'sim-told vv-muted' });
    this.photo = canvas(this.right, { role: 'img' });
    this.read = el(this.right, 'div', { class: 'sim-read' });
    this.lines = Array.from({ length: 5 }, () => el(this.read, 'div'));
    this.now = null;
    this.seen = null;
    this.images = [];
    this.pinned = [0.5, 0.5];
    this.query = null;
    this.key = null;
    this.active = 0;
    this.frame = 0;
    this.playing = 0;
    this.onUnmount(() => clearInterval(this.playing));
    gridNavigation(this.lens.map.node, {
      label: 'The enlarged map: similarity to every position; Enter makes that position the query',
      rows: () => this.panels()[this.active].grid[0],
      cols: () => this.panels()[this.active].grid[1],
      cellAt: (x, y) => {
        const [rows, cols] = this.panels()[this.active].grid;
        const cell = Math.floor((this.lens.width - HEADINGS) / cols);
        const c = Math.floor((x - HEADINGS) / cell);
        const r = Math.floor((y - HEADINGS) / cell);
        return c >= 0 && r >= 0 && c < cols && r < rows ? r * cols + c : -1;
      },
      hover: (j, event) => {
        this.key = j < 0 ? null : this.centre(this.panels()[this.active].grid, j);
        const text = this.drawAll();
        if (j >= 0 && event?.type === 'keydown') this.say(text);
      },
      pick: (j) => this.pin(this.centre(this.panels()[this.active].grid, j)),
    });
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
      }, FRAME_MS);
    };
    this.slider.oninput = () => {
      this.stop();
      this.frame = Number(this.slider.value);
      this.drawAll();
    };
  }

  // ---- places: everything is linked through normalised places, so that grids of different size can stand side by side
  panels() {
    return this.now.header.panels;
  }

  indexAt([rows, cols], [x, y]) {
    return (
      Math.min(rows - 1, Math.max(0, Math.floor(y * rows))) * cols +
      Math.min(cols - 1, Math.max(0, Math.floor(x * cols)))
    );
  }

  centre([rows, cols], i) {
    return [((i % cols) + 0.5) / cols, (Math.floor(i / cols) + 0.5) / rows];
  }

  count(p) {
    return this.panels()[p].grid[0] * this.panels()[p].grid[1];
  }

  frames() {
    return Math.max(...this.panels().map((_, p) => this.now.arrays[`similarity${p}`].shape[0]));
  }

  frameOf(p) {
    return Math.round((this.frame * (this.now.arrays[`similarity${p}`].shape[0] - 1)) / Math.max(1, this.frames() - 1));
  }

  value(p, i, j) {
    const n = this.count(p);
    const { data } = this.now.arrays[`similarity${p}`];
    return data[(this.frameOf(p) * n + i) * n + j] * this.panels()[p].gain + this.panels()[p].start;
  }

  queryOf(p) {
    return this.indexAt(this.panels()[p].grid, this.query ?? this.pinned);
  }

  keyOf(p) {
    const wanted = this.key ?? (this.query ? null : this.now.header.key);
    if (wanted) return this.indexAt(this.panels()[p].grid, wanted);
    const i = this.queryOf(p);
    let best = -1;
    for (let j = 0; j < this.count(p); j++)
      if (j !== i && (best < 0 || this.value(p, i, j) > this.value(p, i, best))) best = j;
    return best;
  }

  place(p, i) {
    return `(${Math.floor(i / this.panels()[p].grid[1])}, ${i % this.panels()[p].grid[1]})`;
  }

  table() {
    return this.now.header.stretched ? SEQUENTIAL_LUT : DIVERGING_LUT;
  }

  // ---- drawing
  imageOf(p) {
    const at = this.frameOf(p);
    const n = this.count(p);
    const [rows, cols] = this.panels()[p].grid;
    const name = `${p}:${at}`;
    if (this.images[p]?.name === name) return this.images[p].image;
    const { data } = this.now.arrays[`similarity${p}`];
    const { gain, start } = this.panels()[p];
    const { lo, hi } = this.now.header;
    // Row i of the matrix becomes a rows x cols map; the maps are stacked, one below the other.
    const image = heat(
      data.subarray(at * n * n, (at + 1) * n * n),
      n * rows,
      cols,
      this.table(),
      (lo - start) / gain,
      (hi - start) / gain,
    );
    this.images[p] = { name, image };
    return image;
  }

  drawMosaic(p) {
    const { map, tile, box } = this.mosaics[p];
    const [rows, cols] = this.panels()[p].grid;
    const { colors } = this.now;
    const side = tile * cols + GUTTER * (cols - 1) + HEADINGS;
    const height = tile * rows + GUTTER * (rows - 1) + HEADINGS;
    const ctx = map.size(side, height);
    const image = this.imageOf(p);
    ctx.font = `11px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    const every = Math.ceil((cols > 10 ? 20 : 12) / (tile + GUTTER));
    for (let c = 0; c < cols; c += every) ctx.fillText(c, HEADINGS + c * (tile + GUTTER) + tile / 2, HEADINGS / 2 - 2);
    for (let r = 0; r < rows; r += every) ctx.fillText(r, HEADINGS / 2 - 2, HEADINGS + r * (tile + GUTTER) + tile / 2);
    ctx.imageSmoothingEnabled = false;
    for (let i = 0; i < rows * cols; i++) {
      const x = HEADINGS + (i % cols) * (tile + GUTTER);
      const y = HEADINGS + Math.floor(i / cols) * (tile + GUTTER);
      ctx.drawImage(image, 0, i * rows, cols, rows, x, y, tile, tile);
    }
    const frameAt = (i, color, width) => {
      const x = HEADINGS + (i % cols) * (tile + GUTTER);
      const y = HEADINGS + Math.floor(i / cols) * (tile + GUTTER);
      for (const [stroke, wide] of [
        [colors.paper, width + 3],
        [color, width],
      ]) {
        ctx.strokeStyle = stroke;
        ctx.lineWidth = wide;
        ctx.strokeRect(x - width / 2, y - width / 2, tile + width, tile + width);
      }
    };
    if (this.key) frameAt(this.keyOf(p), colors.ink, 1.5);
    frameAt(this.queryOf(p), colors.query, 2.5);
  }

  drawLens() {
    const p = this.active;
    const [rows, cols] = this.panels()[p].grid;
    const { colors } = this.now;
    const i = this.queryOf(p);
    const j = this.keyOf(p);
    const cell = Math.floor((this.lens.width - HEADINGS) / cols);
    const ctx = this.lens.map.size(cell * cols + HEADINGS, cell * rows + HEADINGS);
    ctx.font = `11px ${colors.font}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = colors.muted;
    const every = Math.ceil((cols > 10 ? 20 : 12) / cell);
    for (let c = 0; c < cols; c += every) ctx.fillText(c, HEADINGS + (c + 0.5) * cell, HEADINGS / 2 - 2);
    for (let r = 0; r < rows; r += every) ctx.fillText(r, HEADINGS / 2 - 2, HEADINGS + (r + 0.5) * cell);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.imageOf(p), 0, i * rows, cols, rows, HEADINGS, HEADINGS, cell * cols, cell * rows);
    const size = cell >= 34 ? 12 : cell >= 26 ? 10.5 : 9;
    const numbers = cell >= 18 && !this.now.header.raw;
    ctx.font = `${size}px ${colors.font}`;
    const span = this.now.header.hi - this.now.header.lo;
    for (let k = 0; numbers && k < rows * cols; k++) {
      const v = this.value(p, i, k);
      const level = (v - this.now.header.lo) / span;
      ctx.fillStyle = (this.now.header.stretched ? level < 0.6 : Math.abs(level - 0.5) > 0.34) ? '#FFFFFF' : '#1B2430';
      const text = valueText(v, cell >= 30 ? 2 : 1).replace(/^(−?)0\./, '$1.');
      ctx.fillText(text, HEADINGS + ((k % cols) + 0.5) * cell, HEADINGS + (Math.floor(k / cols) + 0.5) * cell);
    }
    const ring = (k, color, width) => {
      ctx.strokeStyle = color;
      ctx.lineWidth = width;
      ctx.strokeRect(
        HEADINGS + (k % cols) * cell + width / 2,
        HEADINGS + Math.floor(k / cols) * cell + width / 2,
        cell - width,
        cell - width,
      );
    };
    if (j >= 0) ring(j, '#1B2430', 2);
    ring(i, colors.query, 3);
    this.lens.title.textContent = `Position ${this.place(p, i)}, enlarged`;
    this.lens.note.textContent = this.panels().length > 1 ? this.panels()[p].title : 'its similarity to every position';
  }

  drawPhoto() {
    const side = this.photo.wanted;
    const ctx = this.photo.size(side, side);
    const { colors } = this.now;
    const [rows, cols] = this.panels()[this.active].grid;
    const i = this.queryOf(this.active);
    const j = this.keyOf(this.active);
    const w = side / cols;
    const h = side / rows;
    const box = (k) => [(k % cols) * w, Math.floor(k / cols) * h];
    ctx.globalAlpha = 0.4;
    blit(ctx, this.seen, 0, 0, side, side, this.seen.width > side);
    ctx.globalAlpha = 1;
    for (const [k, color] of [
      [j, colors.ink],
      [i, colors.query],
    ]) {
      if (k < 0) continue;
      const [x, y] = box(k);
      ctx.save();
      ctx.beginPath();
      ctx.rect(x, y, w, h);
      ctx.clip();
      blit(ctx, this.seen, 0, 0, side, side, this.seen.width > side);
      ctx.restore();
      ctx.lineWidth = 2.5;
      ctx.strokeStyle = color;
      ctx.strokeRect(x + 1, y + 1, w - 2, h - 2);
    }
    this.photo.node.setAttribute(
      'aria-label',
      j < 0
        ? `The picture with position ${this.place(this.active, i)} lit`
        : `The picture with positions ${this.place(this.active, i)} and ${this.place(this.active, j)} lit`,
    );
  }

  drawScale() {
    const { header, colors } = this.now;
    const width = this.scale.wanted;
    const ctx = this.scale.size(width, 34);
    const ramp = heat(
      Float32Array.from({ length: 256 }, (_, i) => i),
      1,
      256,
      this.table(),
      0,
      255,
    );
    blit(ctx, ramp, 0, 0, width, 10, true);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    const middle = (header.lo + header.hi) / 2;
    for (const [v, x, align] of [
      [header.lo, 0, 'left'],
      [middle, width / 2, 'center'],
      [header.hi, width, 'right'],
    ]) {
      ctx.textAlign = align;
      const text = header.raw
        ? v.toPrecision(2)
        : header.stretched
          ? valueText(v)
          : `${v < 0 ? '−' : ''}${Math.abs(v)}`;
      ctx.fillText(v === header.hi ? `${header.unit} ${text}` : text, x, 16);
    }
    this.scale.node.setAttribute(
      'aria-label',
      `Colour scale: ${header.unit} from ${header.lo} to ${header.hi}${header.stretched ? '' : ', white at zero'}`,
    );
  }

  drawRead() {
    const i = this.queryOf(this.active);
    const j = this.keyOf(this.active);
    const [, cols] = this.panels()[this.active].grid;
    if (j < 0) {
      this.lines.forEach((line) => {
        line.className = '';
        line.textContent = '';
      });
      this.lines[0].textContent = 'One position: no other to compare it with.';
      return this.lines[0].textContent;
    }
    const step = [Math.floor(j / cols) - Math.floor(i / cols), (j % cols) - (i % cols)];
    const apart = Math.hypot(...step);
    const of = (p) =>
      valueText(
        this.value(
          p,
          this.queryOf(p),
          this.indexAt(this.panels()[p].grid, this.centre(this.panels()[this.active].grid, j)),
        ),
      );
    this.lines[0].textContent = `${this.place(this.active, i)} and ${this.place(this.active, j)}: ${this.key || (!this.query && this.now.header.key) ? '' : 'most alike, '}${apart.toFixed(apart % 1 ? 2 : 0)} ${apart === 1 ? 'patch' : 'patches'} apart`;
    this.lines[1].className = this.lines[2].className = '';
    for (const p of [0, 1]) {
      const line = this.lines[1 + p];
      line.replaceChildren();
      if (p >= this.panels().length) continue;
      el(line, 'span', { class: 'sim-big' }, of(p));
      el(
        line,
        'span',
        { class: 'vv-muted' },
        ` ${this.panels().length > 1 ? this.panels()[p].title : this.now.header.unit}`,
      );
    }
    this.lines[3].className = 'vv-muted vv-mono';
    this.lines[3].textContent = this.now.header.raw ? 'p_i · p_j' : 'cos = p_i·p_j / (‖p_i‖ ‖p_j‖)';
    this.lines[4].className = 'vv-muted';
    this.lines[4].textContent = `positions ${i} and ${j} in reading order, all counted from 0`;
    return `${this.lines[0].textContent}: ${this.panels()
      .map((panel, p) => `${panel.title} ${of(p)}`)
      .join(', ')}`;
  }

  drawTime() {
    const many = this.frames() > 1;
    this.time.style.display = many ? '' : 'none';
    this.slider.max = String(this.frames() - 1);
    this.slider.value = String(this.frame);
    const stepText = (p) => this.panels()[p].moments[this.frameOf(p)] ?? '';
    const moving = this.panels().findIndex((_, p) => this.now.arrays[`similarity${p}`].shape[0] > 1);
    this.moment.textContent = moving >= 0 ? stepText(moving) : '';
    this.slider.setAttribute('aria-valuetext', this.moment.textContent);
    this.mosaics.forEach((m, p) => {
      if (p >= this.panels().length) return;
      m.title.textContent = this.panels()[p].title;
      m.note.textContent = [this.panels()[p].note, stepText(p)].filter(Boolean).join(' · ');
    });
    this.told.style.display = many ? '' : 'none';
    this.told.textContent = moving >= 0 ? (this.panels()[moving].told[this.frameOf(moving)] ?? '') : '';
  }

  drawAll() {
    this.mosaics.slice(0, this.panels().length).forEach((_, p) => this.drawMosaic(p));
    this.drawTime();
    this.drawLens();
    this.drawPhoto();
    return this.drawRead();
  }

  // ---- pointing
  fineCell(p, event) {
    const { map, tile } = this.mosaics[p];
    const [rows, cols] = this.panels()[p].grid;
    const box = map.node.getBoundingClientRect();
    const x = event.clientX - box.left - HEADINGS;
    const y = event.clientY - box.top - HEADINGS;
    const pitch = tile + GUTTER;
    const c = Math.floor(x / pitch);
    const r = Math.floor(y / pitch);
    if (x < 0 || y < 0 || c >= cols || r >= rows) return null;
    const inside = (offset) => Math.min(0.999, (offset % pitch) / tile);
    return { tile: r * cols + c, key: [inside(x), inside(y)] };
  }

  pin(place) {
    this.pinned = place;
    this.query = null;
    this.key = null;
    this.now.header.key = null;
    this.drawAll();
    this.trigger('pin', place);
  }

  addMosaic(p) {
    const box = el(null, 'div');
    this.stage.insertBefore(box, this.lens.box);
    const self = {
      box,
      tile: 8,
      title: el(box, 'div', { class: 'sim-title' }),
      note: el(box, 'div', { class: 'sim-note' }),
      map: canvas(box, { class: 'sim-map' }),
    };
    this.mosaics[p] = self;
    gridNavigation(self.map.node, {
      label: `Similarity mosaic ${p + 1}: one map per position`,
      rows: () => this.panels()[p].grid[0],
      cols: () => this.panels()[p].grid[1],
      cellAt: (x, y) => {
        const box = self.map.node.getBoundingClientRect();
        return this.fineCell(p, { clientX: x + box.left, clientY: y + box.top })?.tile ?? -1;
      },
      hover: (i, event) => {
        if (i < 0) {
          this.query = this.key = null;
          this.drawAll();
          return;
        }
        const under = event?.clientX !== undefined ? this.fineCell(p, event) : null;
        this.active = p;
        this.query = this.centre(this.panels()[p].grid, i);
        this.key = under?.key ?? null;
        const text = this.drawAll();
        if (!under && text) this.say(text);
      },
      pick: (i) => this.pin(this.centre(this.panels()[p].grid, i)),
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
    if (fresh) {
      this.stop();
      this.images = [];
      this.seen = this.now.arrays.shown ? picture(this.now.arrays.shown) : null;
      this.pinned = this.now.header.pin;
      this.query = this.key = null;
      this.frame = this.now.header.frame;
      this.active = Math.min(this.now.header.active ?? 0, this.panels().length - 1);
      while (this.mosaics.length < this.panels().length) this.addMosaic(this.mosaics.length);
    }
    const shown = this.panels().length;
    const wide = this.now.width >= 720;
    const columns = wide ? shown + (shown > 1 ? 1 : 0.5) : 1;
    const column = Math.floor((this.now.width - 1 - GAP * (Math.ceil(columns) - 1)) / columns);
    this.mosaics.forEach((m, p) => {
      m.box.style.display = p < shown ? '' : 'none';
      if (p >= shown) return;
      const cols = this.panels()[p].grid[1];
      const side = Math.min(column, 560);
      m.tile = Math.max(3, Math.floor((side - HEADINGS - GUTTER * (cols - 1)) / cols));
      m.box.style.width = `${wide ? column : this.now.width}px`;
    });
    this.lens.width = wide ? (shown > 1 ? column : Math.min(this.now.width - column - GAP - 1, 420)) : this.now.width;
    this.lens.box.style.width = `${this.lens.width}px`;
    this.left.style.width = `${wide ? this.now.width - this.lens.width - GAP - 1 : this.now.width}px`;
    this.right.style.width = `${this.lens.width}px`;
    this.scale.wanted = Math.min(320, this.now.width);
    this.photo.wanted = Math.min(144, Math.floor(this.lens.width * 0.45));
    this.play.style.display = reducedMotion() ? 'none' : '';
    this.drawScale();
    this.drawAll();
  }
}

export default function similarityView(context) {
  const view = new SimilarityView(context);
  return (message) => view.update(message);
}

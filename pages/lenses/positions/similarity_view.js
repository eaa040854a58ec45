// The similarity grid of the ViT paper's figure 7: tile (r, c) of a mosaic maps position (r, c)'s similarity to all others.
// One canvas and one scale per encoding; the place under the pointer is highlighted in all and on the image.

import { frame, write, clipped } from '../../../vitviz/browser/kit/axes.js';
import { cellAt, centreOf } from '../../../vitviz/browser/kit/pin.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { inkOn, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { canvas, el, live, setCount, setText } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation, nameGrid } from '../../../vitviz/browser/kit/grid.js';
import { Tables } from './similarity_tables.js';
import { signed } from '../../../vitviz/browser/kit/text.js';
import { TileStack, blit, colour, picture } from '../../../vitviz/browser/kit/pixels.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';

/** Draws the faded image at most `side` px wide and high, with cells of a grid highlighted: [[cell, color], ...]. */
export function drawHighlighted(view, image, side, [rows, cols], cells) {
  const scale = side / Math.max(image.width, image.height);
  const [wide, high] = [image.width * scale, image.height * scale];
  const ctx = view.size(wide, high);
  const [w, h] = [wide / cols, high / rows];
  const drawImage = () => blit(ctx, image, 0, 0, wide, high, image.width > wide);
  ctx.globalAlpha = 0.4;
  drawImage();
  ctx.globalAlpha = 1;
  for (const [cell, color] of cells) {
    const [x, y] = [(cell % cols) * w, Math.floor(cell / cols) * h];
    clipped(ctx, [x, y, w, h], drawImage);
    frame(ctx, x, y, w, h, color);
  }
}

const COSINE = 'Cosine: 1 the same direction, 0 unrelated, −1 opposite. cos = p_i·p_j / (‖p_i‖ ‖p_j‖)';
const RAW = 'Dot product: larger for alike and for long vectors. p_i · p_j';
const GUTTER = 2;
const HEADINGS = 18;
const GAP = 16;
const EDGE = 4; // room for a frame around the last tile
const FRAME_MS = 420;
const FLOW_MS = 150;

export default class SimilarityView extends Tables {
  constructor({ root, trigger, onUnmount }) {
    super();
    Object.assign(this, { root, trigger, say: live(root), codes: [] });
    this.build();
    this.listen();
    onUnmount(() => this.time.stop());
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'sim-stage' });
    this.mosaics = []; // one per encoding: {box, title, note, map, nav}
    this.lens = { box: el(this.stage, 'div') };
    this.lens.title = el(this.lens.box, 'div', { class: 'sim-title' });
    this.lens.note = el(this.lens.box, 'div', { class: 'sim-note' });
    this.lens.map = canvas(this.lens.box, { class: 'sim-map' });
    this.foot = el(this.root, 'div', { class: 'sim-foot' });
    this.left = el(this.foot, 'div');
    this.right = el(this.foot, 'div');
    this.time = timeline(this.left, {
      class: 'sim-time',
      last: () => this.frames - 1,
      words: () => this.momentWords(this.moving),
      show: () => this.drawAll(),
      dwell: FRAME_MS,
      flow: FLOW_MS,
      file: 'positions_training',
    });
    this.told = el(this.left, 'div', { class: 'sim-told vv-muted' });
    this.read = el(this.left, 'div', { class: 'sim-read' });
    this.photo = canvas(this.right, { role: 'img' });
    this.lines = Array.from({ length: 4 }, () => el(this.read, 'div'));
    this.values = this.lines
      .slice(1, 3)
      .map((line) => ['sim-big', 'vv-muted'].map((kind) => el(line, 'span', { class: kind })));
    this.lines[3].className = 'vv-muted';
    this.pinned = [0.5, 0.5];
    this.query = null;
    this.key = null;
    this.active = 0;
  }

  listen() {
    gridNavigation(this.lens.map.node, {
      label: 'Enlarged map: similarity to every position; Enter selects the position',
      grid: () => this.panels[this.active].grid,
      start: () => this.queryOf(this.active),
      cellAt: (x, y) => {
        const [rows, cols] = this.panels[this.active].grid;
        const cell = Math.floor((this.lens.width - HEADINGS) / cols);
        return evenCell(x - HEADINGS, y - HEADINGS, { width: cell * cols, height: cell * rows }, rows, cols);
      },
      hover: (j, event) => {
        this.key = j < 0 ? null : centreOf(this.panels[this.active].grid, j);
        const text = this.drawAll();
        if (j >= 0 && event?.type === 'keydown') this.say(text);
      },
      pick: (j) => this.pin(centreOf(this.panels[this.active].grid, j)),
    });
  }

  // ---- drawing
  /** Return panel p's maps at the timeline's place, painted if it has moved. */
  stackOf(p) {
    const codes = this.codesOf(p);
    const table = this.table(p);
    const { gain, start, lo, hi, grid } = this.panels[p];
    const mosaic = this.mosaics[p];
    if (mosaic.painted === codes && mosaic.table === table) return mosaic.stack;
    Object.assign(mosaic, { painted: codes, table, stack: TileStack.of(mosaic.stack, this.count(p), ...grid) });
    mosaic.stack.paint((image) => colour(image, codes, table, (lo - start) / gain, (hi - start) / gain));
    return mosaic.stack;
  }

  drawMosaic(p) {
    const { map, tile } = this.mosaics[p];
    const [rows, cols] = this.panels[p].grid;
    const pitch = tile + GUTTER;
    const ctx = map.size(pitch * cols - GUTTER + HEADINGS + EDGE, pitch * rows - GUTTER + HEADINGS + EDGE);
    const stack = this.stackOf(p);
    this.drawHeadings(ctx, rows, cols, pitch, tile);
    const corner = (i) => [HEADINGS + (i % cols) * pitch, HEADINGS + Math.floor(i / cols) * pitch];
    for (let i = 0; i < rows * cols; i++) stack.draw(ctx, i, ...corner(i), tile, tile);
    const around = (i, color) => frame(ctx, ...corner(i).map((at) => at - 2), tile + 4, tile + 4, color);
    if (this.key) around(this.keyOf(p), this.message.colors.primary);
    around(this.queryOf(p));
  }

  drawLens() {
    const p = this.active;
    const [rows, cols] = this.panels[p].grid;
    const i = this.queryOf(p);
    const cell = Math.floor((this.lens.width - HEADINGS) / cols);
    const ctx = this.lens.map.size(cell * cols + HEADINGS, cell * rows + HEADINGS);
    this.drawHeadings(ctx, rows, cols, cell, cell);
    this.stackOf(p).draw(ctx, i, HEADINGS, HEADINGS, cell * cols, cell * rows);
    if (cell >= 24 && !this.message.header.raw) this.writeValues(ctx, p, i, cell);
    const around = (k, color) =>
      frame(ctx, HEADINGS + (k % cols) * cell, HEADINGS + Math.floor(k / cols) * cell, cell, cell, color);
    if (this.keyOf(p) >= 0) around(this.keyOf(p), this.message.colors.primary);
    around(i);
    setText(this.lens.title, `Position ${this.place(p, i)}, enlarged`);
    setText(this.lens.note, this.panels.length > 1 ? this.panels[p].title : 'similarity to every position');
  }

  /** Writes row and column numbers along the edges, as many as fit. */
  drawHeadings(ctx, rows, cols, pitch, side) {
    const every = Math.ceil((cols > 10 ? 20 : 12) / pitch);
    const number = (at, x, y) => write(ctx, this.message.colors, at + 1, x, y, { align: 'center' });
    for (let c = 0; c < cols; c += every) number(c, HEADINGS + c * pitch + side / 2, HEADINGS / 2 - 2);
    for (let r = 0; r < rows; r += every) number(r, HEADINGS / 2 - 2, HEADINGS + r * pitch + side / 2);
  }

  writeValues(ctx, p, i, cell) {
    const [rows, cols] = this.panels[p].grid;
    const { lo, hi } = this.panels[p];
    ctx.font = `12px ${this.message.colors.font}`;
    for (let k = 0; k < rows * cols; k++) {
      const v = this.value(p, i, k);
      ctx.fillStyle = inkOn(this.table(p), (v - lo) / (hi - lo));
      const text = signed(v, cell >= 30 ? 2 : 1).replace(/^(−?)0\./, '$1.');
      ctx.fillText(text, HEADINGS + ((k % cols) + 0.5) * cell, HEADINGS + (Math.floor(k / cols) + 0.5) * cell);
    }
  }

  drawPhoto() {
    const side = this.photo.wanted;
    const { colors } = this.message;
    const i = this.queryOf(this.active);
    const j = this.keyOf(this.active);
    const cells = [...(j < 0 ? [] : [[j, colors.primary]]), [i]];
    const drawn = [side, window.devicePixelRatio, this.active, cells].join();
    if (this.photo.drawn === drawn && this.photo.image === this.image) return;
    Object.assign(this.photo, { drawn, image: this.image });
    drawHighlighted(this.photo, this.image, side, this.panels[this.active].grid, cells);
    const places = cells.map(([cell]) => this.place(this.active, cell)).join(' and ');
    this.photo.node.setAttribute('aria-label', `Image with highlighted positions: ${places}`);
  }

  drawScale(p) {
    const { raw, unit } = this.message.header;
    const { lo, hi } = this.panels[p];
    const word = (v) => (raw ? v.toPrecision(2) : signed(v));
    legend(this.mosaics[p].scale, {
      table: this.table(p),
      width: this.mosaics[p].map.width,
      left: HEADINGS,
      words: [word(lo), lo < 0 ? '0' : '', `${unit} ${word(hi)}`],
      colors: this.message.colors,
      label: `Colour scale of ${this.panels[p].title}: ${unit} from ${word(lo)} to ${word(hi)}`,
    });
  }

  drawRead() {
    const p = this.active;
    const i = this.queryOf(p);
    const j = this.keyOf(p);
    const [, cols] = this.panels[p].grid;
    const isAlone = j < 0;
    for (const line of this.lines.slice(1)) line.hidden = isAlone;
    if (isAlone) {
      setText(this.lines[0], 'Only one position: nothing to compare.');
      return this.lines[0].textContent;
    }
    const apart = Math.hypot(Math.floor(j / cols) - Math.floor(i / cols), (j % cols) - (i % cols));
    const chosen = this.key || (!this.query && this.message.header.key);
    const between = `Positions ${this.place(p, i)} and ${this.place(p, j)}: ${chosen ? '' : 'most alike, '}`;
    const patches = `${apart.toFixed(apart % 1 ? 2 : 0)} ${apart === 1 ? 'patch' : 'patches'}`;
    setText(this.lines[0], `${between}${patches} apart`);
    this.values.forEach(([value, name], k) => {
      const panel = this.panels[k];
      const title = this.panels.length > 1 ? panel?.title : this.message.header.unit;
      setText(value, panel ? this.similarityOf(k, j) : '');
      setText(name, panel ? ` ${title}${this.placesIn(k, j)}` : '');
    });
    setText(this.lines[3], this.message.header.raw ? RAW : COSINE);
    const values = this.panels.map((panel, k) => `${panel.title} ${this.similarityOf(k, j)}`);
    return `${this.lines[0].textContent}: ${values.join(', ')}`;
  }

  /** Name the query's and position j's places in panel k if its grid is another than the active panel's. */
  placesIn(k, j) {
    const [grid, active] = [k, this.active].map((p) => this.panels[p].grid);
    if (String(grid) === String(active)) return '';
    const [a, b] = [this.queryOf(k), cellAt(grid, centreOf(active, j))].map((cell) => this.place(k, cell));
    return a === b ? `: both in ${a}` : `: ${a} and ${b}`;
  }

  drawTime() {
    this.time.draw();
    this.mosaics.forEach(({ title, note }, p) => {
      setText(title, this.panels[p].title);
      nameGrid(this.mosaics[p].map.node, `${title.textContent}: one map of similarities per position`);
      setText(note, [this.panels[p].note, this.momentWords(p)].filter(Boolean).join(' · '));
    });
    this.told.style.display = this.frames > 1 ? '' : 'none';
    setText(this.told, this.moving >= 0 ? (this.panels[this.moving].told[this.frameOf(this.moving)] ?? '') : '');
  }

  drawAll() {
    this.mosaics.forEach((_, p) => this.drawMosaic(p));
    this.drawTime();
    this.drawLens();
    this.drawPhoto();
    return this.drawRead();
  }

  // ---- pointing
  fineCell(p, px, py) {
    const { tile } = this.mosaics[p];
    const [rows, cols] = this.panels[p].grid;
    const [x, y] = [px - HEADINGS, py - HEADINGS];
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
    this.message.header.key = null;
    this.drawAll();
    this.trigger('pin', place);
  }

  addMosaic(p) {
    const box = el(null, 'div');
    this.stage.insertBefore(box, this.lens.box);
    const mosaic = {
      box,
      tile: 8,
      title: el(box, 'div', { class: 'sim-title' }),
      note: el(box, 'div', { class: 'sim-note' }),
      map: canvas(box, { class: 'sim-map' }),
      scale: canvas(box, { role: 'img', class: 'sim-scale' }),
    };
    gridNavigation(mosaic.map.node, {
      label: `Panel ${p + 1}: one map of similarities per position`,
      grid: () => this.panels[p].grid,
      start: () => this.queryOf(p),
      cellAt: (x, y) => this.fineCell(p, x, y)?.tile ?? -1,
      hover: (i, event) => {
        if (i < 0) {
          this.query = this.key = null;
          return this.drawAll();
        }
        const under = event?.offsetX !== undefined ? this.fineCell(p, event.offsetX, event.offsetY) : null;
        this.active = p;
        this.query = centreOf(this.panels[p].grid, i);
        this.key = under?.key ?? null;
        const text = this.drawAll();
        if (!under && text) this.say(text);
      },
      pick: (i) => this.pin(centreOf(this.panels[p].grid, i)),
    });
    return mosaic;
  }

  update(message, fresh) {
    this.message = message;
    const { panels } = message.header;
    this.setPanels(
      panels,
      panels.map((_, p) => message.arrays[`similarity${p}`]),
    );
    if (fresh) this.load(message);
    this.layOut(message.width);
    this.drawAll();
    this.panels.forEach((_, p) => this.drawScale(p));
  }

  load({ header, arrays }) {
    this.time.stop();
    this.time.at = header.frame;
    this.image = arrays.shown ? picture(arrays.shown) : null;
    this.pinned = header.pin;
    this.query = this.key = null;
    this.active = Math.min(header.active ?? 0, this.panels.length - 1);
    setCount(this.mosaics, this.panels.length, (p) => this.addMosaic(p));
    this.mosaics.forEach((mosaic) => Object.assign(mosaic, { painted: null }));
  }

  layOut(width) {
    const shown = this.panels.length;
    const pairs = shown > 1;
    const wide = width >= (pairs ? 720 : 640);
    // Beside a lesson two mosaics share a row, with the enlarged map below; on a phone they are stacked.
    const columns = wide ? shown + (pairs ? 1 : 0.5) : pairs && width >= 520 ? 2 : 1;
    const column = Math.floor((width - 1 - GAP * (Math.ceil(columns) - 1)) / columns);
    this.mosaics.forEach((m, p) => {
      const cols = this.panels[p].grid[1];
      m.tile = Math.max(3, Math.floor((Math.min(column, grown(560)) - HEADINGS - EDGE - GUTTER * (cols - 1)) / cols));
      m.box.style.width = `${columns > 1 ? column : width}px`;
    });
    const { lens } = this;
    const beside = Math.min(width - column - GAP - 1, grown(420));
    lens.width = wide && !pairs ? beside : columns > 1 ? column : width;
    lens.box.style.width = `${lens.width}px`;
    this.left.style.width = `${wide ? width - lens.width - GAP - 1 : width}px`;
    this.right.style.width = `${lens.width}px`;
    this.photo.wanted = Math.min(grown(250), lens.width);
  }
}

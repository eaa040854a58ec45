// A table of position encodings: rows are positions, columns are dimensions. Beside it are the selected cell's formula
// and its column as a wave over the positions; above it is the wavelength of every column.

import { fill, frame, outline, write } from '../../../vitviz/browser/kit/axes.js';
import { drawHighlighted } from './similarity_view.js';
import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';
import { DIVERGING_LUT, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { counted } from '../../../vitviz/browser/kit/text.js';

const AXIS = 34;
const STRIP = 68;
const WAVE = 96;

function number(value, digits = 3) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  return (
    sign +
    (size >= 1e5 || size < 1e-3
      ? size.toExponential(1)
      : Number(size.toPrecision(size >= 1000 ? 5 : digits + (size >= 100 ? 1 : 0))).toString())
  );
}

export default class TableView {
  constructor({ root }) {
    this.root = root;
    this.stage = el(this.root, 'div', { class: 'pt-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div');
    this.stripLabel = el(this.left, 'div', { class: 'pt-label' });
    this.strip = canvas(this.left, { role: 'img' });
    this.map = canvas(this.left, { class: 'pt-map' });
    this.scale = canvas(this.left, { role: 'img' });
    this.head = el(this.right, 'div', { class: 'pt-head' });
    this.formula = el(this.right, 'div', { class: 'pt-formula' });
    this.waveLabel = el(this.right, 'div', { class: 'pt-label' });
    this.wave = canvas(this.right, { role: 'img' });
    this.row = el(this.right, 'div', { class: 'pt-photo' });
    this.photo = canvas(this.row, { role: 'img' });
    this.photoNote = el(this.row, 'div', { class: 'pt-label' });
    this.say = live(this.root);
    this.cell = null;
    gridNavigation(this.map.node, {
      label: 'Table of positions by dimensions',
      grid: () => [this.N, this.D],
      start: () => this.cell[0] * this.D + this.cell[1],
      cellAt: (x, y) => {
        const [width, height] = this.map.wanted;
        return evenCell(x - AXIS, y, { width: width - AXIS, height }, this.N, this.D);
      },
      hover: (i, event) => {
        if (i < 0) return; // the last cell stays selected, so that its formula can be read
        this.cell = [Math.floor(i / this.D), i % this.D];
        this.drawAll();
        if (event?.type === 'keydown') this.say(`${this.head.textContent}: ${this.formula.textContent}`);
      },
    });
  }

  exponent(k) {
    return this.message.arrays.exponents.data[k];
  }

  value(p, k) {
    return this.message.arrays.values.data[p * this.D + k];
  }

  place(p) {
    return [Math.floor(p / this.message.header.grid[1]), p % this.message.header.grid[1]];
  }

  wavelength(k) {
    return 2 * Math.PI * this.message.header.base ** this.exponent(k);
  }

  /** The formula of a cell, in symbols and in numbers, with its value. */
  formulaOf(p, k) {
    const { header } = this.message;
    const { kind, base } = header;
    const [r, c] = this.place(p);
    const d = this.D;
    const v = number(this.value(p, k), 4);
    if (kind === 'none') return 'No encoding is added: every value is 0.\nThe model does not know where a patch was.';
    if (kind === 'random') return `PE[${p}, ${k}] = ${v}\ndrawn from a normal distribution, not trained`;
    if (kind === 'learned') return `E_pos[${p}, ${k}] = ${v}\na parameter, learned by gradient descent`;
    if (kind === 'pixels')
      return `PE[${p}, ${k}] = ${v}\na second linear map of the patch's pixels, without position information`;
    if (kind === 'rotary') {
      const pair = k % (d / 2);
      const [axis, at, side] = pair < d / 4 ? ['row', r, header.grid[0]] : ['column', c, header.grid[1]];
      const name = k < d / 2 ? 'cos' : 'sin';
      const centre = number((2 * (at + 0.5)) / side - 1, 4);
      return `pair ${pair} of q and k turns with the ${axis}:\n${name}(2π · ${axis} · ${base}^(−j/(D/4))),  j = ${pair % (d / 4)}\n= ${name}(2π · ${centre} · ${base}^(−${pair % (d / 4)}/${d / 4}))\n= ${v}`;
    }
    const f = base ** this.exponent(k);
    const scaled = number(f, 4);
    if (kind === 'sincos_2d_concat') {
      const quarter = d / 4;
      const part = Math.floor(k / quarter);
      const name = part % 2 ? 'cos' : 'sin';
      const axis = part < 2 ? 'column' : 'row';
      const at = part < 2 ? c : r;
      return `${name}(${axis} / ${base}^(j/(D/4 − 1))),  j = ${k % quarter}\n= ${name}(${at} / ${base}^(${k % quarter}/${quarter - 1}))\n= ${name}(${at} / ${scaled}) = ${name}(${number(at / f, 4)})\n= ${v}`;
    }
    const name = k % 2 ? 'cos' : 'sin';
    const top = kind === 'slip' ? k : k - (k % 2);
    const power = `${base}^(${kind === 'slip' ? 'k' : '2i'}/D)`;
    if (kind === 'sincos_2d_sum') {
      const fn = k % 2 ? Math.cos : Math.sin;
      return `${name}(row / ${power}) + ${name}(column / ${power})\n= ${name}(${r} / ${base}^(${top}/${d})) + ${name}(${c} / ${base}^(${top}/${d}))\n= ${name}(${number(r / f, 4)}) + ${name}(${number(c / f, 4)})\n= ${number(fn(r / f), 4)} + ${number(fn(c / f), 4)} = ${v}`;
    }
    return `${name}(p / ${power})\n= ${name}(${p} / ${base}^(${top}/${d}))\n= ${name}(${p} / ${scaled}) = ${name}(${number(p / f, 4)})\n= ${v}`;
  }

  drawMap() {
    const { colors } = this.message;
    const [p, k] = this.cell;
    const width = this.map.wanted[0];
    const height = this.map.wanted[1];
    const ctx = this.map.size(width, height + AXIS);
    const w = (width - AXIS) / this.D;
    const h = height / this.N;
    blit(ctx, this.image, AXIS, 0, width - AXIS, height);
    const ticks = (count, room) => {
      const s = Math.ceil(count / Math.max(2, room / 44));
      return Array.from({ length: Math.ceil(count / s) }, (_, i) => i * s);
    };
    for (const t of ticks(this.N, height)) write(ctx, colors, t + 1, AXIS - 6, (t + 0.5) * h, { align: 'right' });
    const below = { align: 'center', base: 'top' };
    for (const t of ticks(this.D, width - AXIS)) write(ctx, colors, t + 1, AXIS + (t + 0.5) * w, height + 4, below);
    write(ctx, colors, 'dimension', AXIS + (width - AXIS) / 2, height + 18, below);
    write(ctx, colors, 'position', 6, height / 2, { align: 'center', turn: -Math.PI / 2 });
    outline(ctx, colors.ink, 1.5, AXIS, p * h - 0.75, width - AXIS, h + 1.5);
    outline(ctx, colors.ink, 1.5, AXIS + k * w - 0.75, 0, w + 1.5, height);
    frame(ctx, AXIS + k * w - 3, p * h - 3, w + 6, h + 6);
  }

  drawStrip() {
    const has = this.message.arrays.exponents.data.some((e) => e >= 0);
    this.strip.node.style.display = has ? '' : 'none';
    this.stripLabel.textContent = has
      ? 'Wavelength of each dimension, positions (log scale)'
      : 'Rows are positions, columns are dimensions';
    if (!has) return;
    const { colors } = this.message;
    const width = this.map.wanted[0];
    const ctx = this.strip.size(width, STRIP);
    const k = this.cell[1];
    const w = (width - AXIS) / this.D;
    const all = Array.from({ length: this.D }, (_, i) => Math.log10(this.wavelength(i)));
    const low = Math.min(...all);
    const high = Math.max(...all, low + 1e-6);
    const y = (v) => STRIP - 20 - ((v - low) / (high - low)) * (STRIP - 32);
    const top = 10 ** high >= 1000 ? `${Math.round(10 ** high / 1000)}k` : number(10 ** high, 2);
    write(ctx, colors, number(10 ** low, 2), AXIS - 6, STRIP - 20, { align: 'right' });
    write(ctx, colors, top, AXIS - 6, 12, { align: 'right' });
    all.forEach((v, i) => fill(ctx, colors.primary, AXIS + i * w, y(v) - 1.5, Math.max(1, w - 0.5), 3));
    fill(ctx, colors.ink, AXIS + k * w - 1, y(all[k]) - 3, Math.max(4, w + 2), 6);
    this.strip.node.setAttribute(
      'aria-label',
      `Wavelengths from ${number(10 ** low)} to ${counted(Math.round(10 ** high))} positions`,
    );
  }

  drawWave() {
    const { colors, header } = this.message;
    const [p, k] = this.cell;
    const width = this.right.wanted;
    const count = this.N;
    const domains = { x: [0, Math.max(1, count - 1)], y: [-header.peak, header.peak] };
    const plot = new Plot(this.wave.size(width, WAVE), colors, [8, width - 8, 10, WAVE - 10], domains);
    plot.level(0, colors.line);
    const points = Array.from({ length: count }, (_, i) => [i, this.value(i, k)]);
    plot.line(points, 0, { color: colors.primary, width: 2 });
    plot.dot(plot.x(p), plot.y(this.value(p, k)), 5, colors.ink);
    const length = this.exponent(k) >= 0 ? `, wavelength ${number(this.wavelength(k), 3)} positions` : '';
    this.waveLabel.textContent = `Dimension ${k + 1} over the ${count} positions${length}`;
    this.wave.node.setAttribute('aria-label', this.waveLabel.textContent);
  }

  drawPhoto() {
    const side = 120;
    const { grid } = this.message.header;
    const [p] = this.cell;
    const [r, c] = this.place(p);
    drawHighlighted(this.photo, this.photoImage, side, grid, [[p]]);
    this.photoNote.textContent = `Position ${p + 1} is the patch in row ${r + 1}, column ${c + 1} of the ${grid[0]} × ${grid[1]} grid.`;
    this.photo.node.setAttribute('aria-label', this.photoNote.textContent);
  }

  drawAll() {
    const [p, k] = this.cell;
    this.head.textContent = `Position ${p + 1}, dimension ${k + 1} (p = ${p}, k = ${k})`;
    this.formula.textContent = this.formulaOf(p, k);
    this.drawMap();
    this.drawStrip();
    this.drawWave();
    this.drawPhoto();
  }

  update(message, fresh) {
    this.message = message;
    [this.N, this.D] = message.arrays.values.shape;
    if (fresh) this.load(message);
    const wide = message.width >= 640;
    const rightWidth = wide ? Math.floor((message.width - 24) / 3) : message.width;
    const width = wide ? message.width - rightWidth - 25 : message.width; // 25: the root may be up to 1 px narrower
    const height = Math.round(Math.min(560, Math.max(160, (1.35 * this.N * (width - AXIS)) / this.D)));
    this.map.wanted = [width, height];
    this.left.style.width = `${width}px`;
    this.right.style.width = `${rightWidth}px`;
    this.right.wanted = rightWidth;
    const { peak } = message.header;
    legend(this.scale, {
      table: DIVERGING_LUT,
      width: Math.min(320, width),
      left: AXIS,
      words: [`−${number(peak, 2)}`, '0', number(peak, 2)],
      colors: message.colors,
      label: `Colour scale from −${number(peak)} to ${number(peak)}, neutral at zero`,
    });
    this.drawAll();
  }

  load({ header, arrays }) {
    this.image = heat(arrays.values.data, this.N, this.D, DIVERGING_LUT, -header.peak, header.peak);
    this.photoImage = picture(arrays.shown);
    this.cell = [Math.min(header.position, this.N - 1), Math.min(this.cell?.[1] ?? 2, this.D - 1)];
  }
}

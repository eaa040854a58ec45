// Draw a term's panels side by side; the token under the pointer is marked in all of them.

import { fill, frame, lattice, outline, write } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { blit, drawPatch, heat, photo } from '../../vitviz/browser/kit/pixels.js';
import {
  DIVERGING_LUT,
  PALETTE,
  SEQUENTIAL_LUT,
  accentLut,
  greatest,
  veil,
} from '../../vitviz/browser/kit/colour_ramp.js';
import { Plot } from '../../vitviz/browser/kit/plot.js';
import { brief, patchName, signed, tokenName } from '../../vitviz/browser/kit/text.js';

const GAP = 40;
const WIDEST = 420;
const NARROWEST = 200;
const BAND = 20; // of the lit row, enlarged
const ROW = 22; // of a bar

export default class TermPicture {
  constructor({ root }) {
    this.box = el(root, 'div', { class: 'tp' });
    this.name = el(root, 'p', { class: 'tp-name vv-muted' });
    this.say = live(root);
    this.photo = photo(root);
    this.panels = [];
  }

  update(message, fresh) {
    this.message = message;
    const { header, width } = message;
    if (fresh) this.token = header.token;
    const count = header.panels.length;
    const columns = Math.max(1, Math.min(count, Math.floor((width + GAP) / (NARROWEST + GAP))));
    this.side = Math.min(WIDEST, Math.floor((width - (columns - 1) * GAP) / columns));
    const wide = header.panels.filter(({ kind, square }) => kind === 'matrix' && !square).length;
    this.wide = this.side + (columns < count || !wide ? 0 : (width - count * (this.side + GAP) + GAP) / wide);
    if (fresh) this.build();
    this.photo.show(message, () => this.draw());
    this.draw();
  }

  build() {
    this.box.replaceChildren();
    this.link = el(this.box, 'i', { class: 'tp-link' });
    this.panels = this.message.header.panels.map((panel, number) => {
      const box = el(this.box, 'figure', { class: 'tp-panel' });
      el(box, 'figcaption', {}, panel.title);
      const view = canvas(box);
      const note = el(box, 'div', { class: 'tp-note vv-muted' });
      const follows = panel.kind === 'image' || panel.kind === 'patch' || panel.lit;
      const part = { ...panel, view, note, values: this.message.arrays[`p${number}`] };
      if (follows && panel.kind !== 'patch' && !panel.mutual) this.follow(part);
      else view.node.setAttribute('role', 'img');
      return part;
    });
  }

  /** Let the pointer and the arrow keys choose the token on an image or on a matrix with a row per token. */
  follow(part) {
    const { grid, prefix, token } = this.message.header;
    const isImage = part.kind === 'image';
    const first = isImage || part.patches ? prefix.length : 0;
    gridNavigation(part.view.node, {
      label: part.title,
      grid: () => (isImage ? grid : [part.shape[0], 1]),
      start: () => Math.max(0, token - first),
      hover: (index, event) => {
        this.token = index < 0 ? token : index + first;
        this.draw();
        if (event?.type === 'keydown') this.say(this.describe());
      },
    });
  }

  describe() {
    return `${this.tokenName()}. ${this.panels.map(({ note }) => note.textContent).join(' ')}`;
  }

  draw() {
    const draw = {
      image: drawImage,
      patch: drawPixels,
      matrix: drawMatrix,
      tiles: drawTiles,
      bars: drawBars,
      curve: drawCurve,
    };
    for (const part of this.panels) {
      const text = draw[part.kind](this, part);
      part.note.textContent = text;
      if (part.view.node.getAttribute('role') === 'img')
        part.view.node.setAttribute('aria-label', `${part.title}. ${text}`);
    }
    this.drawLink();
    const follows = this.panels.some(({ kind, lit }) => lit || kind === 'image' || kind === 'patch');
    this.name.textContent = follows ? `Shown for ${this.tokenName()}. Point at another.` : '';
  }

  /** Draw a line from the patch in the image to its row in the first matrix, if both stand side by side. */
  drawLink() {
    const [from, to] = [this.panels[0], this.panels.find(({ rowAt }) => rowAt)];
    const isShown = to && from.kind === 'image' && this.patch >= 0;
    const [rows, cols] = this.message.header.grid;
    const [a, b] = [from, to ?? from].map(({ view: { node } }) => [node.offsetLeft, node.offsetTop]);
    this.link.hidden = !isShown || a[0] >= b[0];
    if (this.link.hidden) return;
    const [patchWide, patchHigh] = [this.side / cols, from.view.node.clientHeight / rows];
    const x = a[0] + ((this.patch % cols) + 1) * patchWide;
    const y = a[1] + (Math.floor(this.patch / cols) + 0.5) * patchHigh;
    const [across, down] = [b[0] - x, b[1] + to.rowAt - y];
    const turned = `translate(${x}px, ${y}px) rotate(${Math.atan2(down, across)}rad)`;
    Object.assign(this.link.style, { width: `${Math.hypot(across, down)}px`, transform: turned });
  }

  tokenName() {
    const { prefix, grid } = this.message.header;
    return this.token < prefix.length ? tokenName(prefix[this.token]) : patchName(this.patch, grid[1]);
  }

  /** The token's patch, negative for a prefix token. */
  get patch() {
    return this.token - this.message.header.prefix.length;
  }

  /** Return the values of a panel that belong to the token, or its only ones. */
  entry({ values: { data, shape } }) {
    const size = data.length / shape[0];
    const at = Math.min(this.token, shape[0] - 1);
    return data.subarray(at * size, (at + 1) * size);
  }

  table(ramp) {
    if (ramp === 'attention') return accentLut(this.message.colors.query);
    return ramp ? SEQUENTIAL_LUT : DIVERGING_LUT;
  }
}

function drawImage(picture, part) {
  const { header, colors } = picture.message;
  const [rows, cols] = header.grid;
  const [wide, high] = [picture.side, Math.round((picture.side * rows) / cols)];
  const { bitmap } = picture.photo;
  const ctx = part.view.size(wide, high);
  const values = part.values.data.length ? picture.entry(part) : null;
  if (bitmap) {
    ctx.save();
    ctx.filter = values ? 'grayscale(1) contrast(0.8)' : 'none';
    if (part.mutual) ctx.transform(-1, 0, 0, 1, wide, 0); // the mirrored image
    blit(ctx, bitmap, 0, 0, wide, high, bitmap.width >= 128);
    ctx.restore();
  }
  if (values) {
    const most = part.most ?? greatest(values);
    const ramp = part.signed ? [veil(230), -most, most] : [accentLut(colors.query), 0, most];
    blit(ctx, heat(values, rows, cols, ...ramp), 0, 0, wide, high);
  } else lattice(ctx, 'rgb(255 255 255 / 0.4)', 1, rows, cols, wide, high);
  const at = part.mutual ? values.indexOf(Math.max(...values)) : picture.patch;
  if (at >= 0) frame(ctx, ((at % cols) * wide) / cols, (Math.floor(at / cols) * high) / rows, wide / cols, high / rows);
  if (!values) return `${rows} × ${cols} patches`;
  if (part.mutual) {
    const back = part.mutual.includes(picture.patch) ? 'mutual nearest neighbours' : 'not mutual: it has a nearer one';
    return `nearest: patch ${at + 1}, ${signed(values[at])}; ${back}`;
  }
  const here = at >= 0 ? `here ${signed(values[at], 3)}, ` : '';
  return `${here}largest ${signed(Math.max(...values), 3)}`;
}

function drawPixels(picture, part) {
  const side = Math.min(picture.side, 200);
  const ctx = part.view.size(side, side);
  const { bitmap } = picture.photo;
  const [rows, cols] = picture.message.header.grid;
  if (!bitmap || picture.patch < 0) return 'no pixels belong to this token';
  const [w, h] = [bitmap.width / cols, bitmap.height / rows];
  drawPatch(ctx, bitmap, [rows, cols], picture.patch, [0, 0, side, side]);
  return `${Math.round(h)} × ${Math.round(w)} pixels`;
}

function drawMatrix(picture, part) {
  const { data, shape } = part.values;
  const [rows, cols] = shape;
  const row = part.lit ? picture.token - (part.patches ? picture.message.header.prefix.length : 0) : -1;
  const wide = part.square ? picture.side : picture.wide;
  const band = part.lit && !part.square ? BAND + 8 : 0;
  const high = part.square ? wide : Math.min(picture.side - band, Math.max(rows * 20, 24));
  const ctx = part.view.size(wide, high + band);
  const most = part.ramp ? greatest(data) : bound(data);
  const image = heat(data, rows, cols, picture.table(part.ramp), part.ramp ? 0 : -most, most);
  fill(ctx, picture.message.colors.panel, 0, 0, wide, high);
  blit(ctx, image, 0, 0, wide, high);
  const key = part.ramp ? '' : '; blue negative, orange positive';
  const size = `${part.shape[0]} × ${part.shape[1]}${key}`;
  if (part.ramp === 'regions') return `${rows} × ${cols} patches, ${new Set(data).size} groups`;
  if (row < 0) return size;
  if (band) ctx.drawImage(image, 0, row, cols, 1, 0, high + 8, wide, BAND);
  outline(ctx, picture.message.colors.ink, 2, 1, (row * high) / rows - 1, wide - 2, high / rows + 2);
  part.rowAt = ((row + 0.5) * high) / rows;
  const numbers = [...data.subarray(row * cols, row * cols + 3)].map((value) => signed(value)).join(', ');
  return `${size}; ${picture.tokenName().split(' (')[0]}: ${numbers}, …`;
}

/** Return the end of a matrix's colours: 99 % of its values lie within, so that few large ones do not fade the rest. */
function bound(data) {
  const sorted = data.map(Math.abs).sort();
  return sorted[Math.floor(0.99 * (sorted.length - 1))] || 1;
}

function drawTiles(picture, part) {
  const { shape } = part.values;
  const [count, rows, cols] = shape.slice(1);
  const values = picture.entry(part);
  const across = count > 9 ? 6 : Math.min(count, count > 4 ? 4 : 2);
  const room = count > 9 ? Math.min(picture.message.width, 560) : picture.side;
  const size = Math.floor((room - (across - 1) * 8) / across);
  const high = Math.round((size * rows) / cols);
  const label = count > 9 ? 0 : 16;
  const down = Math.ceil(count / across);
  const ctx = part.view.size(room, down * (high + label + 8) - 8);
  const { colors } = picture.message;
  for (let tile = 0; tile < count; tile++) {
    const [x, y] = [(tile % across) * (size + 8), Math.floor(tile / across) * (high + label + 8)];
    const own = values.subarray(tile * rows * cols, (tile + 1) * rows * cols);
    const most = greatest(own);
    fill(ctx, colors.panel, x, y, size, high);
    const table = picture.table(part.signed ? '' : 'attention');
    blit(ctx, heat(own, rows, cols, table, part.signed ? -most : 0, most), x, y, size, high);
    const at = picture.patch;
    if (!part.signed && at >= 0)
      frame(ctx, x + ((at % cols) * size) / cols, y + (Math.floor(at / cols) * high) / rows, size / cols, high / rows);
    if (label) write(ctx, colors, part.names[tile], x, y + high + 2, { style: '13px', base: 'top' });
  }
  return `${count === 1 ? '' : `${count} maps of `}${rows} × ${cols}, each on its own scale`;
}

function drawBars(picture, part) {
  const values = picture.entry(part);
  const { colors } = picture.message;
  const ctx = part.view.size(picture.side, values.length * ROW);
  const named = 84;
  const most = Math.max(...values, 0) || 1;
  const least = Math.min(...values, 0);
  const scale = (value) => named + ((value - least) / (most - least)) * (picture.side - named - 48);
  const style = { style: '13px', color: colors.ink };
  values.forEach((value, i) => {
    const y = i * ROW + ROW / 2;
    const [left, right] = [scale(0), scale(value)].sort((a, b) => a - b);
    fill(ctx, PALETTE.FAMILIES.vit, left, y - 7, right - left, 14);
    write(ctx, colors, part.names[i], 0, y, style);
    write(ctx, colors, signed(value), right + 5, y, style);
  });
  const best = values.indexOf(Math.max(...values));
  return `largest: ${part.names[best]}, ${signed(values[best])}`;
}

function drawCurve(picture, part) {
  const { data, shape } = part.values;
  const { colors, width } = picture.message;
  const wide = Math.min(width, 640);
  const ctx = part.view.size(wide, 340);
  const [x, y] = [data.subarray(0, shape[1]), data.subarray(shape[1])];
  const ends = (values) => [Math.min(...values), Math.max(...values)];
  const right = wide - (part.names[0] ? 76 : 12);
  const plot = new Plot(ctx, colors, [44, right, 12, 308], { x: ends(x), y: ends(y) });
  plot.axisY(plot.y.ticks(4), brief);
  plot.axisX(plot.x.ticks(5), brief);
  part.names.forEach((name, number) => {
    const line = y.subarray(number * shape[1], (number + 1) * shape[1]);
    const color = number ? colors.ink : PALETTE.FAMILIES.vit;
    const points = Array.from(x, (value, i) => [value, line[i]]);
    plot.line(points, 0, { color, width: 2 });
    plot.text(name, right + 6, plot.y(line.at(-1)), { color, align: 'left' });
  });
  return '';
}

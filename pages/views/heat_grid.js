// Draw panels of cells, over images or alone, from one message (vitviz/plots/heat_grid.py). The pointer reads a cell in
// all panels of its grid; a click pins a patch.

import { CellFrame } from '../../vitviz/browser/kit/cell_frame.js';
import {
  DIVERGING_LUT,
  PALETTE,
  SEQUENTIAL_LUT,
  accentLut,
  inkOn,
  legend,
  veil,
} from '../../vitviz/browser/kit/colour_ramp.js';
import { canvas, el, live } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { pinOf } from '../../vitviz/browser/kit/pin.js';
import { heat, offscreen, photo } from '../../vitviz/browser/kit/pixels.js';
import { nameCell, signed } from '../../vitviz/browser/kit/text.js';

const VEIL = 200; // the opacity of a signed value over an image, of 255
const NUMBER_PX = 36; // of a cell that also shows its value as text
const NAME_PX = 15; // of a cell beside which its name fits
const DECADES = 4; // of a logarithmic ramp
const LONG_NAME = 3; // characters from which the names of columns are written upright

/** Return the table from one accent colour through clear to another, for signed weights over a grey image. */
function accents(below, above) {
  const table = new Uint8ClampedArray(1024);
  const [low, high] = [below, above].map(accentLut);
  for (let i = 0; i < 256; i++) {
    const level = Math.min(255, Math.round(Math.abs(i - 127.5) * 2));
    table.set((i < 128 ? low : high).subarray(4 * level, 4 * level + 4), 4 * i);
  }
  return table;
}

/** Return a panel's colours and the values of its ramp's ends. */
function rampOf({ ramp, photo: behind, low, high }, colors) {
  if (ramp === 'amount') return [SEQUENTIAL_LUT, low, high];
  if (ramp === 'decades') return [SEQUENTIAL_LUT, Math.log10(high) - DECADES, Math.log10(high)];
  if (ramp === 'accent') return [accents(PALETTE.DIVERGING.light[0], colors.query), -high, high];
  return [behind === null ? DIVERGING_LUT : veil(VEIL), -high, high];
}

function shown(value, digits) {
  if (digits !== null) return signed(value, digits);
  return value === 0 || Math.abs(value) >= 0.001 ? signed(value, value ? 3 : 0) : value.toExponential(1);
}

export default class HeatGrid {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, panels: [], photos: [], message: null, built: '', pointed: null });
    this.page = el(root, 'div', { class: 'hg' });
    this.foot = el(root, 'div', { class: 'hg-foot' });
    this.scale = canvas(this.foot);
    this.announce = live(root);
  }

  // ---- what the panels hold
  get header() {
    return this.message.header;
  }

  grid(index) {
    return this.header.panels[index].grid;
  }

  values(index, fact = 0) {
    const [rows, cols] = this.grid(index);
    return this.message.arrays[`values${index}`]?.data.subarray(fact * rows * cols, (fact + 1) * rows * cols);
  }

  /** Return the name of a cell: its row and column, with their names if they have some. */
  nameOf(index, cell) {
    const { grid, row_names: rows, col_names: cols, axes, groups } = this.header.panels[index];
    if (this.header.ranks) return `patch ${cell + 1}`;
    if (!rows.length) return nameCell(cell, grid[1]);
    const ends = groups.map((_, g) => groups.slice(0, g + 1).reduce((sum, [, count]) => sum + count, 0));
    const groupOf = (at) => (groups.length ? `${groups[ends.findIndex((end) => at < end)][0]},` : '');
    const name = (at, names, axis) => names.length && [groupOf(at), axis, names[at]].filter(Boolean).join(' ');
    const both = [name(Math.floor(cell / grid[1]), rows, axes[0]), name(cell % grid[1], cols, axes[1])];
    return both.filter(Boolean).join(groups.length ? ' and ' : ', ');
  }

  /** Return the numbers of a cell as text. */
  read(index, cell) {
    const { facts, missing } = this.header.panels[index];
    const texts = facts.map(([name, digits, unit], k) => {
      const value = this.values(index, k)[cell];
      if (Number.isNaN(value)) return missing || `${name} –`;
      return `${name} ${shown(value, digits)}${unit}`.trimStart();
    });
    if (this.header.ranks) {
      const values = this.values(index);
      const rank = values.reduce((count, value) => count + (value > values[cell]), 1);
      texts.push(`rank ${rank} of ${values.length}`);
    }
    return `${this.nameOf(index, cell)}: ${texts.join(' · ')}`;
  }

  // ---- pointing
  /** Mark a cell, and read it in all panels of the same grid that have numbers. */
  point(index, cell, event) {
    const { panels } = this.header;
    this.pointed = [index, cell];
    const alike = panels.map(({ grid, facts }) => facts.length > 0 && String(grid) === String(panels[index].grid));
    this.panels.forEach((panel, i) => {
      const isRead = alike[i] && cell >= 0;
      panel.frame.point(this.grid(i), isRead ? cell : -1);
      panel.note.textContent = isRead ? this.read(i, cell) : panels[i].note;
    });
    this.root.dataset.cell = `${index}:${cell}`;
    if (cell < 0 || event?.type !== 'keydown') return;
    const place = nameCell(cell, this.grid(index)[1]);
    const texts = this.panels.flatMap(({ note }, i) => (alike[i] ? `${panels[i].title} ${note.textContent}` : []));
    this.announce(`${place[0].toUpperCase()}${place.slice(1)}: ${texts.join('; ')}`);
  }

  /** Read the cell under the pointer in a new message, such as the answer to a click on it. */
  pointAgain(index, cell) {
    const [rows, cols] = this.grid(index);
    this.point(index, cell < rows * cols ? cell : -1);
  }

  pick(index, cell) {
    if (this.header.start !== null) this.trigger('pin', pinOf(this.grid(index), cell));
  }

  start() {
    return this.header.start ?? 0;
  }

  // ---- building
  /** Create the panels, in rows beside headings or in one row. */
  build(rows) {
    this.page.replaceChildren();
    this.page.className = `hg hg-${this.header.layout}`;
    Object.assign(this, { panels: [], pointed: null });
    for (const { title, note, count } of rows) {
      const row = el(this.page, title ? 'section' : 'div', { class: 'hg-row', ...(title && { 'aria-label': title }) });
      if (title) {
        const heading = el(row, 'div', { class: 'hg-heading' });
        el(heading, 'b', {}, title);
        el(heading, 'div', { class: 'vv-muted' }, note);
      }
      for (let i = 0; i < count; i++) this.panels.push(this.addPanel(row, this.panels.length));
    }
  }

  addPanel(row, index) {
    const figure = el(row, 'figure', { class: 'hg-panel' });
    const part = (parent, name) => el(parent, 'div', { class: name, 'aria-hidden': 'true' });
    const title = el(figure, 'figcaption', { class: 'hg-title' });
    const line = el(figure, 'div', { class: 'hg-line vv-muted' });
    const band = el(figure, 'div', { class: 'hg-band' });
    const cols = part(band, 'hg-cols');
    const rows = part(band, 'hg-rows');
    const frame = new CellFrame(band);
    const numbers = part(frame.node, 'hg-numbers');
    const groups = part(band, 'hg-groups');
    const note = el(figure, 'div', { class: 'hg-note vv-muted' });
    const pickStart = () => this.pick(index, this.start(index));
    if (this.isRead(index))
      gridNavigation(frame.node, {
        label: '',
        grid: () => this.grid(index),
        hover: (cell, event) => this.point(index, cell, event),
        pick: (cell) => this.pick(index, cell),
        start: () => this.start(index),
        keys: { Enter: pickStart, ' ': pickStart },
      });
    else frame.node.setAttribute('role', 'img');
    return { figure, title, line, cols, rows, frame, numbers, groups, note };
  }

  /** Return true if the pointer reads a panel's cells. */
  isRead(index) {
    return this.header.panels[index].facts.length > 0;
  }

  // ---- drawing
  /** Return a panel's cells as an image, null without cells. */
  paint(index) {
    const { arrays, colors } = this.message;
    const given = arrays[`colours${index}`];
    if (given) return offscreen(new ImageData(new Uint8ClampedArray(given.data), given.shape[1]));
    const panel = this.header.panels[index];
    const values = this.values(index);
    const levels = panel.ramp === 'decades' ? values.map(Math.log10) : values;
    return values ? heat(levels, ...panel.grid, ...rampOf(panel, colors)) : null;
  }

  drawPanel(index) {
    const { figure, title, line, frame, note } = this.panels[index];
    const panel = this.header.panels[index];
    const [rows, cols] = panel.grid;
    const isColumn = panel.photo === null && cols === 1;
    title.textContent = title.title = panel.title;
    line.textContent = panel.line;
    line.hidden = !panel.line;
    note.textContent = panel.note;
    figure.classList.toggle('hg-column', isColumn);
    frame.shape(panel.photo === null ? (isColumn ? [rows, 2] : [1, 1]) : this.header.photos[panel.photo].px);
    frame.image.hidden = panel.photo === null;
    const cells = this.paint(index);
    if (cells) frame.showCells(cells);
    frame.pin(...(panel.framed ?? [panel.grid, -1]));
    const keys = `Arrow keys move over the cells${this.header.start === null ? '' : ', Enter pins one'}`;
    const label = this.isRead(index) ? keys : panel.note;
    frame.node.setAttribute('aria-label', [panel.title, label].filter(Boolean).join('. '));
    this.drawNames(index);
    this.writeNumbers(index);
  }

  /** Write the names of rows and columns, as many as fit, and lines between groups of them. */
  drawNames(index) {
    const { rows, cols, groups, frame, figure } = this.panels[index];
    const panel = this.header.panels[index];
    const fill = (node, names, px) => {
      const every = Math.ceil((NAME_PX * names.length) / Math.max(px, 1));
      node.replaceChildren(...names.map((name, i) => el(null, 'span', {}, i % every ? '' : name)));
    };
    figure.classList.toggle(
      'hg-upright',
      panel.col_names.some((name) => name.length > LONG_NAME),
    );
    fill(rows, panel.row_names, frame.node.clientHeight);
    fill(cols, panel.col_names, frame.node.clientWidth);
    fill(rows, panel.row_names, frame.node.clientHeight); // without names the frame was larger
    groups.replaceChildren();
    for (const [name, count] of panel.groups) el(groups, 'span', {}, name).style.flexGrow = String(count);
    frame.node.querySelectorAll('.hg-split').forEach((node) => node.remove());
    let before = 0;
    for (const [, count] of panel.groups.slice(0, -1)) {
      before += count;
      for (const side of ['left', 'top'])
        el(frame.node, 'div', { class: `hg-split hg-${side}` }).style[side] = `${(100 * before) / panel.grid[1]}%`;
    }
  }

  /** Write the values of large cells without an image into them. */
  writeNumbers(index) {
    const { numbers, frame } = this.panels[index];
    const panel = this.header.panels[index];
    const [rows, cols] = panel.grid;
    numbers.replaceChildren();
    const isWritten =
      panel.row_names.length && cols > 1 ? frame.node.clientWidth / cols >= NUMBER_PX : panel.row_names.length;
    if (!isWritten) return;
    numbers.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${cols}, 1fr)`;
    const [table, low, high] = rampOf(panel, this.message.colors);
    for (const value of this.values(index)) {
      const text = Number.isNaN(value) ? (panel.missing ? '?' : '') : shown(value, panel.facts[0][1]);
      const node = el(numbers, 'span', {}, text);
      if (!Number.isNaN(value)) node.style.color = inkOn(table, (value - low) / (high - low));
    }
  }

  drawLegend() {
    const { legend: words, panels } = this.header;
    this.foot.hidden = !words.length;
    if (!words.length) return;
    const [table] = rampOf({ ...panels.at(-1), photo: null }, this.message.colors);
    const label = `Colour scale: ${words.filter(Boolean).join(', ')}`;
    const options = { words, colors: this.message.colors, label };
    legend(this.scale, { table, width: Math.min(this.page.clientWidth, 300), ...options });
  }

  update(message) {
    this.message = message;
    const { panels, photos, smooth, grey, layout } = this.header;
    const { rows = [{ count: panels.length }] } = this.header;
    const shape = JSON.stringify([layout, rows, panels.map((_, i) => this.isRead(i))]);
    if (shape !== this.built) this.build(rows);
    this.built = shape;
    const across = Math.max(...rows.map(({ count }) => count));
    this.page.style.setProperty('--hg-count', String(across));
    // On a phone three stand in one row, four in two.
    const least = across > 4 ? 120 : ({ 3: 100, 4: 136 }[across] ?? 168);
    this.page.style.setProperty('--hg-min', `${least}px`);
    this.page.classList.toggle('hg-smooth', smooth);
    this.page.classList.toggle('vv-grey', grey);
    panels.forEach((_, index) => this.drawPanel(index));
    if (this.pointed) this.pointAgain(...this.pointed);
    this.drawLegend();
    while (this.photos.length < photos.length) this.photos.push(photo(this.root));
    photos.forEach((kind, at) => this.showPhoto(kind, at));
    this.root.dataset.panels = String(panels.length);
  }

  showPhoto(kind, at) {
    const array = this.message.arrays[`photo${at}`];
    this.photos[at].show({ header: { photo: kind }, arrays: { photo: array } }, (bitmap) =>
      this.header.panels.forEach(({ photo: own }, index) => own === at && this.panels[index].frame.showImage(bitmap)),
    );
  }
}

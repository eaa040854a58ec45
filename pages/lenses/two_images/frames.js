// Draw images side by side with cells over them: colours or signed values. The pointer reads the cell under it, and
// marks the same cell in the other frames of an equal grid.

import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameGrid } from '../../../vitviz/browser/kit/grid.js';
import { coverOnce, photo, cover, heat, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { mark } from '../../../vitviz/browser/kit/pin.js';
import { DIVERGING_LUT, inkOn, legend, veil } from '../../../vitviz/browser/kit/colour_ramp.js';
import { nameCell, signed } from '../../../vitviz/browser/kit/text.js';

const SHOWN_ALPHA = 200; // of a signed value over an image
const MOST_NUMBERS = 96; // cells of a map that also shows its values as text

export class Frames {
  /** A view has point(side, cell, event) and nameOf(side); pin(side, cell) and start(side) are optional. */
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, frames: [], message: null });
    this.page = el(root, 'div', { class: 'ti' });
    this.row = el(this.page, 'div', { class: 'ti-row' });
    const foot = el(this.page, 'div', { class: 'ti-foot' });
    this.facts = el(foot, 'div', { class: 'ti-facts' });
    this.legend = canvas(el(foot, 'div', { class: 'ti-legend' }));
    this.announce = live(root);
  }

  add(side) {
    const figure = el(this.row, 'figure', { class: 'ti-figure' });
    const frame = { photo: photo(this.root) };
    frame.title = el(figure, 'figcaption', { class: 'ti-title' });
    frame.cols = el(figure, 'div', { class: 'ti-cols', 'aria-hidden': 'true' });
    const band = el(figure, 'div', { class: 'ti-band' });
    frame.rows = el(band, 'div', { class: 'ti-rows', 'aria-hidden': 'true' });
    frame.node = el(band, 'div', { class: 'ti-frame' });
    frame.picture = el(frame.node, 'canvas', { class: 'ti-picture', 'aria-hidden': 'true' });
    frame.cells = el(frame.node, 'canvas', { class: 'ti-cells', 'aria-hidden': 'true' });
    frame.numbers = el(frame.node, 'div', { class: 'ti-numbers', 'aria-hidden': 'true' });
    frame.pin = el(frame.node, 'div', { class: 'ti-pin', hidden: '' });
    frame.seen = el(frame.node, 'div', { class: 'ti-seen', hidden: '' });
    frame.figure = figure;
    frame.navigation = gridNavigation(frame.node, {
      label: '',
      grid: () => this.grid(side),
      hover: (cell, event) => this.point(side, cell, event),
      pick: (cell) => this.pin?.(side, cell),
      start: () => this.start?.(side) ?? 0,
    });
    frame.node.style.touchAction = 'pan-y';
    return frame;
  }

  grid(side) {
    return this.message.header.frames[side].grid;
  }

  mark(side, cell) {
    mark(this.frames[side].seen, this.grid(side), cell);
  }

  say(text, event) {
    this.facts.textContent = text;
    if (event?.type === 'keydown') this.announce(text);
  }

  update(message) {
    this.message = message;
    const { header, arrays, colors } = message;
    if (this.frames.length !== header.frames.length) {
      this.row.replaceChildren();
      this.frames = header.frames.map((_, side) => this.add(side));
    }
    this.row.classList.toggle('ti-three', header.frames.length === 3);
    header.frames.forEach((given, side) => {
      const frame = this.frames[side];
      const [rows, cols] = given.grid;
      frame.title.textContent = given.title;
      frame.title.title = given.title;
      nameGrid(frame.node, this.nameOf(side));
      const [high, wide] = given.photo?.px ?? (cols > 1 ? [1, 1] : [rows, 2]);
      frame.node.style.aspectRatio = `${wide} / ${high}`;
      frame.figure.classList.toggle('ti-bare', !given.photo);
      frame.figure.classList.toggle('ti-thin', !given.photo && cols === 1);
      frame.picture.hidden = !given.photo;
      if (given.photo)
        frame.photo.show({ header: given, arrays: { photo: arrays[`photo${side}`] } }, (bitmap) =>
          coverOnce(frame.picture, bitmap),
        );
    });
    const { legend: words } = header;
    this.legend.node.parentElement.hidden = !words.length;
    const width = Math.min(this.page.clientWidth, 300);
    if (words.length) legend(this.legend, { table: DIVERGING_LUT, width, words, colors, label: words.join(', ') });
  }
}

export default class StaticFrames extends Frames {
  nameOf = (side) => this.message.header.frames[side].title;

  point(side, cell, event) {
    const { frames } = this.message.header;
    const shape = String(frames[side].grid);
    frames.forEach((frame, other) => {
      const alike = other === side || (frame.photo && frames[side].photo && String(frame.grid) === shape);
      this.mark(other, alike && frame.facts.length ? cell : -1);
    });
    this.isRead = cell >= 0;
    this.say(this.isRead ? this.describe(side, cell) : this.rest(), event);
    this.root.dataset.cell = `${side}:${cell}`;
  }

  rest() {
    const { frames } = this.message.header;
    return `Point at a ${frames.some(({ cols }) => cols[0]) ? 'cell' : 'patch'} to read its numbers.`;
  }

  /** Return the numbers of a cell, and of the same cell in the other frames of an equal grid. */
  describe(side, cell) {
    const { header, arrays } = this.message;
    const { grid, rows, cols, facts, title } = header.frames[side];
    const place =
      rows.length && cols.length && cols[0]
        ? `layer ${rows[Math.floor(cell / grid[1])]}, head ${cols[cell % grid[1]]}`
        : rows.length
          ? rows[cell]
          : nameCell(cell, grid[1]);
    const values = facts.map(([name, digits, unit], k) => {
      const value = arrays[`values${side}`].data[k * grid[0] * grid[1] + cell];
      return `${name} ${Number.isNaN(value) ? '–' : signed(value, digits) + unit}`;
    });
    return facts.length ? `${title}: ${place} · ${values.join(' · ')}` : title;
  }

  /** Return an image of the cells: their colours, or signed values on the ramp. */
  paint(side) {
    const { header, arrays } = this.message;
    const { grid, span, photo: behind } = header.frames[side];
    const given = arrays[`colours${side}`];
    if (given) return offscreen(new ImageData(new Uint8ClampedArray(given.data), given.shape[1]));
    const table = behind ? veil(SHOWN_ALPHA) : DIVERGING_LUT; // cells without a value stay clear
    return heat(arrays[`values${side}`].data, ...grid, table, -span, span);
  }

  label(frame, given) {
    frame.cols.replaceChildren(...given.cols.map((name) => el(null, 'span', {}, name)));
    frame.rows.replaceChildren(...given.rows.map((name) => el(null, 'span', {}, name)));
  }

  /** Write the values of a small map without an image into its cells. */
  write(side) {
    const { grid, facts, photo: behind, span } = this.message.header.frames[side];
    const { numbers } = this.frames[side];
    numbers.replaceChildren();
    if (behind || grid[0] * grid[1] > MOST_NUMBERS) return;
    numbers.style.gridTemplate = `repeat(${grid[0]}, 1fr) / repeat(${grid[1]}, 1fr)`;
    const values = this.message.arrays[`values${side}`].data.subarray(0, grid[0] * grid[1]); // of the first fact
    values.forEach((value) => {
      const node = el(numbers, 'span', {}, Number.isNaN(value) ? '' : signed(value, facts[0][1]));
      node.style.color = inkOn(DIVERGING_LUT, 0.5 + value / span / 2);
    });
  }

  update(message) {
    super.update(message);
    message.header.frames.forEach((given, side) => {
      this.label(this.frames[side], given);
      this.write(side);
      cover(this.frames[side].cells, this.paint(side));
    });
    if (!this.isRead) this.say(this.rest());
    this.root.dataset.frames = String(message.header.frames.length);
  }
}

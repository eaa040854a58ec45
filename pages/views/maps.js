// Draw maps of one image side by side; the hovered patch is marked, with its value, in all of them.

import { el, live } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { coverOnce, photo } from '../../vitviz/browser/kit/pixels.js';
import { PALETTE, accentLut } from '../../vitviz/browser/kit/colour_ramp.js';
import { mark, pinOf } from '../../vitviz/browser/kit/pin.js';
import { signed } from '../../vitviz/browser/kit/text.js';

export default class Maps {
  constructor({ root, trigger }) {
    this.root = root;
    this.trigger = trigger;
    this.box = el(this.root, 'div', { class: 'am' });
    this.photo = photo(root);
    this.say = live(this.root);
    this.message = null;
    this.panels = [];
  }

  shown(value, scale) {
    if (!scale || !value) return '0';
    return Math.abs(value) >= 0.001 ? signed(value, 3) : value.toExponential(1);
  }

  mark(index, event) {
    const { grid, titles, notes, scale } = this.message.header;
    const [rows, cols] = grid;
    const maps = this.message.arrays.maps;
    const patches = rows * cols;
    this.panels.forEach((panel, m) => {
      mark(panel.mark, grid, index);
      const values = maps.data.subarray(m * patches, (m + 1) * patches);
      if (index < 0) {
        panel.note.textContent = notes[m] ?? '';
        return;
      }
      const rank = values.reduce((count, value) => count + (value > values[index]), 1);
      panel.note.textContent = `patch ${index + 1}: ${this.shown(values[index], scale[m])} · rank ${rank} of ${patches}`;
    });
    if (index >= 0 && event?.type === 'keydown')
      this.say(
        `Row ${Math.floor(index / cols) + 1}, column ${(index % cols) + 1}: ${titles.map((t, m) => `${t} ${this.panels[m].note.textContent}`).join('; ')}`,
      );
  }

  build(count) {
    if (this.panels.length === count) return;
    this.box.replaceChildren();
    this.panels = Array.from({ length: count }, () => {
      const panel = el(this.box, 'div', { class: 'am-panel' });
      const title = el(panel, 'div', { class: 'am-title' });
      const frame = el(panel, 'div', { class: 'am-frame' });
      const picture = el(frame, 'canvas', { class: 'am-picture', 'aria-hidden': 'true' });
      const cells = el(frame, 'canvas', { class: 'am-cells', 'aria-hidden': 'true' });
      const cross = el(frame, 'div', { class: 'am-mark', hidden: '' });
      const note = el(panel, 'div', { class: 'am-note vv-muted' });
      const line = el(panel, 'div', { class: 'am-line vv-muted' });
      const grid = gridNavigation(frame, {
        label: 'Map over the image',
        grid: () => this.message.header.grid,
        hover: (index, event) => this.mark(index, event),
        pick: (index) => this.trigger('pin', pinOf(this.message.header.grid, index)),
        start: () => this.message.header.start,
      });
      frame.style.touchAction = 'pan-y';
      return { title, line, frame, picture, cells, mark: cross, note, grid };
    });
  }

  update(message) {
    this.message = message;
    const { header, arrays, colors } = message;
    const [rows, cols] = header.grid;
    const patches = rows * cols;
    this.build(header.titles.length);
    const count = header.titles.length;
    const four = count === 4 && message.width >= 640;
    // Three stand in one row, on a phone too.
    this.box.style.setProperty('--am-min', `${count > 4 ? 120 : count === 3 ? 100 : four ? 136 : 168}px`);
    this.box.classList.toggle('am-grey', header.grey);
    this.box.classList.toggle('am-smooth', header.smooth);
    const [above, below] = [accentLut(colors.query), accentLut(PALETTE.DIVERGING.light[0])];
    this.panels.forEach((panel, m) => {
      panel.title.textContent = header.titles[m];
      panel.line.textContent = header.lines?.[m] ?? '';
      panel.line.hidden = !header.lines;
      panel.frame.style.aspectRatio = `${cols} / ${rows}`;
      panel.frame.setAttribute('aria-label', `${header.titles[m]}. Arrow keys move over the patches.`);
      const values = arrays.maps.data.subarray(m * patches, (m + 1) * patches);
      panel.cells.width = cols;
      panel.cells.height = rows;
      const image = panel.cells.getContext('2d').createImageData(cols, rows);
      for (let i = 0; i < patches; i++) {
        const table = values[i] < 0 ? below : above;
        const level = Math.min(255, Math.round((255 * Math.abs(values[i])) / (header.scale[m] || 1)));
        image.data.set(table.subarray(4 * level, 4 * level + 4), 4 * i);
      }
      panel.cells.getContext('2d').putImageData(image, 0, 0);
    });
    this.mark(-1);
    this.photo.show(message, (bitmap) => this.panels.forEach((panel) => coverOnce(panel.picture, bitmap)));
  }
}

// Maps of one picture side by side; the patch under the pointer is marked, and its value written, in all of them.

import { el, live } from './kit/dom.js';
import { gridNavigation } from './kit/grid.js';
import { picture } from './kit/pixels.js';
import { accentLut } from './kit/ramp.js';

export default function maps({ root, trigger }) {
  const box = el(root, 'div', { class: 'am' });
  const say = live(root);
  let now = null,
    panels = [],
    hovered = -1;

  const shown = (value, scale) =>
    scale > 0 && value > 0 ? (value >= 0.001 ? value.toFixed(3) : value.toExponential(1)) : '0';
  function mark(index, event) {
    hovered = index;
    const {
        grid: [rows, cols],
        titles,
        notes,
        scale,
      } = now.header,
      maps = now.arrays.maps,
      patches = rows * cols;
    panels.forEach((panel, m) => {
      panel.mark.hidden = index < 0;
      const values = maps.data.subarray(m * patches, (m + 1) * patches);
      if (index < 0) {
        panel.note.textContent = notes[m] ?? '';
        return;
      }
      const rank = values.reduce((count, value) => count + (value > values[index]), 1);
      panel.note.textContent = `${shown(values[index], scale[m])} · rank ${rank} of ${patches}`;
      Object.assign(panel.mark.style, {
        left: `${(100 * (index % cols)) / cols}%`,
        top: `${(100 * Math.floor(index / cols)) / rows}%`,
        width: `${100 / cols}%`,
        height: `${100 / rows}%`,
      });
    });
    if (index >= 0 && event?.type === 'keydown')
      say(
        `Row ${Math.floor(index / cols) + 1}, column ${(index % cols) + 1}: ${titles.map((t, m) => `${t} ${panels[m].note.textContent}`).join('; ')}`,
      );
  }

  function build(count) {
    if (panels.length === count) return;
    box.replaceChildren();
    panels = Array.from({ length: count }, () => {
      const panel = el(box, 'div', { class: 'am-panel' }),
        title = el(panel, 'div', { class: 'am-title' });
      const line = el(panel, 'div', { class: 'am-line vv-muted' });
      const frame = el(panel, 'div', { class: 'am-frame' }),
        picture = el(frame, 'canvas', { class: 'am-picture am-grey', 'aria-hidden': 'true' });
      const cells = el(frame, 'canvas', { class: 'am-cells', 'aria-hidden': 'true' }),
        cross = el(frame, 'div', { class: 'am-mark', hidden: '' });
      const note = el(panel, 'div', { class: 'am-note vv-muted' });
      const grid = gridNavigation(frame, {
        label: 'Map over the picture',
        rows: () => now.header.grid[0],
        cols: () => now.header.grid[1],
        hover: mark,
        pick: (index) => trigger('pick', index),
      });
      frame.style.touchAction = 'pan-y';
      return { title, line, frame, picture, cells, mark: cross, note, grid };
    });
  }

  return function update(message) {
    now = message;
    const { header, arrays, colors } = message,
      [rows, cols] = header.grid,
      patches = rows * cols;
    build(header.titles.length);
    box.style.setProperty('--am-min', `${header.titles.length > 4 ? 120 : 168}px`);
    const source = picture(arrays.picture),
      table = accentLut(colors.query);
    panels.forEach((panel, m) => {
      panel.title.textContent = header.titles[m];
      panel.line.textContent = header.lines?.[m] ?? '';
      panel.line.hidden = !header.lines;
      panel.frame.style.aspectRatio = `${cols} / ${rows}`;
      panel.frame.setAttribute('aria-label', `${header.titles[m]}. Arrow keys move over the patches.`);
      panel.picture.width = source.width;
      panel.picture.height = source.height;
      panel.picture.getContext('2d').drawImage(source, 0, 0);
      panel.picture.style.imageRendering = source.width < 128 ? 'pixelated' : 'auto';
      const values = arrays.maps.data.subarray(m * patches, (m + 1) * patches);
      panel.cells.width = cols;
      panel.cells.height = rows;
      const image = panel.cells.getContext('2d').createImageData(cols, rows);
      for (let i = 0; i < patches; i++) {
        const level = Math.max(0, Math.min(255, Math.round((255 * values[i]) / (header.scale[m] || 1))));
        image.data.set(table.subarray(4 * level, 4 * level + 4), 4 * i);
      }
      panel.cells.getContext('2d').putImageData(image, 0, 0);
    });
    mark(-1);
  };
}

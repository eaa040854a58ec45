// The layers of two models over one picture: a row of small maps a model, one layer on the stage, one place under the
// pointer in all of them. What a cell shows is the view's own: colours.js, similar.js.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { coverOnce, photo } from '../../views/kit/photo.js';
import { cellAt, centreOf, mark, pinOf, tokenOfPin } from '../../views/kit/place.js';
import { tokenName } from '../../views/kit/words.js';

const NARROW_PX = 640;

/** One picture with the cells of one layer over it, and marks for the pin and for the place under the pointer. */
function frame(parent) {
  const node = el(parent, 'div', { class: 'ly-frame' });
  return {
    node,
    picture: el(node, 'canvas', { class: 'ly-picture', 'aria-hidden': 'true' }),
    cells: el(node, 'canvas', { class: 'ly-cells', 'aria-hidden': 'true' }),
    pin: el(node, 'div', { class: 'ly-pin', hidden: '' }),
    seen: el(node, 'div', { class: 'ly-seen', hidden: '' }),
  };
}

export class Panels {
  /** paint(panel, place) gives a layer's cells as an ImageData; say(panel, place) a line about the place. */
  constructor({ root, trigger }, { paint, say, scale }) {
    Object.assign(this, {
      root,
      trigger,
      paint,
      tell: say,
      scale,
      now: null,
      place: null,
      photos: [photo(root), photo(root)],
    });
    this.page = el(root, 'div', { class: 'ly' });
    const left = el(this.page, 'div', { class: 'ly-left' });
    this.title = el(left, 'div', { class: 'ly-title' });
    this.chips = el(left, 'div', { class: 'vv-row ly-chips' });
    this.stage = frame(left);
    this.legend = canvas(el(left, 'div', { class: 'ly-legend' }));
    this.facts = el(left, 'div', { class: 'vv-mono ly-facts' });
    this.right = el(this.page, 'div', { class: 'ly-right' });
    this.announce = live(root);
    this.navigate();
  }

  navigate() {
    this.grid = gridNavigation(this.stage.node, {
      label: 'The chosen layer over the picture',
      rows: () => this.chosen?.grid[0] ?? 1,
      cols: () => this.chosen?.grid[1] ?? 1,
      hover: (cell, event) => this.point(cell < 0 ? null : centreOf(this.chosen.grid, cell), event),
      pick: (cell) => this.trigger('pin', pinOf(this.chosen.grid, cell)),
      start: () => this.home().cell(this.chosen.grid),
    });
    this.stage.node.style.touchAction = 'pan-y';
  }

  get chosen() {
    return this.now?.header.panels[this.now.header.chosen];
  }

  /** What is asked about where nothing is pointed at: the pin, a place or a token's name. */
  home() {
    const { pin } = this.now.header;
    const at = pin.split(',').map(Number);
    const place = at.length === 2 && at.every(Number.isFinite) ? at : null;
    return { place, name: place ? '' : pin, cell: (grid) => cellAt(grid, place ?? [0.5, 0.5]) };
  }

  /** What is asked about: a place, or the name of a prefix token. */
  asked() {
    return this.place ? { place: this.place, name: '' } : this.home();
  }

  point(place, event) {
    this.place = place;
    this.draw();
    if (event?.type === 'keydown') this.announce(this.facts.textContent);
  }

  build({ header }) {
    this.right.replaceChildren();
    this.panels = [];
    header.rows.forEach((row, r) => {
      const line = el(this.right, 'section', { class: 'ly-row' });
      el(line, 'div', { class: 'ly-model' }, row.title);
      const maps = el(line, 'div', { class: 'ly-maps' });
      header.panels.forEach((panel, index) => {
        if (panel.row === r) this.panels[index] = this.small(maps, panel, index);
      });
    });
    this.chips.replaceChildren();
    for (const name of header.prefix) {
      const chip = el(this.chips, 'button', { type: 'button' }, tokenName(name));
      chip.onclick = () => this.trigger('pin', name);
      chip.setAttribute('aria-pressed', String(header.pin === name));
    }
  }

  small(parent, panel, index) {
    const node = el(parent, 'button', {
      type: 'button',
      class: 'ly-small',
      'aria-label': `${panel.name}, on the stage`,
    });
    const shown = frame(node);
    el(node, 'span', { class: 'ly-name' }, panel.title);
    if (panel.note) el(node, 'span', { class: 'vv-muted ly-share' }, panel.note);
    node.onclick = () => this.trigger('layer', index);
    node.onpointermove = (event) => {
      const box = shown.node.getBoundingClientRect();
      const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      this.point(at.every((v) => v >= 0 && v < 1) ? at : null);
    };
    node.onpointerleave = () => this.point(null);
    return shown;
  }

  /** Cells over the picture, and where the pin and the pointer are. */
  fill(shown, panel, asked) {
    const image = this.paint(this.now, panel, asked);
    Object.assign(shown.cells, { width: image.width, height: image.height });
    shown.cells.getContext('2d').putImageData(image, 0, 0);
    shown.node.style.aspectRatio = `${panel.grid[1]} / ${panel.grid[0]}`;
    const pinned = this.home().place;
    mark(shown.pin, panel.grid, pinned ? cellAt(panel.grid, pinned) : -1);
    mark(shown.seen, panel.grid, this.place ? cellAt(panel.grid, this.place) : -1);
  }

  draw() {
    const { header } = this.now;
    const asked = this.asked();
    this.panels.forEach((shown, index) => this.fill(shown, header.panels[index], asked));
    this.fill(this.stage, this.chosen, asked);
    this.facts.textContent = this.tell(this.now, this.chosen, asked);
    this.root.dataset.asked = asked.place ? String(cellAt(this.chosen.grid, asked.place)) : asked.name;
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const { header, width } = message;
    this.root.classList.toggle('ly-narrow', width < NARROW_PX);
    if (fresh) this.build(message);
    this.page.style.setProperty('--ly-veil', String(header.veil));
    this.title.textContent = this.chosen.name;
    this.right.querySelectorAll('.ly-small').forEach((node, index) => {
      node.setAttribute('aria-pressed', String(index === header.chosen));
    });
    this.stage.node.setAttribute('aria-label', `${this.chosen.name}. Arrow keys move over the places, Enter pins.`);
    this.scale(this.legend, message);
    this.draw();
    this.root.dataset.layer = String(header.chosen);
    header.photos.forEach((kind, index) => this.showPhoto(message, kind, index));
  }

  /** One model's crop below its own maps, and below the stage where it is on it. */
  showPhoto({ header, arrays }, kind, index) {
    const mine = this.panels.filter((_, p) => header.rows[header.panels[p].row].photo === index);
    if (header.rows[this.chosen.row].photo === index) mine.push(this.stage);
    this.photos[index].show({ header: { photo: kind }, arrays: { photo: arrays[`photo${index}`] } }, (bitmap) => {
      for (const shown of mine) coverOnce(shown.picture, bitmap);
    });
  }
}

/** The index among a panel's rows of what is asked about: prefix tokens first, then places. */
export function tokenOf(panel, asked) {
  if (asked.place) return panel.prefix.length + cellAt(panel.grid, asked.place);
  return Math.max(0, tokenOfPin(panel, asked.name));
}

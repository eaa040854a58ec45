// Draw the layers of two models over one image: a row of small maps per model, and one enlarged layer. The pointer
// marks the same place in all of them. colours.js and token_similarity.js draw the cells.

import { CellFrame } from '../../../vitviz/browser/kit/cell_frame.js';
import { button, canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { photo } from '../../../vitviz/browser/kit/pixels.js';
import { cellAt, centreOf, pinOf, placeOf, tokenOfPin } from '../../../vitviz/browser/kit/pin.js';
import { tokenName } from '../../../vitviz/browser/kit/text.js';

const NARROW_PX = 640;

export class Panels {
  /** paint(panel, query) returns a layer's cells as a canvas; describe(panel, query) a text about the place. */
  constructor({ root, trigger }, { paint, describe, scale }) {
    Object.assign(this, { root, trigger, paint, describe, scale, place: null, photos: [photo(root), photo(root)] });
    this.page = el(root, 'div', { class: 'ly vv-grey' });
    const left = el(this.page, 'div', { class: 'ly-left' });
    this.title = el(left, 'div', { class: 'ly-title' });
    this.chips = el(left, 'div', { class: 'vv-row ly-chips' });
    this.stage = new CellFrame(left);
    this.legend = canvas(el(left, 'div', { class: 'ly-legend' }));
    const beside = el(this.page, 'div');
    this.right = el(beside, 'div', { class: 'ly-right' });
    this.facts = el(beside, 'div', { class: 'vv-mono ly-facts' });
    this.announce = live(root);
    this.navigate();
  }

  navigate() {
    this.grid = gridNavigation(this.stage.node, {
      label: 'The enlarged layer over the image',
      grid: () => this.chosen?.grid ?? [1, 1],
      hover: (cell, event) => this.point(cell < 0 ? null : centreOf(this.chosen.grid, cell), event),
      pick: (cell) => this.trigger('pin', pinOf(this.chosen.grid, cell)),
      start: () => this.home().cell(this.chosen.grid),
    });
  }

  get chosen() {
    return this.now?.header.panels[this.now.header.chosen];
  }

  /** Returns the pin, a place or a token's name: the query while the pointer is elsewhere. */
  home() {
    const { pin } = this.now.header;
    const place = placeOf(pin);
    return { place, name: place ? '' : pin, cell: (grid) => cellAt(grid, place ?? [0.5, 0.5]) };
  }

  /** Returns the query: a place, or the name of a prefix token. */
  query() {
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
      const chip = button(this.chips, tokenName(name), () => this.trigger('pin', name));
      chip.setAttribute('aria-pressed', String(header.pin === name));
    }
  }

  small(parent, panel, index) {
    const label = { class: 'ly-small', 'aria-label': `Enlarge ${panel.name}` };
    const node = button(parent, '', () => this.trigger('layer', index), label);
    const shown = new CellFrame(node);
    el(node, 'span', { class: 'ly-name' }, panel.title);
    if (panel.note) el(node, 'span', { class: 'vv-muted ly-share' }, panel.note);
    node.onpointermove = (event) => {
      const box = shown.node.getBoundingClientRect();
      const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      this.point(at.every((v) => v >= 0 && v < 1) ? at : null);
    };
    node.onpointerleave = () => this.point(null);
    return shown;
  }

  /** Draws a layer's cells, and the marks of pin and pointer. */
  fill(shown, panel, query) {
    shown.showCells(this.paint(this.now, panel, query));
    shown.shape(panel.grid);
    const pinned = this.home().place;
    shown.pin(panel.grid, pinned ? cellAt(panel.grid, pinned) : -1);
    shown.point(panel.grid, this.place ? cellAt(panel.grid, this.place) : -1);
  }

  draw() {
    const { header } = this.now;
    const query = this.query();
    this.panels.forEach((shown, index) => this.fill(shown, header.panels[index], query));
    this.fill(this.stage, this.chosen, query);
    this.facts.textContent = this.describe(this.now, this.chosen, query);
    this.root.dataset.asked = query.place ? String(cellAt(this.chosen.grid, query.place)) : query.name;
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
    this.stage.node.setAttribute('aria-label', `${this.chosen.name}. Arrow keys move between patches, Enter pins one.`);
    this.scale(this.legend, message);
    this.draw();
    this.root.dataset.layer = String(header.chosen);
    header.photos.forEach((kind, index) => this.showPhoto(message, kind, index));
  }

  /** Draws one model's crop below its own maps, and below the enlarged layer if that is the model's. */
  showPhoto({ header, arrays }, kind, index) {
    const frames = this.panels.filter((_, p) => header.rows[header.panels[p].row].photo === index);
    if (header.rows[this.chosen.row].photo === index) frames.push(this.stage);
    this.photos[index].show({ header: { photo: kind }, arrays: { photo: arrays[`photo${index}`] } }, (bitmap) => {
      for (const shown of frames) shown.showImage(bitmap);
    });
  }
}

/** Returns the query's index among a panel's rows: prefix tokens first, then patches. */
export function tokenOf(panel, query) {
  if (query.place) return panel.prefix.length + cellAt(panel.grid, query.place);
  return Math.max(0, tokenOfPin(panel, query.name));
}

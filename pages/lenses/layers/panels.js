// Draw the layers of two models over one image: one enlarged layer, and a row of small maps per model. The pointer marks
// the same place in all of them. colours.js and token_similarity.js draw the cells.

import { button, canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { cellAt, centreOf, pinOf, placeOf, tokenOfPin } from '../../../vitviz/browser/kit/pin.js';
import { tokenName } from '../../../vitviz/browser/kit/text.js';
import HeatGrid from '../../views/heat_grid.js';

export class LayerGrid extends HeatGrid {
  /**
   * paintCells(message, layer, query) returns a layer's cells as a canvas; describe(message, layer, query) a text about
   * the place; drawScale(canvas, message) draws the legend.
   */
  constructor(context, { paintCells, describe, drawScale }) {
    super(context);
    Object.assign(this, { paintCells, describe, drawScale, place: null });
    this.root.classList.add('ly');
    this.chips = el(null, 'div', { class: 'vv-row ly-chips' });
    this.legend = canvas(el(null, 'div', { class: 'ly-legend' }));
    this.facts = el(null, 'div', { class: 'vv-mono ly-facts' });
  }

  /** Return a panel's layer; the first panel is the enlarged one. */
  layer(index) {
    const at = index ? index - 1 : this.header.chosen;
    return { ...this.header.layers[at], array: `p${at}`, grid: this.grid(index) };
  }

  // ---- pointing
  isRead() {
    return true;
  }

  /** Return the pin, a place or a token's name: the query while the pointer is elsewhere. */
  home() {
    const { pin } = this.header;
    const place = placeOf(pin);
    return { place, name: place ? '' : pin };
  }

  /** Return the query: a place, or the name of a prefix token. */
  query() {
    return this.place ? { place: this.place, name: '' } : this.home();
  }

  start(index) {
    return cellAt(this.grid(index), this.home().place ?? [0.5, 0.5]);
  }

  point(index, cell, event) {
    this.place = cell < 0 ? null : centreOf(this.grid(index), cell);
    this.draw();
    if (event?.type === 'keydown') this.announce(this.facts.textContent);
  }

  /** Pin a patch of the enlarged layer; enlarge another layer. */
  pick(index, cell) {
    if (index) this.trigger('layer', index - 1);
    else this.trigger('pin', pinOf(this.grid(0), cell));
  }

  // ---- drawing
  paint(index) {
    return this.paintCells(this.message, this.layer(index), this.query());
  }

  draw() {
    const [query, pinned] = [this.query(), this.home().place];
    this.panels.forEach(({ frame }, index) => {
      const [grid, at] = [this.grid(index), (place) => (place ? cellAt(this.grid(index), place) : -1)];
      frame.showCells(this.paint(index));
      frame.pin(grid, at(pinned));
      frame.point(grid, at(this.place));
    });
    this.facts.textContent = this.describe(this.message, this.layer(0), query);
    this.root.dataset.asked = query.place ? String(cellAt(this.grid(0), query.place)) : query.name;
  }

  update(message) {
    super.update(message);
    const { veil, prefix, pin, chosen } = this.header;
    this.page.style.setProperty('--ly-veil', String(veil));
    this.panels.forEach(({ figure, frame }, index) => {
      figure.classList.toggle('ly-chosen', index === chosen + 1);
      frame.node.ariaCurrent = String(index === chosen + 1);
      const act = index ? 'Enter enlarges the layer' : 'Enter pins a patch';
      frame.node.setAttribute('aria-label', `${this.layer(index).name}. Arrow keys move between patches, ${act}.`);
    });
    this.chips.replaceChildren();
    for (const name of prefix)
      button(this.chips, tokenName(name), () => this.trigger('pin', name), { 'aria-pressed': String(pin === name) });
    const [{ line, note }] = this.panels;
    line.replaceChildren(this.chips);
    line.hidden = !prefix.length;
    note.replaceChildren(this.legend.node.parentElement, this.facts);
    this.drawScale(this.legend, message);
    this.draw();
    this.root.dataset.layer = String(chosen);
  }
}

/** Return the query's index among a layer's rows: prefix tokens first, then patches. */
export function tokenOf(layer, query) {
  if (query.place) return layer.prefix.length + cellAt(layer.grid, query.place);
  return Math.max(0, tokenOfPin(layer, query.name));
}

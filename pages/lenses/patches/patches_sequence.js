// z0 = [x_class; x1 E; ...; xN E] + E_pos as a heat grid: one row per token, one column per value, on one scale.
// header: of a heat grid (the tokens, the positions, their sum), and {patch, prefix, pin}
// arrays: shown (S, S, 3) uint8

import { fill, frame as frameBox } from '../../../vitviz/browser/kit/axes.js';
import { button, canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { greatest } from '../../../vitviz/browser/kit/colour_ramp.js';
import { drawPatch, picture } from '../../../vitviz/browser/kit/pixels.js';
import { patchName, signed, tokenName } from '../../../vitviz/browser/kit/text.js';
import HeatGrid from '../../views/heat_grid.js';

const THUMB_PX = 20;
const NARROW_PX = 640;
const [LEAST_PX, MOST_PX, ROW_PX] = [200, 480, 7]; // of the maps' height

export default class PatchesSequence extends HeatGrid {
  constructor(context) {
    super(context);
    this.thumbs = canvas(null, { 'aria-hidden': 'true' });
    this.foot.classList.add('vv-row', 'pt-below');
    const toggle = () => this.update(this.message, false, !this.isSeparate());
    this.separate = button(this.foot, 'Scale each map separately', toggle, { 'aria-pressed': 'false' });
    this.told = el(this.root, 'div', { class: 'pt-note', 'data-role': 'sequence' });
  }

  isSeparate() {
    return this.separate.getAttribute('aria-pressed') === 'true';
  }

  isRead() {
    return true;
  }

  start(panel) {
    return this.header.pin * this.grid(panel)[1];
  }

  point(panel, cell) {
    const grid = this.grid(panel);
    const [tokens, dim] = grid;
    const token = Math.floor(cell / dim); // -1 for none
    for (const { frame } of this.panels) {
      frame.pin([tokens, 1], token);
      frame.point(grid, cell);
    }
    this.drawThumbs(tokens, token);
    this.told.textContent =
      cell < 0
        ? `Rows: ${tokens} tokens; columns: D = ${dim} values. Point at a value to see its sum.`
        : this.describe(token, cell % dim, dim);
    if (cell >= 0) this.announce(this.told.textContent);
  }

  describe(token, value, dim) {
    const { prefix, patch } = this.header;
    const cols = this.image.width / patch;
    const name = token < prefix.length ? tokenName(prefix[token]) : patchName(token - prefix.length, cols);
    const [a, b, sum] = this.panels.map((_, panel) => this.values(panel)[token * dim + value]);
    return (
      `z₀[${token}, ${value}], token ${token}: ${name}, value ${value + 1} of ${dim}: ` +
      `${signed(a, 3)} ${b < 0 ? '−' : '+'} ${signed(Math.abs(b), 3)} = ${signed(sum, 3)}`
    );
  }

  /** Draw the patch that each token was computed from beside its row. */
  drawThumbs(tokens, active) {
    const { prefix, patch } = this.header;
    const grid = [this.image.height, this.image.width].map((px) => px / patch);
    const step = this.high / tokens;
    const ctx = this.thumbs.size(THUMB_PX + 4, this.high);
    for (let token = 0; token < tokens; token++) {
      const box = [0, token * step, THUMB_PX, step];
      if (token < prefix.length) fill(ctx, this.message.colors.muted, ...box);
      else drawPatch(ctx, this.image, grid, token - prefix.length, box);
    }
    if (active >= 0) frameBox(ctx, 1, active * step - 1, THUMB_PX - 2, Math.max(3, step) + 1);
  }

  update(message, fresh, separate = this.isSeparate()) {
    this.message = message;
    this.separate.setAttribute('aria-pressed', String(separate));
    const { panels, ends } = this.header;
    panels.forEach((panel, i) => (panel.high = separate ? greatest(this.values(i)) : this.header.scale));
    this.header.legend = separate ? ['− maximum', '0', '+ maximum'] : ends;
    this.image = picture(message.arrays.shown);
    const [tokens, dim] = this.grid(0);
    this.high = message.width < NARROW_PX ? LEAST_PX : Math.max(LEAST_PX, Math.min(MOST_PX, tokens * ROW_PX));
    super.update(message);
    this.page.style.setProperty('--hg-min', `${(NARROW_PX - 48) / 3}px`);
    for (const { frame } of this.panels) {
      Object.assign(frame.node.style, { aspectRatio: 'auto', height: `${this.high}px` });
      frame.cells.style.imageRendering = dim > 2 * frame.node.clientWidth ? 'auto' : 'pixelated';
    }
    this.panels[0].rows.replaceChildren(this.thumbs.node);
    this.point(0, -1);
  }
}

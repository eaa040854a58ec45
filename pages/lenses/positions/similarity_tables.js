// The similarities of every panel at the selected snapshot.

import { clipped, frame } from '../../../vitviz/browser/kit/axes.js';
import { cellAt, centreOf } from '../../../vitviz/browser/kit/pin.js';
import { blit } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';
import { signed } from '../../../vitviz/browser/kit/text.js';

/** Draws the faded image on a square canvas, with cells of a grid highlighted: [[cell, color], ...]. */
export function drawHighlighted(ctx, image, side, [rows, cols], cells) {
  const w = side / cols;
  const h = side / rows;
  const drawImage = () => blit(ctx, image, 0, 0, side, side, image.width > side);
  ctx.globalAlpha = 0.4;
  drawImage();
  ctx.globalAlpha = 1;
  for (const [cell, color] of cells) {
    const [x, y] = [(cell % cols) * w, Math.floor(cell / cols) * h];
    clipped(ctx, [x, y, w, h], drawImage);
    frame(ctx, x, y, w, h, color);
  }
}

/** Reads the panels of a view that holds the message, the timeline (`time`) and the selected places. */
export class Tables {
  // ---- places are normalised, so that grids of different sizes can be compared
  panels() {
    return this.message.header.panels;
  }

  count(p) {
    return this.panels()[p].grid[0] * this.panels()[p].grid[1];
  }

  frames() {
    return Math.max(...this.panels().map((_, p) => this.message.arrays[`similarity${p}`].shape[0]));
  }

  frameOf(p) {
    return Math.round(
      (this.time.at * (this.message.arrays[`similarity${p}`].shape[0] - 1)) / Math.max(1, this.frames() - 1),
    );
  }

  value(p, i, j) {
    const n = this.count(p);
    const { data } = this.message.arrays[`similarity${p}`];
    return data[(this.frameOf(p) * n + i) * n + j] * this.panels()[p].gain + this.panels()[p].start;
  }

  queryOf(p) {
    return cellAt(this.panels()[p].grid, this.query ?? this.pinned);
  }

  keyOf(p) {
    const keyPlace = this.key ?? (this.query ? null : this.message.header.key);
    if (keyPlace) return cellAt(this.panels()[p].grid, keyPlace);
    const i = this.queryOf(p);
    let best = -1;
    for (let j = 0; j < this.count(p); j++)
      if (j !== i && (best < 0 || this.value(p, i, j) > this.value(p, i, best))) best = j;
    return best;
  }

  place(p, i) {
    return `(${Math.floor(i / this.panels()[p].grid[1]) + 1}, ${(i % this.panels()[p].grid[1]) + 1})`;
  }

  table(p) {
    return this.panels()[p].lo < 0 ? DIVERGING_LUT : SEQUENTIAL_LUT;
  }

  /** The query's similarity in panel p to the place of position j of the active panel. */
  similarityOf(p, j) {
    const place = centreOf(this.panels()[this.active].grid, j);
    return signed(this.value(p, this.queryOf(p), cellAt(this.panels()[p].grid, place)));
  }

  /** Index of the panel that has several snapshots, or -1. */
  moving() {
    return this.panels().findIndex((_, p) => this.message.arrays[`similarity${p}`].shape[0] > 1);
  }

  momentWords(p) {
    return p < 0 ? '' : (this.panels()[p].moments[this.frameOf(p)] ?? '');
  }
}

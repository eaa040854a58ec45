// The similarities of every panel at the moment that the timeline stands at, by patch.

import { cellAt, centreOf } from '../../views/kit/place.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../views/kit/ramp.js';

/** Two decimals with a true minus sign; three where a panel carries exact values. */
export function valueText(value, digits = 2) {
  return `${value < -0.5 * 10 ** -digits ? '−' : ''}${Math.abs(value).toFixed(digits)}`;
}

/** What the panels hold; the view keeps the message (`now`), the timeline (`time`), and the places under the pointer. */
export class Tables {
  // ---- places: everything is linked through normalised places, so that grids of different size can stand side by side
  panels() {
    return this.now.header.panels;
  }

  count(p) {
    return this.panels()[p].grid[0] * this.panels()[p].grid[1];
  }

  frames() {
    return Math.max(...this.panels().map((_, p) => this.now.arrays[`similarity${p}`].shape[0]));
  }

  frameOf(p) {
    return Math.round(
      (this.time.at * (this.now.arrays[`similarity${p}`].shape[0] - 1)) / Math.max(1, this.frames() - 1),
    );
  }

  value(p, i, j) {
    const n = this.count(p);
    const { data } = this.now.arrays[`similarity${p}`];
    return data[(this.frameOf(p) * n + i) * n + j] * this.panels()[p].gain + this.panels()[p].start;
  }

  queryOf(p) {
    return cellAt(this.panels()[p].grid, this.query ?? this.pinned);
  }

  keyOf(p) {
    const wanted = this.key ?? (this.query ? null : this.now.header.key);
    if (wanted) return cellAt(this.panels()[p].grid, wanted);
    const i = this.queryOf(p);
    let best = -1;
    for (let j = 0; j < this.count(p); j++)
      if (j !== i && (best < 0 || this.value(p, i, j) > this.value(p, i, best))) best = j;
    return best;
  }

  place(p, i) {
    return `(${Math.floor(i / this.panels()[p].grid[1])}, ${i % this.panels()[p].grid[1]})`;
  }

  table() {
    return this.now.header.stretched ? SEQUENTIAL_LUT : DIVERGING_LUT;
  }

  /** In panel p: the query's similarity to where position j of the active panel lies. */
  similarityOf(p, j) {
    const place = centreOf(this.panels()[this.active].grid, j);
    return valueText(this.value(p, this.queryOf(p), cellAt(this.panels()[p].grid, place)));
  }

  /** The panel that moves through training, -1 where none does. */
  moving() {
    return this.panels().findIndex((_, p) => this.now.arrays[`similarity${p}`].shape[0] > 1);
  }

  momentWords(p) {
    return p < 0 ? '' : (this.panels()[p].moments[this.frameOf(p)] ?? '');
  }
}

// The similarities of one or two encodings at the timeline's place, by normalised positions.

import { cellAt, centreOf } from '../../../vitviz/browser/kit/pin.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';
import { signed } from '../../../vitviz/browser/kit/text.js';
import { MovingPanels } from '../../../vitviz/browser/kit/training_moments.js';

/** Copies what lies below the diagonal of a matrix (n x n) above it; returns the matrix. */
function mirror(data, n) {
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) data[j * n + i] = data[i * n + j];
  return data;
}

/** Reads the panels of a view that holds the message, the timeline (`time`) and the selected places. */
export class Tables extends MovingPanels {
  // ---- places are normalised, so that grids of different sizes can be compared
  count(p) {
    return this.panels[p].grid[0] * this.panels[p].grid[1];
  }

  /** The codes of panel p's similarities (n x n) at the timeline's place, interpolated between moments. */
  codesOf(p) {
    const place = this.placeOf(p);
    const size = this.count(p) ** 2;
    const array = this.message.arrays[`similarity${p}`];
    if (this.codes[p]?.place !== place || this.codes[p].from !== array.data)
      this.codes[p] = { place, from: array.data, data: mirror(this.valuesAt(p, array, 0, size), this.count(p)) };
    return this.codes[p].data;
  }

  value(p, i, j) {
    return this.codesOf(p)[i * this.count(p) + j] * this.panels[p].gain + this.panels[p].start;
  }

  queryOf(p) {
    return cellAt(this.panels[p].grid, this.query ?? this.pinned);
  }

  keyOf(p) {
    const keyPlace = this.key ?? (this.query ? null : this.message.header.key);
    if (keyPlace) return cellAt(this.panels[p].grid, keyPlace);
    const i = this.queryOf(p);
    let best = -1;
    for (let j = 0; j < this.count(p); j++)
      if (j !== i && (best < 0 || this.value(p, i, j) > this.value(p, i, best))) best = j;
    return best;
  }

  place(p, i) {
    return `(${Math.floor(i / this.panels[p].grid[1]) + 1}, ${(i % this.panels[p].grid[1]) + 1})`;
  }

  table(p) {
    return this.panels[p].lo < 0 ? DIVERGING_LUT : SEQUENTIAL_LUT;
  }

  /** The query's similarity in panel p to the place of position j of the active panel. */
  similarityOf(p, j) {
    const place = centreOf(this.panels[this.active].grid, j);
    return signed(this.value(p, this.queryOf(p), cellAt(this.panels[p].grid, place)));
  }
}

// The similarities of one or two encodings at the timeline's place, by normalised positions.

import { cellAt, centreOf } from '../../../vitviz/browser/kit/pin.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../../vitviz/browser/kit/colour_ramp.js';
import { signed } from '../../../vitviz/browser/kit/text.js';
import { blend, nameMoment, surround } from '../../../vitviz/browser/kit/training_moments.js';

/** Copies what lies below the diagonal of a matrix (n x n) above it; returns the matrix. */
function mirror(data, n) {
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) data[j * n + i] = data[i * n + j];
  return data;
}

/** Reads the panels of a view that holds the message, the timeline (`time`) and the selected places. */
export class Tables {
  // ---- places are normalised, so that grids of different sizes can be compared
  count(p) {
    return this.panels[p].grid[0] * this.panels[p].grid[1];
  }

  /** A panel's place among its own moments; panels with fewer moments stretch theirs. */
  placeOf(p) {
    return (this.time.place * (this.message.arrays[`similarity${p}`].shape[0] - 1)) / Math.max(1, this.frames - 1);
  }

  frameOf(p) {
    return Math.round(this.placeOf(p));
  }

  /** The codes of panel p's similarities (n x n) at the timeline's place, interpolated between moments. */
  codesOf(p) {
    const place = this.placeOf(p);
    const size = this.count(p) ** 2;
    const { data } = this.message.arrays[`similarity${p}`];
    if (this.codes[p]?.place !== place || this.codes[p].from !== data) {
      const around = surround(this.panels[p].training ?? { joined: 0 }, place);
      this.codes[p] = { place, from: data, data: mirror(blend(data, size, around, 0, size), this.count(p)) };
    }
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

  momentWords(p) {
    if (p < 0) return '';
    const { training, moments } = this.panels[p];
    return training ? nameMoment(training, this.placeOf(p)) : (moments[this.frameOf(p)] ?? '');
  }
}

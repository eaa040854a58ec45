// Geometry of a pair of Swin blocks: windows, slots and allowed keys of every patch.

import { ATTENTION } from './swin_stepper_stages.js';

export const GAP = 14;

/** Windows at one position (`at`) between the stages, for the message `now` and the active patch. */
export class Windows {
  H() {
    return this.now.header;
  }

  count() {
    return this.H().rows * this.H().cols;
  }

  cells() {
    return this.H().window ** 2;
  }

  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  stage() {
    return Math.round(this.at);
  }

  isShifted() {
    return this.at > 1.5;
  }

  /** Return true if attention weights are drawn instead of allowed pairs. */
  attending() {
    return this.isShifted() && this.stage() >= ATTENTION;
  }

  findSlots() {
    const find = (data) => {
      const out = new Int32Array(this.count());
      data.forEach((p, slot) => {
        out[p] = slot;
      });
      return out;
    };
    this.slots = { regular: find(this.now.arrays.plain.data), shifted: find(this.now.arrays.index.data) };
  }

  /** Return the keys in a patch's window, in slot order: {patch, allowed, weight, unmasked}. */
  keysOf(p, kind) {
    const n = this.cells();
    const slot = this.slots[kind][p];
    const w = Math.floor(slot / n);
    const q = slot % n;
    const index = (kind === 'regular' ? this.now.arrays.plain : this.now.arrays.index).data;
    return Array.from({ length: n }, (_, k) => {
      const i = (w * n + q) * n + k;
      return {
        patch: index[w * n + k],
        allowed: kind === 'regular' || this.now.arrays.allowed.data[i] === 1,
        weight: this.now.arrays.attn.data[i],
        unmasked: this.now.arrays.unmasked.data[i],
      };
    });
  }

  keysByPatch(kind) {
    return new Map(this.keysOf(this.active(), kind).map((key) => [key.patch, key]));
  }

  /** Return the top left corner of a patch in pixels; a wrapped patch is drawn a second time. */
  corner(p, { gap, roll }) {
    const { rows, cols, window: M, shift } = this.H();
    const step = this.tile.step;
    const wrap = (v, n) => ((v % n) + n) % n;
    const r = wrap(Math.floor(p / cols) - shift * roll, rows);
    const c = wrap((p % cols) - shift * roll, cols);
    const x0 = ((1 - gap) * GAP * (cols / M - 1)) / 2;
    const y0 = ((1 - gap) * GAP * (rows / M - 1)) / 2;
    const open = (v) => Math.floor(Math.round(v) / M) * GAP * gap;
    return { x: x0 + c * step + open(c), y: y0 + r * step + open(r), c, r, x0, y0 };
  }

  /** Return the cell `by` rows below and columns right of a cell, around the edges. */
  rolled(cell, by) {
    const { rows, cols } = this.H();
    return ((Math.floor(cell / cols) + by + rows) % rows) * cols + (((cell % cols) + by + cols) % cols);
  }

  /** Return the region id of a patch, which is stored by its position after the roll. */
  regionOf(p) {
    return this.now.arrays.ids.data[this.rolled(p, -this.H().shift)];
  }

  home() {
    const slot = this.slots[this.isShifted() ? 'shifted' : 'regular'][this.active()];
    return { w: Math.floor(slot / this.cells()), q: slot % this.cells() };
  }

  masked(w) {
    return this.isShifted() ? this.shut[w] : 0;
  }

  countMasked() {
    const n = this.cells() ** 2;
    const { data } = this.now.arrays.allowed;
    this.shut = Array.from({ length: data.length / n }, (_, w) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += 1 - data[w * n + i];
      return sum;
    });
  }

  allGeometry() {
    const total = this.count() / this.cells();
    const across = this.H().cols / this.H().window;
    const down = total / across;
    const gap = 6;
    const width = Math.max(10, Math.min(96, Math.floor((this.now.width - gap * (across - 1)) / across)));
    return { total, across, down, gap, width };
  }
}

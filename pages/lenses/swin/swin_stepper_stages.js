// The stages of the stepper: their sentences, tensor shapes and the motion between them; and the windows, slots and allowed
// keys of every patch at a position between two stages.

import { mix } from '../../../vitviz/browser/kit/motion.js';

export const STAGES = [
  { key: 'tokens', name: 'Tokens', gap: 0, roll: 0, tint: 0 },
  { key: 'partition', name: 'Partition', gap: 1, roll: 0, tint: 0 },
  { key: 'roll', name: 'Roll', gap: 0, roll: 1, tint: 0 },
  { key: 'ids', name: 'Region ids', gap: 0, roll: 1, tint: 1 },
  { key: 'again', name: 'Partition again', gap: 1, roll: 1, tint: 1 },
  { key: 'mask', name: 'Mask', gap: 1, roll: 1, tint: 1 },
  { key: 'attention', name: 'Attention', gap: 1, roll: 1, tint: 0 },
  { key: 'reverse', name: 'Reverse', gap: 0, roll: 1, tint: 0 },
  { key: 'unroll', name: 'Unroll', gap: 0, roll: 0, tint: 0 },
];
export const LAST = STAGES.length - 1;
const MASK = 5;
export const ATTENTION = 6;

/** Return gap, roll and tint between two stages; windows close before they roll. */
export function pose(at) {
  const low = Math.min(LAST - 1, Math.floor(at));
  const f = at - low;
  const a = STAGES[low];
  const b = STAGES[low + 1];
  const closing = low === 1;
  return {
    gap: mix(a.gap, b.gap, closing ? Math.min(1, f / 0.35) : f),
    roll: mix(a.roll, b.roll, closing ? Math.max(0, (f - 0.35) / 0.65) : f),
    tint: mix(a.tint, b.tint, f),
  };
}

/** Return the sentence about a stage, in the order of STAGES; `alone`: in a file, which has no other view. */
export function describeStage(stage, { rows, cols, window: M, shift }, alone) {
  const windows = (rows * cols) / M ** 2;
  const sentences = [
    `Each numbered square is a patch of the image. The model turns it into a list of C numbers, its token: ` +
      `${rows} × ${cols} tokens.`,
    `The image is cut into ${windows} windows of ${M} × ${M} patches. A patch attends only to the patches of its ` +
      'window (first block, W-MSA). Outlined: the window of the selected patch.',
    shift
      ? `All patches move ${shift} up and ${shift} left; those that leave the image come back at the opposite edge. ` +
        `So the windows of the second block (SW-MSA) hold other neighbours: torch.roll(x, (−${shift}, −${shift})).`
      : 'Shift 0: no roll, both blocks use the same windows.',
    shift
      ? 'Patches that came around an edge are no neighbours in the image. Nine regions keep them apart: ' +
        'in one window, only patches that were neighbours have the same number (region id).'
      : 'One region: no patch wrapped around.',
    shift
      ? 'The moved image is cut into the same windows again. They hold different patches now.'
      : 'The image is cut into the same windows again. They hold the same patches.',
    shift
      ? 'No patch attends to another region (crossed out for the selected patch). The mask adds −100 to the score ' +
        'of such a pair, so that its weight after the softmax is 0.'
      : 'All ids are equal: no mask.',
    'Each patch divides its attention among the patches that it may attend to; its shares sum to 1 (softmax). ' +
      'Here patches of similar colour attend to each other: Q = K = mean colour, without learned weights.' +
      (alone ? '' : ' “Attention maps” shows a trained Swin.'),
    'The windows are put together again (reverse). The image is still moved.',
    shift
      ? `All patches move back to their positions: torch.roll(x, (${shift}, ${shift})).`
      : 'Shift 0: every token is at its position.',
  ];
  return sentences[stage];
}

/** Return the shape of the tensor after every stage. */
export function tensorShapes({ rows, cols, window: M }) {
  const n = M ** 2;
  const windows = (rows * cols) / n;
  const full = `(1,${rows},${cols},C)`;
  const cut = `(${windows},${n},C)`;
  const scores = `(${windows},h,${n},${n})`;
  return [full, cut, full, `(${rows},${cols})`, cut, `(${windows},${n},${n})`, scores, full, full];
}

/** Return to how many of the keys {allowed, unmasked} in its window a patch attends. */
export function describeKeys(keys, isShifted, leaking) {
  const masked = keys.filter((key) => !key.allowed);
  if (!isShifted) return `attends to all ${keys.length} patches of its window`;
  if (!masked.length) return `attends to all ${keys.length}: no wrapped patches here`;
  const allowed = keys.length - masked.length;
  if (!leaking)
    return `attends to ${allowed} of ${keys.length} patches; the mask removes ${masked.length} from another edge (crossed out)`;
  const leaked = (100 * masked.reduce((sum, key) => sum + key.unmasked, 0)).toFixed(0);
  return `attends to ${keys.length}, ${masked.length} of them across the edge, with ${leaked} % of its attention`;
}

export const GAP = 14; // between columns of windows
export const ROW_GAP = 24; // between rows of windows, with the names of the lower row
export const TOP = 20; // above the grid, with the names of the first row

/** Windows at one position (`at`) between the stages, for the message `now` and the active patch. */
export class Windows {
  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  stage() {
    return Math.round(this.at);
  }

  isShifted() {
    return this.at > 1.5;
  }

  /** Return true if the stage has a mask, so that the matrices of the windows are shown. */
  hasMask() {
    return this.stage() >= MASK;
  }

  /** Return true if attention weights are drawn instead of allowed pairs. */
  attending() {
    return this.isShifted() && this.stage() >= ATTENTION;
  }

  findSlots() {
    const find = (data) => {
      const out = new Int32Array(this.count);
      data.forEach((p, slot) => {
        out[p] = slot;
      });
      return out;
    };
    this.slots = { regular: find(this.now.arrays.plain.data), shifted: find(this.now.arrays.index.data) };
  }

  /** Return the keys in a patch's window, in slot order: {patch, allowed, weight, unmasked}. */
  keysOf(p, kind) {
    const n = this.cells;
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
    const { rows, cols, window: M, shift } = this.header;
    const step = this.tile.step;
    const wrap = (v, n) => ((v % n) + n) % n;
    const r = wrap(Math.floor(p / cols) - shift * roll, rows);
    const c = wrap((p % cols) - shift * roll, cols);
    const x0 = ((1 - gap) * GAP * (cols / M - 1)) / 2;
    const y0 = TOP + ((1 - gap) * ROW_GAP * (rows / M - 1)) / 2;
    const open = (v, space) => Math.floor(Math.round(v) / M) * space * gap;
    return { x: x0 + c * step + open(c, GAP), y: y0 + r * step + open(r, ROW_GAP), c, r, x0, y0 };
  }

  /** Return the cell `by` rows below and columns right of a cell, around the edges. */
  rolled(cell, by) {
    const { rows, cols } = this.header;
    return ((Math.floor(cell / cols) + by + rows) % rows) * cols + (((cell % cols) + by + cols) % cols);
  }

  /** Return the region id of a patch, which is stored by its position after the roll. */
  regionOf(p) {
    return this.now.arrays.ids.data[this.rolled(p, -this.header.shift)];
  }

  home() {
    const slot = this.slots[this.isShifted() ? 'shifted' : 'regular'][this.active()];
    return { w: Math.floor(slot / this.cells), q: slot % this.cells };
  }

  masked(w) {
    return this.isShifted() ? this.shut[w] : 0;
  }

  countMasked() {
    const n = this.cells ** 2;
    const { data } = this.now.arrays.allowed;
    this.shut = Array.from({ length: data.length / n }, (_, w) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += 1 - data[w * n + i];
      return sum;
    });
  }

  allGeometry() {
    const total = this.count / this.cells;
    const across = this.header.cols / this.header.window;
    const down = total / across;
    const most = Math.max(across, down);
    const gap = most > 4 ? 2 : 6;
    const width = Math.max(4, Math.floor((this.tile.mini - gap * (most - 1)) / most));
    return { total, across, down, gap, width };
  }
}

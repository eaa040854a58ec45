// The stages of the stepper: their sentences, tensor shapes, and the motion between them.

import { mix } from '../../../vitviz/browser/kit/motion.js';

export const STAGES = [
  { key: 'tokens', name: 'Tokens', gap: 0, roll: 0, tint: 0 },
  { key: 'partition', name: 'Partition', gap: 1, roll: 0, tint: 0 },
  { key: 'roll', name: 'Roll', gap: 0, roll: 1, tint: 0 },
  { key: 'ids', name: 'Region ids', gap: 0, roll: 1, tint: 1 },
  { key: 'again', name: 'Partition', gap: 1, roll: 1, tint: 1 },
  { key: 'mask', name: 'Mask', gap: 1, roll: 1, tint: 1 },
  { key: 'attention', name: 'Attention', gap: 1, roll: 1, tint: 0 },
  { key: 'reverse', name: 'Reverse', gap: 0, roll: 1, tint: 0 },
  { key: 'unroll', name: 'Unroll', gap: 0, roll: 0, tint: 0 },
];
export const LAST = STAGES.length - 1;
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

/** Return the sentence about a stage, in the order of STAGES. */
export function describeStage(stage, { rows, cols, window: M, shift }) {
  const windows = (rows * cols) / M ** 2;
  const sentences = [
    `${rows} × ${cols} tokens of C values each, in reading order.`,
    `First block of the pair, window attention (W-MSA): partition into ${windows} windows of ${M} × ${M}. ` +
      'Each token attends only inside its window.',
    shift
      ? `Second block, shifted-window attention (SW-MSA): torch.roll(x, (−${shift}, −${shift})). All patches move ${shift} up and left ` +
        'and wrap around the edges.'
      : 'Shift 0: no roll, both blocks use the same windows.',
    shift
      ? 'Each region that was contiguous before the roll gets one id: ' +
        'slices (0, −M), (−M, −s), (−s, end) on both axes.'
      : 'One region: no patch wrapped around.',
    shift
      ? 'Partition into windows again: same positions on the grid, different patches.'
      : 'Partition into windows again: same positions, same patches.',
    shift
      ? '−100 is added to the score of pairs with different ids, so their weight after the softmax is 0. ' +
        'Example: the window of patch 1 contains all four corners of the image.'
      : 'All ids are equal: no mask.',
    'Softmax in each window. Here Q = K = mean colour of each patch, without learned weights; ' +
      '“Attention maps” shows a trained Swin.',
    'Reverse the partition: the grid is still rolled.',
    shift
      ? `torch.roll(x, (${shift}, ${shift})): every token is back at its position.`
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
    return `attends to ${allowed} of ${keys.length}; ${masked.length} come from another edge and are masked`;
  const leaked = (100 * masked.reduce((sum, key) => sum + key.unmasked, 0)).toFixed(0);
  return `attends to ${keys.length}, ${masked.length} of them across the edge, with ${leaked} % of its attention`;
}

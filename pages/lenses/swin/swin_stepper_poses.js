// The stepper's stages, and how patches stand between two of them.

import { mix } from '../../views/kit/motion.js';

// What holds at each stage: gap between windows, how far rolled, region tint.
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

/** Gap, roll and tint between two stages; windows close before they roll. */
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

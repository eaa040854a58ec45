// Patches shuffled in the browser: orders, pixels and words as Python's (tests/unit/test_patches.py has the same numbers).

import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document = { createElement: () => ({ getContext: () => ({}) }) };
const { formatProbability, scramble, shuffledOrder } = await import('../../pages/lenses/patches/patches_puzzle.js');

test('the first patches of the order change places in a circle', () => {
  assert.deepEqual([...shuffledOrder([2, 0, 3, 1], 3)], [2, 1, 3, 0]);
  assert.deepEqual([...shuffledOrder([2, 0, 3, 1], 0)], [0, 1, 2, 3]);
});

test('a patch is moved with all of its channels', () => {
  const image = { shape: [2, 4, 4], data: Float32Array.from({ length: 32 }, (_, i) => i) };
  const pixels = scramble(image, 2, Int32Array.from([3, 1, 2, 0]));
  assert.deepEqual([...pixels.subarray(0, 16)], [10, 11, 2, 3, 14, 15, 6, 7, 8, 9, 0, 1, 12, 13, 4, 5]);
  assert.equal(pixels[16], 26);
});

test('probabilities are written as in captions', () => {
  assert.deepEqual([0.5, 0.12345, 1, 0.00005, 0.000031, 0].map(formatProbability), [
    '50 %',
    '12.3 %',
    '100 %',
    '0.005 %',
    '3·10⁻⁵',
    '0',
  ]);
});

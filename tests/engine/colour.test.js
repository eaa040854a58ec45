import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colour } from '../../vitviz/browser/kit/pixels.js';

test('a value takes its colour, one outside the ends the ends’, and NaN none', () => {
  const table = Uint8Array.from({ length: 1024 }, (_, i) => (i % 4 === 3 ? 255 : i >> 2));
  const image = { data: new Uint8ClampedArray(5 * 4) };
  colour(image, [0, 1, 7, -3, NaN], table, 0, 1);
  const level = (i) => [...image.data.subarray(4 * i, 4 * i + 4)];
  assert.deepEqual([0, 1, 2, 3, 4].map(level), [
    [0, 0, 0, 255],
    [255, 255, 255, 255],
    [255, 255, 255, 255],
    [0, 0, 0, 255],
    [0, 0, 0, 0],
  ]);
});

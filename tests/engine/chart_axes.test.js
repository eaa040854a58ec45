// The ticks of a chart's logarithmic axis are round, at least three, and named briefly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Axis } from '../../pages/views/chart_axes.js';

/** Return the ticks of a logarithmic axis, whose range is given in powers of ten. */
const ticksOf = (low, high) => new Axis({ type: 'log', range: [low, high] }, { values: [] }).ticks(300);

test('ticks are powers of ten, or 1, 2 and 5 of each', () => {
  assert.deepEqual(ticksOf(0.9, 2.1), [
    [10, '10'],
    [20, '20'],
    [50, '50'],
    [100, '100'],
  ]);
  assert.deepEqual(
    ticksOf(4, 9).map(([, name]) => name),
    ['10\u00a0k', '100\u00a0k', '1\u00a0M', '10\u00a0M', '100\u00a0M', '1\u00a0G'],
  );
});

test('small powers are raised', () => {
  assert.deepEqual(
    ticksOf(-9, -4).map(([, name]) => name),
    ['10⁻⁹', '10⁻⁸', '10⁻⁷', '10⁻⁶', '10⁻⁵', '10⁻⁴'],
  );
});

test('a narrow axis has ticks too', () => {
  for (const [low, high] of [
    [9.7e6, 12.2e6],
    [9900, 12300],
    [0.0021, 0.0049],
    [3, 30],
  ])
    assert.ok(ticksOf(Math.log10(0.95 * low), Math.log10(1.05 * high)).length >= 3, `${low} to ${high}`);
});

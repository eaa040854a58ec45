// The number beside a training curve is the height at which the curve is drawn.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Plot } from '../../vitviz/browser/kit/plot.js';
import { heightAt } from '../../pages/train/lab/curves_draw.js';

const STEPS = [1, 20, 40];
const LOSSES = [5, 2, 1];

for (const logX of [false, true])
  for (const logY of [false, true])
    test(`between two points with ${logX ? 'log' : 'linear'} x and ${logY ? 'log' : 'linear'} y`, () => {
      const scales = { x: [1, 40], y: [0.5, 8], logX, logY };
      const { x, y } = new Plot(null, {}, [0, 300, 0, 100], scales);
      for (const step of [5, 10, 30]) {
        const [a, b] = step < 20 ? [0, 1] : [1, 2];
        const share = (x(step) - x(STEPS[a])) / (x(STEPS[b]) - x(STEPS[a]));
        const drawn = y(LOSSES[a]) + share * (y(LOSSES[b]) - y(LOSSES[a]));
        const height = heightAt(STEPS, LOSSES, step, { logX, logY });
        assert.ok(Math.abs(y(height) - drawn) < 1e-9, `step ${step}: ${height}`);
      }
    });

test('before the first point there is no number, after the last one its own', () => {
  assert.ok(Number.isNaN(heightAt(STEPS, LOSSES, 0)));
  assert.equal(heightAt(STEPS, LOSSES, 90, { logX: true }), 1);
  assert.equal(heightAt(STEPS, LOSSES, Infinity), 1);
});

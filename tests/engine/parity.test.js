// The engine's intermediates against torch's: tests/engine_cases.py wrote the cases to the folder in VITVIZ_CASES.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { unpack } from '../../vitviz/browser/kit/blob.js';
import { forward, probabilitiesOf } from '../../vitviz/browser/engine/forward.js';
import { costs, supports } from '../../vitviz/browser/engine/limits.js';
import { openModel } from '../../vitviz/browser/engine/weights.js';

const CASES = process.env.VITVIZ_CASES;
const TOLERANCE = 1e-4; // of an intermediate's largest value

/** Return the largest difference of two arrays as a share of the expected one's largest finite value. */
function difference(actual, expected) {
  let scale = 0;
  let worst = 0;
  for (let i = 0; i < expected.length; i++) {
    if (Number.isFinite(expected[i])) scale = Math.max(scale, Math.abs(expected[i]));
    if (actual[i] !== expected[i]) worst = Math.max(worst, Math.abs(actual[i] - expected[i]));
    if (Number.isNaN(actual[i])) worst = Infinity;
  }
  return worst && worst / (scale || 1);
}

for (const file of readdirSync(CASES).filter((name) => name.endsWith('.safetensors')))
  test(file, () => {
    const name = file.replace('.safetensors', '');
    const model = openModel(readFileSync(join(CASES, file)));
    const { arrays } = unpack(readFileSync(join(CASES, `${name}.record`)));
    const { image, head_mask: headMask, token_mask: tokenMask, without_positions: unplaced, ...expected } = arrays;
    const options = { record: true, headMask: headMask?.data, tokenMask: tokenMask?.data };
    const { tensors, logits } = forward(model, image.data, options);
    const names = Object.keys(expected).map((key) => key.replace('record/', ''));
    assert.deepEqual(Object.keys(tensors).sort(), names.sort());
    assert.deepEqual(logits, tensors.logits.data);
    for (const key of names) {
      const { shape, data } = expected[`record/${key}`];
      assert.deepEqual(tensors[key].shape, shape, key);
      const off = difference(tensors[key].data, data);
      assert.ok(off <= TOLERANCE, `${key}: ${off}`);
    }
    if (unplaced) {
      const changed = forward(model, image.data, { record: 'logits', positions: false });
      const off = difference(probabilitiesOf(model.config, changed.tensors.logits), unplaced.data);
      assert.ok(off <= TOLERANCE, `without positions: ${off}`);
    }
    const values = Object.values(tensors).reduce((sum, { data }) => sum + data.length, 0);
    const { record } = costs(model.config);
    assert.ok(Math.abs(record / (4 * values) - 1) < 0.25, `record: ${record} bytes instead of ${4 * values}`);
  });

test('parameters and multiply-adds are those that Python counts', () => {
  for (const { config, parameters, products } of JSON.parse(readFileSync(join(CASES, 'costs.json'), 'utf-8'))) {
    const counted = costs(config);
    assert.equal(supports(config), parameters <= 3e6 && counted.flops <= 3e8);
    const withStatistics = config.kind === 'cnn' || config.stem?.length > 0; // which are no parameters
    if (!withStatistics) assert.equal(counted.parameters, parameters, JSON.stringify(config));
    if (products !== null) assert.equal(counted.flops, 2 * products, JSON.stringify(config));
  }
});

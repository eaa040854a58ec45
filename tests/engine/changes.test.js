// An image that is covered, rearranged, turned or blurred is the same input in the browser as on the server.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { changeInput } from '../../pages/lenses/on_your_image/input_changes.js';
import { toInput } from '../../vitviz/browser/engine/live_model.js';
import { unpack } from '../../vitviz/browser/kit/blob.js';

const { header, arrays } = unpack(readFileSync(join(process.env.VITVIZ_CASES, 'changes.bin')));
const { hands, border, preparation } = header;
const frames = { data: arrays.whole.data, shape: [1, ...arrays.whole.shape] };

hands.forEach(({ change, values, ...hand }, i) =>
  test(`${change} ${JSON.stringify(hand)}`, () => {
    const message = { header: { change, values, border, neutral: 0 }, arrays: { frames } };
    const levels = changeInput(message, { place: [0.5, 0.5], ...hand });
    assert.deepEqual([...levels], [...arrays[`changed${i}`].data]);
    const worst = toInput(levels, preparation).reduce(
      (most, value, at) => Math.max(most, Math.abs(value - arrays[`input${i}`].data[at])),
      0,
    );
    assert.ok(worst < 1e-5, `${worst}`);
  }),
);

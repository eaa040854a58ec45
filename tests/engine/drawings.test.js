// Drawings become the same input and the same class in the browser as on the server.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { forward } from '../../vitviz/browser/engine/forward.js';
import { openModel } from '../../vitviz/browser/engine/weights.js';
import { prepareDigit } from '../../vitviz/browser/kit/digit_input.js';
import { decode, Pad } from '../../vitviz/browser/kit/drawing_pad.js';

const CASES = process.env.VITVIZ_CASES;
const { strokes, ...models } = JSON.parse(readFileSync(join(CASES, 'drawings.json'), 'utf-8'));
const TOLERANCE = 2; // of 255 levels

for (const [name, { preparation, shown, frames, classes }] of Object.entries(models))
  test(`${strokes.length} drawings for ${name}`, () => {
    const model = openModel(readFileSync(join(CASES, `${name}.safetensors`)));
    strokes.forEach((text, i) => {
      const prepared = prepareDigit(decode(text), preparation);
      const worst = shown[i].reduce((most, level, at) => Math.max(most, Math.abs(level - prepared.shown[at])), 0);
      assert.ok(worst <= TOLERANCE, `drawing ${i}: ${worst} levels`);
      (frames[i] ?? []).forEach((at, axis) => assert.ok(Math.abs(at - prepared.frame[axis]) < 1e-9, `frame ${i}`));
      assert.equal(prepared.frame === null, frames[i] === null);
      const { logits } = forward(model, prepared.pixels);
      assert.equal(logits.indexOf(Math.max(...logits)), classes[i], `class of drawing ${i}`);
    });
  });

test('a stroke that leaves the pad ends at its edge', () => {
  const box = { left: 0, top: 0, width: 100, height: 100 };
  const node = { classList: { add() {} }, setAttribute() {}, focus() {}, getBoundingClientRect: () => box };
  const pad = new Pad({ paint() {}, changed() {} });
  pad.attach(node);
  node.onpointerdown({ clientX: 50, clientY: 50, isPrimary: true, preventDefault() {} });
  node.onpointermove({ clientX: 100, clientY: 120 });
  node.onpointerup();
  assert.deepEqual(decode(pad.text).flat(2), [256, 256, 511, 511]);
});

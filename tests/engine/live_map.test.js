// The map that follows the pen holds what the server's map of the same drawing holds.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MapModel } from '../../pages/start/map_model.js';
import { liveMessage } from '../../pages/start/map_record.js';
import { answer } from '../../vitviz/browser/engine/answer.js';
import { prepareDigit } from '../../vitviz/browser/kit/digit_input.js';
import { unpack } from '../../vitviz/browser/kit/blob.js';
import { decode } from '../../vitviz/browser/kit/drawing_pad.js';

const CASES = process.env.VITVIZ_CASES;
const file = (name) => readFileSync(join(CASES, name));
const { strokes, mnist_vit: stored } = JSON.parse(file('drawings.json'));
const mapOf = (message) => new MapModel(message);

function close(actual, expected, tolerance, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `${what}: ${value}, ${expected[i]}`),
  );
}

test("another drawing's map, computed from the first one's message", () => {
  const [before, server] = [unpack(file('map_0.bin')), unpack(file('map_1.bin'))];
  answer({ load: 'map', bytes: file('mnist_vit.safetensors') });
  const { pixels } = prepareDigit(decode(strokes[1]), stored.preparation);
  const { reply } = answer({ run: 'map', pixels, record: true, lens: true });
  const message = liveMessage(before, reply);
  const [live, expected] = [mapOf(message), mapOf(server)];
  close(live.arrays.probabilities.data, expected.arrays.probabilities.data, 0.002, 'probabilities');
  close(live.arrays.lens.data, expected.arrays.lens.data, 0.002, 'lens');
  for (const block of live.blocks) {
    const other = expected.byId.get(block.id);
    close(live.row(block), expected.row(other), 0.002, block.id);
    for (let token = 0; token < 50; token++) {
      const [keys, wanted] = [live.keys(block, token), expected.keys(other, token)];
      close(
        keys.map(({ weight }) => weight),
        wanted.map(({ weight }) => weight),
        0.002,
        'weights of the strongest keys',
      );
    }
    close(live.array(block, 'lengths').data, expected.array(other, 'lengths').data, 0.2, 'norms');
  }
  for (const pin of ['cls', live.pinOf(live.blocks[0], 20)]) {
    const wanted = expected.course(pin);
    live.course(pin).rows.forEach((row, i) => close(row, wanted.rows[i], 0.15, `stream of ${pin}`));
  }
  const words = ({ header }) => header.parts.find(({ kind }) => kind === 'classes').words.split(' (')[0];
  assert.equal(words(message), words(server));
  assert.ok(message.header.parts.filter(({ kind }) => kind === 'block').every((part) => part.stale));
});

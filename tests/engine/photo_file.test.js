// Files that somebody drops: the size is read from the head before anything is decoded, and all else is refused in a sentence.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSize } from '../../vitviz/browser/kit/photo_file.js';

const PNG = Buffer.alloc(64);
PNG.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
PNG.writeUInt32BE(300, 16);
PNG.writeUInt32BE(200, 20);
const JPEG = Buffer.from(`ffd8ffe000040000ffc20011080100020003${'00'.repeat(32)}`, 'hex');
const GIF = Buffer.concat([Buffer.from('GIF89a'), Buffer.from([64, 1, 200, 0]), Buffer.alloc(32)]);
const BMP = Buffer.alloc(64);
BMP.write('BM');
BMP.writeInt32LE(320, 18);
BMP.writeInt32LE(-200, 22);
const WEBP = readFileSync(new URL('../../static/start.webp', import.meta.url));
const AVIF = Buffer.concat([Buffer.from('\0\0\0 ftypavif'), Buffer.alloc(20), Buffer.from('ispe'), Buffer.alloc(4)]);
const SIZED = Buffer.concat([AVIF, Buffer.from([0, 0, 1, 0, 0, 0, 0, 128]), Buffer.alloc(16)]);

test('the size of each kind is read from its head', () => {
  assert.deepEqual(readSize(PNG), [300, 200]);
  assert.deepEqual(readSize(JPEG), [512, 256]);
  assert.deepEqual(readSize(GIF), [320, 200]);
  assert.deepEqual(readSize(BMP), [320, 200]);
  assert.deepEqual(readSize(SIZED), [256, 128]);
  assert.ok(readSize(WEBP).every((side) => side > 300 && side < 3000));
});

test('images beyond the limits, without a size and of other kinds are refused', () => {
  const large = Buffer.from(PNG);
  large.writeUInt32BE(100000, 16);
  large.writeUInt32BE(100000, 20);
  assert.throws(() => readSize(large), /64 megapixels/);
  const long = Buffer.from(PNG);
  long.writeUInt32BE(2 ** 31, 16);
  long.writeUInt32BE(1, 20);
  assert.throws(() => readSize(long), /64 megapixels/);
  const empty = Buffer.from(PNG);
  empty.writeUInt32BE(0, 16);
  assert.throws(() => readSize(empty), /states no size/);
  assert.throws(
    () => readSize(Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${' '.repeat(64)}</svg>`)),
    /not an image/,
  );
  assert.throws(() => readSize(Buffer.alloc(0)), /not an image/);
});

test('damaged heads are refused in a sentence or give a size within the limits', () => {
  let seed = 1;
  const random = (below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (const whole of [PNG, JPEG, GIF, BMP, WEBP.subarray(0, 64), SIZED])
    for (let i = 0; i < 500; i++) {
      const bytes = Buffer.from(whole.subarray(0, random(4) ? whole.length : random(whole.length + 1)));
      for (let k = random(6); k > 0 && bytes.length; k--) bytes[random(bytes.length)] = random(256);
      try {
        const [width, height] = readSize(bytes);
        assert.ok(width >= 1 && height >= 1 && width * height <= 64 * 2 ** 20);
      } catch (error) {
        assert.match(error.message, /^This (file|image|\w+) .*\.$/);
      }
    }
});

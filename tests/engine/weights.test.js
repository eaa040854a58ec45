// What the engine accepts as a model: supported configs, and files whose every size fits; all else is refused with a reason.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { forward } from '../../vitviz/browser/engine/forward.js';
import { supports } from '../../vitviz/browser/engine/limits.js';
import { openModel } from '../../vitviz/browser/engine/weights.js';

const WHOLE = readFileSync(join(process.env.VITVIZ_CASES, 'digits_vit.safetensors'));
const { config, step } = openModel(WHOLE);
const REFUSED = /^The weights cannot be used: /;
const MUTATIONS = 300;

/** Return a checkpoint's table, document and tensor bytes. */
function parse(file) {
  const length = Number(file.readBigUInt64LE(0));
  const { __metadata__: metadata, ...table } = JSON.parse(file.subarray(8, 8 + length));
  return { table, document: JSON.parse(metadata.vitviz), data: file.subarray(8 + length) };
}

function seal({ table, document, data }) {
  const text = JSON.stringify({ ...table, __metadata__: { vitviz: JSON.stringify(document) } });
  const header = Buffer.from(text);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, data]);
}

function changed(change) {
  const parts = structuredClone(parse(WHOLE));
  parts.data = Buffer.from(parts.data);
  change(parts);
  return seal(parts);
}

const first = (table) => Object.keys(table)[0];

test('an unchanged file is accepted', () => {
  assert.deepEqual(openModel(changed(() => {})).config, config);
});

test('an option that the engine lacks is not supported', () => {
  assert.equal(supports({ ...config, window_attention: true }), false);
  assert.equal(supports({ ...config, window_attention: false }), true);
  assert.equal(supports({ ...config, positions: 'alibi' }), false);
  assert.equal(supports({ ...config, activation: 'constructor' }), false);
  assert.equal(supports({ ...config, kind: 'conv_attention' }), false);
  assert.equal(supports({ ...config, kind: '__proto__' }), false);
});

test('a config of Python that uses an option that the engine lacks is not supported', () => {
  const [plain, lacking] = JSON.parse(readFileSync(join(process.env.VITVIZ_CASES, 'lacking.json'), 'utf-8'));
  for (const config of plain) assert.equal(supports(config), true, JSON.stringify(config));
  for (const config of lacking) assert.equal(supports(config), false, JSON.stringify(config));
});

test('a preparation that gives no finite input of this size is refused', () => {
  const refuse = (change) => assert.throws(() => openModel(changed(change)), { message: REFUSED });
  const wrong = { std: [[0]], mean: [['0.5'], [0.5, 0.5, 0.5]], image_size: [4096], crop_fraction: [0] };
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) refuse(({ document }) => (document.preparation[name] = value));
  refuse(({ document }) => delete document.preparation);
});

test('a model beyond the limits is not supported', () => {
  assert.equal(supports({ ...config, embed_dim: 1024, num_heads: 1, depth: 12 }), false); // parameters
  assert.equal(supports({ ...config, image_size: 96, patch_size: 1, stem: [] }), false); // operations
  assert.equal(supports({ ...config, depth: 1e9 }), false);
});

test('malformed configs are not supported, and nothing is thrown', () => {
  for (const value of [null, undefined, 3, 'vit', [], {}, { kind: 'vit' }]) assert.equal(supports(value), false);
  for (const name of Object.keys(config))
    for (const value of [undefined, null, NaN, -1, 0.5, 1e308, 'x', {}, [[]], [-1]])
      assert.equal(typeof supports({ ...config, [name]: value }), 'boolean', `${name}: ${value}`);
});

test('files whose sizes do not fit are refused', () => {
  const spoil = {
    'no tensor': ({ table }) => delete table[first(table)],
    'a shape': ({ table }) => table[first(table)].shape.push(1),
    'a huge shape': ({ table }) => (table[first(table)].shape = [2 ** 40]),
    'offsets beyond the end': ({ table }) => (table[first(table)].data_offsets = [2 ** 40, 2 ** 41]),
    'negative offsets': ({ table }) => (table[first(table)].data_offsets = [-8, 8]),
    'a dtype': ({ table }) => (table[first(table)].dtype = 'toString'),
    'an entry': ({ table }) => (table[first(table)] = null),
    'a config': ({ document }) => (document.config.embed_dim = 2 ** 31),
    'another depth': ({ document }) => (document.config.depth += 1),
    classes: ({ document }) => (document.classes = document.classes.slice(1)),
    'a class name': ({ document }) => (document.classes[0] = { toString: null }),
    'no number': ({ data }) => data.fill(0xff),
  };
  for (const [name, change] of Object.entries(spoil))
    assert.throws(() => openModel(changed(change)), { message: REFUSED }, name);
  for (const length of [0, 7, 8, 100, WHOLE.length - 1])
    assert.throws(() => openModel(WHOLE.subarray(0, length)), { message: REFUSED }, `${length} bytes`);
  assert.throws(() => openModel(WHOLE, 7), { message: REFUSED });
});

test('weights of 8 bits are multiplied by one scale, or by one of each row', () => {
  const raw = parse(WHOLE);
  const name = `${step}/blocks.0.mlp.fc1.weight`;
  const { shape } = raw.table[name];
  for (const scales of [[0.5], Array.from({ length: shape[0] }, (_, row) => 2 ** -row), [0], [-1], [NaN]]) {
    const codes = Int8Array.from({ length: shape[0] * shape[1] }, (_, i) => (i % 255) - 127);
    const added = Buffer.concat([Buffer.from(codes.buffer), Buffer.from(Float32Array.from(scales).buffer)]);
    const end = raw.data.length;
    const table = {
      ...raw.table,
      [name]: { dtype: 'I8', shape, data_offsets: [end, end + codes.length] },
      [`${name}.scale`]: {
        dtype: 'F32',
        shape: [scales.length],
        data_offsets: [end + codes.length, end + added.length],
      },
    };
    const file = seal({ ...raw, table, data: Buffer.concat([raw.data, added]) });
    if (!(scales[0] > 0)) {
      assert.throws(() => openModel(file), { message: REFUSED }, `scale ${scales}`);
      continue;
    }
    const { data } = openModel(file).weights['blocks.0.mlp.fc1.weight'];
    const row = Math.min(3, scales.length - 1);
    assert.equal(data[3 * shape[1] + 2], codes[3 * shape[1] + 2] * scales[row]);
  }
});

test('spoilt files are refused with a reason or give a model of finite weights', () => {
  let seed = 1;
  const dice = (below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const header = 8 + Number(WHOLE.readBigUInt64LE(0));
  for (let i = 0; i < MUTATIONS; i++) {
    const spoilt = Buffer.from(WHOLE);
    for (let n = dice(4); n >= 0; n--) spoilt[dice(i % 2 ? header : spoilt.length)] = dice(256);
    try {
      const { weights } = openModel(dice(4) ? spoilt : spoilt.subarray(0, dice(spoilt.length)));
      for (const { data } of Object.values(weights)) assert.ok(data.every(Number.isFinite));
    } catch (error) {
      assert.match(error.message, REFUSED);
    }
  }
});

test('an image or a mask of another size is refused', () => {
  const model = openModel(WHOLE);
  assert.throws(() => forward(model, new Float32Array(5)), /size of the model/);
  const pixels = new Float32Array(config.in_chans * config.image_size ** 2);
  assert.throws(() => forward(model, pixels, { tokenMask: [1] }), /token mask/);
  assert.throws(() => forward(model, pixels, { headMask: [1] }), /head mask/);
});

test('a record holds the names that were requested', () => {
  const model = openModel(WHOLE);
  const pixels = new Float32Array(config.in_chans * config.image_size ** 2);
  assert.deepEqual(Object.keys(forward(model, pixels).tensors), []);
  const { tensors } = forward(model, pixels, { record: ['blocks.?.attn', 'logits'] });
  assert.deepEqual(
    Object.keys(tensors),
    [...Array(config.depth).keys()].map((i) => `blocks.${i}.attn`).concat('logits'),
  );
});

test('a record shares no memory with the weights', () => {
  for (const name of ['digits_vit', 'cifar10_swin', 'digits_cnn']) {
    const model = openModel(readFileSync(join(process.env.VITVIZ_CASES, `${name}.safetensors`)));
    const { in_chans: channels, image_size: side } = model.config;
    const { tensors } = forward(model, new Float32Array(channels * side * side), { record: true });
    const own = new Set(Object.values(model.weights).map(({ data }) => data.buffer));
    for (const [key, { data }] of Object.entries(tensors)) assert.ok(!own.has(data.buffer), `${name}: ${key}`);
  }
});

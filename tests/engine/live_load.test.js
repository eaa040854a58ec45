// The map that follows the pen starts one engine, and loads weights again whose download failed; masks stay as clicked.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

// Modules of the map create a canvas as they load.
const ignore = () => {};
const parts = { classList: { toggle: ignore }, setAttribute: ignore, appendChild: ignore, getContext: () => ({}) };
const element = () => ({ dataset: {}, ...parts });
globalThis.document = { createElement: element, querySelector: () => null };
globalThis.CSS = { escape: (text) => text };
const { LiveMap } = await import('../../pages/start/map_live.js');
const { MapMasks } = await import('../../pages/start/map_masks.js');

const view = () => ({ root: { dataset: {}, getRootNode: () => ({}), closest: () => null } });
const PARTS = ['picture', 'block', 'classes'].map((kind) => ({ kind, shape_out: [1] }));
const model = { config: { layer_scale: null, positions: 'learned' } };
const message = (weights) => ({
  header: { weights, drawing: {}, parts: PARTS, classes: { names: ['a'] }, depth: 1, heads: 1, readout: 'cls' },
  arrays: { logits: {}, 'head.weights': { shape: [1, 1] } },
});

let workers;
let fetched;
let status;
const original = { fetch: globalThis.fetch, info: console.info };

beforeEach(() => {
  [workers, fetched, status] = [[], [], 200];
  console.info = () => {};
  globalThis.Worker = class {
    constructor() {
      workers.push(this);
    }
    postMessage({ id, drop }) {
      setImmediate(() => this.onmessage({ data: { id, reply: drop === undefined ? model : false } }));
    }
  };
  globalThis.fetch = async (address) => {
    fetched.push(address);
    return { ok: status === 200, status, body: new Blob([gzipSync(new Uint8Array(8))]).stream() };
  };
});

afterEach(() => {
  delete globalThis.Worker;
  globalThis.fetch = original.fetch;
  console.info = original.info;
});

/** Wait until `done` is true, for a minute at most. */
async function settled(done) {
  for (let i = 0; i < 12_000 && !done(); i++) await wait(5);
}

test('all maps of a page share one engine and the weights of one address', async () => {
  const [first, second] = [new LiveMap(view(), () => false), new LiveMap(view(), () => false)];
  first.take(message('/media/a'));
  first.take(message('/media/b'));
  second.take(message('/media/b'));
  await settled(() => first.ready && second.ready);
  assert.ok(first.ready && second.ready);
  assert.equal(workers.length, 1);
  assert.deepEqual(
    fetched.map((address) => address.slice(-8)),
    ['/media/a', '/media/b'],
  );
});

test('weights whose download failed are loaded with the next message', async () => {
  const live = new LiveMap(view(), () => false);
  status = 404;
  live.take(message('/media/c'));
  await settled(() => live.address === '');
  assert.ok(!live.ready);
  status = 200;
  live.take(message('/media/c'));
  await settled(() => live.ready);
  assert.ok(live.ready);
  assert.equal(fetched.length, 2);
});

test('a map of more classes than it sends does not follow the pen', async () => {
  const live = new LiveMap(view(), () => false);
  const { header, arrays } = message('/media/d');
  const parts = PARTS.map((part) => ({ ...part, shape_out: [20] }));
  live.take({ header: { ...header, parts }, arrays });
  await wait(20);
  assert.deepEqual([fetched, workers.length], [[], 0]);
});

test("a mask stays while the server's messages are of before the click", async () => {
  const sent = [];
  const model = { header: { grid: [2, 2] }, tokenAt: () => 0 };
  const map = { root: element(), stage: element(), schedule: ignore, model };
  const masks = new MapMasks({ view: map, parent: element(), trigger: (_, text) => sent.push(text), apply: ignore });
  const take = (text) => {
    const { header, arrays } = message('/media/a');
    masks.take({ header: { ...header, grid: [2, 2], masks: text }, arrays });
    return masks.text;
  };
  take('');
  masks.on = true;
  assert.ok(masks.pick([0, 0]));
  assert.equal(take(''), '8');
  await settled(() => sent.length);
  assert.deepEqual(sent, ['8']);
  assert.deepEqual([take(''), take('8'), take('')], ['8', '8', '']);
});

// The map that follows the pen starts one engine, and loads weights again whose download failed.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';

// Modules of the map create a canvas as they load.
globalThis.document = { createElement: () => ({ getContext: () => ({}) }), querySelector: () => null };
globalThis.CSS = { escape: (text) => text };
const { LiveMap } = await import('../../pages/start/map_live.js');

const PARTS = ['picture', 'block', 'classes'].map((kind) => ({ kind }));
const model = { config: { layer_scale: null, positions: 'learned' } };
const message = (weights) => ({
  header: { weights, parts: PARTS, classes: { names: ['a'] }, dims: { depth: 1 }, readout: 'cls' },
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
    terminate() {
      this.ended = true;
    }
  };
  globalThis.fetch = async (address) => {
    fetched.push(address);
    return { ok: status === 200, status, arrayBuffer: async () => new ArrayBuffer(8) };
  };
});

afterEach(() => {
  delete globalThis.Worker;
  globalThis.fetch = original.fetch;
  console.info = original.info;
});

async function settled() {
  for (let i = 0; i < 10; i++) await settle();
}

test('one engine starts although the model changes meanwhile, and it ends with the map', async () => {
  const live = new LiveMap({}, () => true);
  live.take(message('/media/a'));
  live.take(message('/media/b'));
  await settled();
  assert.equal(workers.length, 1);
  assert.ok(live.ready);
  live.end();
  await settled();
  assert.ok(workers[0].ended);
});

test('weights whose download failed are loaded with the next message', async () => {
  const live = new LiveMap({}, () => true);
  status = 404;
  live.take(message('/media/a'));
  await settled();
  assert.ok(!live.ready);
  status = 200;
  live.take(message('/media/a'));
  await settled();
  assert.ok(live.ready);
  assert.equal(fetched.length, 2);
});

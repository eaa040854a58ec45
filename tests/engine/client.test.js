// Records by name, and runs of which only the newest waits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecord, newestOnly, startEngine } from '../../vitviz/browser/engine/client.js';

test('a record requests each name once, and what it holds not at all', async () => {
  const requested = [];
  const fetchNamed = async (name) => {
    requested.push(name);
    return { [name]: { shape: [1], data: new Float32Array(1) } };
  };
  const held = { shape: [2], data: new Float32Array(2) };
  const record = createRecord(fetchNamed, { logits: held });
  assert.equal(await record.get('logits'), held);
  const [first, second] = await Promise.all([record.get('blocks.0.attn'), record.get('blocks.0.attn')]);
  assert.equal(first, second);
  assert.deepEqual(requested, ['blocks.0.attn']);
});

test('while one run is under way, only the newest of the later calls waits', async () => {
  const done = [];
  let release;
  const call = newestOnly(async (value) => {
    if (value === 1) await new Promise((resolve) => (release = resolve));
    done.push(value);
  });
  const first = call(1);
  call(2);
  call(3);
  release();
  await first;
  assert.deepEqual(done, [1, 3]);
});

test('a run that fails leaves the next one working', async () => {
  const done = [];
  const call = newestOnly(async (value) => {
    if (value === 1) throw new Error('spoilt');
    done.push(value);
  });
  await assert.rejects(call(1), /spoilt/);
  await call(2);
  assert.deepEqual(done, [2]);
});

test('a Worker that ends rejects the requests under way and all later ones', async () => {
  let worker;
  globalThis.Worker = class {
    constructor() {
      worker = this;
    }
    postMessage({ id, drop }) {
      if (drop !== undefined) queueMicrotask(() => this.onmessage({ data: { id, reply: false } }));
    }
    terminate() {}
  };
  try {
    const engine = await startEngine({ address: 'worker.js' });
    const running = engine.run('model', new Float32Array(1));
    worker.onerror({ message: 'out of memory' });
    await assert.rejects(running, /out of memory/);
    await assert.rejects(engine.run('model', new Float32Array(1)), /out of memory/);
  } finally {
    delete globalThis.Worker;
  }
});

test('a Worker that does not start leaves the page without an engine', async () => {
  globalThis.Worker = class {
    postMessage() {
      queueMicrotask(() => this.onerror({}));
    }
  };
  try {
    assert.equal(await startEngine({ address: 'worker.js' }), null);
  } finally {
    delete globalThis.Worker;
  }
});

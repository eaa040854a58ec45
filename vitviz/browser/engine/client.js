// Run models beside the page: the engine in a Worker, or in the page where no Worker starts. A view asks a record for an
// intermediate by name; the engine computes it, or the server sends it. README.md of this folder describes both.

import { answer } from './answer.js';

const ALONE = import.meta.url.startsWith('blob:') ? 'page' : 'none';

/** Return a function that sends a request to the engine in a Worker and returns a promise of the reply. */
function inWorker(worker) {
  const waiting = new Map();
  let last = 0;
  let failure = null;
  worker.onmessage = ({ data: { id, reply, error } }) => {
    if (!waiting.has(id)) return; // rejected below
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) reject(new Error(error));
    else resolve(reply);
  };
  worker.onerror = ({ message }) => {
    failure = new Error(`The Worker failed: ${message || 'it did not start or has ended'}.`);
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  return (request) =>
    new Promise((resolve, reject) => {
      if (failure) throw failure;
      last += 1;
      waiting.set(last, { resolve, reject });
      worker.postMessage({ id: last, ...request });
    });
}

/** Start a Worker from the address of worker.js, or return null where the browser refuses. */
async function startWorker(address) {
  try {
    const worker = new Worker(address, { type: 'module' });
    const ask = inWorker(worker);
    await ask({ drop: '' });
    return { ask, end: () => worker.terminate() };
  } catch {
    return null;
  }
}

/**
 * Start the engine; returns {load, run, end}.
 *   address: of worker.js; by default beside this module
 *   fallback: 'page' computes in the page where no Worker starts, as a file does, which has no server; 'none' returns null
 */
export async function startEngine({
  address = String(new URL('./worker.js', import.meta.url)),
  fallback = ALONE,
} = {}) {
  const started = await startWorker(address);
  if (!started && fallback === 'none') return null;
  const { ask, end } = started ?? { ask: async (request) => answer(request).reply, end() {} };
  return {
    inWorker: Boolean(started),
    /** Read a checkpoint's bytes; returns {config, preparation, classes, step} or rejects with the reason. */
    load: (key, bytes, step) => ask({ load: key, bytes, step }),
    drop: (key) => ask({ drop: key }),
    /** Return copies of a loaded model's weights by name. */
    weights: (key, names) => ask({ weights: key, names }),
    /** Run a loaded model on an image: a record with the intermediates in `record` at hand, all others on request. */
    async run(key, pixels, { record = 'logits', lens = false, ...changes } = {}) {
      const tensors = await ask({ run: key, pixels, record, lens, ...changes });
      return createRecord((name) => ask({ run: key, pixels, record: name, ...changes }), tensors);
    },
    end,
  };
}

/**
 * Create a record: `await record.get(name)` gives {shape, data}, each requested once.
 *   fetchNamed(name): returns a promise of {name: {shape, data}}, such as one request to the server
 */
export function createRecord(fetchNamed, tensors = {}) {
  const held = new Map(Object.entries(tensors).map(([name, value]) => [name, Promise.resolve(value)]));
  return {
    tensors,
    get(name) {
      if (!held.has(name))
        held.set(
          name,
          fetchNamed(name).then((received) => received[name]),
        );
      return held.get(name);
    },
  };
}

/** Return a function that runs the newest call alone: while one is under way, only the last of the later ones waits. */
export function newestOnly(work) {
  let running = false;
  let next = null;
  return async function call(...inputs) {
    next = inputs;
    if (running) return;
    running = true;
    try {
      while (next) {
        const current = next;
        next = null;
        await work(...current);
      }
    } finally {
      running = false;
    }
  };
}

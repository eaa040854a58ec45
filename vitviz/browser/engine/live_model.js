// Run the models of a page in the browser: one engine for all views, and each model's weights fetched once by address.

import { newestOnly, startEngine } from './client.js';
import { probabilitiesOf } from './forward.js';
import { readWeights } from './stored_weights.js';

const MOST = 16; // models in the Worker, such as the steps of one training
const REQUEST_MS = 50; // until the words of a view are dimmed: most answers come earlier
const models = new Map(); // address -> promise of the model, the least recently used first
let starting = null;

async function load(address) {
  starting ??= startEngine();
  const engine = await starting;
  if (!engine) throw new Error('this browser starts no Worker');
  const facts = await engine.load(address, await readWeights(address));
  const run = async (pixels, options) => {
    await openModel(address); // it may have been dropped
    return engine.run(address, pixels, options);
  };
  return {
    ...facts,
    address,
    run,
    /** Return some of the weights by name. */
    async weights(names) {
      await openModel(address);
      return engine.weights(address, names);
    },
    /** Return the class probabilities of an image. */
    async predict(pixels, options) {
      const { tensors } = await run(pixels, { ...options, record: 'logits' });
      return probabilitiesOf(facts.config, tensors.logits);
    },
  };
}

/** Return a promise of the model whose weights lie at an address: {config, preparation, classes, step, run, weights, predict}. */
export function openModel(address) {
  const opened = models.get(address) ?? load(address);
  models.delete(address);
  models.set(address, opened);
  opened.catch(() => models.delete(address)); // the next call tries again
  if (models.size > MOST) {
    const [oldest] = models.keys();
    models.delete(oldest);
    starting.then((engine) => engine?.drop(oldest));
  }
  return opened;
}

/** Return levels (S, S, 3) as a model's input (C, S, S). */
export function toInput(levels, { mean, std, pixel_range: range = 255 }) {
  const area = levels.length / 3;
  return Float32Array.from({ length: mean.length * area }, (_, i) => {
    const c = Math.floor(i / area);
    return (levels[3 * (i % area) + c] / range - mean[c]) / std[c];
  });
}

/** Return a function that computes the newest call alone; a failure leaves the picture to the server. */
export const computeNewest = (compute) =>
  newestOnly((...inputs) => compute(...inputs).catch((error) => console.info(`Left to the server: ${error.message}`)));

/**
 * Return {behind(on), end()}: while a view shows what the server has not answered, the page's sentences are dimmed
 * (pages/frame/page.css).
 */
export function words(root) {
  const main = (root.getRootNode().host ?? root).closest('[data-testid="stMain"]');
  let timer = 0;
  const behind = (on) => {
    clearTimeout(timer);
    if (on) timer = setTimeout(() => main?.toggleAttribute('data-behind', true), REQUEST_MS);
    else main?.removeAttribute('data-behind');
  };
  return { behind, end: () => behind(false) };
}

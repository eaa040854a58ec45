// Read a model's weights: from the document that holds them, from a script beside it, or from the server.

import { inflate } from '../module_loader.js';

const held = new Map();

/** Keep the bytes of a checkpoint that a message holds, under its address. */
export const holdWeights = (address, bytes) => held.set(address, bytes);

/** Run the script at an address and return the text that it leaves on its element; file: allows no other way. */
function runScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.onload = () => {
      script.remove();
      resolve(script.weights);
    };
    script.onerror = () => reject(new Error(`${address} could not be loaded`));
    document.head.append(script);
  });
}

/** Fetch a file that the server keeps as gzip (pages/selection/model_weights.py). */
async function fetchBytes(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const stream = response.body.pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Return the bytes of the checkpoint that a message names.
 *   address: the name of an element of the document, a script's beside it (ends in .js), or the server's path
 */
export async function readWeights(address) {
  if (held.has(address)) return held.get(address);
  const stored = globalThis.document?.querySelector(`script[data-weights="${CSS.escape(address)}"]`);
  if (stored) return inflate(stored.textContent);
  if (address.endsWith('.js')) return inflate(await runScript(address));
  if (import.meta.url.startsWith('blob:')) throw new Error('this file does not hold the weights');
  return fetchBytes(`${import.meta.url.replace(/\/_stcore\/.*$/, '')}${address}`);
}

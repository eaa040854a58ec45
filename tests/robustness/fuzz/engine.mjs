// Read inputs from standard input (length as uint32, bytes), give each to what the browser does with one of its kind, and write
// one line per input: {"refused": reason}, {"error": what} or {}.
//   node engine.mjs engine              an input is a checkpoint
//   node engine.mjs masks CHECKPOINT    a line with the masks of an address, and one with the training step in JSON
//   node engine.mjs pages               a saved page, or a script that holds a site's weights

import { readFileSync, readSync, writeSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { fromHex, toHex } from '../../../pages/start/map_masks.js';
import { forward } from '../../../vitviz/browser/engine/forward.js';
import { openModel } from '../../../vitviz/browser/engine/weights.js';
import { open } from '../../../vitviz/browser/kit/blob.js';
import { inflate } from '../../../vitviz/browser/module_loader.js';

const REFUSED = 'The weights cannot be used: ';

function read(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const got = readSync(0, bytes, at, count - at);
    if (!got) process.exit(0);
    at += got;
  }
  return bytes;
}

function check(holds, what) {
  if (!holds) throw new Error(what);
}

function run(model, options) {
  const { in_chans: channels, image_size: side } = model.config;
  const { logits } = forward(model, new Float32Array(channels * side * side), { record: true, ...options });
  check(logits.length, 'no outputs');
  return logits;
}

/** Compute a map's model at the step and with the masks that a link names. */
function runMasked(bytes) {
  const [masks, step = 'null'] = bytes.toString('utf-8').split('\n');
  let at = null;
  try {
    at = JSON.parse(step);
  } catch {
    // the page's own step
  }
  const model = openModel(CHECKPOINT, at ?? undefined);
  const { depth, num_heads: heads, image_size: side, patch_size: patch } = model.config;
  const [patches, zeroed = ''] = masks.split('.');
  const flags = [fromHex(patches, (side / patch) ** 2), fromHex(zeroed, depth * heads)];
  for (const each of flags) {
    check(each.every((flag) => typeof flag === 'boolean'), 'a flag that is none');
    check(String(fromHex(toHex(each), each.length)) === String(each), 'digits that are other flags');
  }
  const [tokenMask, headMask] = flags.map((each) => Float32Array.from(each, (flag) => Number(!flag)));
  check(run(model, { tokenMask, headMask }).every(Number.isFinite), 'an output that is no number');
}

/** Unpack what a page's scripts hold: messages of views, checkpoints, or a checkpoint beside it. */
async function openPage(bytes) {
  const text = bytes.toString('utf-8');
  if (text.startsWith('document.')) {
    const document = { currentScript: {} };
    runInNewContext(text, { document }, { timeout: 500 });
    return openModel(await inflate(document.currentScript.weights));
  }
  const messages = [...text.matchAll(/ data-message>([^<]*)</g)].map(([, message]) => message);
  const weights = [...text.matchAll(/ data-weights="[^"]*">([^<]*)</g)].map(([, each]) => each);
  for (const message of messages) open(await inflate(message));
  for (const each of weights) openModel(await inflate(each));
  return messages;
}

const [kind, path] = process.argv.slice(2);
const CHECKPOINT = path && readFileSync(path);
const take = { engine: (bytes) => run(openModel(bytes)), masks: runMasked, pages: openPage }[kind];
for (;;) {
  let answer = {};
  try {
    await take(read(read(4).readUInt32LE(0)));
  } catch (error) {
    const reason = String(error.message);
    // The page shows a sentence of its own in place of a view whose message is damaged.
    const isRefused = kind === 'pages' || reason.startsWith(REFUSED);
    answer = isRefused ? { refused: reason.slice(0, 200).replaceAll('\n', ' ') } : { error: error.stack };
  }
  writeSync(1, `${JSON.stringify(answer)}\n`);
}

// Read files from standard input (length as uint32, bytes) as models of the browser's engine, run each that opens, and write
// one line per file: {"refused": reason}, {"error": what} or {}.

import { readSync, writeSync } from 'node:fs';
import { forward } from '../../../vitviz/browser/engine/forward.js';
import { openModel } from '../../../vitviz/browser/engine/weights.js';

function read(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const got = readSync(0, bytes, at, count - at);
    if (!got) process.exit(0);
    at += got;
  }
  return bytes;
}

function open(bytes) {
  try {
    const model = openModel(bytes);
    const { in_chans: channels, image_size: side } = model.config;
    const { logits } = forward(model, new Float32Array(channels * side * side), { record: true });
    return logits.length ? {} : { error: 'no outputs' };
  } catch (error) {
    const reason = String(error.message);
    return reason.startsWith('The weights cannot be used: ') ? { refused: reason } : { error: error.stack };
  }
}

for (;;) writeSync(1, `${JSON.stringify(open(read(read(4).readUInt32LE(0))))}\n`);

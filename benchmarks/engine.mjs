// Time the browser's engine on whole records: medians of 50 runs after 20 that warm up.
//   node benchmarks/engine.mjs NAME.safetensors …

import { readFileSync } from 'node:fs';
import { forward } from '../vitviz/browser/engine/forward.js';
import { openModel } from '../vitviz/browser/engine/weights.js';

for (const file of process.argv.slice(2)) {
  const model = openModel(readFileSync(file));
  const { in_chans: channels, image_size: side } = model.config;
  const pixels = Float32Array.from({ length: channels * side * side }, (_, i) => Math.sin(i));
  const times = Array.from({ length: 70 }, () => {
    const start = performance.now();
    forward(model, pixels, { record: true });
    return performance.now() - start;
  })
    .slice(20)
    .sort((a, b) => a - b);
  console.log(`${file.replace(/^.*\//, '')}: median ${times[25].toFixed(1)} ms, least ${times[0].toFixed(1)} ms`);
}

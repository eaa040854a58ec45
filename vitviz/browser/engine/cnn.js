// A small convolutional network: a stem, stages of residual or of plain blocks, the map's mean or maximum, a linear head.

import { ACTIVATIONS, add, batchNorm, convolve, linear, map, tensor } from './tensor.js';

/** List the blocks: name, channels in and out, stride. */
function blocksOf({ widths, blocks }) {
  return widths.flatMap((width, stage) =>
    Array.from({ length: blocks[stage] }, (_, i) => ({
      name: `layers.${stage}.blocks.${i}`,
      from: i ? width : widths[Math.max(stage - 1, 0)],
      width,
      stride: stage && !i ? 2 : 1,
    })),
  );
}

const norm = (name, width) =>
  Object.fromEntries(['weight', 'bias', 'running_mean', 'running_var'].map((part) => [`${name}.${part}`, [width]]));

export function shapes(config) {
  const { in_chans: channels, num_classes: classes, widths, whitened, pooled } = config;
  const kernel = whitened ? 2 : 3;
  const shapes = { 'stem.0.weight': [widths[0], channels, kernel, kernel] };
  if (!whitened) Object.assign(shapes, norm('stem.1', widths[0]));
  for (const { name, from, width, stride } of blocksOf(config)) {
    shapes[`${name}.conv1.weight`] = [width, from, 3, 3];
    shapes[`${name}.conv2.weight`] = [width, width, 3, 3];
    Object.assign(shapes, norm(`${name}.bn1`, width), norm(`${name}.bn2`, width));
    if (pooled || (stride === 1 && from === width)) continue;
    shapes[`${name}.downsample.0.weight`] = [width, from, 1, 1];
    Object.assign(shapes, norm(`${name}.downsample.1`, width));
  }
  return { ...shapes, 'head.weight': [classes, widths.at(-1)], 'head.bias': [classes] };
}

/** Return {products: multiply-adds without the head's, values: numbers in the record}. */
export function cost(config) {
  const { in_chans: channels, num_classes: classes, widths, whitened, pooled, image_size: size } = config;
  let side = size - (whitened ? 1 : 0);
  let products = side * side * widths[0] * channels * (whitened ? 4 : 9);
  let values = side * side * widths[0] + widths.at(-1) + classes;
  for (const { from, width, stride } of blocksOf(config)) {
    const before = side;
    if (stride === 2) side = whitened ? side >> 1 : (side + 1) >> 1;
    products += (pooled ? before : side) ** 2 * 9 * from * width + side * side * 9 * width * width;
    if (!pooled && (stride === 2 || from !== width)) products += side * side * from * width;
    values += side * side * width;
  }
  return { products, values };
}

/** Return the maximum of each 2 x 2 square; an uneven last row and column stand alone or are dropped. */
function pool(x, roundsUp) {
  const [channels, height, width] = x.shape;
  const half = (side) => (roundsUp ? side + 1 : side) >> 1;
  const y = tensor([channels, half(height), half(width)]);
  const [, high, wide] = y.shape;
  for (let i = 0; i < y.data.length; i++) {
    const c = Math.floor(i / (high * wide));
    const top = 2 * (Math.floor(i / wide) % high);
    const left = 2 * (i % wide);
    let highest = -Infinity;
    for (let r = top; r < Math.min(top + 2, height); r++)
      for (let s = left; s < Math.min(left + 2, width); s++)
        highest = Math.max(highest, x.data[(c * height + r) * width + s]);
    y.data[i] = highest;
  }
  return y;
}

/** relu(x + BN conv3(relu BN conv3 x)) (He et al. 2016). */
function residualBlock({ at, has }, { name, stride }, x) {
  let y = batchNorm(convolve(x, at(`${name}.conv1`).weight, { stride, padding: 1 }), at(`${name}.bn1`), 'relu');
  y = batchNorm(convolve(y, at(`${name}.conv2`).weight, { padding: 1 }), at(`${name}.bn2`));
  if (has(`${name}.downsample.0.weight`))
    x = batchNorm(convolve(x, at(`${name}.downsample.0`).weight, { stride }), at(`${name}.downsample.1`));
  return map(add(y, x), ACTIVATIONS.relu);
}

/** gelu BN conv3 gelu BN pool conv3 x (Jordan 2024). */
function plainBlock({ at, config }, { name, stride }, x) {
  let y = convolve(x, at(`${name}.conv1`).weight, { padding: 1 });
  if (stride > 1) y = pool(y, !config.whitened);
  y = batchNorm(y, at(`${name}.bn1`), 'gelu');
  return batchNorm(convolve(y, at(`${name}.conv2`).weight, { padding: 1 }), at(`${name}.bn2`), 'gelu');
}

/** Run the network on an image (C, H, W). */
export function run(model, pixels, keep) {
  const { config, at } = model;
  const { weight } = at('stem.0');
  let x = config.whitened
    ? map(convolve(pixels, weight), ACTIVATIONS.gelu)
    : batchNorm(convolve(pixels, weight, { padding: 1 }), at('stem.1'), 'relu');
  keep('stem', x);
  for (const block of blocksOf(config)) {
    x = (config.pooled ? plainBlock : residualBlock)(model, block, x);
    keep(block.name, x);
  }
  const area = x.shape[1] * x.shape[2];
  const features = tensor([x.shape[0]]);
  for (let c = 0; c < features.data.length; c++) {
    const values = x.data.subarray(c * area, (c + 1) * area);
    features.data[c] = values.reduce((a, b) => (config.pooled ? Math.max(a, b) : a + b)) / (config.pooled ? 1 : area);
  }
  keep('features', features);
  return linear(features, at('head').weight, at('head').bias);
}

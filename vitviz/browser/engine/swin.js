// The Swin Transformer: attention inside windows, shifted in every second block (Liu et al. 2021). Grids are (H, W, C).

import { add, layerNorm, linear, meanRows, permute, reshape, rows, tensor, unfold } from './tensor.js';
import { affine, attend, mlp, norm, scaleHeads } from './vit.js';

const MASKED = -100; // added to a score: as good as minus infinity after a softmax

/** List the stages: name, width, heads, side of the grid, and the layers before the stage. */
function stagesOf({ image_size: size, patch_size: patch, embed_dim: dim, depths, num_heads: heads }) {
  let side = size / patch;
  let before = 0;
  return depths.map((depth, stage) => {
    const found = { name: `layers.${stage}`, width: dim * 2 ** stage, heads: heads[stage], side, depth, before };
    side = (side + 1) >> 1;
    before += depth;
    return found;
  });
}

const hiddenOf = (config, width) => Math.floor(width * config.mlp_ratio + 1e-6);

/** Return the shape of every weight by name. */
export function shapes(config) {
  const { embed_dim: dim, in_chans: channels, patch_size: patch, num_classes: classes } = config;
  const known = {
    'patch_embed.proj.weight': [dim, channels, patch, patch],
    'patch_embed.proj.bias': [dim],
    ...norm('patch_embed.norm', dim),
  };
  const stages = stagesOf(config);
  stages.forEach(({ name, width, heads, side, depth }, stage) => {
    if (stage)
      Object.assign(
        known,
        norm(`${name}.downsample.norm`, 2 * width),
        affine(`${name}.downsample.reduction`, width, 2 * width, false),
      );
    const { window } = plan(config, side, false);
    for (let i = 0; i < depth; i++) {
      const block = `${name}.blocks.${i}`;
      Object.assign(known, norm(`${block}.norm1`, width), norm(`${block}.norm2`, width), {
        ...affine(`${block}.attn.qkv`, 3 * width, width, config.qkv_bias),
        ...affine(`${block}.attn.proj`, width, width),
        [`${block}.attn.relative_position_bias_table`]: [(2 * window - 1) ** 2, heads],
        ...affine(`${block}.mlp.fc1`, hiddenOf(config, width), width),
        ...affine(`${block}.mlp.fc2`, width, hiddenOf(config, width)),
      });
    }
  });
  const last = stages.at(-1).width;
  return { ...known, ...norm('norm', last), ...(classes && affine('head.fc', classes, last)) };
}

/** Return {products: multiply-adds without the head's, values: numbers in the record}. */
export function cost(config) {
  const [{ side: first }] = stagesOf(config);
  let products = first * first * config.embed_dim * config.in_chans * config.patch_size ** 2;
  let values = first * first * config.embed_dim;
  for (const { width, heads, side, depth } of stagesOf(config)) {
    const { window } = plan(config, side, false);
    const slots = (Math.ceil(side / window) * window) ** 2;
    const tokens = side * side;
    const hidden = hiddenOf(config, width);
    if (width > config.embed_dim) products += tokens * 2 * width * width;
    products += depth * (slots * width * (4 * width + 2 * window * window) + 2 * tokens * width * hidden);
    values +=
      tokens * width +
      depth * (tokens * (5 * width + hidden) + slots * (4 * width + (2 * heads + 1) * window * window));
  }
  return { products, values };
}

// ------------------------------------------------------------ windows

/**
 * Return which patch each slot of each window holds after shift and padding (-1: padding), and the additive mask, 0 or
 * MASKED, of patches that were no neighbours before the shift. torchvision pads and then rolls, timm rolls and then pads.
 */
function plan({ window_size: size, convention, masked }, side, shifted) {
  const torchvision = convention === 'torchvision';
  const window = torchvision ? size : Math.min(side, size);
  const shift = shifted && side > size ? size >> 1 : 0;
  const padded = Math.ceil(side / window) * window;
  const across = padded / window;
  const along = (at) => (torchvision ? (at + shift) % padded : at < side ? (at + shift) % side : side);
  const region = (at) => (shift ? (at >= padded - window) + (at >= padded - shift) : 0);
  const slots = window * window;
  const index = tensor([across * across, slots], new Int32Array(padded * padded));
  const regions = new Int32Array(padded * padded);
  for (let i = 0; i < padded * padded; i++) {
    const [w, slot] = [Math.floor(i / slots), i % slots];
    const row = Math.floor(w / across) * window + Math.floor(slot / window);
    const column = (w % across) * window + (slot % window);
    const [r, c] = [along(row), along(column)];
    index.data[i] = r < side && c < side ? r * side + c : -1;
    regions[i] = 3 * region(row) + region(column);
  }
  if (!shift || !masked) return { window, index, mask: null };
  const mask = tensor([across * across, slots, slots]);
  for (let i = 0; i < mask.data.length; i++) {
    const query = Math.floor(i / slots);
    const key = Math.floor(query / slots) * slots + (i % slots);
    if (regions[query] !== regions[key]) mask.data[i] = MASKED;
  }
  return { window, index, mask };
}

// ------------------------------------------------------------ the layers

/** Attention in each window: A = softmax(q kᵀ / sqrt(d) + B + mask), B by relative position (eq. 4). */
function windowAttention({ config, at, weights }, name, x, shifted, keep, { heads, factors }) {
  const [height, , channels] = x.shape;
  const { window, index, mask } = plan(config, height, shifted);
  keep(`${name}.window_index`, index);
  if (mask) keep(`${name}.mask`, mask);
  const [windows, slots] = index.shape;
  const inside = tensor([windows, slots, channels]);
  index.data.forEach((patch, slot) => {
    if (patch >= 0) inside.data.set(x.data.subarray(patch * channels, (patch + 1) * channels), slot * channels);
  });
  const perHead = channels / heads;
  const { weight, bias } = at(`${name}.attn.qkv`);
  const split = permute(reshape(linear(inside, weight, bias), windows, slots, 3, heads, perHead), [2, 0, 3, 1, 4]);
  const [q, k, v] = [0, 1, 2].map((part) => reshape(rows(split, part, part + 1), windows * heads, slots, perHead));
  const table = weights[`${name}.attn.relative_position_bias_table`].data;
  function biasOf(group, query, key) {
    const down = Math.floor(query / window) - Math.floor(key / window) + window - 1;
    const right = (query % window) - (key % window) + window - 1;
    const hidden = mask ? mask.data[(Math.floor(group / heads) * slots + query) * slots + key] : 0;
    return table[(down * (2 * window - 1) + right) * heads + (group % heads)] + hidden;
  }
  const { scores, attn, y } = attend(q, k, v, perHead ** -0.5, biasOf);
  for (const [part, value] of Object.entries({ q, k, v, scores, attn }))
    keep(`${name}.${part}`, reshape(value, windows, heads, ...value.shape.slice(1)));
  const parted = reshape(scaleHeads(y, factors), windows, heads, slots, perHead);
  const joined = keep(`${name}.heads`, reshape(permute(parted, [0, 2, 1, 3]), windows, slots, channels));
  const projected = linear(joined, at(`${name}.attn.proj`).weight, at(`${name}.attn.proj`).bias);
  const back = tensor(x.shape);
  index.data.forEach((patch, slot) => {
    if (patch >= 0) back.data.set(projected.data.subarray(slot * channels, (slot + 1) * channels), patch * channels);
  });
  return back;
}

/** z' = (S)W-MSA(LN z) + z, z = MLP(LN z') + z' (eq. 3). */
function block(model, name, x, shifted, keep, heads) {
  const { config, at } = model;
  keep(`${name}.input`, x);
  const normed = layerNorm(x, at(`${name}.norm1`), config.norm_eps);
  const z = add(x, keep(`${name}.attn_out`, windowAttention(model, name, normed, shifted, keep, heads)));
  keep(`${name}.mid`, z);
  const mapped = mlp(model, name, layerNorm(z, at(`${name}.norm2`), config.norm_eps), keep, 'gelu');
  return keep(name, add(z, keep(`${name}.mlp_out`, mapped)));
}

/** 2 x 2 neighbours become one token: concatenate to 4C, normalise, map to 2C; an uneven side is padded with zeros. */
function merge({ config, at }, name, x) {
  const [height, width, channels] = x.shape;
  const [high, wide] = [(height + 1) >> 1, (width + 1) >> 1];
  const quads = tensor([high, wide, 4 * channels]);
  for (let i = 0; i < high * wide; i++)
    for (let part = 0; part < 4; part++) {
      const row = 2 * Math.floor(i / wide) + (part % 2);
      const column = 2 * (i % wide) + (part >> 1);
      const from = (row * width + column) * channels;
      if (row < height && column < width)
        quads.data.set(x.data.subarray(from, from + channels), (4 * i + part) * channels);
    }
  return linear(layerNorm(quads, at(`${name}.norm`), config.norm_eps), at(`${name}.reduction`).weight);
}

/** Run the model on an image (C, H, W); headMask: (all blocks, most heads) factors on the heads' outputs. */
export function run(model, pixels, keep, { headMask }) {
  const { config, at } = model;
  const { weight, bias } = at('patch_embed.proj');
  const { patches, high, wide } = unfold(pixels, config.patch_size);
  let x = layerNorm(linear(patches, weight, bias), at('patch_embed.norm'), config.norm_eps);
  x = keep('patch_embed', reshape(x, high, wide, config.embed_dim));
  const columns = Math.max(...config.num_heads);
  stagesOf(config).forEach(({ name, heads, depth, before }, stage) => {
    if (stage) x = merge(model, `${name}.downsample`, x);
    for (let i = 0; i < depth; i++) {
      const from = (before + i) * columns;
      const factors = headMask?.slice(from, from + heads);
      x = block(model, `${name}.blocks.${i}`, x, i % 2 === 1, keep, { heads, factors });
    }
    keep(name, x);
  });
  x = keep('norm', layerNorm(x, at('norm'), config.norm_eps));
  const mean = meanRows(reshape(x, x.shape[0] * x.shape[1], x.shape[2]));
  return config.num_classes ? linear(mean, at('head.fc').weight, at('head.fc').bias) : mean;
}

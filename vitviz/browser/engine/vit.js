// The Vision Transformer (Dosovitskiy et al. 2021), with DeiT's distillation token and with registers.

import { stemCost, stemShapes, stemTokens, stemValues } from './hybrid.js';
import {
  ACTIVATIONS,
  add,
  concat,
  layerNorm,
  linear,
  map,
  meanRows,
  permute,
  product,
  reshape,
  rows,
  softmax,
  tensor,
  unfold,
} from './tensor.js';

// ------------------------------------------------------------ sizes

/** Return the sizes that follow from a config: grid, tokens before the patches, width of a head, hidden width. */
export function sizes(config) {
  const { image_size: size, patch_size: patch, embed_dim: dim, num_heads: heads, readout } = config;
  const side = size / patch;
  const cls = ['cls', 'cls_mean'].includes(readout) || config.unread_cls;
  const prefix = (cls ? 1 : 0) + (config.distilled ? 1 : 0) + config.num_registers;
  const perHead = config.head_dim || dim / heads;
  const hidden = Math.floor(dim * config.mlp_ratio + 1e-6);
  const patches = side * side;
  return { side, patches, cls, prefix, tokens: prefix + patches, perHead, inner: perHead * heads, hidden };
}

export const norm = (name, width) => ({ [`${name}.weight`]: [width], [`${name}.bias`]: [width] });

export const affine = (name, outputs, inputs, bias = true) => ({
  [`${name}.weight`]: [outputs, inputs],
  ...(bias && { [`${name}.bias`]: [outputs] }),
});

/** Return the shape of every weight by name. */
export function shapes(config) {
  const { embed_dim: dim, in_chans: channels, patch_size: patch, num_classes: classes, readout } = config;
  const { patches, cls, prefix } = sizes(config);
  const flat = channels * patch * patch;
  const features = readout === 'cls_mean' ? 2 * dim : dim;
  const known = {
    ...(config.stem.length ? stemShapes(config) : embedShapes(config, flat)),
    ...(cls && { cls_token: [1, 1, dim] }),
    ...(config.distilled && { dist_token: [1, 1, dim] }),
    ...(config.num_registers && { reg_token: [1, config.num_registers, dim] }),
    ...(config.positions === 'learned' && {
      pos_embed: [1, patches + (config.position_on_prefix ? prefix : 0), dim],
    }),
    ...(config.positions === 'pixels' && affine('pos_proj', dim, flat)),
    ...(config.embed_norm && norm('norm_pre', dim)),
    ...(config.final_norm && norm('norm', dim)),
    ...(config.pooled_norm && norm('fc_norm', dim)),
    ...(classes
      ? affine('head', classes, features)
      : config.projection && affine('head', config.projection, features, false)),
    ...(config.distilled && config.dist_head && classes && affine('head_dist', classes, dim)),
  };
  for (let i = 0; i < config.depth; i++) Object.assign(known, blockShapes(config, `blocks.${i}`));
  return known;
}

function embedShapes(
  { embed_dim: dim, in_chans: channels, patch_size: patch, embed_bias: bias, patch_norms: normed },
  flat,
) {
  return {
    'patch_embed.proj.weight': [dim, channels, patch, patch],
    ...(bias && { 'patch_embed.proj.bias': [dim] }),
    ...(normed && { ...norm('patch_embed.norm_pixels', flat), ...norm('patch_embed.norm', dim) }),
  };
}

function blockShapes(config, name) {
  const { embed_dim: dim, num_heads: heads } = config;
  const { inner, hidden, perHead } = sizes(config);
  const width = dim / heads;
  return {
    ...norm(`${name}.norm1`, dim),
    ...(config.head_input === 'all'
      ? affine(`${name}.attn.qkv`, 3 * inner, dim, config.qkv_bias)
      : {
          [`${name}.attn.qkv.weight`]: [3, heads, width, width],
          ...(config.qkv_bias && { [`${name}.attn.qkv.bias`]: [3 * dim] }),
        }),
    ...(config.qk_norm && { ...norm(`${name}.attn.q_norm`, perHead), ...norm(`${name}.attn.k_norm`, perHead) }),
    ...(config.output_projection && affine(`${name}.attn.proj`, dim, inner)),
    ...norm(`${name}.norm2`, dim),
    ...affine(`${name}.mlp.fc1`, config.gated_mlp ? 2 * hidden : hidden, dim),
    ...affine(`${name}.mlp.fc2`, dim, hidden),
    ...(config.layer_scale !== null && { [`${name}.ls1.gamma`]: [dim], [`${name}.ls2.gamma`]: [dim] }),
  };
}

/** Return {products: multiply-adds without the head's, values: numbers in the record}. */
export function cost(config) {
  const { embed_dim: dim, num_heads: heads, in_chans: channels, patch_size: patch, depth } = config;
  const { patches, tokens, inner, hidden } = sizes(config);
  const flat = channels * patch * patch;
  const qkv = config.head_input === 'all' ? 3 * inner * dim : (3 * dim * dim) / heads;
  const projection = config.output_projection ? inner * dim : 0;
  const layer = tokens * (qkv + projection + dim * hidden * (config.gated_mlp ? 3 : 2)) + 2 * tokens * tokens * inner;
  const embedding =
    (config.stem.length ? stemCost(config) : patches * flat * dim) +
    (config.positions === 'pixels' ? patches * flat * dim : 0);
  const kept = 7 * tokens * dim + 4 * tokens * inner + 2 * heads * tokens * tokens + tokens * hidden;
  return {
    products: embedding + depth * layer,
    values: 4 * tokens * dim + depth * kept + (config.stem.length && stemValues(config)),
  };
}

// ------------------------------------------------------------ positions

/** sin and cos of p / 10000^(2i / D) (Vaswani et al. 2017), one row per position. */
function sincos(length, dim) {
  const table = tensor([length, dim]);
  for (let i = 0; i < table.data.length; i++) {
    const [p, column] = [Math.floor(i / dim), i % dim];
    const angle = p / 10000 ** ((column - (column % 2)) / dim);
    table.data[i] = column % 2 ? Math.cos(angle) : Math.sin(angle);
  }
  return table;
}

/** concat[sin x w, cos x w, sin y w, cos y w] with w_k = 10000^(-k / (D/4 - 1)). */
function sincosConcat(side, dim) {
  const quarter = dim / 4;
  return map(tensor([side * side, dim]), (_, i) => {
    const [p, column] = [Math.floor(i / dim), i % dim];
    const along = column < 2 * quarter ? p % side : Math.floor(p / side);
    const angle = along * 10000 ** (-(column % quarter) / (quarter - 1));
    return Math.floor(column / quarter) % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** Return the table that is added to the tokens, or null. */
function positionTable({ config, at, weights }, pixels) {
  const { embed_dim: dim, positions } = config;
  const { side, patches, prefix } = sizes(config);
  // A copy: a record's arrays are handed over from the Worker, and the model keeps its weights.
  if (positions === 'learned') return tensor(weights.pos_embed.shape.slice(1), weights.pos_embed.data.slice());
  if (positions === 'pixels') {
    const { weight, bias } = at('pos_proj');
    return linear(unfold(pixels, config.patch_size).patches, weight, bias);
  }
  if (positions === 'sincos_1d') return sincos((config.sincos_on_prefix ? prefix : 0) + patches, dim);
  if (positions === 'sincos_2d_concat') return sincosConcat(side, dim);
  if (positions !== 'sincos_2d_sum') return null;
  const { data } = sincos(side, dim);
  return map(tensor([patches, dim]), (_, i) => {
    const [p, column] = [Math.floor(i / dim), i % dim];
    return data[Math.floor(p / side) * dim + column] + data[(p % side) * dim + column];
  });
}

/** Turn the pairs (k, k + d/2) of every patch's query or key (heads, N, d) by angles of its row and column, in place. */
function rotate(x, { side, prefix }, theta) {
  const [heads, tokens, width] = x.shape;
  const pairs = width / 2;
  for (let p = prefix; p < tokens; p++) {
    const centres = [Math.floor((p - prefix) / side), (p - prefix) % side].map((at) => (2 * (at + 0.5)) / side - 1);
    for (let pair = 0; pair < pairs; pair++) {
      const quarter = pairs / 2;
      const angle = centres[Math.floor(pair / quarter)] * 2 * Math.PI * theta ** (-(pair % quarter) / quarter);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let h = 0; h < heads; h++) {
        const at = (h * tokens + p) * width + pair;
        const [first, second] = [x.data[at], x.data[at + pairs]];
        x.data[at] = first * cos - second * sin;
        x.data[at + pairs] = second * cos + first * sin;
      }
    }
  }
}

// ------------------------------------------------------------ the layers

/** Cut the image into patches and map each to D values: (N, D). */
function embed(model, pixels, keep) {
  const { config, at } = model;
  if (config.stem.length) return stemTokens(model, pixels, keep);
  const { weight, bias } = at('patch_embed.proj');
  const { patches } = unfold(pixels, config.patch_size);
  if (config.patch_norms) {
    const values = layerNorm(patches, at('patch_embed.norm_pixels'), config.norm_eps);
    return layerNorm(linear(values, weight, bias), at('patch_embed.norm'), config.norm_eps);
  }
  // 'reshape' takes the next values of memory for a patch, which lie in rows and not in a square: a common bug.
  return linear(config.embed === 'reshape' ? reshape(pixels, ...patches.shape) : patches, weight, bias);
}

/** Return all tokens with their positions: z0 = [x_class; x1 E; ...; xN E] + E_pos (eq. 1). */
function embedTokens(model, pixels, keep) {
  const { config, at, weights } = model;
  const { prefix, patches: cells } = sizes(config);
  let patches = embed(model, pixels, keep);
  keep('patch_embed', patches);
  const table = positionTable(model, pixels);
  const whole = table && table.shape[0] !== cells;
  if (table && !whole) patches = add(patches, table);
  const tokens = [weights.cls_token, weights.dist_token, weights.reg_token].filter(Boolean);
  let z = concat([...tokens.map((token) => reshape(token, ...token.shape.slice(1))), patches]);
  if (whole) z = add(z, table);
  if (table) keep('pos_embed', table);
  if (config.embed_norm) z = layerNorm(z, at('norm_pre'), config.norm_eps);
  if (z.shape[0] !== prefix + cells) throw new Error('The image has not the size of the model.');
  return keep('embedded', z);
}

/** Map tokens (N, D) to queries, keys and values, (N, 3 D). */
function queriesKeysValues({ at, config }, name, x) {
  const { weight, bias } = at(`${name}.qkv`);
  if (config.head_input === 'all') return linear(x, weight, bias);
  const [tokens, dim] = x.shape;
  const [outputs, , width] = weight.shape;
  return map(tensor([tokens, outputs * dim]), (_, i) => {
    const [token, column] = [Math.floor(i / (outputs * dim)), i % (outputs * dim)];
    const head = Math.floor((column % dim) / width);
    let sum = bias ? bias.data[column] : 0;
    for (let p = 0; p < width; p++) sum += x.data[token * dim + head * width + p] * weight.data[column * width + p];
    return sum;
  });
}

/**
 * A = softmax(q kᵀ scale), y = A v for each of `groups` (heads; in Swin every head of every window): q, k and v are
 * (groups, N, d). `bias(group, query, key)` is added to the scores, if given. Returns {scores, attn, y}.
 */
export function attend(q, k, v, scale, bias) {
  const [groups, n, width] = q.shape;
  const scores = tensor([groups, n, n]);
  const y = tensor(v.shape);
  const columns = permute(v, [0, 2, 1]);
  for (let g = 0; g < groups; g++)
    product(n, n, width, [q.data, g * n * width], [k.data, g * n * width], [scores.data, g * n * n]);
  let i = 0;
  for (let g = 0; g < groups; g++)
    for (let query = 0; query < n; query++)
      for (let key = 0; key < n; key++, i++) scores.data[i] = scores.data[i] * scale + (bias ? bias(g, query, key) : 0);
  const attn = softmax(scores);
  for (let g = 0; g < groups; g++)
    product(n, width, n, [attn.data, g * n * n], [columns.data, g * n * width], [y.data, g * n * width]);
  return { scores, attn, y };
}

/** Multiply each head's output (heads, or heads of every window, N, d) by its factor; 0 ablates the head. */
export function scaleHeads(y, factors) {
  const area = y.shape[1] * y.shape[2];
  return factors ? map(y, (value, i) => value * factors[Math.floor(i / area) % factors.length]) : y;
}

/** Multi-head self-attention of tokens (N, D). `factors` scale the heads' outputs, `keys[j]` is false for a hidden token. */
function attention(model, name, x, keep, { factors, keys }) {
  const { config, at } = model;
  const { perHead, inner } = sizes(config);
  const heads = config.num_heads;
  const split = permute(
    reshape(queriesKeysValues(model, `${name}.attn`, x), x.shape[0], 3, heads, perHead),
    [1, 2, 0, 3],
  );
  const parts = [0, 1, 2].map((part) => reshape(rows(split, part, part + 1), heads, x.shape[0], perHead));
  const normed = (part, name) => (config.qk_norm ? layerNorm(part, at(name), config.norm_eps) : part);
  const [q, k] = [normed(parts[0], `${name}.attn.q_norm`), normed(parts[1], `${name}.attn.k_norm`)];
  const v = parts[2];
  if (config.positions === 'rotary') for (const part of [q, k]) rotate(part, sizes(config), config.rope_theta);
  const scale = { head: perHead ** -0.5, width: config.embed_dim ** -0.5, none: 1 }[config.attention_scale];
  const { scores, attn, y } = attend(q, k, v, scale, keys && ((head, query, key) => (keys[key] ? 0 : -Infinity)));
  for (const [part, value] of Object.entries({ q, k, v, scores, attn })) keep(`${name}.${part}`, value);
  const joined = keep(`${name}.heads`, reshape(permute(scaleHeads(y, factors), [1, 0, 2]), x.shape[0], inner));
  return config.output_projection
    ? linear(joined, at(`${name}.attn.proj`).weight, at(`${name}.attn.proj`).bias)
    : joined;
}

/** fc2(activation(fc1(x))), token by token; gated: fc1 gives gate and up, fc2(activation(gate) * up). */
export function mlp({ at }, name, x, keep, activation, gated = false) {
  const [first, second] = [at(`${name}.mlp.fc1`), at(`${name}.mlp.fc2`)];
  let hidden = linear(x, first.weight, first.bias);
  if (gated) {
    const { data } = hidden;
    const width = hidden.shape.at(-1) / 2;
    const at = (i) => Math.floor(i / width) * 2 * width + (i % width);
    hidden = map(
      tensor([...x.shape.slice(0, -1), width]),
      (_, i) => ACTIVATIONS[activation](data[at(i)]) * data[at(i) + width],
    );
  } else hidden = map(hidden, ACTIVATIONS[activation]);
  return linear(keep(`${name}.mlp_hidden`, hidden), second.weight, second.bias);
}

/** z' = MSA(LN z) + z, z = MLP(LN z') + z' (eq. 2 and 3); post-norm: LN after each sum. */
function block(model, name, x, keep, masks) {
  const { config, at, weights } = model;
  const pre = config.norm === 'pre';
  const normed = (part, value) => keep(`${name}.${part}`, layerNorm(value, at(`${name}.${part}`), config.norm_eps));
  function sum(value, branch, gamma) {
    const width = config.embed_dim;
    const scaled = gamma ? map(branch, (number, i) => number * gamma.data[i % width]) : branch;
    return config.residual ? add(value, scaled) : scaled;
  }
  keep(`${name}.input`, x);
  const attended = attention(model, name, pre ? normed('norm1', x) : x, keep, masks);
  let z = sum(x, keep(`${name}.attn_out`, attended), weights[`${name}.ls1.gamma`]);
  if (!pre) z = normed('norm1', z);
  keep(`${name}.mid`, z);
  const mapped = mlp(model, name, pre ? normed('norm2', z) : z, keep, config.activation, config.gated_mlp);
  z = sum(z, keep(`${name}.mlp_out`, mapped), weights[`${name}.ls2.gamma`]);
  return keep(name, pre ? z : normed('norm2', z));
}

/** Normalise the tokens and return their logits; a DeiT's are the mean of both heads'. */
function readout({ config, at, weights }, stream, keep) {
  const z = keep('norm', config.final_norm ? layerNorm(stream, at('norm'), config.norm_eps) : stream);
  const { prefix } = sizes(config);
  const token = (index) => reshape(rows(z, index, index + 1), config.embed_dim);
  const mean = () => meanRows(rows(z, prefix));
  const features = {
    mean,
    first_patch: () => token(prefix),
    cls_mean: () => concat([token(0), mean()]),
    cls: () => token(0),
  }[config.readout]();
  const normed = config.pooled_norm ? layerNorm(features, at('fc_norm'), config.norm_eps) : features;
  let logits = weights['head.weight'] ? linear(normed, weights['head.weight'], weights['head.bias']) : normed;
  if (weights['head_dist.weight']) {
    const other = linear(token(1), weights['head_dist.weight'], weights['head_dist.bias']);
    keep('logits_cls', logits);
    keep('logits_dist', other);
    logits = map(logits, (value, i) => (value + other.data[i]) / 2);
  }
  return config.softmax_output ? softmax(logits) : logits;
}

/**
 * Run the model on an image (C, H, W).
 *   headMask: (depth, heads) factors on the heads' outputs; tokenMask: (patches), 0 hides a patch from all others.
 */
export function run(model, pixels, keep, { headMask, tokenMask }) {
  const { config } = model;
  const { prefix, patches } = sizes(config);
  if (tokenMask && tokenMask.length !== patches) throw new Error('The token mask has not one value per patch.');
  const keys = tokenMask && [...Array(prefix).fill(1), ...tokenMask];
  let z = embedTokens(model, pixels, keep);
  for (let i = 0; i < config.depth; i++) {
    const factors = headMask?.slice(i * config.num_heads, (i + 1) * config.num_heads);
    z = block(model, `blocks.${i}`, z, keep, { factors, keys });
  }
  return readout(model, z, keep);
}

/** Return the class probabilities if the classifier head were applied before the first block and after each one. */
export function lens(model, { embedded, ...tensors }) {
  const { depth, num_classes: classes, softmax_output: done } = model.config;
  const streams = [embedded, ...Array.from({ length: depth }, (_, i) => tensors[`blocks.${i}`])];
  const logits = concat(
    streams.map((z) =>
      reshape(
        readout(model, z, (name, value) => value),
        1,
        classes,
      ),
    ),
  );
  return done ? logits : softmax(logits);
}

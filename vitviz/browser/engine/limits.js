// The models that the engine runs: every option known, and small enough for a browser.

import * as cnn from './cnn.js';
import * as swin from './swin.js';
import { count } from './tensor.js';
import * as vit from './vit.js';

export const FAMILIES = { vit, swin, cnn };

const LIMITS = { parameters: 3e6, flops: 300e6, record: 32 * 2 ** 20 };

const isCount = (value) => Number.isInteger(value) && value >= 1 && value <= 4096;
const COUNT = isCount;
const COUNT_OR_NONE = (value) => value === 0 || isCount(value);
const FLAG = (value) => typeof value === 'boolean';
const NUMBER = (value) => Number.isFinite(value) && value >= 0;
const COUNTS = (value) => Array.isArray(value) && value.length <= 64 && value.every(COUNT_OR_NONE);
const oneOf =
  (...options) =>
  (value) =>
    options.includes(value);

const COMMON = {
  image_size: COUNT,
  in_chans: COUNT,
  num_classes: COUNT_OR_NONE,
  class_output: (value) => value === undefined || value === 'softmax', // older files do not state it
};
const TRAINING = { dropout: NUMBER, attention_dropout: NUMBER, drop_path: NUMBER }; // no effect on a trained model
const TRANSFORMER = { ...COMMON, ...TRAINING, patch_size: COUNT, embed_dim: COUNT, mlp_ratio: NUMBER, qkv_bias: FLAG };
const OPTIONS = {
  vit: {
    ...TRANSFORMER,
    norm_eps: NUMBER,
    depth: COUNT,
    num_heads: COUNT,
    output_projection: FLAG,
    head_input: oneOf('all', 'slice'),
    attention_scale: oneOf('head', 'width', 'none'),
    norm: oneOf('pre', 'post'),
    residual: FLAG,
    final_norm: FLAG,
    activation: oneOf('gelu', 'gelu_tanh', 'quick_gelu', 'relu', 'silu'),
    positions: oneOf('none', 'sincos_1d', 'sincos_2d_sum', 'sincos_2d_concat', 'learned', 'pixels', 'rotary'),
    positions_antialias: FLAG,
    position_on_prefix: FLAG,
    sincos_on_prefix: FLAG,
    readout: oneOf('cls', 'mean', 'first_patch', 'cls_mean'),
    distilled: FLAG,
    num_registers: COUNT_OR_NONE,
    embed: oneOf('conv', 'unfold', 'reshape'),
    embed_bias: FLAG,
    stem: COUNTS,
    layer_scale: (value) => value === null || NUMBER(value),
    softmax_output: FLAG,
    head_dim: COUNT_OR_NONE,
    qk_norm: FLAG,
    gated_mlp: FLAG,
    patch_norms: FLAG,
    embed_norm: FLAG,
    unread_cls: FLAG,
    dist_head: FLAG,
    pooled_norm: FLAG,
    projection: COUNT_OR_NONE,
    rope_theta: NUMBER,
  },
  swin: {
    ...TRANSFORMER,
    norm_eps: NUMBER,
    depths: COUNTS,
    num_heads: COUNTS,
    window_size: COUNT,
    masked: FLAG,
    convention: oneOf('torchvision', 'timm'),
  },
  cnn: { ...COMMON, widths: COUNTS, blocks: COUNTS, pooled: FLAG, whitened: FLAG },
};

/** True if the sizes of a config with valid fields go together. */
function fits(config) {
  const { kind, image_size: size, patch_size: patch, embed_dim: dim, num_heads: heads } = config;
  if (kind === 'cnn')
    return config.widths.length > 0 && config.widths.length === config.blocks.length && config.widths.every(isCount);
  if (size % patch || config.mlp_ratio * dim < 1) return false;
  if (kind === 'swin')
    return (
      heads.length > 0 &&
      heads.length === config.depths.length &&
      heads.every((n, stage) => n > 0 && (dim * 2 ** stage) % n === 0)
    );
  if (config.head_input === 'slice' && config.head_dim) return false;
  const perHead = config.head_dim || dim / heads;
  const even = { sincos_1d: 2, sincos_2d_sum: 2, sincos_2d_concat: 4 }[config.positions] ?? 1;
  const stem =
    config.stem.length === 0 ||
    (config.stem.every(isCount) && config.stem.length >= Math.max(1, Math.ceil(Math.log2(patch))));
  return Number.isInteger(perHead) && dim % even === 0 && (config.positions !== 'rotary' || perHead % 4 === 0) && stem;
}

/** An option that a newer server states and this engine does not know counts only if it is on. */
const isOff = (value) => value === false || value === null || value === 0 || value === '' || value?.length === 0;

/** Return parameters, floating-point operations and bytes of a whole record; the config's fields are valid. */
export function costs(config) {
  const { shapes, cost } = FAMILIES[config.kind];
  const { products, values } = cost(config);
  const sizes = Object.entries(shapes(config)).map(([name, shape]) => [name, count(shape)]);
  const sum = (entries) => entries.reduce((total, [, size]) => total + size, 0);
  const head = sum(sizes.filter(([name]) => /^head.*weight$/.test(name)));
  return { parameters: sum(sizes), flops: 2 * (products + head), record: 4 * values };
}

/** Return true if the engine runs this config as the server does; false for everything else, malformed values included. */
export function supports(config) {
  const options = Object.hasOwn(OPTIONS, config?.kind) ? OPTIONS[config.kind] : null;
  if (!options || !Object.entries(options).every(([name, valid]) => valid(config[name]))) return false;
  const unknown = Object.keys(config).filter((name) => name !== 'kind' && !Object.hasOwn(options, name));
  if (!unknown.every((name) => isOff(config[name])) || !fits(config)) return false;
  if (config.depth > 64 || config.depths?.some((depth) => depth > 64) || config.blocks?.some((n) => n > 64))
    return false;
  const needed = costs(config);
  return Object.entries(LIMITS).every(([name, limit]) => needed[name] <= limit);
}

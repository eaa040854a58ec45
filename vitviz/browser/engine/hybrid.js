// The convolutional stem of a hybrid ViT (Xiao et al. 2021): 3 x 3 convolutions down to the patch grid instead of one large one.

import { batchNorm, convolve, permute, reshape, tensor } from './tensor.js';

const halvings = (patch) => Math.ceil(Math.log2(patch));

/** Stride of each convolution: the last ones halve the map. */
const strides = ({ stem, patch_size: patch }) => stem.map((_, i) => (i >= stem.length - halvings(patch) ? 2 : 1));

export function stemShapes({ stem, in_chans: channels, embed_dim: dim }) {
  const shapes = {};
  stem.forEach((width, i) => {
    shapes[`patch_embed.stem.${3 * i}.weight`] = [width, i ? stem[i - 1] : channels, 3, 3];
    for (const name of ['weight', 'bias', 'running_mean', 'running_var'])
      shapes[`patch_embed.stem.${3 * i + 1}.${name}`] = [width];
  });
  return { ...shapes, 'patch_embed.proj.weight': [dim, stem.at(-1), 1, 1], 'patch_embed.proj.bias': [dim] };
}

/** Multiply-adds of the stem. */
export function stemCost(config) {
  const { stem, in_chans: channels, embed_dim: dim, image_size: size, patch_size: patch } = config;
  const cells = (size / patch) ** 2;
  let side = (size / patch) * 2 ** halvings(patch);
  const convolutions = stem.map((width, i) => {
    side /= strides(config)[i];
    return side * side * 9 * width * (i ? stem[i - 1] : channels);
  });
  return convolutions.reduce((sum, products) => sum + products, cells * stem.at(-1) * dim);
}

/** Stretch a map by linear interpolation between pixel centres. */
function enlarge(x, high, wide) {
  const [channels, height, width] = x.shape;
  const y = tensor([channels, high, wide]);
  const place = (i, to, from) => {
    const at = Math.max(0, ((i + 0.5) * from) / to - 0.5);
    const low = Math.min(Math.floor(at), from - 1);
    return { low, next: Math.min(low + 1, from - 1), share: at - low };
  };
  for (let i = 0; i < y.data.length; i++) {
    const c = Math.floor(i / (high * wide)) * height;
    const v = place(Math.floor(i / wide) % high, high, height);
    const u = place(i % wide, wide, width);
    const line = (row) =>
      x.data[(c + row) * width + u.low] * (1 - u.share) + x.data[(c + row) * width + u.next] * u.share;
    y.data[i] = line(v.low) * (1 - v.share) + line(v.next) * v.share;
  }
  return y;
}

/** Numbers in the stem's record. */
export function stemValues({ stem, in_chans: channels, image_size: size, patch_size: patch, ...config }) {
  let side = (size / patch) * 2 ** halvings(patch);
  const enlarged = channels * side * side;
  const steps = strides({ stem, patch_size: patch, ...config });
  return stem.reduce((total, width, i) => {
    side /= steps[i];
    return total + width * side * side;
  }, enlarged);
}

/** Return the tokens (N, D) of an image (C, H, W). */
export function stemTokens({ config, at }, pixels, keep) {
  const [, height, width] = pixels.shape;
  const stride = 2 ** halvings(config.patch_size);
  const grown = [height, width].map((side) => (side / config.patch_size) * stride);
  let x = keep('patch_embed.enlarged', stride === config.patch_size ? pixels : enlarge(pixels, ...grown));
  strides(config).forEach((step, i) => {
    x = convolve(x, at(`patch_embed.stem.${3 * i}`).weight, { stride: step, padding: 1 });
    x = keep(`patch_embed.stem.${i}`, batchNorm(x, at(`patch_embed.stem.${3 * i + 1}`), 'relu'));
  });
  const { weight, bias } = at('patch_embed.proj');
  x = convolve(x, weight, { bias });
  return permute(reshape(x, config.embed_dim, x.data.length / config.embed_dim), [1, 0]);
}

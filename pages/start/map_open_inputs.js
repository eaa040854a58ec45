// Open the parts before the layers for one token: the embedding E, learned tokens, positions, and convolutions.

import { cellAt, placeOf } from '../../vitviz/browser/kit/pin.js';
import { signed, tokenName } from '../../vitviz/browser/kit/text.js';
import {
  buildBars,
  buildLayerNorm,
  buildMaps,
  buildProduct,
  buildSum,
  buildTable,
  buildVectors,
  dot,
  largestFirst,
  nameToken,
  norm,
  plus,
  rowsOf,
  selectIndex,
  stack,
  strongestFirst,
  sum,
  times,
} from './map_operations.js';

const CHANNELS = 3; // shown output channels of E
const MAPS = 12; // shown feature maps of a level
const BATCH_NORM_EPS = 1e-5;

// ------------------------------------------------------------ patches to tokens

/** Open E for one patch: the products that give three channels of its token. */
export async function openEmbedding({ part, header, config, query, cell, get }) {
  const [row, col] = [Math.floor(cell / part.grid[1]), cell % part.grid[1]];
  const px = header.patch_px;
  const pixels = config.stem?.length
    ? `patch_embed.stem.${config.stem.length - 1}[:,${row}:${row + 1},${col}:${col + 1}]`
    : `input[:,${row * px}:${(row + 1) * px},${col * px}:${(col + 1) * px}]`;
  const windows = config.kind === 'swin';
  const [x, weight, normed, bias] = await get(
    ...[pixels, 'weight:patch_embed.proj.weight', `patch_embed[${windows ? `${row},${col}` : cell}]`],
    ...(config.embed_bias === false ? [] : ['weight:patch_embed.proj.bias']),
  );
  const filters = rowsOf(weight);
  const biases = bias?.data ?? new Float32Array(filters.length);
  const products = Float32Array.from(filters, (filter) => dot(filter, x.data));
  const token = plus(products, biases);
  const order = strongestFirst(token);
  const channel = selectIndex(query.channel, token.length, order[0]);
  const shown = [channel, ...order.filter((i) => i !== channel)].slice(0, CHANNELS);
  const square = x.shape[1] > 1 || x.shape[0] <= 3;
  const steps = square ? [pixelStep(x)] : [];
  for (const i of shown) {
    const title = `Dot product with column ${i + 1} of E`;
    const shares = times(x.data, filters[i]);
    steps.push(
      square
        ? buildProduct({ title, x, weights: filters[i], bias: biases[i], channel: i })
        : buildBars(title, 'x · e + b', shares, (c) => `feature map ${c + 1}`, biases[i]),
    );
  }
  steps.push(buildVectors('Token before its position embedding', 'x E + b', [token], part.shape_out));
  if (windows) steps.push(buildLayerNorm('LayerNorm', 'LN(x E + b)', token, normed.data, part.shape_out));
  const columns = { x: x.data };
  for (const i of shown) columns[`column ${i + 1}`] = filters[i];
  for (const i of shown) columns[`x · column ${i + 1}`] = times(x.data, filters[i]);
  const tables = [
    buildTable('Patch times columns of E', 'patch_times_E.csv', columns),
    buildTable('Token', 'token.csv', { sum: products, bias: biases, token }),
  ];
  return { token: cell, steps, tables, channel };
}

function pixelStep(x) {
  const [lo, hi] = [Math.min(...x.data), Math.max(...x.data)];
  const numbers = `${x.data.length} values between ${signed(lo)} and ${signed(hi)}`;
  const title = 'Pixel values of the patch';
  return { kind: 'pixels', title, formula: 'x ∈ ℝ^(P²C)', numbers, shape: x.shape, lo, hi, values: x };
}

const readPrefix = async (names, get) => {
  const stored = { cls: 'cls_token', dist: 'dist_token' };
  const tokens = [...new Set(names.map((name) => stored[name] ?? 'reg_token'))];
  return (await get(...tokens.map((name) => `weight:${name}[0]`))).flatMap(rowsOf);
};

/** Open the learned tokens before the patches. */
export async function openPrefix({ part, get }) {
  const vectors = await readPrefix(part.prefix, get);
  const names = part.prefix.map(tokenName);
  const title = names.length > 1 ? 'Learned tokens' : 'Learned token';
  const norms = names.map((name, i) => `${name}: length ${norm(vectors[i]).toFixed(2)}`).join(', ');
  const steps = [buildVectors(title, '[x_class; x₁E; …; x_N E]', vectors, part.shape_out, names, norms)];
  const columns = Object.fromEntries(names.map((name, i) => [name, vectors[i]]));
  return { token: 0, steps, tables: [buildTable(title, 'prefix_tokens.csv', columns)] };
}

/** Open the positions: a token plus its position vector, whose similarity to all others is a map. */
export async function openPositions({ part, header, token: pinned, cell, get }) {
  const prefix = header.prefix.length;
  const token = part.on_prefix ? pinned : prefix + cell;
  const [table, patch] = await get('pos_embed', ...(token < prefix ? [] : [`patch_embed[${token - prefix}]`]));
  const before = patch?.data ?? (await readPrefix(header.prefix, get))[token];
  const rows = rowsOf(table);
  const position = rows[part.on_prefix ? token : token - prefix];
  const sumStep = buildSum(
    part.called === 'position' ? 'Token plus position embedding' : 'Token plus a second linear map of its pixels',
    'z₀ = x E + e_pos',
    [before, position],
    ['token', part.called, 'z₀'],
    part.shape_out,
  );
  const length = norm(position);
  const cosines = Float32Array.from(part.on_prefix ? rows.slice(prefix) : rows, (row) => {
    const both = norm(row) * length;
    return both > 0 ? dot(row, position) / both : 0;
  });
  const others = cosines.filter((_, i) => i !== token - prefix);
  const numbers = others.length
    ? `with the other positions ${signed(Math.min(...others))} to ${signed(Math.max(...others))}`
    : 'only one position: no other to compare with';
  const similarity = {
    kind: 'maps',
    title: 'Cosine similarity with the other positions',
    formula: 'cos(e_pos, e_pos′)',
    ...{ numbers, shape: part.grid, names: ['cosine'], lo: -1, hi: 1 },
    values: { shape: [1, ...part.grid], data: cosines },
  };
  const columns = { token: before, [part.called]: position, sum: plus(before, position) };
  const tables = [
    buildTable('Token and position', 'token_and_position.csv', columns),
    buildTable('Cosine similarity with every position', 'cosines.csv', { cosine: cosines }),
  ];
  return { token, steps: [sumStep, similarity], tables };
}

// ------------------------------------------------------------ convolutions

/** Return the input (C, k, k) of one output value of a convolution; zero beyond the edge. */
function neighbourhood({ shape: [channels, rows, cols], data }, [row, col], side, stride, padding) {
  const values = new Float32Array(channels * side * side);
  for (let i = 0; i < values.length; i++) {
    const r = row * stride - padding + (Math.floor(i / side) % side);
    const s = col * stride - padding + (i % side);
    const inside = r >= 0 && r < rows && s >= 0 && s < cols;
    if (inside) values[i] = data[(Math.floor(i / side ** 2) * rows + r) * cols + s];
  }
  return { shape: [channels, side, side], data: values };
}

/** Return the position [row, column] of a pin on maps (C, rows, columns); the middle for a prefix token. */
function placeOn({ shape: [, rows, cols] }, pin) {
  const cell = cellAt([rows, cols], placeOf(pin) ?? [0.5, 0.5]);
  return [Math.floor(cell / cols), cell % cols];
}

const valuesAt = ({ shape: [channels, rows, cols], data }, [row, col]) =>
  Float32Array.from({ length: channels }, (_, c) => data[(c * rows + row) * cols + col]);

function levelStep(title, maps) {
  const [count, rows, cols] = maps.shape;
  const all = rowsOf(maps);
  const variance = all.map((values) => {
    const mean = sum(values) / values.length;
    return values.reduce((total, value) => total + (value - mean) ** 2, 0);
  });
  const shown = largestFirst(variance).slice(0, MAPS);
  const numbers = `${shown.length} of ${count} feature maps (${rows} × ${cols}), by variance`;
  const values = stack(
    shown.map((i) => all[i]),
    [shown.length, rows, cols],
  );
  return buildMaps(
    title,
    '',
    numbers,
    values,
    shown.map((i) => `map ${i + 1}`),
    false,
  );
}

function finish(maps, [row, col], steps, table, channel) {
  const grid = maps.shape.slice(1);
  const token = row * grid[1] + col;
  const name = nameToken({ prefix: [], grid }, token).replace('patch', 'position');
  return { token, name, steps, tables: [table], channel };
}

/** Open the first convolution of a hybrid or CNN at the pinned position: filter, BatchNorm, ReLU. */
export async function openStem({ part, config, query, pin, get }) {
  const hybrid = config.kind === 'vit';
  const name = hybrid ? 'patch_embed.stem' : 'stem';
  const batch = config.whitened ? [] : ['weight', 'bias', 'running_mean', 'running_var'];
  const [source, weight, ...read] = await get(
    ...[hybrid ? 'patch_embed.enlarged' : 'input', `weight:${name}.0.weight`],
    ...part.levels.map((_, i) => (hybrid ? `${name}.${i}` : name)),
    ...batch.map((each) => `weight:${name}.1.${each}`),
  );
  const maps = read.slice(0, part.levels.length);
  const [first] = maps;
  const place = placeOn(first, pin);
  const outputs = valuesAt(first, place);
  const channel = selectIndex(query.channel, outputs.length, strongestFirst(outputs)[0]);
  const side = weight.shape[2];
  const stride = Math.round(source.shape[1] / first.shape[1]);
  const x = neighbourhood(source, place, side, stride, config.whitened ? 0 : 1);
  const filter = rowsOf(weight)[channel];
  const total = dot(x.data, filter);
  const title = `Filter ${channel + 1} at this position`;
  const steps = [buildProduct({ title, formula: 'Σ x ⊙ w', x, weights: filter, bias: 0, channel })];
  if (batch.length) steps.push(batchNormStep(total, read.slice(maps.length), channel, outputs[channel]));
  steps.push(...maps.map((level, i) => levelStep(part.levels[i], level)));
  const columns = { x: x.data, w: filter, 'x w': times(x.data, filter) };
  const table = buildTable(`Filter ${channel + 1}`, `filter_${channel}_from_0.csv`, columns);
  return finish(first, place, steps, table, channel);
}

function batchNormStep(total, parameters, channel, output) {
  const [gain, shift, mean, variance] = parameters.map(({ data }) => data[channel]);
  const normed = (gain * (total - mean)) / Math.sqrt(variance + BATCH_NORM_EPS) + shift;
  return {
    kind: 'vector',
    title: 'BatchNorm and ReLU',
    formula: 'max(0, γ (s − μ) / √(σ² + ε) + β)',
    numbers: `${signed(total, 3)} becomes ${signed(normed, 3)}; after ReLU ${signed(output, 3)}`,
    labels: ['sum, normalised, after ReLU'],
    shape: [],
    values: stack([Float32Array.of(total, normed, Math.max(normed, 0))]),
  };
}

const levelNames = ({ id, levels }) =>
  id === 'stem' ? ['stem'] : levels.map((_, i) => `layers.${Number(id.split('.')[1]) - 1}.blocks.${i}`);

/** Open a CNN's stage: one value of its first convolution by input map, and the output maps. */
export async function openLevel({ part, parts, config, query, pin, get }) {
  const name = `${levelNames(part)[0]}.conv1.weight`;
  const [before, weight, ...maps] = await get(
    levelNames(parts[parts.indexOf(part) - 1]).at(-1),
    `weight:${name}`,
    ...levelNames(part),
  );
  // A plain block pools after its first convolution, a residual one halves the map with it.
  const stride = config.pooled ? 1 : Math.round(before.shape[1] / maps[0].shape[1]);
  const grid = before.shape.slice(1).map((length) => Math.ceil(length / stride));
  const output = { shape: [weight.shape[0], ...grid] };
  const place = placeOn(output, pin);
  const x = neighbourhood(before, place, 3, stride, 1);
  const filters = rowsOf(weight);
  const values = filters.map((filter) => dot(filter, x.data));
  const channel = selectIndex(query.channel, values.length, strongestFirst(values)[0]);
  const shares = Float32Array.from(rowsOf({ ...x, data: times(x.data, filters[channel]) }), sum);
  const title = `One value of feature map ${channel + 1}, before BatchNorm`;
  const steps = [
    buildBars(title, 'Σ over feature maps of Σ x ⊙ w', shares, (i) => `map ${i + 1}`, 0),
    levelStep('Input feature maps', before),
    ...maps.map((level, i) => levelStep(`Output of ${part.levels[i].toLowerCase()}`, level)),
  ];
  return finish(output, place, steps, buildTable(title, `map_${channel}_from_0.csv`, { share: shares }), channel);
}

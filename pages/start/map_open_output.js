// Open the output parts: final LayerNorm, pooling, classifier head and class probabilities.

import { softmax } from '../../vitviz/browser/engine/tensor.js';
import { signed, tokenName } from '../../vitviz/browser/kit/text.js';
import {
  buildBars,
  buildLayerNorm,
  buildMaps,
  buildSoftmaxRow,
  buildTable,
  buildVectors,
  highest,
  layerNorm,
  nameToken,
  rowsOf,
  selectIndex,
  stack,
  strongestFirst,
  sum,
  times,
} from './map_operations.js';

/** Return the names of the tokens before and after the final LayerNorm. */
const lastNames = ({ kind, depth, depths }) => [
  kind === 'swin' ? `layers.${depths.length - 1}.blocks.${depths.at(-1) - 1}` : `blocks.${depth - 1}`,
  'norm',
];

/** Return the rows of tokens (N, D), or of a Swin's grid (H, W, D). */
const tokensOf = ({ shape, data }) => rowsOf({ shape: [data.length / shape.at(-1), shape.at(-1)], data });

/** Open the final LayerNorm for the token that the head reads, or the pinned one if it reads all. */
export async function openNorm({ part, parts, config, token: pinned, get }) {
  const [before, after] = (await get(...lastNames(config))).map(tokensOf);
  const token = part.token >= 0 ? part.token : pinned;
  const head = parts.find(({ id }) => id === 'head');
  const tokens = head?.names.length > 1 ? [0, 1] : [token];
  const formula = 'LN(z) = γ (z − μ) / √(σ² + ε) + β';
  const steps = tokens.map((each) =>
    buildLayerNorm(`LayerNorm of ${nameToken(part, each)}`, formula, before[each], after[each], part.shape_out),
  );
  const columns = { before: before[token], after: after[token] };
  return { token, steps, tables: [buildTable('LayerNorm', 'last_norm.csv', columns)] };
}

/** Return the asked class, or the most probable one. */
function selectClass({ model, parts, query }) {
  const { index } = model.header.classes;
  const [count] = parts.find(({ id }) => id === 'classes').shape_out;
  return selectIndex(query.class, count, index[highest(model.arrays.probabilities.data)]);
}

/** Return the vector that a model's pooling gives. */
async function readPooled({ part, config, header, get }) {
  if (config.kind === 'cnn') return (await get('features'))[0].data;
  if (part.how === 'attention pooling') return (await get('pool'))[0].data;
  const tokens = tokensOf((await get('norm'))[0]);
  const patches = tokens.slice(header.prefix.length);
  if (part.how === 'first patch') return patches[0];
  const mean = Float32Array.from(patches[0], (_, c) => sum(patches.map((token) => token[c])) / patches.length);
  return part.how === '[CLS] and mean' ? Float32Array.of(...tokens[0], ...mean) : mean;
}

const headName = ({ kind }) => (kind === 'swin' ? 'head.fc' : 'head');

/** Return the pooled feature maps or tokens as maps (C, rows, columns). */
async function readMaps({ part, parts, header, get }) {
  const before = parts[parts.indexOf(part) - 1];
  if (before.kind === 'maps') {
    const stage = Number(before.id.split('.')[1]) - 1;
    return (await get(before.id === 'stem' ? 'stem' : `layers.${stage}.blocks.${before.levels.length - 1}`))[0];
  }
  const tokens = tokensOf((await get('norm'))[0]).slice(header.prefix.length);
  const { grid } = parts.findLast((each) => each.grid);
  const maps = rowsOf({ shape: [tokens[0].length, 0], data: new Float32Array(tokens.length * tokens[0].length) });
  tokens.forEach((token, i) => token.forEach((value, c) => (maps[c][i] = value)));
  return stack(maps, [maps.length, ...grid]);
}

/** Open the pooling: one channel at every position, and the pooled vector. */
export async function openPool(context) {
  const { part, parts, config, query, get } = context;
  const vector = await readPooled(context);
  const maps = await readMaps(context);
  const head = parts.some(({ id }) => id === 'head')
    ? `weight:${headName(config)}.weight[${selectClass(context)}]`
    : '';
  const weights = head ? (await get(head))[0].data : null;
  const shares = weights ? times(vector, weights) : vector;
  const channel = selectIndex(query.channel, vector.length, strongestFirst(shares)[0]);
  const map = rowsOf(maps)[channel % maps.shape[0]];
  const statistic = { max: 'maximum', 'first patch': 'first' }[part.how] ?? part.how;
  const title = `Channel ${channel + 1} at every position`;
  const numbers = `${statistic} of ${map.length} values: ${signed(vector[channel], 3)}`;
  const values = { shape: [1, ...maps.shape.slice(1)], data: map };
  const steps = [
    buildMaps(title, `${statistic} over all positions`, numbers, values, [`channel ${channel + 1}`], true),
    buildVectors('All channels', statistic, [vector], part.shape_out),
  ];
  const tables = [
    buildTable(title, 'places.csv', { value: map }),
    buildTable('Pooled vector', 'pooled.csv', { value: vector }),
  ];
  return { token: context.token, steps, tables, channel };
}

/** Return the input of each classifier head. */
async function readHeadInputs({ part, parts, config, header, get }) {
  const pool = parts.find(({ id }) => id === 'pool');
  if (!pool) {
    const places = part.names.map((name) => `norm[${header.prefix.indexOf(name)}]`);
    return (await get(...places)).map(({ data }) => data);
  }
  const vector = await readPooled({ part: pool, config, header, get });
  if (!config.pooled_norm) return [vector];
  const [weight, bias] = await get('weight:fc_norm.weight', 'weight:fc_norm.bias');
  return [layerNorm(vector, weight, bias, config.norm_eps)];
}

/** Open the classifier head: the products that sum to one class's logit. */
export async function openHead(context) {
  const { part, config, get } = context;
  const chosen = selectClass(context);
  const inputs = await readHeadInputs(context);
  const heads = [headName(config), 'head_dist'].slice(0, part.names.length);
  const parameters = await get(
    ...heads.flatMap((name) => [`weight:${name}.weight[${chosen}]`, `weight:${name}.bias[${chosen}:${chosen + 1}]`]),
  );
  const { classes } = context.records; // the server sends them with the records
  const steps = [];
  const columns = {};
  part.names.forEach((token, i) => {
    const [y, w, b] = [inputs[i], parameters[2 * i].data, parameters[2 * i + 1].data[0]];
    const two = heads.length > 1;
    const title = `Logit of ${classes[chosen]}${two ? ` from ${tokenName(token)}` : ''}`;
    const label = two ? ` ${tokenName(token)}` : '';
    steps.push(buildBars(title, 'w · y + b', times(y, w), (c) => `channel ${c + 1}`, b));
    Object.assign(columns, { [`y${label}`]: y, [`w${label}`]: w, [`w y${label}`]: times(y, w) });
  });
  if (heads.length > 1) steps.push(await meanStep(steps, part, get));
  const table = buildTable(`Logit of ${classes[chosen]}`, `score_of_class_${chosen}.csv`, columns);
  return { token: 0, steps, tables: [table], class: chosen };
}

async function meanStep([first, second], part, get) {
  const logits = await get('logits_cls', 'logits_dist', 'logits');
  const [a, b] = [first.result, second.result];
  return {
    kind: 'vector',
    title: 'Mean of both heads',
    formula: '(first + second) / 2',
    numbers: `(${signed(a, 3)} + ${signed(b, 3)}) / 2 = ${signed((a + b) / 2, 3)}`,
    labels: ['[CLS]', '[DIST]', 'mean'],
    shape: part.shape_out,
    values: stack(logits.map(({ data }) => data)),
  };
}

/** Open the class probabilities: a softmax of the logits, or the sigmoids of independent classes. */
export async function openClasses(context) {
  const { config, get } = context;
  const [{ data: logits }] = await get('logits');
  const { classes } = context.records;
  const name = (i) => classes[i];
  const independent = config.class_output === 'sigmoid';
  const done = config.softmax_output || config.class_output === 'raw';
  let probabilities = done ? logits : softmax({ shape: [logits.length], data: logits }).data;
  if (independent) probabilities = Float32Array.from(logits, (value) => 1 / (1 + Math.exp(-value)));
  const step = independent
    ? sigmoidStep(logits, probabilities, name)
    : buildSoftmaxRow({
        title: 'Softmax of the logits',
        formula: 'p = exp(s − s_max) / Σ exp(s − s_max)',
        dots: logits,
        scores: done ? logits.map((value) => Math.log(Math.max(value, 1e-30))) : logits,
        weights: probabilities,
        keys: [...logits.keys()],
        name,
        of: 'classes',
      });
  const table = buildTable('Classes', 'classes.csv', { logit: logits, probability: probabilities }, classes);
  return { token: 0, steps: [step], tables: [table], class: selectClass(context) };
}

function sigmoidStep(logits, probabilities, name) {
  const best = highest(probabilities);
  const step = buildBars('Sigmoid of each logit', 'p = 1 / (1 + exp(−s))', logits, name);
  return { ...step, numbers: `${name(best)}: s = ${signed(logits[best])}, p = ${probabilities[best].toFixed(3)}` };
}

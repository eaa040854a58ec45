// Decode a map's message: parts by name, and each token's activations dequantised.

import { pinOf, tokenOfPin } from '../../vitviz/browser/kit/pin.js';
import { weightOf } from '../../vitviz/browser/explorer_weights.js';
import { patchName, tokenName } from '../../vitviz/browser/kit/text.js';

const SEQUENCE_ROWS = 7;
const FLOW = new Set(['block', 'merge']);
const END = new Set(['norm', 'pool', 'head', 'classes']);

/** A model of one message; `message` is {header, arrays}. */
export class MapModel {
  constructor({ header, arrays }) {
    Object.assign(this, { header, arrays, parts: header.parts, look: null });
    this.byId = new Map(this.parts.map((part) => [part.id, part]));
    this.blocks = this.parts.filter((part) => part.kind === 'block');
    this.flow = this.parts.filter((part) => FLOW.has(part.kind));
    this.intro = this.parts.filter((part) => !FLOW.has(part.kind) && !END.has(part.kind));
    this.outro = this.parts.filter((part) => END.has(part.kind));
    this.top = highest(arrays.probabilities.data);
  }

  array(part, name) {
    return this.arrays[`${part.id ?? part}.${name}`];
  }

  /** Return the token of a part at a pin; -1 if the part has none. */
  tokenAt(part, pin) {
    return part.grid ? tokenOfPin({ prefix: part.prefix ?? [], grid: part.grid }, pin) : -1;
  }

  pinOf(part, token) {
    const prefix = part.prefix ?? [];
    return token < prefix.length ? prefix[token] : pinOf(part.grid, token - prefix.length);
  }

  /** Pin of the readout token: [CLS], or the pinned token if the head reads a mean. */
  get readout() {
    return this.header.prefix.includes('cls') ? 'cls' : this.header.pin;
  }

  /** Return a token's name: '[CLS]', 'patch 28 (row 4, column 4)'. */
  nameOf(pin, part = this.sequence) {
    const token = this.tokenAt(part, pin);
    const prefix = part.prefix ?? [];
    if (token < prefix.length) return tokenName(pin);
    const name = patchName(token - prefix.length, part.grid[1]);
    return this.header.family === 'cnn' ? name.replace('patch', 'position') : name;
  }

  shortName(pin, part = this.sequence) {
    return this.nameOf(pin, part).replace(/ \(.*/, '');
  }

  /** Part that defines the token sequence: the first block, or the last part with a grid. */
  get sequence() {
    return this.blocks[0] ?? this.parts.findLast((part) => part.grid) ?? { prefix: [], grid: this.header.grid };
  }

  /** Return a block's readout row as weights (n,), the mean of its heads. */
  row(block) {
    const [max] = this.array(block, 'row_max').data;
    return Float32Array.from(this.array(block, 'row').data, (code) => weightOf(code, max));
  }

  /** Return a token's strongest keys in a block: [{key, weight}], strongest first. */
  keys(block, token) {
    const { data, shape } = this.array(block, 'keys');
    const weights = this.array(block, 'weights').data;
    return Array.from({ length: shape[1] }, (_, i) => {
      const at = token * shape[1] + i;
      return { key: data[at], weight: weights[at] / 65535 };
    });
  }

  /** Return [CLS]'s attention to a token in a block (mean over heads); quantised unless it is among the strongest. */
  given(block, pin) {
    const token = this.tokenAt(block, pin);
    const near = this.keys(block, this.tokenAt(block, this.readout)).find(({ key }) => key === token);
    return near ? near.weight : this.row(block)[token];
  }

  /** Return a token's norms in a block: input, attention output, MLP output, between, output. */
  lengths(block, pin) {
    const { data, shape } = this.array(block, 'lengths');
    const at = this.tokenAt(block, pin) * shape[1];
    const [into, attention, mlp, between, out] = data.subarray(at, at + shape[1]);
    return { into, attention, mlp, between, out };
  }

  /** Return the first channels of a part's token; null if they are not sent. */
  vector(part, token) {
    const vectors = part && this.array(part, 'vectors');
    if (!vectors || token < 0 || token >= vectors.shape[0]) return null;
    const width = vectors.shape[1];
    const scale = part.scale / 127;
    return Float32Array.from(vectors.data.subarray(token * width, (token + 1) * width), (code) => code * scale);
  }

  /** Return a token's first channels along the stream: before block 1, then two rows per block; null if not sent. */
  course(pin) {
    const stream = this.blocks[0] && this.array(this.blocks[0], 'stream');
    if (!stream || this.tokenAt(this.blocks[0], pin) < 0) return null;
    const channels = stream.shape[2];
    const rows = this.blocks.flatMap((block) => {
      const { data, shape } = this.array(block, 'stream');
      if (shape[2] < channels) return [];
      return [0, 1].map((half) => {
        const at = (half * shape[1] + this.tokenAt(block, pin)) * shape[2];
        return Float32Array.from(data.subarray(at, at + channels), (code) => (code / 127) * block.stream_scale);
      });
    });
    const content = this.content(pin);
    const place = this.position(pin);
    const first = content ? content.slice(0, channels) : rows[0].slice();
    if (content && place) place.subarray(0, channels).forEach((value, i) => (first[i] += value));
    return { rows: [first, ...rows], channels };
  }

  /** Return a token before its position embedding: x E of a patch, or the learned vector of a prefix token. */
  content(pin) {
    const prefix = this.byId.get('prefix');
    const named = prefix?.prefix.indexOf(pin) ?? -1;
    if (named >= 0) return this.vector(prefix, named);
    const embed = this.byId.get('embed');
    return embed ? this.vector(embed, this.tokenAt({ ...embed, prefix: [] }, pin)) : null;
  }

  /** Return a token's position vector; null if none is added. */
  position(pin) {
    const part = this.byId.get('positions');
    if (!part) return null;
    const shift = part.on_prefix ? 0 : this.header.prefix.length;
    return this.vector(part, this.tokenAt({ grid: this.header.grid, prefix: this.header.prefix }, pin) - shift);
  }

  /** Return the rows of the sequence's tile: pins, and null for a gap. */
  sequenceRows(pin = this.look ?? this.header.pin) {
    return sequenceRows(this.header.prefix, this.header.grid, this.tokenAt(this.header, pin), SEQUENCE_ROWS).map(
      (token) => (token === null ? null : this.pinOf(this.header, token)),
    );
  }

  /** Return a part's neighbours: [ids of its inputs, ids of its outputs]. */
  neighbours(id) {
    const at = this.parts.findIndex((part) => part.id === id);
    const beside = (step) => (this.parts[at + step] ? [this.parts[at + step].id] : []);
    return [beside(-1), beside(1)];
  }
}

export function highest(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** Select tokens that represent a sequence: prefix, first two patches, followed one and last; null for a gap. */
export function sequenceRows(prefix, [rows, cols], token, most) {
  const first = prefix.length;
  const last = first + rows * cols - 1;
  if (last < most) return Array.from({ length: last + 1 }, (_, i) => i);
  const shown = [...prefix.keys(), first, first + 1, Math.max(0, token), last];
  const order = [...new Set(shown)].sort((a, b) => a - b);
  return order.flatMap((one, i) => (i && one > order[i - 1] + 1 ? [null, one] : [one]));
}

/** Return a shape as written on an arrow: '64 × 48'. */
export const shapeWords = (shape) => (shape ?? []).join('\u2009×\u2009');

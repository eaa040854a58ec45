// Read a model from the bytes of a checkpoint: a safetensors file whose metadata hold the project's config. Every size is
// checked against the config and against the bytes before anything is allocated.

import { FAMILIES, supports } from './limits.js';
import { count, tensor } from './tensor.js';

const BYTES = { F32: 4, F16: 2, BF16: 2, I8: 1, I64: 8 };
const MAX_HEADER = 2 ** 20;
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

class WeightsError extends Error {}

const refuse = (reason) => {
  throw new WeightsError(`The weights cannot be used: ${reason}.`);
};

/** Return a 16-bit float's value. */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return (bits & 0x8000 ? -1 : 1) * (exponent === 31 ? Infinity : size);
}

let halves = null; // of all 65,536 codes

function decode(dtype, view) {
  const values = new Float32Array(view.byteLength / BYTES[dtype]);
  if (dtype === 'F16') halves ??= Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
  const read = {
    F32: (i) => view.getFloat32(4 * i, true),
    F16: (i) => halves[view.getUint16(2 * i, true)],
    I8: (i) => view.getInt8(i),
  }[dtype];
  if (dtype === 'BF16') {
    const words = new Uint32Array(values.buffer);
    for (let i = 0; i < words.length; i++) words[i] = view.getUint16(2 * i, true) << 16;
  } else for (let i = 0; i < values.length; i++) values[i] = read(i);
  return values;
}

/** Return the header's table and document, and where the tensors' bytes begin. */
function readHeader(bytes) {
  if (bytes.length < 8) refuse('the file is truncated');
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  if (length < 2 || length > MAX_HEADER || length > bytes.length - 8) refuse('the header does not fit the file');
  try {
    const { __metadata__: metadata, ...table } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    return { table, document: JSON.parse(metadata.vitviz), start: 8 + length };
  } catch {
    return refuse('the header is not that of a checkpoint');
  }
}

/** Return an entry's tensor, or refuse it. */
function readTensor(name, entry, shape, bytes, start) {
  const { dtype, shape: stated, data_offsets: offsets } = isObject(entry) ? entry : {};
  const [from, to] = Array.isArray(offsets) ? offsets : [];
  const whole = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && start + to <= bytes.length;
  if (!Object.hasOwn(BYTES, dtype) || dtype === 'I64' || !whole) refuse(`${name} has no place in the file`);
  if (String(stated) !== String(shape))
    refuse(`${name} has the shape ${String(stated).slice(0, 60)} instead of ${shape}`);
  if (to - from !== count(shape) * BYTES[dtype]) refuse(`${name} has too few or too many bytes`);
  const data = decode(dtype, new DataView(bytes.buffer, bytes.byteOffset + start + from, to - from));
  if (!data.every(Number.isFinite)) refuse(`${name} holds values that are not finite numbers`);
  return { ...tensor(shape, data), coded: dtype === 'I8' };
}

/** Multiply codes of 8 bits by their scales: one of the tensor, or one of each entry of its first axis. */
function scaleCodes(name, { shape, data }, table, bytes, start) {
  const scaleName = `${name}.scale`;
  const stated = table[scaleName]?.shape;
  const one = Array.isArray(stated) && count(stated) === 1;
  const scale = readTensor(scaleName, table[scaleName], one ? stated : [shape[0]], bytes, start).data;
  if (!scale.every((value) => value > 0)) refuse(`${scaleName} holds values that are not above 0`);
  const each = data.length / scale.length;
  return tensor(
    shape,
    data.map((code, i) => code * scale[Math.floor(i / each)]),
  );
}

/** Refuse a preparation that gives this model no finite input. */
function checkPreparation(preparation, { in_chans: channels, image_size: side }) {
  const { mean, std, image_size: stated, crop_fraction: share = 1, pixel_range: range = 255 } = preparation ?? {};
  const areNumbers = (values) => Array.isArray(values) && values.length === channels && values.every(Number.isFinite);
  const isInput = areNumbers(mean) && areNumbers(std) && std.every((value) => value > 0) && stated === side;
  if (!isInput || !(share > 0 && share <= 16) || !(range > 0 && range < Infinity))
    refuse('its preparation does not give what the model takes');
}

/**
 * Return the model {config, preparation, classes, step, weights, at(name), has(name)} of a checkpoint's bytes.
 *   step: which of the stored ones; undefined: the last.
 */
export function openModel(buffer, step) {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  const { table, document, start } = readHeader(bytes);
  const { config, preparation, classes } = isObject(document) ? document : {};
  if (!supports(config)) refuse('the engine does not run this config');
  checkPreparation(preparation, config);
  if (!Array.isArray(classes) || !classes.every((name) => typeof name === 'string'))
    refuse('the classes have no names');
  if (config.num_classes && classes.length !== config.num_classes) refuse('there is not one class name per output');
  const steps = new Set(Object.keys(table).map((name) => parseInt(name, 10)));
  const at = step ?? Math.max(...steps);
  if (!steps.has(at)) refuse('it does not hold this step');
  const weights = Object.create(null);
  for (const [name, shape] of Object.entries(FAMILIES[config.kind].shapes(config))) {
    const stored = `${at}/${name}`;
    const read = readTensor(stored, Object.hasOwn(table, stored) ? table[stored] : null, shape, bytes, start);
    weights[name] = read.coded ? scaleCodes(stored, read, table, bytes, start) : read;
  }
  return { config, preparation, classes, step: at, ...lookUp(weights) };
}

/** Return the weights by full name, and `at`: the parts of one layer, such as {weight, bias}. */
function lookUp(weights) {
  const layers = Object.create(null);
  for (const [name, value] of Object.entries(weights)) {
    const [, layer, part] = name.match(/^(.*?)\.?([^.]+)$/);
    (layers[layer] ??= {})[part] = value;
  }
  return { weights, at: (name) => layers[name], has: (name) => name in weights };
}

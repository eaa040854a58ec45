// Bytes to arrays: the twin of vitviz/plots/blob.py, and of the address that pages/views/register.py puts before it.

const TYPES = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** Bytes whose buffer begins on a boundary of eight, as typed arrays need; a message may start anywhere in its own. */
function aligned(bytes) {
  const view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return view.byteOffset % 8 ? view.slice() : view;
}

/** The text that begins at a byte: uint32 length | text; and where it ends. */
function textAt(view, at) {
  const length = new DataView(view.buffer, view.byteOffset + at, 4).getUint32(0, true);
  return { text: new TextDecoder().decode(view.subarray(at + 4, at + 4 + length)), end: at + 4 + length };
}

/** The twin of `pack`: bytes from `at` -> {header, arrays: {name: {data, shape}}}. */
export function unpack(bytes, at = 0) {
  const view = aligned(bytes);
  const { text, end } = textAt(view, at);
  const header = JSON.parse(text);
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = { data: new TYPES[dtype](view.buffer, view.byteOffset + end + offset, count), shape };
  }
  return { header, arrays };
}

/** A whole message: {files, header, arrays}; `files` are the view's own, below `pages`. */
export function open(bytes) {
  const view = aligned(bytes);
  const { text, end } = textAt(view, 0);
  return { files: text.trim().split(' '), ...unpack(view, end) };
}

// Decode messages: the counterpart of vitviz/plots/blob.py and of the address that pages/views/register.py prepends.

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

/** Copy bytes whose buffer is not aligned to 8 bytes, as typed arrays need. */
function aligned(bytes) {
  const view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return view.byteOffset % 8 ? view.slice() : view;
}

/** Read a text at a byte offset (uint32 length | text); return it and its end. */
function textAt(view, at) {
  const length = new DataView(view.buffer, view.byteOffset + at, 4).getUint32(0, true);
  return { text: new TextDecoder().decode(view.subarray(at + 4, at + 4 + length)), end: at + 4 + length };
}

/** Unpack bytes from `at`: {header, arrays: {name: {data, shape}}}. */
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

/** Open a message: {files, header, arrays}; `files` are the view's, below the checkout. */
export function open(bytes) {
  const view = aligned(bytes);
  const { text, end } = textAt(view, 0);
  return { files: text.trim().split(' '), ...unpack(view, end) };
}

// Read an image file that somebody opened, dropped or photographed: its kind and size are checked before it is decoded.

import { createContext } from './pixels.js';

const MOST_BYTES = 20 * 2 ** 20;
const MOST_PIXELS = 64 * 2 ** 20;
const MOST_SIDE = 2 ** 15;
const DECODED_PIXELS = 4 * 2 ** 20; // larger images are made smaller first
const HEAD_BYTES = 2 ** 18; // in which a JPEG states its size

const text = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));

/** Return [width, height] of a JPEG from its frame header, or null. */
function sizeOfJpeg(bytes, view) {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; at += 2 + view.getUint16(at + 2)) {
    const marker = bytes[at + 1];
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
  }
  return null;
}

function sizeOfWebp(bytes, view) {
  const kind = text(bytes, 12, 16);
  if (kind === 'VP8 ') return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  const bits = view.getUint32(kind === 'VP8L' ? 21 : 24, true);
  if (kind === 'VP8L') return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
  return kind === 'VP8X' ? [(bits & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1] : null;
}

function sizeOfAvif(bytes, view) {
  const at = text(bytes, 0, Math.min(bytes.length - 16, 4096)).indexOf('ispe');
  return at < 0 ? null : [view.getUint32(at + 8), view.getUint32(at + 12)];
}

const KINDS = {
  PNG: [(bytes) => text(bytes, 1, 4) === 'PNG', (bytes, view) => [view.getUint32(16), view.getUint32(20)]],
  JPEG: [(bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff, sizeOfJpeg],
  GIF: [(bytes) => text(bytes, 0, 4) === 'GIF8', (bytes, view) => [view.getUint16(6, true), view.getUint16(8, true)]],
  BMP: [
    (bytes) => text(bytes, 0, 2) === 'BM',
    (bytes, view) => [view.getInt32(18, true), Math.abs(view.getInt32(22, true))],
  ],
  WebP: [(bytes) => text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 12) === 'WEBP', sizeOfWebp],
  AVIF: [(bytes) => text(bytes, 4, 12) === 'ftypavif', sizeOfAvif],
};

/** Return the width and height that an image file's head states, or throw an Error with a sentence for the user. */
export function readSize(bytes) {
  const head = bytes.length >= 32 && Object.entries(KINDS).find(([, [is]]) => is(bytes));
  if (!head) throw new Error('This file is not an image in a supported format: PNG, JPEG, WebP, AVIF, GIF or BMP.');
  const [kind, [, sizeOf]] = head;
  const [width, height] = sizeOf(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.length)) ?? [0, 0];
  if (!(width >= 1 && height >= 1))
    throw new Error(`This ${kind} states no size: open it in an image editor and save it again.`);
  if (width * height > MOST_PIXELS || Math.max(width, height) > MOST_SIDE)
    throw new Error(`This image has ${width} × ${height} pixels; the limit is 64 megapixels. Make it smaller first.`);
  return [width, height];
}

/** Return the pixels {data: RGBA, width, height} of a file, upright and on white, or throw an Error with a sentence. */
export async function readPhoto(file) {
  if (file.size > MOST_BYTES) throw new Error('This file is too large; the limit is 20 MB.');
  const [width, height] = readSize(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()));
  const shrink = Math.min(1, Math.sqrt(DECODED_PIXELS / (width * height)));
  const options = { colorSpaceConversion: 'none', imageOrientation: 'from-image' };
  const bitmap = await createImageBitmap(file, options).catch(() => {
    throw new Error('This image is damaged: its pixels cannot be decoded.');
  });
  const [wide, high] = [bitmap.width, bitmap.height].map((px) => Math.max(1, Math.round(px * shrink)));
  const ctx = createContext(wide, high, { willReadFrequently: true });
  ctx.fillStyle = '#fff';
  ctx.fillRect(0, 0, wide, high);
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(bitmap, 0, 0, wide, high);
  bitmap.close();
  return ctx.getImageData(0, 0, wide, high);
}

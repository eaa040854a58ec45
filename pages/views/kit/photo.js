// A picture that travels as a file (vitviz/plots/photo.py): decoded once, drawn on a canvas at its own pixels.

import { cover } from './pixels.js';

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/** A photo for one view: show(message, drawn) decodes a message's picture unless it is the last one, then draws it. */
export function photo(root) {
  let last = null;
  return {
    bitmap: null,
    show({ header, arrays }, drawn) {
      const { data } = arrays.photo;
      if (last && same(last, data)) {
        if (this.bitmap) drawn(this.bitmap);
        return;
      }
      last = data;
      this.bitmap = null;
      const file = new Blob([data], { type: header.photo.kind });
      createImageBitmap(file, { colorSpaceConversion: 'none' }).then((bitmap) => {
        if (last !== data) return; // a newer picture has come
        this.bitmap = bitmap;
        drawn(bitmap);
        root.dataset.photo = `${bitmap.width}x${bitmap.height}`;
      });
    },
  };
}

/** Fills a canvas with a picture, once: CSS scales it, with hard edges where it has few pixels. */
export function coverOnce(node, bitmap) {
  if (node.vvPhoto === bitmap) return;
  node.vvPhoto = bitmap;
  cover(node, bitmap);
}

/** A small copy as an address, for a background: at most `side` px. */
export function smallCopy(bitmap, side) {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const node = document.createElement('canvas');
  node.width = Math.max(1, Math.round(bitmap.width * scale));
  node.height = Math.max(1, Math.round(bitmap.height * scale));
  const ctx = node.getContext('2d');
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(bitmap, 0, 0, node.width, node.height);
  return node.toDataURL();
}

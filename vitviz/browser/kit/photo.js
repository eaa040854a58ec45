// Decode images sent as files (vitviz/plots/photo.py) and draw them on canvases.

import { cover } from './pixels.js';

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/** Create an image loader: show(message, drawn) decodes a message's image if it is new, then calls drawn. */
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
        if (last !== data) return; // a newer image has arrived
        this.bitmap = bitmap;
        drawn(bitmap);
        root.dataset.photo = `${bitmap.width}x${bitmap.height}`;
      });
    },
  };
}

/** Draw an image on a canvas once; CSS scales it, pixelated if it is small. */
export function coverOnce(node, bitmap) {
  if (node.vvPhoto === bitmap) return;
  node.vvPhoto = bitmap;
  cover(node, bitmap);
}

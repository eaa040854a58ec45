// Create off-screen images from arrays, decode images sent as files (vitviz/plots/photo.py), and draw both on canvases.

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * Create an image loader: show(message, drawn) decodes a message's image if it is new, then calls drawn; an image that was
 * made in the browser (`bitmap`) needs no decoding.
 */
export function photo(root) {
  let last = null;
  return {
    bitmap: null,
    show({ header, arrays }, drawn) {
      const { data, bitmap: made } = arrays.photo;
      if (made) {
        Object.assign(this, { bitmap: made });
        last = null;
        return drawn(made);
      }
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

/** Create a canvas that is not shown; return its context. */
export function createContext(width, height, options) {
  return Object.assign(document.createElement('canvas'), { width, height }).getContext('2d', options);
}

/** Return an ImageData as a canvas for drawImage. */
export function offscreen(image) {
  const ctx = createContext(image.width, image.height);
  ctx.putImageData(image, 0, 0);
  return ctx.canvas;
}

/** Copy an image at a size of at most `side` px; return the copy's context. */
export function shrink(source, side) {
  const scale = Math.min(1, side / Math.max(source.width, source.height));
  const [width, height] = [source.width, source.height].map((px) => Math.max(1, Math.round(px * scale)));
  const ctx = createContext(width, height);
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(source, 0, 0, width, height);
  return ctx;
}

/** Create an image from (H, W, 3) or (H, W) uint8. */
export function picture({ data, shape }) {
  const [height, width] = shape;
  const channels = shape[2] ?? 1;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = data[channels * i + (channels > 1 ? c : 0)];
    image.data[4 * i + 3] = 255;
  }
  return offscreen(image);
}

/** Create a heat map of values (rows x cols, from `start`) with a 256-colour table between lo and hi. */
export function heat(values, rows, cols, table, lo, hi, start = 0) {
  const image = new ImageData(cols, rows);
  colour(image, values, table, lo, hi, start);
  return offscreen(image);
}

/** Fill an ImageData with values (from `start`) with a 256-colour table between lo and hi. */
export function colour(image, values, table, lo, hi, start = 0) {
  const { data } = image;
  const span = hi - lo || 1;
  for (let i = 0; i < data.length / 4; i++) {
    const level = Math.max(0, Math.min(255, Math.round((255 * (values[start + i] - lo)) / span)));
    for (let c = 0; c < 4; c++) data[4 * i + c] = table[4 * level + c];
  }
}

/** Draw an image with nearest-neighbour scaling, unless `smooth`. */
export function blit(ctx, source, x, y, width, height, smooth = false) {
  ctx.imageSmoothingEnabled = smooth;
  ctx.drawImage(source, x, y, width, height);
}

/** Draw an image on a canvas that CSS scales, pixelated if it is small. */
export function cover(node, source) {
  node.width = source.width;
  node.height = source.height;
  node.getContext('2d').drawImage(source, 0, 0);
  node.style.imageRendering = source.width < 128 ? 'pixelated' : 'auto';
}

/** Cover a masked patch with a crossed box. */
export function drawHidden(ctx, x, y, wide, high) {
  ctx.fillStyle = '#5f6b7a';
  ctx.fillRect(x, y, wide, high);
  ctx.strokeStyle = '#fff';
  ctx.lineWidth = Math.max(1, wide / 16);
  ctx.beginPath();
  ctx.moveTo(x + wide * 0.25, y + high * 0.25);
  ctx.lineTo(x + wide * 0.75, y + high * 0.75);
  ctx.moveTo(x + wide * 0.75, y + high * 0.25);
  ctx.lineTo(x + wide * 0.25, y + high * 0.75);
  ctx.stroke();
}

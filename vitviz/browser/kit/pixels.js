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
  const [height, width, channels = 1] = shape;
  const image = new ImageData(width, height);
  fillPixels(image, data, channels);
  return offscreen(image);
}

/** Fill an ImageData with values from 0 to 255 of one grey or three colour channels. */
export function fillPixels(image, data, channels) {
  const [green, blue] = channels > 1 ? [1, 2] : [0, 0];
  for (let i = 0, from = 0; i < image.data.length; i += 4, from += channels) {
    image.data[i] = data[from];
    image.data[i + 1] = data[from + green];
    image.data[i + 2] = data[from + blue];
    image.data[i + 3] = 255;
  }
}

/** Create a heat map of values (rows x cols, from `start`) with a 256-colour table between lo and hi. */
export const heat = (...options) => offscreen(heatPixels(...options));

/** Return the same heat map as an ImageData, such as for `stamp`. */
export function heatPixels(values, rows, cols, table, lo, hi, start = 0) {
  const image = new ImageData(cols, rows);
  colour(image, values, table, lo, hi, start);
  return image;
}

let stamps = null; // a canvas for all images that are drawn at once, because creating a canvas is slow

/** Draw an ImageData in a box [x, y, w, h] with nearest-neighbour scaling. */
export function stamp(ctx, image, [x, y, w, h]) {
  const { width, height } = image;
  stamps ??= createContext(width, height);
  for (const side of ['width', 'height']) if (stamps.canvas[side] < image[side]) stamps.canvas[side] = image[side];
  stamps.putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(stamps.canvas, 0, 0, width, height, x, y, w, h);
}

/** Fill an ImageData with values (from `start`) with a 256-colour table between lo and hi; NaN stays clear. */
export function colour(image, values, table, lo, hi, start = 0) {
  const pixels = new Uint32Array(image.data.buffer);
  const colours = new Uint32Array(table.buffer, table.byteOffset, 256);
  const scale = 255 / (hi - lo || 1);
  for (let i = 0; i < pixels.length; i++) {
    const level = Math.round((values[start + i] - lo) * scale);
    pixels[i] = Number.isNaN(level) ? 0 : colours[Math.max(0, Math.min(255, level))];
  }
}

/**
 * Keep one canvas for tiles that change at every frame, stacked vertically: creating a canvas is slow.
 *   paint(fill): fill(image) sets the pixels of a new frame; draw(ctx, i, x, y, w, h) draws tile i
 */
export class TileStack {
  constructor(count, rows, cols) {
    Object.assign(this, { count, rows, cols });
    this.image = new ImageData(cols, count * rows);
    this.ctx = createContext(cols, count * rows);
  }

  /** Return a stack of this size, this one if it fits. */
  static of(stack, count, rows, cols) {
    const fits = stack && stack.count === count && stack.rows === rows && stack.cols === cols;
    return fits ? stack : new TileStack(count, rows, cols);
  }

  paint(fill) {
    fill(this.image);
    this.ctx.putImageData(this.image, 0, 0);
  }

  draw(ctx, i, x, y, w, h) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.ctx.canvas, 0, i * this.rows, this.cols, this.rows, x, y, w, h);
  }
}

/** Draw an image with nearest-neighbour scaling, unless `smooth`. */
export function blit(ctx, source, x, y, width, height, smooth = false) {
  ctx.imageSmoothingEnabled = smooth;
  ctx.drawImage(source, x, y, width, height);
}

/** Draw one patch of an image in a box, smoothed where it shrinks. */
export function drawPatch(ctx, image, [rows, cols], cell, [x, y, w, h]) {
  const [pw, ph] = [image.width / cols, image.height / rows];
  ctx.imageSmoothingEnabled = pw > w;
  ctx.drawImage(image, (cell % cols) * pw, Math.floor(cell / cols) * ph, pw, ph, x, y, w, h);
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

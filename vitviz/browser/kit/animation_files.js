// Write the frames of an animation as GIF, animated WebP or video.
//
// A writer has add(image, x, y, ms): an ImageData at its place over the frame before, shown for `ms`; and end(): a Blob.

import { GIFEncoder, applyPalette, quantize } from './gifenc.js';
import { createContext, offscreen } from './pixels.js';

const VIDEOS = ['video/mp4;codecs=avc1.640028', 'video/webm;codecs=vp9', 'video/webm', 'video/mp4'];
const VIDEO = VIDEOS.find((type) => globalThis.MediaRecorder?.isTypeSupported(type));
const VIDEO_BITS = 8e6; // per second: small type stays legible
const REPEAT_MS = 40;

const little = (value, bytes) => Array.from({ length: bytes }, (_, i) => (value >> (8 * i)) & 255);

class Gif {
  constructor() {
    this.encoder = GIFEncoder();
  }

  add({ data, width, height }, x, y, ms) {
    const start = this.encoder.bytesView().length;
    const palette = quantize(data, 256);
    this.encoder.writeFrame(applyPalette(data, palette), width, height, { palette, delay: ms, dispose: 1 });
    // The encoder writes each frame at (0, 0); its place stands after the graphic control extension and one byte more.
    if (start) this.encoder.bytesView().set([...little(x, 2), ...little(y, 2)], start + 9);
  }

  end() {
    this.encoder.finish();
    return new Blob([this.encoder.bytes()], { type: 'image/gif' });
  }
}

/** Return a RIFF chunk: name, size, content and padding. */
function chunk(name, parts) {
  const { size } = new Blob(parts);
  return new Blob([name, new Uint8Array(little(size, 4)), ...parts, new Uint8Array(size % 2)]);
}

class WebP {
  constructor(width, height) {
    const screen = [2, 0, 0, 0, ...little(width - 1, 3), ...little(height - 1, 3)]; // 2: it is animated
    this.chunks = [chunk('VP8X', [new Uint8Array(screen)]), chunk('ANIM', [new Uint8Array(6)])]; // repeated for ever
  }

  async add(image, x, y, ms) {
    const { width, height } = image;
    const still = await new Promise((resolve) => offscreen(image).toBlob(resolve, 'image/webp', 1));
    const place = [x / 2, y / 2, width - 1, height - 1, Math.round(ms)].flatMap((value) => little(value, 3));
    this.chunks.push(chunk('ANMF', [new Uint8Array([...place, 2]), ...(await readPixels(still))])); // 2: covers, no blend
  }

  end() {
    return new Blob([chunk('RIFF', ['WEBP', ...this.chunks])], { type: 'image/webp' });
  }
}

/** Return the chunks of a still WebP image that hold its pixels. */
async function readPixels(still) {
  const bytes = await still.arrayBuffer();
  const view = new DataView(bytes);
  const chunks = [];
  for (let at = 12; at < bytes.byteLength;) {
    const end = at + 8 + view.getUint32(at + 4, true);
    const name = String.fromCharCode(...new Uint8Array(bytes, at, 4));
    if (['ALPH', 'VP8 ', 'VP8L'].includes(name)) chunks.push(bytes.slice(at, end + (end % 2)));
    at = end + (end % 2);
  }
  return chunks;
}

/** A video, which is recorded in real time; between frames the recorder pauses. */
class Video {
  constructor(width, height) {
    this.ctx = createContext(width, height);
    this.parts = [];
    const options = { mimeType: VIDEO, videoBitsPerSecond: VIDEO_BITS };
    this.recorder = new MediaRecorder(this.ctx.canvas.captureStream(1000 / REPEAT_MS), options);
    this.recorder.ondataavailable = ({ data }) => this.parts.push(data);
    this.recorder.start();
    this.recorder.pause();
  }

  async add(image, x, y, ms) {
    this.ctx.putImageData(image, x, y);
    this.recorder.resume();
    const end = performance.now() + ms;
    while (performance.now() < end) {
      this.ctx.drawImage(this.ctx.canvas, 0, 0); // a canvas that is not drawn gives the recorder no frame
      await new Promise((resolve) => setTimeout(resolve, Math.min(REPEAT_MS, end - performance.now())));
    }
    this.recorder.pause();
  }

  async end() {
    const stopped = new Promise((resolve) => {
      this.recorder.onstop = resolve;
    });
    this.recorder.stop();
    await stopped;
    return new Blob(this.parts, { type: VIDEO.split(';')[0] });
  }
}

/** The formats that this browser writes: {name, ending, Writer}. */
export const FORMATS = [
  { name: 'GIF', ending: 'gif', Writer: Gif },
  { name: 'WebP', ending: 'webp', Writer: WebP },
  ...(VIDEO?.includes('mp4') ? [{ name: 'MP4', ending: 'mp4', Writer: Video }] : []),
  ...(VIDEO?.includes('webm') ? [{ name: 'WebM', ending: 'webm', Writer: Video }] : []),
];

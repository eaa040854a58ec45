// The image of a model: drawn on a pad if it is a model of digits, or a file that is opened, dropped or photographed.

import { button, canvas, el } from './kit/dom.js';
import { prepareDigit } from './kit/digit_input.js';
import { Pad, decode } from './kit/drawing_pad.js';
import { readPhoto } from './kit/photo_file.js';
import { preparePhoto, toImage } from './kit/photo_input.js';
import { blit, createContext, offscreen } from './kit/pixels.js';

const PAD_PX = 224;
const GROUND_PX = 1024; // most of a photo under the maps

/** Return an image {data: RGBA, width, height} as a canvas. */
const toCanvas = ({ data, width, height }) => offscreen(new ImageData(data, width, height));

/** Return the square of a photo that its model sees, in the photo's own pixels. */
export function cutGround(photo, [left, top, wide, high]) {
  const side = Math.max(1, Math.min(GROUND_PX, Math.round(Math.min(wide, high))));
  const ctx = createContext(side, side);
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(toCanvas(photo), left, top, wide, high, 0, 0, side, side);
  return ctx.canvas;
}

export class ImageInput {
  /** acts: {root: where a file may be dropped, show({pixels, bitmap, isEmpty: true without strokes}), note(text)} */
  constructor(parent, acts) {
    this.acts = acts;
    this.box = el(parent, 'div', { class: 'xl-input' });
    this.board = canvas(this.box, { hidden: '' });
    this.seen = canvas(this.box, { role: 'img', 'aria-label': 'What the model sees' });
    const row = el(this.box, 'div', { class: 'vv-row' });
    this.tools = el(row, 'div', { class: 'vv-row', hidden: '' });
    this.pad = new Pad({
      paint: () => this.paint(),
      moved: (text) => this.drawn(text),
      changed: (text) => this.drawn(text),
      say: acts.note,
    });
    button(this.tools, 'Undo', () => this.pad.undo());
    button(this.tools, 'Clear', () => this.pad.clear());
    this.file = el(row, 'input', { type: 'file', accept: 'image/*', hidden: '', 'aria-label': 'Image file' });
    this.file.onchange = () => this.open(this.file.files[0]);
    button(row, 'Open or photograph an image', () => this.file.click());
    button(row, 'Stored image', () => this.restore());
    this.listen(acts.root);
  }

  listen(root) {
    root.ondragover = (event) => {
      event.preventDefault();
      root.classList.add('xl-over');
    };
    root.ondragleave = () => root.classList.remove('xl-over');
    root.ondrop = (event) => {
      event.preventDefault();
      root.classList.remove('xl-over');
      this.open(event.dataTransfer.files[0]);
    };
  }

  /** Prepare for a message; returns a promise of the stored image. */
  async start({ header, arrays }) {
    const { preparation } = header.live;
    this.preparation = preparation;
    const draws = preparation.digit && preparation.mean.length === 1;
    this.board.node.hidden = this.tools.hidden = !draws;
    this.seen.node.hidden = draws;
    if (draws) this.pad.attach(this.board.node);
    this.paint();
    const file = new Blob([arrays.photo.data], { type: header.photo.kind });
    const bitmap = await createImageBitmap(file, { colorSpaceConversion: 'none' });
    this.stored = { pixels: arrays.pixels.data, bitmap };
    this.image = toCanvas(toImage(this.levelsOf(arrays.pixels.data), preparation.image_size));
    this.paint();
    return this.stored;
  }

  /** Return the levels of each channel of a model's input. */
  levelsOf(pixels) {
    const { mean, std, pixel_range: range = 255 } = this.preparation;
    const area = pixels.length / mean.length;
    return mean.map((centre, c) => pixels.subarray(c * area, (c + 1) * area).map((x) => (x * std[c] + centre) * range));
  }

  /** Show an image {pixels, bitmap}. */
  show(image) {
    this.image = toCanvas(toImage(this.levelsOf(image.pixels), this.preparation.image_size));
    this.paint();
    this.acts.show(image);
  }

  draw({ colors }) {
    this.colors = colors;
    this.paint();
  }

  paint() {
    if (this.colors && !this.board.node.hidden) this.pad.paint(this.board.size(PAD_PX, PAD_PX), PAD_PX, this.colors);
    if (this.image && !this.seen.node.hidden) blit(this.seen.size(PAD_PX, PAD_PX), this.image, 0, 0, PAD_PX, PAD_PX);
  }

  drawn(text) {
    const prepared = prepareDigit(decode(text), this.preparation);
    if (!prepared) return this.acts.note('The strokes fill the edge of the pad: undo or clear.');
    const { image_size: side } = this.preparation;
    this.acts.root.dataset.strokes = text;
    this.show({ pixels: prepared.pixels, bitmap: toCanvas(toImage([prepared.shown], side)), isEmpty: this.pad.empty });
  }

  async open(file) {
    this.file.value = '';
    if (!file) return;
    try {
      const photo = await readPhoto(file);
      const { pixels, seen, box } = preparePhoto(photo, this.preparation);
      this.show({
        pixels,
        bitmap: box && pixels.length > seen.data.length / 4 ? cutGround(photo, box) : toCanvas(seen),
      });
    } catch (error) {
      this.acts.note(error.message);
    }
  }

  restore() {
    this.pad.strokes = [];
    this.paint();
    this.show(this.stored);
  }
}

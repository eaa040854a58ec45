// The map follows the pen and the sidebar's step: the engine runs the model in the browser.

import { computeNewest, openModel, toInput, words } from '../../vitviz/browser/engine/live_model.js';
import { prepareDigit } from '../../vitviz/browser/kit/digit_input.js';
import { listen } from '../../vitviz/browser/kit/bus.js';
import { setText } from '../../vitviz/browser/kit/dom.js';
import { decode } from '../../vitviz/browser/kit/drawing_pad.js';
import { createContext, picture } from '../../vitviz/browser/kit/pixels.js';
import { MapModel } from './map_model.js';
import { EngineRecords } from './map_named_records.js';
import { paintParts, writeParts } from './map_parts.js';
import { canFollow, liveMessage } from './map_record.js';
import { streamScale } from './map_stream.js';
import { greyedDrawing } from './map_tiles.js';
import { summary } from './map_words.js';

const PARTS = ['attn', 'attn_out', 'mid', 'mlp_out'];

/** Return true if the engine's record gives the arrays of this model's map: nothing else scales or adds vectors. */
const isPlain = ({ layer_scale: scale, positions }) => scale === null && positions !== 'pixels';

/** Return the intermediates from which a map is drawn. */
async function record(model, pixels, changes) {
  const blocks = Array.from({ length: model.config.depth }, (_, i) => [
    `blocks.${i}`,
    ...PARTS.map((part) => `blocks.${i}.${part}`),
  ]);
  const names = ['patch_embed', 'embedded', 'norm', 'logits', ...blocks.flat()];
  return (await model.run(pixels, { record: names, lens: true, ...changes })).tensors;
}

/** Runs the model of a map: on drawings while the pen moves, with a dragged step's weights, and with masks. */
export class LiveMap {
  /** view: the map; isNew(): true while it shows strokes that the server has not answered. */
  constructor(view, isNew) {
    Object.assign(this, { view, isNew, address: '', model: null, words: words(view.root) });
    this.follow = computeNewest((text) => this.compute(text));
    this.followStep = computeNewest((address) => this.computeStep(address));
    this.followMasks = computeNewest(() => this.computeMasks());
    this.unlisten = listen('step', view.root, ({ address }) => {
      this.words.behind(true);
      this.followStep(address);
    });
  }

  /** Take a message of the server, whose `weights` is the address of the model's checkpoint. */
  take(message) {
    Object.assign(this, { message, seen: false });
    this.words.behind(false);
    delete this.view.root.dataset.step;
    const { weights } = message.header;
    this.step = '';
    // An image that is not drawn changes only with its masks, which load the model.
    if (!weights || weights === this.address || !message.header.drawing || !canFollow(message)) return;
    this.address = weights;
    this.model = null;
    delete this.view.root.dataset.follows;
    this.load(weights);
  }

  async load(address) {
    const model = await openModel(address).catch((error) => {
      console.info(`The map does not follow the pen: ${error.message}`);
      if (address === this.address) this.address = ''; // the next message tries again
    });
    if (!model || address !== this.address || !isPlain(model.config)) return; // another was chosen meanwhile
    this.model = model;
    this.view.root.dataset.follows = '';
    if (this.isNew()) this.follow(this.view.pad.text); // the pen was faster than the weights
  }

  get ready() {
    return this.model !== null && this.message.header.weights === this.address;
  }

  async compute(text) {
    if (!this.ready) return;
    const { model, address } = this;
    const prepared = prepareDigit(decode(text), model.preparation);
    if (!prepared) return;
    const tensors = await record(model, prepared.pixels, this.view.masks.changes);
    if (!this.ready || this.address !== address || !this.isNew()) return;
    const side = model.config.image_size;
    const drawn = {
      strokes: text,
      frame: prepared.frame,
      image: picture({ data: prepared.shown, shape: [side, side] }),
    };
    this.showDrawing(liveMessage(this.message, tensors), drawn);
    this.view.masks.describe(null);
    this.view.root.dataset.live = text;
  }

  /** Draw the map of the same image with the weights of another step. */
  async computeStep(address) {
    this.step = address;
    const model = await this.computeImage(address);
    if (!model) return;
    this.view.root.dataset.step = String(model.step); // map.css dims the tiles that show weights
    this.view.panel.compute();
  }

  /** Draw the map of the same image with its masks; without any, the server's map. */
  async computeMasks() {
    const { message, view } = this;
    const { masks } = view;
    if (this.isNew()) return this.follow(view.pad.text);
    if (!masks.any && !this.step) {
      this.show(message);
      this.words.behind(false);
    } else await this.computeImage(this.step || message.header.weights).catch((error) => masks.fail(error));
    view.panel.compute();
    view.root.dataset.masks = masks.text;
  }

  /** Draw the map of the same image with the weights at an address; return the model if it is drawn. */
  async computeImage(address) {
    const { message, view } = this;
    if (!address || !canFollow(message) || !view.bitmap || this.isNew()) return null;
    const model = await openModel(address);
    if (!isPlain(model.config)) throw new Error('the map of this model needs the server');
    const tensors = await record(model, this.input(model), view.masks.changes);
    if (message !== this.message || view.journey.active) return null;
    this.show(liveMessage(message, tensors));
    this.words.behind(true);
    view.masks.describe(this.step ? null : message.arrays.probabilities.data);
    return model;
  }

  /** Return the shown image as a model's input. */
  input({ preparation }) {
    const { width, height } = this.view.bitmap;
    const ctx = createContext(width, height);
    ctx.drawImage(this.view.bitmap, 0, 0);
    const levels = ctx.getImageData(0, 0, width, height).data.filter((_, i) => i % 4 < 3);
    return toInput(levels, preparation);
  }

  /** Return the records of the shown map: of the engine, else `server()`; null until the image has come. */
  async records(server) {
    const { message, view } = this;
    const { weights, photo } = message.header;
    const exact = photo.kind === 'image/png'; // a JPEG is not what the model reads
    const model = weights && exact && (await openModel(this.step || weights).catch(() => null));
    if (message !== this.message || (model && !this.seen)) return null;
    if (!model) return server();
    const { in_chans: channels } = model.config;
    const input = { shape: [channels, view.bitmap.height, view.bitmap.width], data: this.input(model) };
    return new EngineRecords(model, input, view.masks.changes);
  }

  /** Draw the map of these strokes. */
  showDrawing(message, { strokes, frame, image }) {
    const { view } = this;
    if (view.journey.active) return;
    view.crisp = frame && view.pad.crisp({ strokes, frame });
    view.bitmap = image;
    view.grey = greyedDrawing(view.crisp ?? image);
    Object.assign(view.pad.drawing, { frame });
    view.pad.paintSeen(image);
    this.show(message);
  }

  /** Draw another record of the model; the elements stay. */
  show(message) {
    const { view } = this;
    view.message = { ...view.message, header: message.header, arrays: message.arrays };
    view.model = new MapModel(message);
    view.model.isEmpty = view.pad.isEmpty;
    for (const entry of view.parts.values()) entry.part = view.model.byId.get(entry.part.id);
    view.scale = streamScale(view.model, [view.model.readout, view.model.header.pin]);
    paintParts(view.parts, view.view(), true);
    writeParts(view.parts, view.model);
    setText(view.summary, summary(view.model));
    view.drawnScene = '';
    view.draw();
  }

  end() {
    this.unlisten();
    this.words.end();
  }
}

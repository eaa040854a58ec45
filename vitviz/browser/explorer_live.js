// The attention explorer with its model: a drawing, a photo, another step or hidden patches change attention and classes
// at once, without a server. Until the engine has answered, and where it cannot run, the stored picture stands.

import { cellAt, placeOf } from './kit/pin.js';
import { button, disable, el, live } from './kit/dom.js';
import { createContext, drawHidden } from './kit/pixels.js';
import { timeline } from './kit/player.js';
import { counted } from './kit/text.js';
import { ClassBars } from './class_bars.js';
import ExplorerOfLayers from './explorer_layers.js';
import { ImageInput } from './image_input.js';
import { computeNewest, openModel } from './engine/live_model.js';
import { probabilitiesOf } from './engine/forward.js';
import { holdWeights } from './engine/stored_weights.js';

const DWELL_MS = 700;
const SHOWN_PX = 512; // of the image under the maps

export default class ExplorerLive {
  constructor({ root, onUnmount }) {
    Object.assign(this, { root, hidden: new Set(), hiding: false, image: null, stored: null });
    this.top = el(root, 'div', { class: 'xl' });
    this.input = new ImageInput(this.top, { root, show: (image) => this.take(image), note: (text) => this.note(text) });
    this.bars = new ClassBars(el(this.top, 'div', { class: 'xl-classes' }));
    this.bar = el(root, 'div', { class: 'vv-row xl-bar' });
    this.time = timeline(this.bar, {
      class: 'el-time',
      last: () => this.steps.length - 1,
      words: (at) => `step ${counted(this.steps[at])}`,
      show: () => this.moveTime(),
      dwell: DWELL_MS,
    });
    this.hide = button(this.bar, 'Hide patches', () => this.turn(!this.hiding), { 'aria-pressed': 'false' });
    this.all = button(this.bar, 'Show all patches', () => this.showAll());
    this.message = el(this.bar, 'span', { class: 'xl-note', role: 'status' });
    this.inner = el(root, 'div', { class: 'vv' });
    this.explorer = new ExplorerOfLayers({ root: this.inner, onUnmount, picked: (pin) => this.picked(pin) });
    this.say = live(root);
    this.follow = computeNewest(() => this.compute());
  }

  get steps() {
    return this.stored.header.live.steps;
  }

  note(text) {
    this.message.textContent = text;
  }

  // ------------------------------------------------------------ what the reader changes
  take(image) {
    this.image = image;
    this.note('');
    this.follow();
  }

  moveTime() {
    this.time.draw();
    this.follow();
  }

  turn(on) {
    this.hiding = on;
    this.hide.setAttribute('aria-pressed', String(on));
    this.note(on ? 'Click patches to hide them: no token attends to a hidden patch.' : '');
  }

  picked(pin) {
    const { grid, prefix } = this.stored.header.scenes[0];
    const place = placeOf(pin);
    if (!this.hiding || prefix.includes(pin) || !place) return false;
    const patch = cellAt(grid, place);
    if (!this.hidden.delete(patch)) this.hidden.add(patch);
    this.say(`Hidden patches: ${this.hidden.size}`);
    this.follow();
    return true;
  }

  showAll() {
    this.hidden.clear();
    this.follow();
  }

  // ------------------------------------------------------------ the model
  async compute() {
    const { header, arrays } = this.stored;
    const { records, weights, heads_over_all: whole } = header.live;
    const { image, hidden } = this;
    disable(this.all, hidden.size ? '' : 'No patch is hidden');
    try {
      const model = await openModel(weights[this.time.at]);
      const tokenMask = hidden.size
        ? Float32Array.from({ length: this.patches }, (_, i) => Number(!hidden.has(i)))
        : undefined;
      const { tensors } = await model.run(image.pixels, { record: ['logits', ...records], tokenMask });
      const attention = records.map((name, layer) => (whole ? tensors[name] : unfold(tensors[name], arrays, layer)));
      const codes = Object.fromEntries(attention.map((weights, layer) => [`codes${layer}`, weights]));
      this.explorer.replace({ ...arrays, ...codes, photo: { bitmap: this.cover(image.bitmap) } });
      if (image.isEmpty) this.bars.clear('Draw a digit: nothing is predicted for an empty pad.');
      else this.bars.show(model.classes, probabilitiesOf(model.config, tensors.logits));
      this.root.dataset.live = String(Number(this.root.dataset.live ?? 0) + 1);
      this.root.dataset.step = String(model.step);
    } catch (error) {
      this.note(`The model cannot run in this browser, so the stored picture stays: ${error.message}`);
    }
  }

  get patches() {
    const [rows, cols] = this.stored.header.scenes[0].grid;
    return rows * cols;
  }

  /** Return the image with its hidden patches covered. */
  cover(bitmap) {
    if (!this.hidden.size) return bitmap;
    const [rows, cols] = this.stored.header.scenes[0].grid;
    const scale = Math.max(1, Math.ceil(SHOWN_PX / bitmap.width / 2));
    const ctx = createContext(bitmap.width * scale, bitmap.height * scale);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(bitmap, 0, 0, ctx.canvas.width, ctx.canvas.height);
    const [wide, high] = [ctx.canvas.width / cols, ctx.canvas.height / rows];
    for (const patch of this.hidden)
      drawHidden(ctx, (patch % cols) * wide, Math.floor(patch / cols) * high, wide, high);
    return ctx.canvas;
  }

  update(message, fresh) {
    const { header, arrays, colors, width } = message;
    this.input.draw(message);
    for (const name of ['query', 'muted', 'line', 'panel']) this.inner.style.setProperty(`--vv-${name}`, colors[name]);
    if (!fresh || this.stored) {
      Object.assign(this.explorer.message, { colors, width });
      return this.explorer.update(this.explorer.message, false);
    }
    this.stored = message;
    const { live: model } = header;
    model.weights.forEach((address) => arrays[address] && holdWeights(address, arrays[address].data));
    this.time.at = model.at;
    this.time.draw();
    this.hide.hidden = this.all.hidden = !model.heads_over_all;
    disable(this.all, 'No patch is hidden');
    this.explorer.update(message, true);
    this.bars.show(model.classes, arrays.probabilities.data);
    this.input.start(message).then((image) => {
      this.image ??= image;
      openModel(model.weights[model.at]).catch((error) => this.note(`The model cannot run here: ${error.message}`));
      this.root.dataset.started = 'true';
    });
  }
}

/** Return a Swin block's attention (windows, heads, slots, slots) as rows of its tokens (heads, tokens, slots). */
function unfold({ data, shape: [, heads, slots] }, arrays, layer) {
  const [windowOf, slotOf] = ['window_of', 'slot_of'].map((name) => arrays[`${name}${layer}`].data);
  const tokens = windowOf.length;
  const rows = new Float32Array(heads * tokens * slots);
  for (let head = 0; head < heads; head++)
    for (let token = 0; token < tokens; token++) {
      const from = ((windowOf[token] * heads + head) * slots + slotOf[token]) * slots;
      rows.set(data.subarray(from, from + slots), (head * tokens + token) * slots);
    }
  return { data: rows, shape: [heads, tokens, slots] };
}

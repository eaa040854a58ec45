// Mask patches and zero out heads of the map's model: the engine runs it in the browser, and the address learns of it.

import { button, disable, el } from '../../vitviz/browser/kit/dom.js';
import { drawHidden } from '../../vitviz/browser/kit/pixels.js';
import { percent } from '../../vitviz/browser/kit/text.js';
import { placed } from './map_overlay.js';
import { canFollow } from './map_record.js';

const REST_MS = 300; // without a change, until the address follows
const HINT = 'Click patches to mask them: no token attends to a masked patch. Heads are zeroed out in an opened layer.';

/** Write flags as hexadecimal digits: four flags a digit, the first flag in the highest bit. */
export function toHex(flags) {
  let text = '';
  for (let i = 0; i < flags.length; i += 4)
    text += [0, 1, 2, 3].reduce((digit, k) => 2 * digit + Number(flags[i + k] ?? false), 0).toString(16);
  return text;
}

/** Read `count` flags from hexadecimal digits; none is set if the digits are not as many as the flags need. */
export function fromHex(text, count) {
  const fits = text.length === Math.ceil(count / 4);
  return Array.from({ length: count }, (_, i) => fits && ((parseInt(text[i >> 2], 16) >> (3 - (i % 4))) & 1) === 1);
}

const factors = (flags) => (flags.includes(true) ? Float32Array.from(flags, (flag) => Number(!flag)) : undefined);

const count = (flags) => flags.filter(Boolean).length;

export class MapMasks {
  /** acts: {view: the map, parent: of the buttons, trigger(name, value), apply(): run the model with these masks} */
  constructor({ view, parent, trigger, apply }) {
    Object.assign(this, { view, trigger, run: apply, on: false, patches: [], heads: [], sent: null, timer: 0 });
    this.node = el(parent, 'div', { class: 'mp-masks vv-controls', role: 'group', 'aria-label': 'Masks' });
    this.toggle = button(this.node, 'Mask patches', () => this.turn(!this.on), { class: 'mp-mask-patches' });
    this.all = button(this.node, 'Restore all', () => this.restore(), { class: 'mp-quiet' });
    this.line = el(view.root, 'p', { class: 'mp-masked', role: 'status' });
  }

  get any() {
    return this.patches.includes(true) || this.heads.includes(true);
  }

  /** Factors for the engine; undefined without a mask. */
  get changes() {
    return { tokenMask: factors(this.patches), headMask: factors(this.heads) };
  }

  /** The masks as the address holds them: the grid's digits, then those of the layers' heads if one is zeroed out. */
  get text() {
    if (!this.any) return '';
    return toHex(this.patches) + (this.heads.includes(true) ? `.${toHex(this.heads)}` : '');
  }

  /** Return true if a message differs from the one before in its masks alone, which are those that the map shows. */
  isConfirmed({ header, arrays, colors, width }) {
    const { probabilities, photo } = arrays;
    const text = JSON.stringify([
      { ...header, masks: '' },
      colors.mode,
      width,
      [...probabilities.data],
      photo?.data?.length,
    ]);
    const same = text === this.answered && header.masks === this.sent;
    this.answered = text;
    if (same) this.sent = null;
    return same;
  }

  /** Take the sizes of a message's model and, unless newer ones are on their way, the masks of its address. */
  take({ header, arrays }) {
    const { grid, depth, heads: perLayer, masks = '' } = header;
    const why = this.whyNot({ header, arrays });
    this.node.hidden = header.map !== 'home.map' || (this.view.alone && !header.weights);
    const lengths = why ? [0, 0] : [grid[0] * grid[1], depth * perLayer];
    if (this.patches.length !== lengths[0] || this.heads.length !== lengths[1])
      [this.patches, this.heads] = lengths.map((length) => Array(length).fill(false));
    if (this.sent === masks) this.sent = null;
    if (this.sent === null && !this.timer && masks !== this.text) {
      const [patches, heads = ''] = masks.split('.');
      [this.patches, this.heads] = [fromHex(patches, lengths[0]), fromHex(heads, lengths[1])];
    }
    this.why = why;
    disable(this.toggle, why);
    if (why) this.on = false;
    this.face();
  }

  /** Return why no mask can be set; '' if one can. */
  whyNot(message) {
    if (!message.header.weights)
      return 'This model runs on the server; masks need a small model that the browser runs.';
    return canFollow(message) ? '' : 'Masks on the map need a ViT that reads at most 10 classes from [CLS].';
  }

  turn(on) {
    this.on = on;
    if (on) this.view.journey.leave(false);
    this.face();
  }

  face() {
    this.toggle.setAttribute('aria-pressed', String(this.on));
    this.all.hidden = !this.any;
    this.view.stage.classList.toggle('mp-masking', this.on);
    if (this.on && !this.any) this.line.textContent = HINT;
    this.line.hidden = !this.on && !this.any;
  }

  /** Mask the patch of a pin, or restore it; return false if patches are not masked by clicks. */
  pick(pin) {
    const { model } = this.view;
    const patch = this.on ? model.tokenAt({ grid: model.header.grid, prefix: [] }, pin) : -1;
    if (patch < 0) return false;
    this.patches[patch] = !this.patches[patch];
    this.change();
    return true;
  }

  /** Add the button that zeroes out a head of a layer, both 0-based. */
  headButton(parent, layer, head) {
    const at = layer * this.view.model.header.heads + head;
    const name = `Zero out head ${head + 1}`;
    const node = button(parent, name, null, { class: 'mp-zero', 'aria-pressed': String(Boolean(this.heads[at])) });
    node.onclick = () => {
      this.heads[at] = !this.heads[at];
      node.setAttribute('aria-pressed', String(this.heads[at]));
      this.change();
    };
    disable(node, this.why);
  }

  restore() {
    this.patches.fill(false);
    this.heads.fill(false);
    this.change();
    this.toggle.focus();
  }

  change() {
    this.face();
    this.view.schedule();
    this.run();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.sent = this.text;
      this.trigger('mask', this.sent);
    }, REST_MS);
  }

  /** Say what is masked and the class with it, and without it if `before` holds those probabilities. */
  describe(before) {
    if (!this.any) return;
    const { model } = this.view;
    const { names } = model.header.classes;
    const { data } = model.arrays.probabilities;
    const heads = this.heads.includes(true) ? `, ${count(this.heads)} of ${this.heads.length} heads zeroed out` : '';
    const named = (values) => {
      const best = values.indexOf(Math.max(...values));
      return `${names[best]} (${percent(values[best])})`;
    };
    const whole = before ? `; without masks: ${named(before)}` : '';
    const masked = `${count(this.patches)} of ${this.patches.length} patches masked${heads}`;
    this.line.textContent = `${masked}. Prediction: ${named(data)}${whole}.`;
  }

  /** Forget masks that the engine could not compute. */
  fail(error) {
    this.patches.fill(false);
    this.heads.fill(false);
    this.face();
    Object.assign(this.line, { hidden: false, textContent: `Masks cannot be computed here: ${error.message}` });
  }

  /** Cover the masked patches in the image and among its patches. */
  draw(ctx, view) {
    const parts = ['picture', 'patches'].map((id) => view.model.byId.get(id)).filter(Boolean);
    for (const part of parts)
      this.patches.forEach((masked, cell) => {
        const box = masked && placed(view, part, view.model.pinOf({ grid: view.model.header.grid, prefix: [] }, cell));
        if (box) drawHidden(ctx, ...box);
      });
  }

  end() {
    clearTimeout(this.timer);
  }
}

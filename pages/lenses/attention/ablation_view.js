// Ablate patches by painting and heads by clicking; the ablation is the component's state, with undo.

import { computeNewest, openModel, words } from '../../../vitviz/browser/engine/live_model.js';
import { tell } from '../../../vitviz/browser/kit/bus.js';
import { CellFrame } from '../../../vitviz/browser/kit/cell_frame.js';
import { button, disable, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { photo, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { headColor } from '../../../vitviz/browser/kit/colour_ramp.js';
import { nameCell, patchName } from '../../../vitviz/browser/kit/text.js';

const BARS = 'attention.after'; // the view of the probabilities
const MOST = 8; // classes in it
const MOST_NUMBERS = 16; // of rows or columns, beside the image

/** Return an image (C, H, W) with its `hidden` patches set to 0. */
function blank({ data, shape: [channels, height, width] }, [rows, cols], hidden) {
  const pixels = data.slice();
  const [high, wide] = [height / rows, width / cols];
  for (const patch of hidden)
    for (let c = 0; c < channels; c++)
      for (let y = 0; y < high; y++) {
        const from = (c * height + Math.floor(patch / cols) * high + y) * width + (patch % cols) * wide;
        pixels.fill(0, from, from + wide);
      }
  return pixels;
}

export default class AblationView {
  constructor({ root, send, onUnmount }) {
    Object.assign(this, { root, send, photo: photo(root), words: words(root) });
    this.predict = computeNewest(() => this.compute());
    onUnmount(() => this.words.end());
    this.page = el(this.root, 'div', { class: 'aa' });
    this.left = el(this.page, 'div');
    this.right = el(this.page, 'div');
    this.announce = live(this.root);
    this.build();
    this.listen();
    this.listenPainting();
  }

  build() {
    const frame = el(this.left, 'div', { class: 'aa-frame' });
    this.numbers = ['aa-cols', 'aa-rows'].map((name) =>
      el(frame, 'div', { class: `${name} vv-muted`, 'aria-hidden': 'true' }),
    );
    this.image = new CellFrame(frame, 'aa-stage');
    this.stage = this.image.node;
    this.tip = tooltip(this.stage);
    this.bar = el(this.left, 'div', { class: 'vv-row aa-bar' });
    this.undo = button(this.bar, 'Undo', () => this.restore(this.history.pop()));
    this.reset = button(this.bar, 'Restore all', () =>
      this.change(() => {
        this.patches.clear();
        this.heads.clear();
      }),
    );
    this.count = el(this.bar, 'span', { class: 'vv-muted' });
    el(this.right, 'div', { class: 'aa-title' }, 'Heads: click one to ablate it, or a layer for all of its heads');
    this.table = el(this.right, 'div', { class: 'aa-heads', role: 'group', 'aria-label': 'Heads by layer' });
    this.patches = new Set();
    this.heads = new Set();
    this.history = [];
    this.painting = null;
    this.buttons = new Map();
    this.mark = null; // of the initial state that the server sent
  }

  listen() {
    this.grid = gridNavigation(this.stage, {
      label: 'Image: drag to ablate patches, Enter toggles one',
      grid: () => this.message.header.grid,
      start: () => this.message.header.start,
      pick: (patch) => this.change(() => this.toggle(this.patches, patch, !this.patches.has(patch))),
      hover: (index, event) => {
        const { grid } = this.message.header;
        this.image.point(grid, index);
        if (index < 0) return this.tip.hide();
        const { offsetLeft, offsetTop } = this.image.marks[1];
        this.tip.show(offsetLeft, offsetTop, nameCell(index, grid[1]));
        if (this.painting !== null) {
          this.toggle(this.patches, index, this.painting);
          this.drawChange();
        }
        if (event?.type === 'keydown')
          this.announce(`${patchName(index, grid[1])}${this.patches.has(index) ? ', ablated' : ''}`);
      },
    });
  }

  listenPainting() {
    // A stroke lasts while the pointer is down; its end sends one message to the server.
    this.move = this.stage.onpointermove;
    this.stage.onpointerdown = (event) => {
      if (event.button) return;
      this.stage.setPointerCapture(event.pointerId);
      this.move(event);
      if (this.grid.index < 0) return;
      this.history.push(this.snapshot());
      this.painting = !this.patches.has(this.grid.index);
      this.toggle(this.patches, this.grid.index, this.painting);
      this.drawChange();
    };
    this.stage.onpointerup = this.stage.onpointercancel = () => {
      if (this.painting !== null) {
        this.painting = null;
        this.sendState();
      }
    };
    this.stage.onclick = null; // only keys pick: the pointer paints
    this.stage.style.touchAction = 'none'; // touch paints instead of scrolling
  }

  snapshot() {
    return { patches: [...this.patches], heads: [...this.heads] };
  }

  restore(state) {
    this.patches = new Set(state.patches);
    this.heads = new Set(state.heads);
    this.drawChange();
    this.sendState();
  }

  sendState() {
    this.send('ablation', {
      patches: [...this.patches].sort((a, b) => a - b),
      heads: [...this.heads].map((key) => key.split(',').map(Number)),
      mark: this.mark,
    });
  }

  /** Show the probabilities of the current ablation, which the engine computes; the server's follow. */
  async compute() {
    const { header, arrays } = this.message;
    const { grid, heads, prefix, blanked, weights } = header;
    const hidden = [...this.patches];
    if (!weights || (!blanked && !prefix && hidden.length === grid[0] * grid[1])) return;
    const model = await openModel(weights);
    const widest = Math.max(...heads);
    const headMask = new Float32Array(heads.length * widest).fill(1);
    for (const key of this.heads) {
      const [layer, head] = key.split(',').map(Number);
      headMask[layer * widest + head] = 0;
    }
    const changes = { headMask };
    if (!blanked && hidden.length) {
      changes.tokenMask = new Float32Array(grid[0] * grid[1]).fill(1);
      for (const patch of hidden) changes.tokenMask[patch] = 0;
    }
    const before = await model.predict(arrays.input.data, {});
    const after = await model.predict(blanked ? blank(arrays.input, grid, hidden) : arrays.input.data, changes);
    if (weights !== this.message.header.weights) return;
    const top = before.indexOf(Math.max(...before));
    const most = (k) => Math.max(before[k], after[k]);
    const order = [...before.keys()].sort((a, b) => most(b) - most(a)).slice(0, MOST);
    if (!order.includes(top)) order[order.length - 1] = top;
    const of = (values) => order.map((k) => values[k]);
    const names = of(model.classes);
    tell('bars', this.root, { key: BARS, names, now: of(after), before: of(before), strong: order.indexOf(top) });
    this.root.dataset.live = String(hidden.length);
  }

  /** Draw a change at once, and its probabilities; the server's sentences are about the state before. */
  drawChange() {
    this.draw();
    const { patches, heads } = this.message.header.ablated;
    const server = JSON.stringify([[...patches].sort(), heads.map(String).sort()]);
    this.words.behind(JSON.stringify([[...this.patches].sort(), [...this.heads].sort()]) !== server);
    this.predict();
  }

  change(action) {
    this.history.push(this.snapshot());
    if (this.history.length > 200) this.history.shift();
    action();
    this.drawChange();
    this.sendState();
  }

  toggle(ablated, key, on) {
    return on ? ablated.add(key) : ablated.delete(key);
  }

  /** Take over the initial state of another model or link. */
  loadInitial({ header }) {
    if (header.mark === this.mark) return;
    this.mark = header.mark;
    this.patches = new Set(header.ablated.patches);
    this.heads = new Set(header.ablated.heads.map((pair) => pair.join(',')));
    this.history = [];
    this.buildHeads(header);
  }

  buildHeads(header) {
    this.buttons = new Map();
    this.table.replaceChildren();
    header.heads.forEach((count, l) => {
      const row = el(this.table, 'div', { class: 'aa-row' });
      const keys = Array.from({ length: count }, (_, h) => `${l},${h}`);
      const toggleLayer = () => {
        const ablated = !keys.every((key) => this.heads.has(key));
        keys.forEach((key) => this.toggle(this.heads, key, ablated));
      };
      button(row, `layer ${l + 1}`, () => this.change(toggleLayer), { class: 'aa-layer' });
      keys.forEach((key, h) => {
        const toggleHead = () => this.toggle(this.heads, key, !this.heads.has(key));
        const title = `layer ${l + 1}, head ${h + 1}`;
        const node = button(row, '', () => this.change(toggleHead), { class: 'aa-head', title, 'aria-label': title });
        node.style.setProperty('--aa-color', headColor(h, count));
        this.buttons.set(key, node);
      });
    });
  }

  /** Number the columns above the image and the rows beside it, from 1; the numbers of a fine grid skip some. */
  numberCells([rows, cols]) {
    const step = Math.ceil(Math.max(rows, cols) / MOST_NUMBERS);
    for (const [node, count] of [
      [this.numbers[0], cols],
      [this.numbers[1], rows],
    ]) {
      node.replaceChildren();
      for (let i = 0; i < count; i++) el(node, 'span', {}, i % step ? '' : String(i + 1));
    }
  }

  draw() {
    const [rows, cols] = this.message.header.grid;
    const image = new ImageData(cols, rows);
    for (const patch of this.patches) image.data.set([128, 128, 128, 255], 4 * patch);
    this.image.showCells(offscreen(image));
    for (const [key, node] of this.buttons) node.setAttribute('aria-pressed', String(this.heads.has(key)));
    disable(this.undo, this.history.length ? '' : 'No change to undo');
    disable(this.reset, this.patches.size || this.heads.size ? '' : 'Nothing is ablated');
    const text = `Ablated: ${this.patches.size} of ${rows * cols} patches, ${this.heads.size} of ${this.buttons.size} heads`;
    this.count.textContent = this.reset.disabled ? 'Drag over the image to ablate patches' : text;
    this.root.dataset.patches = String(this.patches.size);
    this.root.dataset.heads = String(this.heads.size);
  }

  update(message, fresh) {
    this.message = message;
    const { header, width } = message;
    if (fresh && this.painting === null) this.words.behind(false);
    this.root.classList.toggle('aa-narrow', width < 560);
    if (fresh) this.numberCells(header.grid);
    this.image.shape(header.grid);
    this.photo.show(message, (bitmap) => this.image.showImage(bitmap));
    this.loadInitial(message);
    this.draw();
  }
}

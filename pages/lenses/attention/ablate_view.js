// Paint patches and silence heads: what is left out is the component's state, and every change can be undone.

import { mark } from '../../views/kit/place.js';
import { el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { coverOnce, photo } from '../../views/kit/photo.js';
import { headColor } from '../../views/kit/ramp.js';

class AblateView {
  constructor({ root, send }) {
    this.root = root;
    this.send = send;
    this.photo = photo(root);
    this.page = el(this.root, 'div', { class: 'aa' });
    this.left = el(this.page, 'div');
    this.right = el(this.page, 'div');
    this.say = live(this.root);
    this.build();
    this.listen();
    this.listenPainting();
  }

  build() {
    this.stage = el(this.left, 'div', { class: 'aa-stage' });
    this.base = el(this.stage, 'canvas', { 'aria-hidden': 'true' });
    this.veil = el(this.stage, 'canvas', { class: 'aa-veil', 'aria-hidden': 'true' });
    this.marker = el(this.stage, 'div', { class: 'aa-mark', hidden: '' });
    this.bar = el(this.left, 'div', { class: 'vv-row aa-bar' });
    this.undo = el(this.bar, 'button', { type: 'button' }, 'Undo');
    this.reset = el(this.bar, 'button', { type: 'button' }, 'Restore all');
    this.count = el(this.bar, 'span', { class: 'vv-muted' });
    this.title = el(
      this.right,
      'div',
      { class: 'aa-title' },
      'Heads: a click silences one, a layer’s name all of them',
    );
    this.table = el(this.right, 'div', { class: 'aa-heads', role: 'group', 'aria-label': 'Heads by layer' });
    this.now = null;
    this.patches = new Set();
    this.heads = new Set();
    this.history = [];
    this.painting = null;
    this.buttons = new Map();
    this.mark = null; // of the beginning that what is left out was changed since
  }

  listen() {
    this.undo.onclick = () => {
      if (this.history.length) this.restore(this.history.pop());
    };
    this.reset.onclick = () => {
      if (this.patches.size || this.heads.size) {
        this.history.push(this.snapshot());
        this.restore({ patches: [], heads: [] });
      }
    };
    this.grid = gridNavigation(this.stage, {
      label: 'Picture: drag to paint patches out, Enter toggles one',
      rows: () => this.now.header.grid[0],
      cols: () => this.now.header.grid[1],
      start: () => this.now.header.start,
      hover: (index, event) => {
        mark(this.marker, this.now.header.grid, index);
        if (index < 0) return;
        if (this.painting !== null) {
          this.flip(this.patches, index, this.painting);
          this.draw();
        }
        if (event?.type === 'keydown')
          this.say(`${this.cellName(index)}${this.patches.has(index) ? ', left out' : ''}`);
      },
    });
  }

  listenPainting() {
    // Painting begins and ends with the pointer; the server hears of it once, when the stroke is done.
    this.move = this.stage.onpointermove;
    this.stage.onpointerdown = (event) => {
      if (event.button) return;
      this.stage.setPointerCapture(event.pointerId);
      this.move(event);
      if (this.grid.index < 0) return;
      this.history.push(this.snapshot());
      this.painting = !this.patches.has(this.grid.index);
      this.flip(this.patches, this.grid.index, this.painting);
      this.draw();
    };
    this.stage.onpointerup = this.stage.onpointercancel = () => {
      if (this.painting !== null) {
        this.painting = null;
        this.tell();
      }
    };
    this.stage.onclick = null;
    this.stage.addEventListener('keydown', (event) => {
      if ((event.key === 'Enter' || event.key === ' ') && this.grid.index >= 0) {
        event.preventDefault();
        this.change(() => this.flip(this.patches, this.grid.index, !this.patches.has(this.grid.index)));
      }
    });
    this.stage.style.touchAction = 'none'; // a finger paints
  }

  cellName(index) {
    const cols = this.now.header.grid[1];
    return `row ${Math.floor(index / cols) + 1}, column ${(index % cols) + 1}`;
  }

  snapshot() {
    return { patches: [...this.patches], heads: [...this.heads] };
  }

  restore(state) {
    this.patches = new Set(state.patches);
    this.heads = new Set(state.heads);
    this.draw();
    this.tell();
  }

  tell() {
    this.send('ablation', {
      patches: [...this.patches].sort((a, b) => a - b),
      heads: [...this.heads].map((name) => name.split(',').map(Number)),
      mark: this.mark,
    });
  }

  change(action) {
    this.history.push(this.snapshot());
    if (this.history.length > 200) this.history.shift();
    action();
    this.draw();
    this.tell();
  }

  flip(set, name, on) {
    return on ? set.add(name) : set.delete(name);
  }

  /** Another model, or a link: the view begins anew, with what is left out there. */
  begin({ header }) {
    if (header.mark === this.mark) return;
    this.mark = header.mark;
    this.patches = new Set(header.left_out.patches);
    this.heads = new Set(header.left_out.heads.map((pair) => pair.join(',')));
    this.history = [];
    this.buildHeads(header);
  }

  buildHeads(header) {
    this.buttons = new Map();
    this.table.replaceChildren();
    header.heads.forEach((many, l) => {
      const row = el(this.table, 'div', { class: 'aa-row' });
      const whole = el(row, 'button', { type: 'button', class: 'aa-layer' }, `layer ${l + 1}`);
      whole.onclick = () =>
        this.change(() => {
          const all = Array.from({ length: many }, (_, h) => `${l},${h}`);
          const off = all.every((name) => this.heads.has(name));
          all.forEach((name) => this.flip(this.heads, name, !off));
        });
      for (let h = 0; h < many; h++) {
        const name = `${l},${h}`;
        const button = el(row, 'button', {
          type: 'button',
          class: 'aa-head',
          title: `layer ${l + 1}, head ${h + 1}`,
          'aria-label': `layer ${l + 1}, head ${h + 1}`,
        });
        button.style.setProperty('--aa-color', headColor(h, many));
        button.onclick = () => this.change(() => this.flip(this.heads, name, !this.heads.has(name)));
        this.buttons.set(name, button);
      }
    });
  }

  draw() {
    const {
      header: {
        grid: [rows, cols],
      },
    } = this.now;
    this.veil.width = cols;
    this.veil.height = rows;
    const image = this.veil.getContext('2d').createImageData(cols, rows);
    for (const patch of this.patches) image.data.set([128, 128, 128, 255], 4 * patch);
    this.veil.getContext('2d').putImageData(image, 0, 0);
    for (const [name, button] of this.buttons) button.setAttribute('aria-pressed', String(this.heads.has(name)));
    this.undo.disabled = !this.history.length;
    this.reset.disabled = !this.patches.size && !this.heads.size;
    const out = `${this.patches.size} of ${rows * cols} patches, ${this.heads.size} of ${this.buttons.size} heads left out`;
    this.count.textContent = this.reset.disabled ? 'Drag over the picture to leave patches out' : out;
    this.root.dataset.patches = String(this.patches.size);
    this.root.dataset.heads = String(this.heads.size);
  }

  update(message) {
    this.now = message;
    const { header, width } = message;
    this.root.classList.toggle('aa-narrow', width < 560);
    this.stage.style.aspectRatio = `${header.grid[1]} / ${header.grid[0]}`;
    this.photo.show(message, (bitmap) => coverOnce(this.base, bitmap));
    this.begin(message);
    this.draw();
  }
}

export default function ablateView(context) {
  const view = new AblateView(context);
  return (message) => view.update(message);
}

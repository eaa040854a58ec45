// Paint patches and silence heads: what is left out is the component's state, and every change can be undone.

import { el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { picture } from '../../views/kit/pixels.js';
import { headColor } from '../../views/kit/ramp.js';

export default function ablateView({ root, send }) {
  const page = el(root, 'div', { class: 'aa' });
  const left = el(page, 'div'),
    right = el(page, 'div'),
    say = live(root);
  const stage = el(left, 'div', { class: 'aa-stage' });
  const base = el(stage, 'canvas', { 'aria-hidden': 'true' }),
    veil = el(stage, 'canvas', { class: 'aa-veil', 'aria-hidden': 'true' });
  const marker = el(stage, 'div', { class: 'aa-mark', hidden: '' });
  const bar = el(left, 'div', { class: 'vv-row aa-bar' });
  const undo = el(bar, 'button', { type: 'button' }, 'Undo'),
    reset = el(bar, 'button', { type: 'button' }, 'Restore all');
  const count = el(bar, 'span', { class: 'vv-muted' });
  const title = el(right, 'div', { class: 'aa-title' }, 'Heads: a click silences one, a layer’s name all of them');
  const table = el(right, 'div', { class: 'aa-heads', role: 'group', 'aria-label': 'Heads by layer' });
  let now = null,
    patches = new Set(),
    heads = new Set(),
    history = [],
    painting = null,
    buttons = new Map(),
    built = '';

  const snapshot = () => ({ patches: [...patches], heads: [...heads] });
  function restore(state) {
    patches = new Set(state.patches);
    heads = new Set(state.heads);
    draw();
    tell();
  }
  function tell() {
    send('ablation', {
      patches: [...patches].sort((a, b) => a - b),
      heads: [...heads].map((name) => name.split(',').map(Number)),
    });
  }
  function change(action) {
    history.push(snapshot());
    if (history.length > 200) history.shift();
    action();
    draw();
    tell();
  }
  undo.onclick = () => {
    if (history.length) restore(history.pop());
  };
  reset.onclick = () => {
    if (patches.size || heads.size) {
      history.push(snapshot());
      restore({ patches: [], heads: [] });
    }
  };

  const flip = (set, name, on) => (on ? set.add(name) : set.delete(name));
  const grid = gridNavigation(stage, {
    label: 'Picture: drag to paint patches out, Enter toggles one',
    rows: () => now.header.grid[0],
    cols: () => now.header.grid[1],
    hover(index, event) {
      const {
        grid: [rows, cols],
      } = now.header;
      marker.hidden = index < 0;
      if (index < 0) return;
      Object.assign(marker.style, {
        left: `${(100 * (index % cols)) / cols}%`,
        top: `${(100 * Math.floor(index / cols)) / rows}%`,
        width: `${100 / cols}%`,
        height: `${100 / rows}%`,
      });
      if (painting !== null) {
        flip(patches, index, painting);
        draw();
      }
      if (event?.type === 'keydown')
        say(
          `row ${Math.floor(index / cols) + 1}, column ${(index % cols) + 1}${patches.has(index) ? ', left out' : ''}`,
        );
    },
  });
  // Painting begins and ends with the pointer; the server hears of it once, when the stroke is done.
  const move = stage.onpointermove;
  stage.onpointerdown = (event) => {
    if (event.button) return;
    stage.setPointerCapture(event.pointerId);
    move(event);
    if (grid.index < 0) return;
    history.push(snapshot());
    painting = !patches.has(grid.index);
    flip(patches, grid.index, painting);
    draw();
  };
  stage.onpointerup = stage.onpointercancel = () => {
    if (painting !== null) {
      painting = null;
      tell();
    }
  };
  stage.onclick = null;
  stage.addEventListener('keydown', (event) => {
    if ((event.key === 'Enter' || event.key === ' ') && grid.index >= 0) {
      event.preventDefault();
      change(() => flip(patches, grid.index, !patches.has(grid.index)));
    }
  });
  stage.style.touchAction = 'none'; // a finger paints

  function build({ header }) {
    const key = JSON.stringify([header.heads, header.grid]);
    if (key === built) return;
    built = key;
    buttons = new Map();
    patches = new Set();
    heads = new Set();
    history = [];
    table.replaceChildren();
    header.heads.forEach((many, l) => {
      const row = el(table, 'div', { class: 'aa-row' });
      const whole = el(row, 'button', { type: 'button', class: 'aa-layer' }, `layer ${l + 1}`);
      whole.onclick = () =>
        change(() => {
          const all = Array.from({ length: many }, (_, h) => `${l},${h}`),
            off = all.every((name) => heads.has(name));
          all.forEach((name) => flip(heads, name, !off));
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
        button.onclick = () => change(() => flip(heads, name, !heads.has(name)));
        buttons.set(name, button);
      }
    });
  }

  function draw() {
    const {
      header: {
        grid: [rows, cols],
      },
    } = now;
    veil.width = cols;
    veil.height = rows;
    const image = veil.getContext('2d').createImageData(cols, rows);
    for (const patch of patches) image.data.set([128, 128, 128, 255], 4 * patch);
    veil.getContext('2d').putImageData(image, 0, 0);
    for (const [name, button] of buttons) button.setAttribute('aria-pressed', String(heads.has(name)));
    undo.disabled = !history.length;
    reset.disabled = !patches.size && !heads.size;
    count.textContent = `${patches.size} of ${rows * cols} patches, ${heads.size} of ${buttons.size} heads left out`;
    root.dataset.patches = String(patches.size);
    root.dataset.heads = String(heads.size);
  }

  return function update(message) {
    now = message;
    const { header, arrays, width } = message,
      source = picture(arrays.picture);
    root.classList.toggle('aa-narrow', width < 560);
    stage.style.aspectRatio = `${header.grid[1]} / ${header.grid[0]}`;
    base.width = source.width;
    base.height = source.height;
    base.getContext('2d').drawImage(source, 0, 0);
    base.style.imageRendering = source.width < 128 ? 'pixelated' : 'auto';
    build(message);
    draw();
  };
}

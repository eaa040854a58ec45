// What every client view shares; components/__init__.py puts PALETTE before it and the view's own file after it.
// PALETTE: {SEQUENTIAL, DIVERGING, HEADS, light: {...}, dark: {...}}, from vitviz/plots/theme.py, so that a
// canvas and a Plotly figure never disagree about a colour.

const TYPES = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  uint32: Uint32Array, int32: Int32Array, float32: Float32Array, float64: Float64Array,
};

/** The twin of vitviz/plots/blob.py `pack`: bytes -> {header, arrays: {name: {data, shape}}}. */
function unpack(bytes) {
  if (!bytes) return { header: {}, arrays: {} };
  let view = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  // Typed arrays need their own alignment; Streamlit's message may start anywhere in its buffer.
  if (view.byteOffset % 8) view = view.slice();
  const length = new DataView(view.buffer, view.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(view.subarray(4, 4 + length)));
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays ?? {})) {
    const count = shape.reduce((a, b) => a * b, 1);
    const start = view.byteOffset + 4 + length + offset;
    arrays[name] = { data: new TYPES[dtype](view.buffer, start, count), shape };
  }
  return { header, arrays };
}

// ---------------------------------------------------------------- colours

function rgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** 256 colours (Uint8 r, g, b, a) along evenly spaced '#rrggbb' stops, as theme.py's `ramp`. */
function lut(stops) {
  const table = new Uint8ClampedArray(1024);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const a = rgb(stops[low]), b = rgb(stops[low + 1]);
    for (let c = 0; c < 3; c++) table[4 * i + c] = Math.round(a[c] + (b[c] - a[c]) * (place - low));
    table[4 * i + 3] = 255;
  }
  return table;
}
const SEQUENTIAL_LUT = lut(PALETTE.SEQUENTIAL);
const DIVERGING_LUT = lut(PALETTE.DIVERGING);

/** Transparent to one colour: how attention lies over a greyed picture. */
function accentLut(hex) {
  const table = new Uint8ClampedArray(1024), [r, g, b] = rgb(hex);
  for (let i = 0; i < 256; i++) table.set([r, g, b, i], 4 * i);
  return table;
}

/** The colour of one head: Okabe-Ito up to eight heads, beyond that one even ramp. */
function headColor(head, heads) {
  if (heads <= PALETTE.HEADS.length) return PALETTE.HEADS[head];
  const i = 4 * Math.round((255 * head) / (heads - 1));
  return `rgb(${SEQUENTIAL_LUT[i]}, ${SEQUENTIAL_LUT[i + 1]}, ${SEQUENTIAL_LUT[i + 2]})`;
}

/** Streamlit's live theme and the project's accents of the same mode. */
function theme(element) {
  const css = getComputedStyle(element);
  const read = (name, fallback) => css.getPropertyValue(name).trim() || fallback;
  const paper = read('--st-background-color', PALETTE.light.paper);
  const [r, g, b] = paper.startsWith('#') ? rgb(paper) : (paper.match(/\d+/g) ?? [255, 255, 255]).map(Number);
  const mode = 0.2126 * r + 0.7152 * g + 0.0722 * b < 110 ? 'dark' : 'light';
  return {
    mode, ...PALETTE[mode], paper,
    ink: read('--st-text-color', PALETTE[mode].ink),
    font: read('--st-font', 'sans-serif'),
    mono: read('--st-code-font', 'monospace'),
  };
}

// ---------------------------------------------------------------- drawing

/** An element with attributes and text; text is set as text, never as HTML. */
function el(parent, tag, attributes = {}, text = '') {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent?.appendChild(node);
  return node;
}

/** A canvas in CSS pixels at the screen's own resolution: {node, ctx, size(width, height), width, height}. */
function canvas(parent, attributes = {}) {
  const node = el(parent, 'canvas', attributes), ctx = node.getContext('2d');
  const self = {
    node, ctx, width: 0, height: 0,
    size(width, height) {
      const scale = window.devicePixelRatio || 1;
      const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));
      if (node.width !== w || node.height !== h) {
        node.width = w; node.height = h;
        node.style.width = `${width}px`; node.style.height = `${height}px`;
      }
      ctx.setTransform(scale, 0, 0, scale, 0, 0);
      ctx.clearRect(0, 0, width, height);
      self.width = width; self.height = height;
      return ctx;
    },
  };
  return self;
}

/** An off-screen picture from (H, W, 3) or (H, W) uint8, to be drawn with drawImage; scale it without smoothing. */
function picture({ data, shape }) {
  const [height, width] = shape, channels = shape[2] ?? 1;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = data[channels * i + (channels > 1 ? c : 0)];
    image.data[4 * i + 3] = 255;
  }
  return offscreen(image);
}

/** Values (rows x cols, any typed array, from `start`) through a 256-colour table between lo and hi. */
function heat(values, rows, cols, table, lo, hi, start = 0) {
  const image = new ImageData(cols, rows), span = hi - lo || 1;
  for (let i = 0; i < rows * cols; i++) {
    const level = Math.max(0, Math.min(255, Math.round((255 * (values[start + i] - lo)) / span)));
    for (let c = 0; c < 4; c++) image.data[4 * i + c] = table[4 * level + c];
  }
  return offscreen(image);
}

function offscreen(image) {
  const node = document.createElement('canvas');
  node.width = image.width; node.height = image.height;
  node.getContext('2d').putImageData(image, 0, 0);
  return node;
}

/** drawImage with hard pixel edges (nearest: the truth) unless smooth is asked for. */
function blit(ctx, source, x, y, width, height, smooth = false) {
  ctx.imageSmoothingEnabled = smooth;
  ctx.drawImage(source, x, y, width, height);
}

// ---------------------------------------------------------------- motion

const reducedMotion = () => window.matchMedia('(prefers-reduced-motion: reduce)').matches;
const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

/** Calls frame(eased t in [0, 1]) for `ms`; with reduced motion once, with 1. Returns a function that stops it. */
function animate(ms, frame, done = () => {}) {
  if (reducedMotion()) { frame(1); done(); return () => {}; }
  const began = performance.now();
  let handle = 0;
  const tick = (now) => {
    const t = Math.min(1, Math.max(0, (now - began) / ms));
    frame(ease(t));
    if (t < 1) handle = requestAnimationFrame(tick); else done();
  };
  handle = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(handle);
}

// ---------------------------------------------------------------- speech and pointing

/** A hint beside the pointer: show(x, y, text) in the view's own pixels, hide(). */
function tooltip(root) {
  const node = el(root, 'div', { class: 'vv-tip', 'aria-hidden': 'true' });
  return {
    show(x, y, text) {
      node.textContent = text;
      const width = node.offsetWidth, height = node.offsetHeight;
      node.style.left = `${Math.max(0, Math.min(x + 12, root.clientWidth - width))}px`;
      node.style.top = `${y - height - 8 < 0 ? y + 16 : y - height - 8}px`;
      node.style.visibility = 'visible';
    },
    hide() { node.style.visibility = 'hidden'; },
  };
}

/** Says text to a screen reader, politely. */
function live(root) {
  const node = el(root, 'div', { class: 'vv-live', 'aria-live': 'polite' });
  return (text) => { if (node.textContent !== text) node.textContent = text; };
}

/**
 * Makes an element a grid of cells that pointer, finger and keyboard move over alike.
 *   options: {label, rows(), cols(), cellAt(x, y) -> index | -1 (optional; default: even cells over the element),
 *             hover(index, event) with -1 for none, pick(index), keys: {key: handler} (optional)}
 * Arrows move, Home/End go to the row's ends, Enter or Space picks, Escape leaves. Returns {index, move(index)}.
 */
function gridNavigation(node, options) {
  const state = { index: -1 };
  const total = () => options.rows() * options.cols();
  const go = (index, event) => {
    if (index !== state.index) { state.index = index; options.hover(index, event); }
    else if (event?.type === 'pointermove') options.hover(index, event);
  };
  const at = (event) => {
    const box = node.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    if (options.cellAt) return options.cellAt(x, y);
    const col = Math.floor((x / box.width) * options.cols()), row = Math.floor((y / box.height) * options.rows());
    const inside = col >= 0 && row >= 0 && col < options.cols() && row < options.rows();
    return inside ? row * options.cols() + col : -1;
  };
  node.tabIndex = 0;
  node.setAttribute('role', 'application');
  node.setAttribute('aria-roledescription', 'grid of cells');
  node.setAttribute('aria-label', `${options.label}. Arrow keys move, Enter pins.`);
  node.onpointermove = (event) => go(at(event), event);
  node.onpointerdown = (event) => go(at(event), event);
  node.onpointerleave = (event) => { if (event.pointerType === 'mouse') go(-1, event); };
  node.onclick = (event) => { const i = at(event); if (i >= 0) options.pick?.(i); };
  node.onkeydown = (event) => {
    const cols = options.cols(), i = Math.max(0, state.index), row = Math.floor(i / cols), col = i % cols;
    const first = state.index < 0;
    const next = {
      ArrowLeft: first ? 0 : row * cols + Math.max(0, col - 1),
      ArrowRight: first ? 0 : Math.min(total() - 1, row * cols + Math.min(cols - 1, col + 1)),
      ArrowUp: first ? 0 : Math.max(0, row - 1) * cols + col,
      ArrowDown: first ? 0 : Math.min(total() - 1, Math.min(options.rows() - 1, row + 1) * cols + col),
      Home: row * cols, End: Math.min(total() - 1, row * cols + cols - 1),
    }[event.key];
    if (next !== undefined) { event.preventDefault(); go(next, event); }
    else if ((event.key === 'Enter' || event.key === ' ') && state.index >= 0) {
      event.preventDefault(); options.pick?.(state.index);
    } else if (event.key === 'Escape') go(-1, event);
    else if (options.keys?.[event.key]) { event.preventDefault(); options.keys[event.key](); }
  };
  node.onblur = () => go(-1, undefined);
  return { get index() { return state.index; }, move: (index) => go(index, undefined) };
}

// ---------------------------------------------------------------- the frame of every view

const instances = new WeakMap();

/**
 * The default export of a view: `export default view(setup)`.
 *   setup({root, send, trigger, onResize, onUnmount}) runs once per instance and returns
 *   update({header, arrays, colors, width}), which runs at every change of data, width or theme and draws all of it.
 * send(name, value) keeps a value as the component's state, trigger(name, value) is an event of one run; call both
 * only from what the visitor does. root carries data-ready="true" once update has drawn.
 */
function view(setup) {
  return ({ parentElement, data, setStateValue, setTriggerValue }) => {
    let self = instances.get(parentElement);
    clearTimeout(self?.farewell);
    if (!self) {
      const root = parentElement.querySelector('.vv') ?? el(parentElement, 'div', { class: 'vv' });
      self = { root, unmounts: [] };
      instances.set(parentElement, self);
      self.update = setup({
        root,
        send: (name, value) => self.setStateValue(name, value),
        trigger: (name, value) => self.setTriggerValue(name, value),
        onUnmount: (callback) => self.unmounts.push(callback),
      });
      self.draw = () => {
        const colors = theme(root);
        for (const [name, value] of [['query', colors.query], ['muted', colors.muted], ['line', colors.line], ['panel', colors.panel]])
          root.style.setProperty(`--vv-${name}`, value);
        if (!root.clientWidth) return; // folded away: drawn when it is seen
        self.width = root.clientWidth;
        self.update({ ...self.message, colors, width: self.width });
        root.dataset.ready = 'true';
      };
      const observer = new ResizeObserver(() => { if (root.clientWidth !== self.width) self.draw(); });
      observer.observe(root);
      self.unmounts.push(() => observer.disconnect());
      // Streamlit may set the component's HTML once more after the view has drawn: the view takes its place again.
      const settled = new MutationObserver(() => {
        if (root.isConnected || !parentElement.isConnected) return;
        const fresh = parentElement.querySelector('.vv');
        if (fresh) fresh.replaceWith(root); else parentElement.append(root);
        self.draw();
      });
      settled.observe(parentElement, { childList: true });
      self.unmounts.push(() => settled.disconnect());
    }
    self.setStateValue = setStateValue;
    self.setTriggerValue = setTriggerValue;
    if (self.data !== data) { self.data = data; self.message = unpack(data); }
    self.draw();
    // Streamlit also cleans up when it is about to run the view again in its old place, and cleans up older calls after
    // newer ones have drawn: the view ends when its place has left the page, and not before.
    return () => {
      self.farewell = setTimeout(() => {
        if (parentElement.isConnected) return;
        for (const callback of self.unmounts) callback();
        self.root.replaceChildren();
        instances.delete(parentElement);
      });
    };
  };
}

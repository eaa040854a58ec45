// The attention explorer with every layer and head in one message: a change of either needs no server.

import { drop, keep, tell } from './kit/bus.js';
import { createView, el } from './kit/dom.js';
import { timeline } from './kit/player.js';
import Explorer from './explorer.js';
import { stack, stripOf } from './explorer_weights.js';

const DWELL_MS = 900;
const PARTS = ['codes', 'max', 'slots', 'window_of', 'slot_of'];
const FUSED = { mean: 'Mean of heads', max: 'Max of heads', min: 'Min of heads' };
const STYLES = { overlay: 'Overlay', heat: 'Heatmap', dim: 'Dim', mask: 'Mask' };
let instances = 0;

export default class ExplorerOfLayers {
  /** picked(pin) (optional): true if a click on this token does not pin it. */
  constructor({ root, onUnmount, picked = () => false }) {
    Object.assign(this, { root, picked, message: null, group: `layers${(instances += 1)}`, strips: new Set() });
    this.options = { style: 'overlay', grey: true };
    const bar = el(root, 'div', { class: 'vv-row el-bar' });
    this.time = timeline(bar, {
      class: 'el-time',
      label: 'Layer',
      last: () => this.message.header.scenes.length - 1,
      words: (at) => this.layerOf(at),
      show: () => this.show(),
      dwell: DWELL_MS,
    });
    this.heads = this.select(bar, 'Head', (value) => this.pickHead(FUSED[value] ? value : Number(value)));
    this.styles = this.select(bar, 'Style', (value) => this.setOptions({ style: value }));
    fill(this.styles, Object.entries(STYLES));
    this.inner = el(root, 'div', { class: 'vv' });
    const trigger = (name, value) => this.pick(name, value);
    this.draw = createView(Explorer, { root: this.inner, trigger, onUnmount });
    onUnmount(() => this.end());
  }

  layerOf(at) {
    const { scenes } = this.message.header;
    return scenes.length > 1 ? `layer ${at + 1} of ${scenes.length}` : `layer ${scenes[0].layer}`;
  }

  select(bar, label, changed) {
    const node = el(bar, 'select', { 'aria-label': label });
    node.onchange = () => changed(node.value);
    return node;
  }

  pick(name, value) {
    if (name === 'pin') this.setOptions(this.picked(value) ? {} : { pin: value });
    else if (name === 'head') this.pickHead(value);
    else this.time.jump(value - 1);
  }

  pickHead(head) {
    this.head = head;
    this.show();
  }

  setOptions(options) {
    this.options = { ...this.options, ...options };
    keep('options', this.group, this.root, this.options);
    tell('options', this.root, { group: this.group, ...this.options });
  }

  /** Return the arrays of one layer's message. */
  arraysOf(layer) {
    const { arrays } = this.message;
    const own = PARTS.filter((name) => arrays[`${name}${layer}`]);
    return {
      photo: arrays.photo,
      ...Object.fromEntries(own.map((name) => [`layer_${name}`, arrays[`${name}${layer}`]])),
    };
  }

  /** Store one head, or the fused heads, of all layers that share a grid; returns the strip's name. */
  strip({ strip_layers: layers, grid, prefix }) {
    const count = prefix.length + grid[0] * grid[1];
    const stacks = layers.map((layer) => stack(this.arraysOf(layer - 1), count, 'layer_'));
    const tag = `${this.group}.${layers[0]}.${this.head}`;
    this.strips.add(tag);
    keep('strip', tag, this.root, stripOf(stacks, this.head, count));
    return tag;
  }

  /** Draw the layer and head in force. */
  show() {
    const { header, colors, width } = this.message;
    const scene = header.scenes[this.time.at];
    if (typeof this.head === 'number') this.head = Math.min(this.head, scene.heads);
    const names = Array.from({ length: scene.heads }, (_, h) => [h + 1, `Head ${h + 1}`]);
    fill(this.heads, [...Object.entries(FUSED), ...names], this.head);
    this.time.draw();
    const { group, head } = this;
    this.shown = {
      header: { ...scene, group, head, photo: header.photo, strip: this.strip(scene) },
      arrays: this.arraysOf(this.time.at),
    };
    this.draw({ ...this.shown, colors, width });
  }

  /** Show other weights and another image of the same model; layer, head and options stay. */
  replace(arrays) {
    this.message = { ...this.message, arrays };
    this.show();
  }

  update(message, fresh) {
    this.message = message;
    const { header, colors, width } = message;
    for (const name of ['query', 'muted', 'line', 'panel']) this.inner.style.setProperty(`--vv-${name}`, colors[name]);
    if (!fresh) return this.draw({ ...this.shown, colors, width });
    this.setOptions(header.options);
    this.styles.value = this.options.style;
    this.head = header.scenes[header.at].head;
    this.time.at = header.at;
    this.show();
  }

  end() {
    this.time.stop();
    drop('options', this.group, this.root);
    for (const tag of this.strips) drop('strip', tag, this.root);
  }
}

/** Fill a select with [value, text]. */
function fill(node, options, value) {
  node.replaceChildren(...options.map(([name, text]) => el(null, 'option', { value: name }, text)));
  if (value !== undefined) node.value = String(value);
}

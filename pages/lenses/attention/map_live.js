// The maps follow the sliders of layer and step while they are dragged, and thumbnails under a pressed pointer. The weights
// come from a record by name: of the engine, or, for models that the browser does not run, of the server.

import { drop, keep, listen, tell } from '../../../vitviz/browser/kit/bus.js';
import { createRecord } from '../../../vitviz/browser/engine/client.js';
import { probabilitiesOf } from '../../../vitviz/browser/engine/forward.js';
import { computeNewest, openModel, words } from '../../../vitviz/browser/engine/live_model.js';
import { stack, stripOf } from '../../../vitviz/browser/explorer_weights.js';
import { watchSlider } from '../../controls/slider.js';

const LOST_MS = 5000; // a request that a newer run of the page has replaced

export default class MapLive {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, words: words(root), records: new Map(), addresses: {}, strip: '', left: 0 });
    root.style.height = '0';
    this.show = computeNewest(() => this.compute());
    const layer = watchSlider('attention-layer', (value) => this.want({ layer: value }));
    const step = watchSlider('step', (index) => this.want({ step: this.header.steps[index] }));
    this.sliders = [layer, step];
    onUnmount(listen('wish', root, ({ group, ...choice }) => group === this.header?.group && this.want(choice)));
    // Back takes back a click, also one whose map is still being computed.
    const forget = () => {
      this.left++;
      if (this.header) this.wish = { layer: this.header.layer, step: this.header.step, head: this.header.head };
    };
    window.addEventListener('popstate', forget);
    onUnmount(() => window.removeEventListener('popstate', forget));
    onUnmount(() => {
      for (const slider of this.sliders) slider.end();
      this.words.end();
      drop('strip', this.strip, root);
    });
  }

  /** Take the server's selection, or its reply to a request. */
  update({ header, arrays }, fresh) {
    if (!fresh) return;
    const { layer, step, head, reply, model, image } = header;
    if (model !== this.header?.model) this.addresses = {};
    if (model !== this.header?.model || image !== this.header.image) this.records.clear();
    Object.assign(this, { header, input: arrays.input.data });
    this.addresses[step] = header.weights;
    if (reply && reply.name === this.waiting?.name) this.waiting.resolve({ ...reply, arrays });
    else {
      this.waiting?.reject(new Error('another selection was made'));
      this.wish = { layer, step, head };
      this.words.behind(false);
      for (const slider of this.sliders) slider.attach();
    }
    this.waiting = null;
  }

  want(choice) {
    const wish = { ...this.wish, ...choice };
    if (Object.keys(choice).every((name) => choice[name] === undefined || choice[name] === this.wish[name])) return;
    this.wish = wish;
    const { layer, step, head } = this.header;
    this.words.behind(wish.layer !== layer || wish.step !== step || wish.head !== head);
    this.show();
  }

  /** Ask the server for weights by name; a page's rerun may replace the request. */
  ask(name) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} did not come`)), LOST_MS);
      const ended = (end) => (value) => {
        clearTimeout(timer);
        end(value);
      };
      this.waiting = { name, resolve: ended(resolve), reject: ended(reject) };
      this.trigger('record', name);
    });
  }

  /** Return the record of a step: {get(name)}. */
  async recordOf(step) {
    if (!this.records.has(step)) this.records.set(step, await this.createRecord(step));
    return this.records.get(step);
  }

  async createRecord(step) {
    const model = this.header.weights && (await this.loadModel(step));
    if (model) {
      const record = await model.run(this.input, { record: ['logits', 'blocks.*.attn'] });
      return Object.assign(record, { model });
    }
    if (step !== this.header.step) throw new Error('the browser does not run this model');
    return createRecord(async (name) => ({ [name]: await this.ask(name) }));
  }

  async loadModel(step) {
    this.addresses[step] ??= (await this.ask(`step ${step}`)).weights;
    return openModel(this.addresses[step]).catch(() => null);
  }

  /** Show the wished layer, head and step. */
  async compute() {
    const { left } = this;
    const { layer, step, head } = this.wish;
    const { group, classes } = this.header;
    const record = await this.recordOf(step);
    const weights = await record.get(`blocks.${layer - 1}.attn`);
    if (left !== this.left) return;
    const changes = { ...weights.scene, layer, head };
    if (!record.model) {
      const { grid, prefix } = weights.scene;
      tell('map', this.root, {
        group,
        header: changes,
        layer: stack(weights.arrays, prefix.length + grid[0] * grid[1], 'layer_'),
      });
      return;
    }
    const { config } = record.model;
    const tensors = Array.from({ length: config.depth }, (_, i) => record.tensors[`blocks.${i}.attn`]);
    const [, tokens] = tensors[0].shape;
    const stacks = tensors.map((codes) => stack({ codes }, tokens));
    changes.layer_name = String(layer);
    changes.strip = [group, this.header.model, this.header.image, step, head].join(' ');
    keep('strip', changes.strip, this.root, stripOf(stacks, head, tokens));
    if (this.strip !== changes.strip) drop('strip', this.strip, this.root);
    this.strip = changes.strip;
    tell('map', this.root, { group, header: changes, layer: stacks[layer - 1] });
    this.root.dataset.shown = `${layer} ${head} ${step}`;
    if (classes) this.showClasses(probabilitiesOf(config, record.tensors.logits), record.model.classes, classes);
  }

  showClasses(probabilities, names, { key, count }) {
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, count);
    const of = (values) => order.map((k) => values[k]);
    tell('bars', this.root, { key, names: of(names), now: of(probabilities), strong: 0 });
  }
}

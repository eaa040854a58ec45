// The attention explorer: the patch under the pointer is the query. The server sends the selected layer with all heads
// and, through explorer_stored.js, the selected head in all layers (16 bits per weight); hovers are drawn in the browser.
// View options (pin, direction, scale, ...) come from there too, so that they do not resend the weights.

import { listen, recall, tell } from './kit/bus.js';
import { button, el, live } from './kit/dom.js';
import { gridNavigation } from './kit/grid.js';
import { coverOnce, photo, shrink } from './kit/pixels.js';
import { cellAt, mark, pinOf, tokenOfPin } from './kit/pin.js';
import { headColor } from './kit/colour_ramp.js';
import { tokenName } from './kit/text.js';
import {
  DEFAULT_VIEW,
  THUMB_PX,
  colorWords,
  fillCells,
  thumbnail,
  formulaOf,
  hintOf,
  linesOf,
  nameOf,
  percent,
  scrub,
  weight,
  wordsOfClasses,
} from './explorer_parts.js';
import { fuse, highest, numbers, stack } from './explorer_weights.js';

export default class Explorer {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, model: null, options: DEFAULT_VIEW, hover: null, shown: null });
    Object.assign(this, { built: '', styled: '', drawn: null, pending: 0, photo: photo(root) });
    this.page = el(root, 'div', { class: 'ax' });
    this.left = el(this.page, 'div', { class: 'ax-left' });
    this.right = el(this.page, 'div', { class: 'ax-right' });
    this.buildStage();
    this.buildInspector();
    this.heads = this.buildThumbs(this.right, 'ax-title', 'ax-thumbs ax-heads');
    this.layers = this.buildThumbs(this.page, 'ax-title ax-wide', 'ax-thumbs ax-wide ax-layers');
    this.say = live(root);
    this.navigate();
    onUnmount(listen('strip', root, (news) => this.onStrip(news)));
    onUnmount(listen('hover', root, (news) => this.onHover(news)));
    onUnmount(listen('options', root, (news) => this.onView(news)));
    onUnmount(listen('map', root, (news) => this.onMap(news)));
    onUnmount(listen('bars', root, (news) => this.onBars(news)));
    // Back takes back a click whose map stands already, though the server has not learned of it.
    const forget = () => this.live && this.update(this.message, true);
    window.addEventListener('popstate', forget);
    onUnmount(() => window.removeEventListener('popstate', forget));
    onUnmount(() => cancelAnimationFrame(this.pending));
  }

  buildStage() {
    const group = { class: 'vv-row ax-tokens', role: 'group', 'aria-label': 'Prefix tokens' };
    this.tokens = el(this.left, 'div', group);
    this.stage = el(this.left, 'div', { class: 'ax-stage' });
    this.base = el(this.stage, 'canvas', { class: 'ax-base', 'aria-hidden': 'true' });
    this.veil = el(this.stage, 'canvas', { class: 'ax-cells', 'aria-hidden': 'true' });
    this.lines = el(this.stage, 'div', { class: 'ax-lines' });
    this.pinned = el(this.stage, 'div', { class: 'ax-pin' });
    this.marker = el(this.stage, 'div', { class: 'ax-query' });
    this.legend = el(this.left, 'div', { class: 'ax-legend' });
    el(this.legend, 'span', { class: 'vv-muted' }, 'weight 0');
    this.bar = el(this.legend, 'canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
    this.high = el(this.legend, 'span', { class: 'vv-muted' });
  }

  buildInspector() {
    const inspector = el(this.right, 'div', { class: 'ax-inspector' });
    const named = el(inspector, 'div', { class: 'ax-name' });
    el(named, 'i');
    this.named = el(named, 'span');
    this.subtitle = el(inspector, 'div', { class: 'vv-muted' });
    this.predicted = el(inspector, 'div', { class: 'ax-predicted' });
    this.facts = el(inspector, 'table');
    this.formula = el(inspector, 'div', { class: 'vv-mono ax-formula' });
  }

  buildThumbs(parent, headClass, boxClass) {
    const head = el(parent, 'div', { class: headClass });
    return { head, title: el(head, 'span'), scale: el(head, 'small'), box: el(parent, 'div', { class: boxClass }) };
  }

  navigate() {
    const first = () => this.model.header.prefix.length;
    this.patches = gridNavigation(this.stage, {
      label: 'Image patches: the hovered patch is the query',
      grid: () => this.model?.header.grid ?? [1, 1],
      hover: (index, event) => this.look(index < 0 ? null : this.placeOf(first() + index), event),
      pick: (index) => this.pin(first() + index),
      start: () => this.pinnedPatch(),
    });
    // A horizontal swipe moves the query; a vertical one scrolls the page.
    this.stage.style.touchAction = 'pan-y';
    this.stage.onfocus = () => {
      if (!this.model || this.patches.index >= 0 || !this.stage.matches(':focus-visible')) return;
      if (this.tokenOf(this.options.pin) >= first()) this.patches.move(this.pinnedPatch());
    };
  }

  // ------------------------------------------------------------ the query
  tokenOf(query) {
    const { prefix, grid } = this.model.header;
    const named = query ? tokenOfPin(this.model.header, query) : -1;
    if (named >= 0) return named;
    const middle = prefix.length + Math.floor(grid[0] / 2) * grid[1] + Math.floor(grid[1] / 2);
    return prefix[0] === 'cls' ? 0 : middle;
  }

  /** Return the pinned patch; the middle one for a prefix token. */
  pinnedPatch() {
    const { prefix, grid } = this.model.header;
    const patch = this.options.pin ? this.tokenOf(this.options.pin) - prefix.length : -1;
    return patch >= 0 ? patch : cellAt(grid, [0.5, 0.5]);
  }

  placeOf(token) {
    const { prefix, grid } = this.model.header;
    return token < prefix.length ? prefix[token] : pinOf(grid, token - prefix.length);
  }

  look(query, event) {
    this.hover = query;
    this.schedule();
    tell('hover', this.root, { group: this.model?.header.group, query });
    if (event?.type === 'keydown') this.say(this.spoken());
  }

  pin(token) {
    const place = this.placeOf(token);
    this.options = { ...this.options, pin: place };
    this.schedule();
    this.trigger('pin', place);
  }

  onHover({ group, query }) {
    if (!this.model || group !== this.model.header.group) return;
    this.hover = query;
    this.schedule();
  }

  onView(news) {
    if (this.model && news.group === this.model.header.group) {
      this.options = { ...DEFAULT_VIEW, ...news };
      this.schedule();
    }
  }

  /** Show another layer, head or step until the server's next message. */
  onMap({ group, header, layer }) {
    if (!this.message || group !== this.message.header.group) return;
    const { photo: image } = this.message.arrays;
    this.live = { header: { ...this.message.header, ...header }, arrays: { photo: image, layer } };
    this.show({ ...this.message, ...this.live }, true);
  }

  /** Write the classes that another view computes until the server's next message. */
  onBars(news) {
    if (this.message?.header.predicted?.key === news.key) this.predicted.textContent = wordsOfClasses(news);
  }

  /** Show a thumbnail's map at once, of which another view may have the weights; the server learns it at the end. */
  choose(name, value, done = true) {
    const { header, layer } = this.model;
    if (name === 'head' && this.message) this.onMap({ group: header.group, header: { ...header, head: value }, layer });
    tell('wish', this.root, { group: header.group, [name]: value });
    if (done) this.trigger(name, value);
  }

  onStrip({ tag }) {
    if (this.model && tag === this.model.header.strip) {
      this.takeStrip();
      this.schedule();
    }
  }

  // ------------------------------------------------------------ painting
  schedule() {
    if (!this.pending && this.model)
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.paint();
      });
  }

  paint() {
    const began = performance.now();
    const { header } = this.model;
    const query = this.hover ?? this.options.pin;
    const token = this.tokenOf(query);
    const first = header.prefix.length;
    this.style();
    const chosen = this.read(token);
    this.fillAll(chosen);
    mark(this.marker, header.grid, token - first);
    mark(this.pinned, header.grid, this.options.pin && this.hover ? this.tokenOf(this.options.pin) - first : -1);
    header.prefix.forEach((name, i) => {
      const { node, share } = this.model.buttons[i];
      share.textContent = percent(chosen[i]);
      node.classList.toggle('ax-on', i === token);
      node.setAttribute('aria-pressed', String(this.options.pin === name));
    });
    this.shown = { token, chosen, numbers: numbers(chosen, token, first, this.options.direction === 'row') };
    this.describe();
    this.root.dataset.query = String(token);
    this.root.dataset.repaintMs = (performance.now() - began).toFixed(2);
  }

  /** Read the weights of one query in every head and layer; return the selected head's. */
  read(token) {
    const { header, layer, strip, maps, stripMaps, main, seen } = this.model;
    const { direction } = this.options;
    maps.forEach((map, h) => layer.read(h, token, direction, map, h ? null : seen));
    stripMaps.forEach((map, l) => strip.read(l, token, direction, map, null));
    return typeof header.head === 'number' ? maps[header.head - 1] : fuse(maps, header.head, main);
  }

  /** Draw all maps: the large one on its own scale, the small ones on a shared scale if selected. */
  fillAll(chosen) {
    const { header, maps, stripMaps, seen } = this.model;
    const first = header.prefix.length;
    const windowed = header.windowed ? seen : null;
    const top = highest(chosen, first);
    const shared = Math.max(0, ...[...maps, ...stripMaps].map((map) => highest(map, first)));
    const together = this.options.scale === 'shared';
    const scale = (map) => (together ? shared : highest(map, first));
    const fill = (node, map, most, within) => fillCells(node, map, most, within, this.model, this.options);
    fill(this.veil, chosen, top, windowed);
    maps.forEach((map, h) => fill(this.model.heads[h].node, map, scale(map), windowed));
    stripMaps.forEach((map, l) => fill(this.model.layers[l].node, map, scale(map), null));
    this.high.textContent = weight(top);
    const note = together ? `scale 0 to ${weight(shared)}` : 'one scale per map';
    this.heads.scale.textContent = this.layers.scale.textContent = this.options.style === 'mask' ? '' : note;
  }

  describe() {
    const { header } = this.model;
    const { token, chosen, numbers: n } = this.shown;
    const row = this.options.direction === 'row';
    const head = typeof header.head === 'number' ? `head ${header.head}` : `${header.head} over heads`;
    this.named.textContent = nameOf(header, token);
    this.subtitle.textContent = [
      ...(!this.hover && this.options.pin ? ['pinned'] : []),
      `token ${token + 1} of ${chosen.length}`,
      `layer ${header.layer_name}`,
      head,
    ].join(' · ');
    // Rows are reused, so that a hover does not rebuild the table.
    const lines = linesOf(header, chosen, n, row);
    while (this.facts.rows.length > lines.length) this.facts.deleteRow(-1);
    lines.forEach(([name, value], i) => {
      const line = this.facts.rows[i] ?? this.facts.insertRow();
      if (!line.cells.length) {
        el(line, 'th', { scope: 'row' });
        el(line, 'td');
      }
      line.cells[0].textContent = name;
      line.cells[1].textContent = value;
      line.title = hintOf(name);
    });
    this.formula.textContent = formulaOf(header, token, chosen, n, row);
  }

  spoken() {
    this.paint();
    const { token, chosen, numbers: n } = this.shown;
    const { header } = this.model;
    const verb = this.options.direction === 'row' ? 'attends most to' : 'receives most attention from';
    return `Among patches, ${nameOf(header, token)} ${verb} ${nameOf(header, n.best)}, weight ${weight(chosen[n.best])}.`;
  }

  // ------------------------------------------------------------ view options
  style() {
    const { colors, header } = this.model;
    const { style, opacity, smooth, grey, grid, direction } = this.options;
    const key = JSON.stringify([this.options, colors.mode, header.layer_name, header.head]);
    if (key === this.styled) return;
    this.styled = key;
    const { shown, ...words } = colorWords(colors, style);
    Object.assign(this.model, words);
    this.legend.style.visibility = style === 'mask' ? 'hidden' : '';
    this.root.dataset.style = style;
    this.root.style.setProperty('--ax-opacity', opacity);
    this.page.classList.toggle('ax-smooth', Boolean(smooth));
    this.page.classList.toggle('ax-grey', Boolean(grey));
    this.page.classList.toggle('ax-grid', Boolean(grid));
    this.bar.getContext('2d').putImageData(new ImageData(shown, 256, 1), 0, 0);
    const what = direction === 'row' ? 'attention from the query' : 'attention to the query';
    const which = typeof header.head === 'number' ? `Head ${header.head}` : `The ${header.head} over heads`;
    this.heads.title.textContent = `${header.heads} ${header.heads === 1 ? 'head' : 'heads'} of layer ${header.layer_name}: ${what}`;
    this.layers.title.textContent = `${which} in ${header.strip_names.length} layers`;
  }

  // ------------------------------------------------------------ building
  build({ header, colors }) {
    const key = JSON.stringify([header.heads, header.strip_names, header.prefix, header.grid, colors.mode]);
    if (key === this.built) return;
    this.built = key;
    const { tokens, heads, layers } = this;
    for (const box of [tokens, heads.box, layers.box]) box.replaceChildren();
    this.model.buttons = header.prefix.map((name, i) => this.tokenButton(name, i));
    const [rows, cols] = header.grid;
    this.stage.style.aspectRatio = `${cols} / ${rows}`;
    this.root.style.setProperty('--ax-ratio', `${cols} / ${rows}`);
    this.lines.style.backgroundSize = `calc(100% / ${cols}) calc(100% / ${rows})`;
    this.model.heads = Array.from({ length: header.heads }, (_, h) =>
      thumbnail(heads.box, `head ${h + 1}`, headColor(h, header.heads), () => this.choose('head', h + 1)),
    );
    this.model.layers = header.strip_names.map((name, l) =>
      thumbnail(layers.box, name, '', () => this.choose('layer', header.strip_layers[l])),
    );
    const layerOf = (l) => this.model.header.strip_layers[l];
    scrub(heads.box, this.model.heads, (h, done) => this.choose('head', h + 1, done));
    scrub(layers.box, this.model.layers, (l, done) => this.choose('layer', layerOf(l), done));
    // Few layers are shown below the heads; many use the full width.
    const few = header.strip_names.length <= 6;
    (few ? this.right : this.page).append(layers.head, layers.box);
    layers.head.classList.toggle('ax-wide', !few);
    layers.box.classList.toggle('ax-wide', !few);
    heads.box.style.setProperty('--ax-columns', Math.max(4, header.heads <= 8 ? 4 : 6));
    layers.box.style.setProperty('--ax-columns', few ? 4 : Math.min(12, Math.max(8, header.strip_names.length)));
  }

  tokenButton(name, i) {
    const node = button(this.tokens, '', () => this.pin(i), { class: 'ax-token', 'data-token': name });
    el(node, 'b', {}, tokenName(name));
    node.onpointerenter = () => this.look(name);
    node.onpointerleave = () => this.look(null);
    node.onfocus = (event) => {
      if (node.matches(':focus-visible')) this.look(name, event);
    };
    node.onblur = () => this.look(null);
    return { node, share: el(node, 'span', { class: 'vv-muted' }) };
  }

  drawPicture(message) {
    this.photo.show(message, (bitmap) => {
      if (this.drawn === bitmap) return;
      this.drawn = bitmap;
      coverOnce(this.base, bitmap);
      this.root.dataset.pixelated = String(bitmap.width < 128);
      this.root.style.setProperty('--ax-picture', `url(${shrink(bitmap, THUMB_PX).canvas.toDataURL()})`);
    });
  }

  /** Load the strip that the message names; the layers' maps stay empty until it has arrived. */
  takeStrip() {
    const arrays = recall('strip', this.model.header.strip);
    if (!arrays || this.model.stripTag === this.model.header.strip) return;
    const count = this.model.main.length;
    this.model.stripTag = this.model.header.strip;
    this.model.strip = arrays.read ? arrays : stack(arrays, count);
    this.model.stripMaps = Array.from({ length: this.model.strip.count }, () => new Float32Array(count));
  }

  /** Store a new message, with buffers for a query's maps; elements are kept. */
  take({ header, arrays, colors }) {
    const count = header.prefix.length + header.grid[0] * header.grid[1];
    const { buttons, heads, layers } = this.model ?? {};
    const layer = arrays.layer ?? stack(arrays, count, 'layer_');
    this.model = {
      ...{ header, arrays, colors, buttons, heads, layers },
      layer,
      strip: null,
      stripMaps: [],
      maps: Array.from({ length: layer.count }, () => new Float32Array(count)),
      main: new Float32Array(count),
      seen: new Uint8Array(count),
    };
    this.styled = '';
    this.takeStrip();
  }

  update(message, fresh) {
    this.message = message;
    if (fresh) this.live = null;
    this.show({ ...message, ...this.live }, fresh);
  }

  show(message, fresh) {
    const { header, colors, width } = message;
    this.root.classList.toggle('ax-narrow', width < 640);
    if (fresh) this.take(message);
    if (this.model.colors !== colors) this.styled = '';
    this.model.colors = colors;
    this.options = { ...DEFAULT_VIEW, ...(recall('options', header.group) ?? this.options) };
    this.build(message);
    this.drawPicture(message);
    const pressed = ({ button: node }, on) => node.setAttribute('aria-pressed', String(on));
    this.model.heads.forEach((thumb, h) => pressed(thumb, h + 1 === header.head));
    this.model.layers.forEach((thumb, l) => pressed(thumb, header.strip_layers[l] === header.layer));
    if (fresh && !this.live) this.predicted.textContent = wordsOfClasses(header.predicted);
    this.root.dataset.layer = header.layer_name;
    this.root.dataset.head = String(header.head);
    this.root.toggleAttribute('data-live', Boolean(this.live));
    this.paint();
  }
}

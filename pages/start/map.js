// The map of the whole model: the activations of one forward pass. Hover, play and scrub are drawn in the browser;
// pins, opened parts and links are sent to the server.

import { listen, recall } from '../../vitviz/browser/kit/bus.js';
import { canvas, el, live } from '../../vitviz/browser/kit/dom.js';
import { photo } from '../../vitviz/browser/kit/photo.js';
import { pinAt, showsTokens } from './map_cells.js';
import { equations, means } from './map_equations.js';
import { Journey, Moment, drawMoment } from './map_journey.js';
import { sceneLabels, tip, writeLabels, writeNotes } from './map_labels.js';
import { layout } from './map_layout.js';
import { MapModel } from './map_model.js';
import { drawArcs, drawKeys, drawToken } from './map_overlay.js';
import { Panel } from './map_panel.js';
import { buildMergeShapes, buildParts, buildReturnShapes, buildShapes, paintPart, paintParts } from './map_parts.js';
import { Scale } from './map_scale.js';
import { drawScene } from './map_scene.js';
import { streamScale } from './map_stream.js';
import { greyed } from './map_tiles.js';
import { stationWords, summary, tokenWords } from './map_words.js';

const NONE = { id: '', pin: null, place: '' };

class MapView {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, hover: NONE, refs: [], parts: new Map(), pending: 0, built: '' });
    this.photo = photo(root);
    this.summary = el(root, 'p', { class: 'mp-summary' });
    this.journey = new Journey(root, {
      show: () => this.showMoment(),
      left: () => this.settle(),
      words: (part) => this.wordsOf(part),
    });
    this.stage = el(root, 'div', { class: 'mp-stage', role: 'group', 'aria-label': 'Parts of the model' });
    this.scaling = new Scale(root, () => this.paint());
    this.equations = equations(root, {
      light: (refs, say) => this.light(refs, say),
      visit: (refs) => this.visit(refs),
    });
    this.tip = tip(root);
    this.say = live(root);
    this.panel = new Panel({ view: this, trigger, close: () => this.close(), say: this.say });
    this.listenTo(onUnmount);
  }

  listenTo(onUnmount) {
    this.stage.onpointermove = (event) => this.follow(event);
    this.stage.onpointerleave = () => this.point(NONE);
    this.stage.onpointerenter = this.stage.onpointerdown = () => this.moved();
    const scrolled = () => this.moved();
    window.addEventListener('scroll', scrolled, { capture: true, passive: true });
    this.stage.onclick = (event) => {
      const path = event.composedPath(); // the clicked element may have been redrawn
      if (!path.some((node) => node.classList?.contains('mp-part') || node === this.panel.node)) this.close();
    };
    this.root.onkeydown = (event) => this.key(event);
    onUnmount(listen('part', this.root, (message) => this.panel.take(message)));
    onUnmount(() => {
      window.removeEventListener('scroll', scrolled, { capture: true });
      this.journey.stop();
      cancelAnimationFrame(this.pending);
      clearTimeout(this.resting);
    });
  }

  // ------------------------------------------------------------ a message
  update(message) {
    this.message = message;
    this.model = new MapModel(message);
    this.hover = NONE;
    this.model.look = null;
    this.summary.textContent = summary(this.model);
    this.build();
    this.journey.draw(this.model.parts);
    this.scaling.draw(this.model);
    this.photo.show(message, (bitmap) => {
      if (bitmap === this.bitmap) return;
      this.bitmap = bitmap;
      this.grey = greyed(bitmap);
      this.paint();
    });
    this.paint();
    this.panel.refresh(recall('part', message.header.map));
  }

  build() {
    const { model } = this;
    this.room = this.message.width - 8; // frames extend four pixels beyond their parts
    this.plan = layout(model, this.room);
    const truth = model.header.classes.truth >= 0; // changes the notes
    const texts = model.parts.map(({ id, title, words }) => `${id}${title}${words}`).join();
    const built = `${this.message.width} ${truth} ${texts}`;
    if (built === this.built) return;
    this.built = built;
    const focused = this.root.getRootNode().activeElement?.closest?.('[data-part]')?.dataset.part;
    this.stage.replaceChildren();
    this.root.classList.toggle('mp-narrow', this.plan.narrow);
    this.under = canvas(this.stage, { class: 'mp-under', 'aria-hidden': 'true' });
    this.bands = {};
    for (const { name, height } of this.plan.bands) {
      this.bands[name] = el(this.stage, 'div', { class: `mp-band mp-band-${name}` });
      this.bands[name].style.height = `${height}px`;
    }
    writeNotes(this.stage, this.bands, model.header.notes, model.header.classes.truth);
    buildShapes(this.bands, this);
    buildReturnShapes(this.bands, this);
    buildMergeShapes(this.bands, this);
    this.parts = buildParts(this.bands, this, {
      open: (id, byKey) => this.open(id, byKey),
      pin: (pin) => this.trigger('pin', pin),
      under: (id, event) => this.tokenUnder(id, event),
      look: (id, pin) => this.lookByKey(id, pin),
    });
    this.labels = sceneLabels(this.bands.core, this.plan);
    this.over = canvas(this.stage, { class: 'mp-over', 'aria-hidden': 'true' });
    this.equations.draw(this.message.header.equations);
    this.panel.place(this.bands);
    if (focused) this.parts.get(focused)?.open.focus();
  }

  // ------------------------------------------------------------ painting
  /** Redraw everything after a new message, theme or image. */
  paint() {
    this.measure();
    paintParts(this.parts, this.view());
    this.drawnScene = '';
    this.risen = 1;
    this.draw();
    this.marks();
  }

  measure() {
    this.moved();
    this.offsets = {};
    for (const [name, node] of Object.entries(this.bands)) this.offsets[name] = node.offsetTop;
    this.height = this.stage.clientHeight;
    this.scale = streamScale(this.model, [this.model.readout, this.model.header.pin]);
  }

  view() {
    const { model, plan, offsets, scale, message, bitmap, grey } = this;
    const followed = { journeyPin: model.header.pin, oneScale: this.scaling.one };
    return { model, plan, offsets, scale, colors: message.colors, width: this.room, photo: bitmap, grey, ...followed };
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.model) return;
    const began = performance.now();
    const view = this.view();
    this.drawScene(view);
    const ctx = this.over.size(this.room, this.height);
    if (this.journey.active) this.drawJourney(ctx, view);
    else this.drawHover(ctx, view);
    this.root.dataset.script = (performance.now() - began).toFixed(1);
  }

  /** Redraw the scene below the tiles if it changed. */
  drawScene(view) {
    const { pin, id, place } = this.hover;
    const scene = {
      ...view,
      ...{ pin: this.streamPin(pin), strong: this.strongPlace() || place, strongId: place ? id : '' },
      ...{
        stripPin: this.journey.active ? this.model.header.pin : (pin ?? this.model.header.pin),
        lit: this.litIds(),
        reach: this.journey.active ? this.moment.reach : null,
        ahead: this.journey.active ? this.moment.ahead : null,
      },
    };
    // The stream's threads are slow, so they are drawn when the pointer rests.
    const resting = scene.pin === this.model.readout || this.journey.active || this.rested === scene.pin;
    const signature = JSON.stringify([
      scene.pin,
      scene.stripPin,
      resting,
      scene.strong,
      scene.strongId,
      [...(scene.lit ?? [])],
      [...(scene.ahead ?? [])],
      scene.reach,
    ]);
    if (signature === this.drawnScene) return;
    this.drawnScene = signature;
    scene.course = resting ? this.model.course(scene.pin) : null;
    if (!resting) this.restSoon(scene.pin);
    drawScene(this.under.size(this.room, this.height), scene);
    writeLabels(this.labels, this.model, this.model.shortName(scene.pin));
  }

  restSoon(pin) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.rested = pin;
      this.schedule();
    }, 180);
  }

  lookAt(pin) {
    const sequence = this.parts.get('prefix');
    if (!sequence || this.model.look === pin) return;
    this.model.look = pin;
    paintPart(sequence.view, sequence.part, sequence.box, this.view());
  }

  drawHover(ctx, view) {
    const { pin } = this.hover;
    this.lookAt(pin);
    if (pin) for (const block of this.model.blocks) drawKeys(ctx, view, block, pin);
    drawToken(ctx, view, pin ?? this.model.header.pin, Boolean(pin));
    if (pin) for (const block of this.model.blocks) drawArcs(ctx, view, block, pin);
  }

  // ------------------------------------------------------------ shown stream and highlights
  streamPin(hovered) {
    if (this.journey.active) return this.moment.readingOut ? this.model.readout : this.model.header.pin;
    return hovered ?? this.model.readout;
  }

  strongPlace() {
    const inside = this.refs.map((ref) => ref.split('/')[1]).find(Boolean);
    return { attention: 'attention', mlp: 'mlp', residual: 'residual' }[inside] ?? '';
  }

  litIds() {
    if (!this.hover.id) return null;
    const [before, after] = this.model.neighbours(this.hover.id);
    return new Set([this.hover.id, ...before, ...after]);
  }

  /** Set the CSS classes of highlighted parts, their neighbours and parts ahead of the animation. */
  marks() {
    const [before, after] = this.hover.id ? this.model.neighbours(this.hover.id) : [[], []];
    const ahead = this.journey.active ? Math.ceil(this.journey.at - 1e-6) : Infinity;
    this.model.parts.forEach((part, i) => {
      const { node } = this.parts.get(part.id);
      const named = this.refs.some((ref) => means(ref, part.id));
      node.classList.toggle('mp-lit', part.id === this.hover.id || named);
      node.classList.toggle('mp-feeds', before.includes(part.id));
      node.classList.toggle('mp-fed', after.includes(part.id));
      node.classList.toggle('mp-ahead', i > ahead);
      node.classList.toggle('mp-now', i === ahead);
    });
    const far = Boolean((this.hover.id && !this.hover.pin) || this.refs.length) && !this.journey.active;
    this.stage.classList.toggle('mp-focused', far);
    this.stage.classList.toggle('mp-token', Boolean(this.hover.pin));
    this.equations.mark(this.hover.id, this.hover.place);
  }

  // ------------------------------------------------------------ the pointer
  follow(event) {
    const part = this.model?.byId.get(event.target.closest?.('[data-part]')?.dataset.part);
    if (!part) return this.point(NONE);
    const pin = showsTokens(part) ? this.tokenUnder(part.id, event) : null;
    this.point({ id: part.id, pin, place: this.placeUnder(part, event) }, event);
  }

  /** Return the boxes of stage and root, cached because reading them forces a layout. */
  where() {
    this.rects ??= { stage: this.stage.getBoundingClientRect(), root: this.root.getBoundingClientRect() };
    return this.rects;
  }

  moved() {
    this.rects = null;
  }

  /** Return the pin of the token under the pointer in a part's tile, or null. */
  tokenUnder(id, event) {
    const { part, box } = this.parts.get(id);
    const { stage } = this.where();
    const [x, y] = [event.clientX - stage.left, event.clientY - stage.top - this.offsets[box.band]];
    return pinAt(this.model, part, box, x, y);
  }

  /** Return the place of a block under the pointer: attention, residual stream or MLP. */
  placeUnder(part, event) {
    if (part.kind !== 'block' || this.plan.narrow) return '';
    const { box } = this.parts.get(part.id);
    const y = event.clientY - this.where().stage.top - this.offsets.core;
    if (y < box.tile.y + box.tile.h + 4) return 'attention';
    return y < box.mlp.y - 8 ? 'residual' : 'mlp';
  }

  point(news, event) {
    const same = news.id === this.hover.id && news.place === this.hover.place;
    if (same && news.pin === this.hover.pin) return this.hint(event);
    this.hover = news;
    if (!same || Boolean(news.pin) !== this.stage.classList.contains('mp-token')) this.marks();
    this.hint(event);
    this.schedule();
  }

  lookByKey(id, pin) {
    this.point(pin ? { id, pin, place: '' } : NONE);
    if (pin) this.say(tokenWords(this.model, this.model.byId.get(id), pin));
  }

  hint(event) {
    const part = this.model?.byId.get(this.hover.id);
    if (!part || !event || this.journey.player.playing) return this.tip.hide();
    const text = this.hover.pin ? tokenWords(this.model, part, this.hover.pin) : part.words;
    const { root } = this.where();
    this.tip.show(event.clientX - root.left, event.clientY - root.top, text);
  }

  light(refs, say) {
    this.refs = refs;
    if (say) this.say(say);
    this.marks();
    this.schedule();
  }

  // ------------------------------------------------------------ opening
  visit(refs) {
    const part = this.model.parts.find(({ id, opens }) => opens && refs.some((ref) => means(ref, id)));
    if (part) this.open(part.id, true);
  }

  open(id, byKey, ask = true) {
    if (this.panel.id === id) return this.panel.deeper();
    this.journey.stop();
    this.panel.open(id, byKey, ask);
    this.expanded();
  }

  close(focus = false) {
    const { id } = this.panel;
    if (!id) return;
    this.panel.close();
    this.expanded();
    if (focus) this.parts.get(id)?.open.focus();
  }

  expanded() {
    for (const { open, part, node } of this.parts.values()) {
      if (part.opens) open.setAttribute('aria-expanded', String(part.id === this.panel.id));
      node.classList.toggle('mp-opened', part.id === this.panel.id);
    }
    this.paint();
  }

  key(event) {
    if (event.key !== 'Escape' || !this.panel.id) return;
    event.stopPropagation();
    if (!this.panel.shallower()) this.close(true);
  }

  // ------------------------------------------------------------ the journey
  get moment() {
    return new Moment(this.model, this.journey.at);
  }

  showMoment() {
    this.hover = NONE;
    this.lookAt(null);
    this.tip.hide();
    this.marks();
    this.draw();
  }

  settle() {
    this.paint();
  }

  wordsOf(part) {
    if (part) return stationWords(this.model, part, this.model.header.pin);
    return `Follow ${this.model ? this.model.nameOf(this.model.header.pin) : 'one token'} from the image to the class, or click a part to open it.`;
  }

  drawJourney(ctx, view) {
    const { station, share, past, readingOut } = this.moment;
    if (!readingOut) for (const block of past) drawKeys(ctx, view, block, view.journeyPin);
    drawMoment(ctx, view, station, share);
    const classes = this.parts.get('classes');
    if (!classes) return;
    const risen = station.id === 'classes' ? share : 0;
    if (risen === this.risen) return;
    this.risen = risen;
    paintPart(classes.view, classes.part, classes.box, view, { share: risen });
  }
}

export default function map(context) {
  const view = new MapView(context);
  return (message) => view.update(message);
}

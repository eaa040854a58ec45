// The map of the whole model: the activations of one forward pass. Hover, play and scrub are drawn in the browser;
// drawings, pins, opened parts and links are sent to the server.

import { isPresenting } from '../frame/presentation.js';
import { listen, recall } from '../../vitviz/browser/kit/bus.js';
import { canvas, el, live } from '../../vitviz/browser/kit/dom.js';
import { photo } from '../../vitviz/browser/kit/pixels.js';
import { equations, means, placeOf } from './map_equations.js';
import { Journey, Moment, drawMoment } from './map_journey.js';
import { CLOSE, layout, roomFor } from './map_layout.js';
import { MapMasks } from './map_masks.js';
import { MapModel } from './map_model.js';
import { drawArcs, drawKeys, drawToken } from './map_overlay.js';
import { MapPad } from './map_pad.js';
import { Panel } from './map_panel.js';
import {
  buildParts,
  buildShapes,
  paintPart,
  paintParts,
  sceneLabels,
  writeLabels,
  writeLargest,
  writeParts,
} from './map_parts.js';
import { Hint, listenToPointer, tokenUnder } from './map_pointer.js';
import { drawScene } from './map_scene.js';
import { streamScale } from './map_stream.js';
import { greyed } from './map_tiles.js';
import { stationWords, summary, tokenWords, tourWords } from './map_words.js';

const NONE = { id: '', pin: null, place: '' };
const TOUR_AFTER_MS = 900; // the user has seen the whole map

export default class MapView {
  /** alone: true in a file, which has no server to open a part or to give another image. */
  constructor({ root, trigger, onUnmount, alone = false }) {
    Object.assign(this, { root, trigger, alone, hover: NONE, refs: [], parts: new Map(), pending: 0, built: '' });
    this.photo = photo(root);
    this.say = live(root);
    this.summary = el(root, 'p', { class: 'mp-summary' });
    this.journey = new Journey(root, {
      show: () => this.showMoment(),
      left: () => this.paint(),
      words: (part, touring) => this.wordsOf(part, touring),
    });
    this.pad = new MapPad({
      view: this,
      parent: this.journey.node,
      trigger,
      repaint: () => this.paintImage(),
      say: this.say,
      busy: () => this.journey.active,
    });
    const apply = () => this.pad.live.followMasks();
    this.masks = new MapMasks({ view: this, parent: this.journey.node, trigger, apply });
    this.stage = el(root, 'div', { class: 'mp-stage', role: 'group', 'aria-label': 'Parts of the model' });
    this.equations = equations(root, {
      light: (refs, say) => this.light(refs, say),
      visit: (refs) => this.visit(refs),
    });
    this.hint = new Hint(root, this);
    this.panel = new Panel({ view: this, trigger, close: () => this.close(true), say: this.say });
    this.listenTo(onUnmount);
  }

  listenTo(onUnmount) {
    onUnmount(listenToPointer(this));
    this.root.onkeydown = (event) => this.key(event);
    const outside = (event) => !isPresenting() && !event.target.closest?.('[role="dialog"]') && this.key(event);
    document.addEventListener('keydown', outside);
    onUnmount(() => document.removeEventListener('keydown', outside));
    onUnmount(listen('part', this.root, (message) => this.panel.take(message)));
    onUnmount(() => {
      this.journey.end();
      this.pad.end();
      this.masks.end();
      cancelAnimationFrame(this.pending);
      clearTimeout(this.resting);
      clearTimeout(this.starting);
    });
  }

  // ------------------------------------------------------------ a message
  update(message) {
    if (this.masks.isConfirmed(message)) return; // the map shows them already
    this.message = message;
    this.model = new MapModel(message);
    this.hover = NONE;
    this.crisp = this.pad.take(message);
    this.summary.textContent = summary(this.model);
    this.masks.take(message);
    this.build();
    writeParts(this.parts, this.model);
    this.journey.draw(this.model.parts);
    if (this.crisp && this.bitmap) this.showMap(); // the strokes are the background, what the model sees follows
    this.photo.show(message, (bitmap) => this.showPhoto(bitmap));
    if (!this.bitmap) this.paint(); // the image follows
    this.panel.refresh(recall('part', message.header.map));
  }

  showMap() {
    this.grey = greyed(this.crisp ?? this.bitmap);
    this.paint();
    this.shown = this.message;
    this.root.dataset.drawing = this.message.header.drawing?.strokes ?? '';
    if (this.pad.isNew)
      this.pad.follow(this.pad.text); // the answer is to strokes before the newest
    else if (this.masks.any) this.pad.live.followMasks();
  }

  showPhoto(bitmap) {
    this.bitmap = bitmap;
    this.pad.paintSeen(bitmap);
    const patches = this.parts.get('patches');
    if (this.shown !== this.message || !patches) this.showMap();
    else paintPart(patches.view, patches.part, patches.box, this.view());
    this.panel.compute(); // a permalink opens its part before the image has come
    if (this.message.header.moves) this.starting ??= setTimeout(() => this.journey.tour(), TOUR_AFTER_MS);
  }

  build() {
    const { parts, header } = this.model;
    this.room = roomFor(this.message.width);
    this.plan = layout(this.model, this.room);
    const built = `${this.room} ${parts.map(({ id, title }) => id + title)} ${header.photo.px} ${Boolean(header.drawing)}`;
    if (built === this.built) return;
    this.built = built;
    const focused = this.root.getRootNode().activeElement?.closest?.('[data-part]')?.dataset.part;
    this.stage.replaceChildren();
    this.root.classList.toggle('mp-narrow', this.plan.narrow);
    this.root.classList.toggle('mp-close', this.message.width < CLOSE);
    this.under = canvas(this.stage, { class: 'mp-under', 'aria-hidden': 'true' });
    this.bands = {};
    for (const { name, height } of this.plan.bands) {
      this.bands[name] = el(this.stage, 'div', { class: `mp-band mp-band-${name}` });
      this.bands[name].style.height = `${height}px`;
    }
    buildShapes(this.bands, this);
    this.parts = buildParts(this.bands, this, {
      open: (id) => this.open(id),
      pin: (pin) => this.masks.pick(pin) || this.trigger('pin', pin),
      under: (id, event) => (id === 'picture' && this.pad.on ? null : tokenUnder(this, id, event)),
      look: (id, pin) => this.lookByKey(id, pin),
    });
    this.pad.build(this.bands.intro, this.parts.get('picture'));
    this.labels = sceneLabels(this.bands.core, this.plan);
    this.over = canvas(this.stage, { class: 'mp-over', 'aria-hidden': 'true' });
    this.equations.draw(this.message.header.equations);
    this.panel.place();
    if (focused) this.parts.get(focused)?.open.focus();
  }

  // ------------------------------------------------------------ painting
  /** Redraw everything after a new message, theme or image. */
  paint() {
    this.measure();
    paintParts(this.parts, this.view());
    this.drawnScene = '';
    this.drawnAbove = null;
    this.risen = 1;
    this.draw();
    this.marks();
  }

  paintImage() {
    const { view, part, box } = this.parts.get('picture') ?? {};
    if (view) paintPart(view, part, box, this.view());
    if (!this.pad.pad.line) this.schedule(); // a pen that moves changes nothing above the tiles
  }

  measure() {
    this.rect = null;
    this.offsets = {};
    for (const [name, node] of Object.entries(this.bands)) this.offsets[name] = node.offsetTop;
    this.height = this.stage.clientHeight;
    this.top = this.stage.offsetTop;
    this.scale = streamScale(this.model, [this.model.readout, this.model.header.pin]);
  }

  view() {
    const { model, plan, offsets, scale, message, bitmap, crisp, grey, pad } = this;
    const images = { photo: crisp ?? bitmap, seen: bitmap, grey, pad };
    return { model, plan, offsets, scale, ...images, colors: message.colors, width: this.room, journeyPin: this.pin };
  }

  /** Pin of the user's patch, whose attention the layers show; null while the map plays or follows the readout token. */
  get pinned() {
    const { header, readout } = this.model;
    return header.pinned && header.pin !== readout && !this.journey.active ? header.pin : null;
  }

  /** Followed token: the pinned one. */
  get pin() {
    return this.model.header.pin;
  }

  /** Place of a part on the stage: {x, y, w, h}. */
  frameOf(id) {
    const { x, y, w, h, band } = this.plan.boxes[id];
    return { x, y: y + this.offsets[band], w, h };
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.model) return;
    const view = this.view();
    this.drawScene(view);
    const still = !this.journey.active && !this.hover.pin && !this.pinned && !this.masks.any;
    const above = still && JSON.stringify([this.pin, this.pad.free, this.room, this.height]);
    if (above && above === this.drawnAbove) return; // the same token's frame
    this.drawnAbove = above;
    const ctx = this.over.size(this.room, this.height);
    if (this.journey.active) this.drawJourney(ctx, view);
    else this.drawHover(ctx, view);
    this.masks.draw(ctx, view);
  }

  /** Redraw the scene below the tiles if it changed. */
  drawScene(view) {
    const { pin, id, place } = this.hover;
    const { active } = this.journey;
    const scene = {
      ...view,
      pin: this.streamPin(pin),
      strong: placeOf(this.refs) || place,
      strongId: place ? id : '',
      stripPin: active ? this.pin : (pin ?? this.pin),
      lit: this.litIds(),
      reach: this.journey.isHiding ? this.moment.reach : null,
      ahead: this.journey.isHiding ? this.moment.ahead : null,
    };
    // The stream's threads are slow, so they are drawn when the pointer rests.
    const resting = scene.pin === this.model.readout || active || this.rested === scene.pin;
    const { stripPin, strong, strongId, reach } = scene;
    const lists = [[...(scene.lit ?? [])], [...(scene.ahead ?? [])]];
    const signature = JSON.stringify([scene.pin, stripPin, resting, strong, strongId, ...lists, reach]);
    if (signature === this.drawnScene) return;
    this.drawnScene = signature;
    scene.course = resting ? this.model.course(scene.pin) : null;
    if (!resting) this.restSoon(scene.pin);
    drawScene(this.under.size(this.room, this.height), scene);
    writeLabels(this.labels, this.model, this.model.shortName(scene.pin));
    writeLargest(this.parts, this.model, scene.pin);
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
    const shown = pin ?? this.pinned;
    if (shown) for (const block of this.model.blocks) drawKeys(ctx, view, block, shown);
    drawToken(ctx, view, pin ?? this.pin, Boolean(pin));
    if (shown) for (const block of this.model.blocks) drawArcs(ctx, view, block, shown);
  }

  // ------------------------------------------------------------ shown stream and highlights
  streamPin(hovered) {
    if (this.journey.isHiding && !this.moment.readingOut) return this.pin;
    return (this.journey.active ? null : (hovered ?? this.pinned)) ?? this.model.readout;
  }

  litIds() {
    if (!this.hover.id) return null;
    const [before, after] = this.model.neighbours(this.hover.id);
    return new Set([this.hover.id, ...before, ...after]);
  }

  /** Set the CSS classes of highlighted parts, their neighbours and parts ahead of the animation. */
  marks() {
    const [before, after] = this.hover.id ? this.model.neighbours(this.hover.id) : [[], []];
    const now = this.journey.active ? Math.ceil(this.journey.at - 1e-6) : Infinity;
    this.model.parts.forEach((part, i) => {
      const { node } = this.parts.get(part.id);
      const named = this.refs.some((ref) => means(ref, part.id));
      node.classList.toggle('mp-lit', part.id === this.hover.id || named);
      node.classList.toggle('mp-feeds', before.includes(part.id));
      node.classList.toggle('mp-fed', after.includes(part.id));
      node.classList.toggle('mp-ahead', this.journey.isHiding && i > now);
      node.classList.toggle('mp-now', i === now);
    });
    const far = Boolean((this.hover.id && !this.hover.pin) || this.refs.length) && !this.journey.active;
    this.stage.classList.toggle('mp-focused', far);
    this.stage.classList.toggle('mp-token', Boolean(this.hover.pin));
    this.equations.mark(this.hover.id, this.hover.place);
  }

  // ------------------------------------------------------------ the pointer
  point(news) {
    const same = news.id === this.hover.id && news.place === this.hover.place;
    if (same && news.pin === this.hover.pin) return;
    this.hover = news;
    if (!same || Boolean(news.pin) !== this.stage.classList.contains('mp-token')) this.marks();
    this.hint.show(news);
    this.schedule();
  }

  lookByKey(id, pin) {
    this.point(pin ? { id, pin, place: '' } : NONE);
    if (pin) this.say(tokenWords(this.model, this.model.byId.get(id), pin));
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
    if (part) this.open(part.id);
  }

  open(id, ask = true) {
    if (this.panel.id === id) return this.panel.deeper();
    this.journey.stop();
    this.point(NONE);
    this.panel.open(id, ask);
    this.expanded();
  }

  close(focus = false) {
    const { id } = this.panel;
    if (!id) return;
    this.panel.close();
    this.expanded();
    if (focus) this.parts.get(id)?.open.focus({ preventScroll: true });
  }

  expanded() {
    for (const { open, part } of this.parts.values())
      if (part.opens) open.setAttribute('aria-expanded', String(part.id === this.panel.id));
    for (const band of Object.values(this.bands)) band.inert = Boolean(this.panel.id); // the panel lies over them
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
    const first = this.hover !== NONE || !this.animated;
    this.hover = NONE;
    this.animated = true;
    this.lookAt(null);
    this.hint.show(NONE);
    this.marks();
    if (first) this.paintImage(); // in the square that the model sees
    this.draw();
  }

  wordsOf(part, touring) {
    if (!part) {
      this.animated = false;
      return 'Point at a patch to follow it; click a part to zoom in.';
    }
    return touring ? tourWords(this.model, part) : stationWords(this.model, part, this.pin);
  }

  drawJourney(ctx, view) {
    const { station, share, past, readingOut, leaving } = this.moment;
    const followed = readingOut && !leaving ? { ...view, journeyPin: this.model.readout } : view;
    if (!readingOut || !leaving) for (const block of past) drawKeys(ctx, view, block, followed.journeyPin);
    drawMoment(ctx, followed, station, share);
    const classes = this.parts.get('classes');
    if (!classes) return;
    const risen = this.journey.isHiding ? (station.id === 'classes' ? share : 0) : 1;
    if (risen !== this.risen) paintPart(classes.view, classes.part, classes.box, view, { share: risen });
    this.risen = risen;
  }
}

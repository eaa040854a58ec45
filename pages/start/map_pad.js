// The image of the map as a pad to draw on: its buttons, and its strokes as the background of all maps.

import { button, canvas, el } from '../../vitviz/browser/kit/dom.js';
import { animate, mix } from '../../vitviz/browser/kit/motion.js';
import { Pad, decode, drawStrokes } from '../../vitviz/browser/kit/drawing_pad.js';
import { blit, createContext } from '../../vitviz/browser/kit/pixels.js';
import { LiveMap } from './map_live.js';
import { put } from './map_parts.js';

const CRISP = 448; // px of the strokes as a background
const REST_MS = 1200; // without a stroke, until the rest of the page follows
const TURN_MS = 300; // between the pad and the square that the model sees
const WHOLE = [0, 0, 1];
const IMAGES = { drawing: 'Draw a digit', photo: 'Photo', test: 'Test image', upload: 'Upload …' };

export class MapPad {
  /**
   * acts: {view: the map, parent: of the buttons for another image, trigger(name, value), repaint(), say(text),
   *        busy(): true while the animation runs}
   */
  constructor(acts) {
    Object.assign(this, { acts, drawing: null, drawn: true, turned: 0, turning: () => {}, sent: null });
    this.pad = new Pad({
      paint: () => acts.repaint(),
      moved: (text) => this.follow(text),
      changed: (text) => this.send(text),
      say: acts.say,
    });
    this.live = new LiveMap(acts.view, () => this.isNew);
    this.images = el(acts.parent, 'div', {
      class: 'mp-images vv-controls',
      role: 'group',
      'aria-label': 'Another image',
    });
    for (const [name, text] of Object.entries(IMAGES))
      button(this.images, text, () => acts.trigger('show', name), { class: `mp-quiet mp-show-${name}` });
  }

  get text() {
    return this.pad.text;
  }

  /** True while the pad holds strokes that the server has not answered. */
  get isNew() {
    return Boolean(this.pad.line) || this.sent !== null;
  }

  /** Draw the map of the newest strokes; until the server answers, sentences about the ones before are dimmed. */
  follow(text) {
    const { view } = this.acts;
    view.root.dataset.strokes = text;
    this.dim(true, !this.live.ready);
    if (this.isEmpty) this.live.show(view.message); // also before the model has been loaded
    this.live.follow(text);
  }

  /**
   * Dim what the server wrote about another drawing: the opened part, the caption below the map (page.css), and the
   * classes if the engine does not compute them (`behind`).
   */
  dim(on, behind = false) {
    const { root } = this.acts.view;
    root.classList.toggle('mp-behind', on && behind);
    root.classList.toggle('mp-pending', on);
    const box = (root.getRootNode().host ?? root).closest('[data-testid="stElementContainer"]');
    box?.toggleAttribute('data-pending', on);
  }

  /** True while the pointer draws instead of selecting patches. */
  get on() {
    return Boolean(this.drawing) && this.drawn;
  }

  /** True if the image is a drawing without strokes. */
  get isEmpty() {
    return Boolean(this.drawing) && this.pad.empty;
  }

  /** True while strokes lie where they were drawn, not where the model sees them. */
  get free() {
    return this.on && !this.acts.busy();
  }

  send(text) {
    this.sent = text;
    this.follow(text);
    clearTimeout(this.resting);
    this.acts.trigger('draw', text);
  }

  /** Show a message's drawing, unless the pad holds newer strokes; return its strokes as an image, or null. */
  take(message) {
    const { drawing, map } = message.header;
    this.live.take(message);
    this.images.hidden = this.acts.view.alone || drawing === undefined || map !== 'home.map';
    this.images.classList.toggle('mp-drawn', Boolean(drawing));
    this.drawing = drawing ?? null;
    if (!drawing) return null;
    if (this.sent === drawing.strokes) {
      this.sent = null;
      this.resting = setTimeout(() => this.pad.line || this.acts.trigger('rest', drawing.strokes), REST_MS);
    } else if (!this.isNew) this.pad.set(drawing.strokes);
    this.acts.view.model.isEmpty = this.isEmpty;
    this.dim(this.isNew);
    return drawing.frame && this.crisp(drawing);
  }

  /** Return the strokes in the square that the model sees, at the resolution of the screen. */
  crisp({ strokes, frame }) {
    const key = `${strokes} ${frame}`;
    if (this.key === key) return this.image;
    const ctx = (this.strokes ??= createContext(CRISP, CRISP));
    ctx.fillRect(0, 0, CRISP, CRISP);
    drawStrokes(ctx, decode(strokes), CRISP, frame);
    Object.assign(this, { key, image: ctx.canvas });
    return this.image;
  }

  /** Build the buttons below the image and the small picture of the model's input. */
  build(band, { node, view, box }) {
    this.seen = null;
    if (!this.drawing) return;
    this.node = view.node;
    this.pad.attach(view.node);
    view.node.removeAttribute('aria-hidden');
    const tools = el(node, 'div', { class: 'mp-tools vv-controls', role: 'group', 'aria-label': 'Drawing' });
    put(tools, { x: box.tools.x - box.x, y: box.tools.y - box.y, w: box.tools.w });
    this.modes = [true, false].map((on) => button(tools, on ? 'Draw' : 'Inspect', () => this.turn(on)));
    button(tools, 'Undo', () => this.pad.undo(), { class: 'mp-quiet' });
    button(tools, 'Clear', () => this.pad.clear(), { class: 'mp-quiet' });
    this.seen = canvas(band, { class: 'mp-seen', 'aria-hidden': 'true' });
    put(this.seen.node, { x: box.seen.x, y: box.seen.y });
    this.side = box.seen.w;
    this.seen.size(this.side, this.side); // until it is sized, a canvas is 300 px wide: here it would widen a phone's page
    const label = el(band, 'span', { class: 'mp-shape mp-seen-label', 'aria-hidden': 'true' }, 'model input');
    put(label, { x: box.seen.x + box.seen.w / 2, y: box.seen.y + box.seen.w + 36 });
    this.face();
  }

  turn(on) {
    this.drawn = on;
    this.face();
    this.turning();
    const from = this.turned;
    this.turning = animate(TURN_MS, (t) => {
      this.turned = mix(from, on ? 0 : 1, t);
      this.acts.repaint();
    });
  }

  face() {
    this.pad.on = this.drawn;
    this.modes.forEach((node, i) => node.setAttribute('aria-pressed', String(this.drawn === !i)));
    this.node.classList.toggle('vv-pad', this.drawn);
  }

  /** Take the model's input, and paint it small. */
  paintSeen(bitmap) {
    this.live.seen = Boolean(bitmap);
    if (!this.seen || !bitmap) return;
    blit(this.seen.size(this.side, this.side), bitmap, 0, 0, this.side, this.side);
  }

  /** Paint the image's tile; false if it is no drawing, or the model sees it stretched. */
  paint(ctx, side, colors) {
    const share = this.acts.busy() ? 1 : this.turned;
    if (!this.drawing || (share > 0 && !this.drawing.frame)) return false;
    const frame = share ? WHOLE.map((value, i) => mix(value, this.drawing.frame[i], share)) : WHOLE;
    this.pad.paint(ctx, side, colors, frame);
    return true;
  }

  end() {
    this.live.end();
    clearTimeout(this.resting);
    this.turning();
  }
}

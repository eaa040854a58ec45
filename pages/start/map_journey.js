// Animate one token through the map: a bar to play, scrub and step, and the drawing of every moment.

import { fill, write } from '../../vitviz/browser/kit/axes.js';
import { button, el, setText } from '../../vitviz/browser/kit/dom.js';
import { animate, ease, mix, reducedMotion } from '../../vitviz/browser/kit/motion.js';
import { player } from '../../vitviz/browser/kit/player.js';
import { greatest } from '../../vitviz/browser/kit/colour_ramp.js';
import { drawPatch } from '../../vitviz/browser/kit/pixels.js';
import { percent } from '../../vitviz/browser/kit/text.js';
import { centre, mapRects } from './map_cells.js';
import { along, arc, drawArcs, drawKeys, placed, ring } from './map_overlay.js';
import { drawStrip } from './map_tiles.js';

const MOVE_MS = 900; // the motion to a station
const STAY_MS = 2500; // and the time to read its words
const TOUR_MS = 6000;
// Shares of the tour's time.
const TOUR = { patches: 6, maps: 4, embed: 6, prefix: 2, positions: 2, flow: 12, norm: 2, head: 1, classes: 5 };
const END_MS = 700; // the tour's last moment
const STOPS = ['pointerdown', 'keydown', 'wheel', 'touchstart'];
const MOVED = 'vitviz.map.moved'; // in localStorage: the map has moved by itself in this browser

/** Return the duration of each station of the tour in ms; layers share theirs. */
export function tourTimes(kinds) {
  const flow = kinds.filter((kind) => kind === 'block' || kind === 'merge').length;
  const shares = kinds.map((kind, i) => (i ? (TOUR[kind] ?? TOUR.flow / flow) : 0));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => (share * (TOUR_MS - END_MS)) / total);
}

/** Return true on a first visit to the app's bare address: no permalink, no reload of a page that wrote its own. */
function isFirstVisit() {
  const [entry] = performance.getEntriesByType('navigation');
  if (reducedMotion() || !entry || new URL(entry.name).search) return false;
  try {
    return !localStorage.getItem(MOVED);
  } catch {
    return false; // storage is forbidden: it would move at every visit
  }
}

/**
 * The animation's bar.
 *   acts: {show(at): draw a moment, words(station, touring): describe it, left()}
 * `at` is a station's number plus the progress to the next one.
 */
export class Journey {
  constructor(parent, acts) {
    Object.assign(this, { acts, at: 0, active: false, touring: false, stations: [], moving: () => {} });
    this.node = el(parent, 'div', { class: 'mp-bar', role: 'group', 'aria-label': 'Animation of one token' });
    this.play = button(this.node, '', null, { class: 'mp-play' });
    const range = { type: 'range', min: '0', step: 'any', 'aria-label': 'Step of the animation' };
    this.slider = el(this.node, 'input', range);
    this.caption = el(this.node, 'p', { class: 'mp-said', 'aria-live': 'polite' });
    this.whole = button(this.node, 'Show whole map', () => this.leave(), { class: 'mp-whole' });
    this.player = player(this.play, this.playing());
    this.slider.oninput = () => this.scrub(Number(this.slider.value));
    this.slider.onkeydown = (event) => this.key(event);
    this.touched = () => {
      this.used = true;
      if (this.touring) this.leave(false);
    };
    for (const name of STOPS) window.addEventListener(name, this.touched, { capture: true, passive: true });
  }

  /** True if parts not reached yet are pale; a tour moves over the whole map. */
  get isHiding() {
    return this.active && !this.touring;
  }

  playing() {
    return {
      at: () => this.at,
      last: () => this.stations.length - 1,
      dwell: STAY_MS,
      file: 'token_journey',
      first: 0,
      rewind: () => this.show(0),
      began: () => {
        if (!this.active) this.show(0);
      },
      ended: () => this.moving(),
      step: (to, done) => this.move(to, MOVE_MS, done),
    };
  }

  move(to, ms, done = () => {}) {
    const from = this.at;
    this.moving();
    this.moving = animate(ms * Math.max(0.2, Math.abs(to - from)), (t) => this.show(mix(from, to, inverse(t))), done);
  }

  /** Move through all stations once, in six seconds, on the first visit of a browser; any touch stops it. */
  tour() {
    if (this.used || this.active || document.hidden || !isFirstVisit()) return;
    localStorage.setItem(MOVED, '1');
    this.touring = true;
    const times = tourTimes(this.stations.map(({ kind }) => kind));
    const next = (to) => {
      if (!this.touring) return;
      if (to < this.stations.length) this.move(to, times[to], () => next(to + 1));
      else this.ending = setTimeout(() => this.touring && this.leave(false), END_MS);
    };
    this.show(0);
    next(1);
  }

  step(by) {
    this.stop();
    if (!this.active) return this.show(by > 0 ? Math.min(1, this.stations.length - 1) : 0);
    const to = by > 0 ? Math.floor(this.at + 1e-6) + 1 : Math.ceil(this.at - 1e-6) - 1;
    if (to < 0 || to >= this.stations.length) return;
    if (by > 0) this.move(to, MOVE_MS);
    else this.show(to);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const jump = { Home: 0, End: this.stations.length - 1 }[event.key];
    if (event.key === 'Escape' && this.active) {
      event.stopPropagation();
      return this.leave();
    }
    if (step === undefined && jump === undefined) return;
    event.preventDefault();
    if (step) this.step(step);
    else this.scrub(jump);
  }

  scrub(at) {
    this.stop();
    this.show(at);
  }

  show(at) {
    this.active = true;
    this.at = at;
    this.face();
    this.acts.show(at);
  }

  face() {
    const last = this.stations.length - 1;
    const station = Math.min(last, Math.ceil(this.at - 1e-6));
    this.slider.max = String(last);
    this.slider.value = String(this.active ? this.at : 0);
    const words = this.acts.words(this.active ? this.stations[station] : null, this.touring);
    setText(this.caption, words);
    const text = this.active ? `${this.stations[station].title}: ${words}` : 'not started';
    this.slider.setAttribute('aria-valuetext', text);
    this.whole.hidden = !this.active || this.touring;
    this.play.style.display = reducedMotion() ? 'none' : '';
  }

  draw(stations) {
    const same = stations.map(({ id }) => id).join() === this.stations.map(({ id }) => id).join();
    this.stations = stations;
    if (!same) {
      this.stop();
      Object.assign(this, { active: false, at: 0 });
    }
    this.face();
  }

  leave(focus = true) {
    this.stop();
    Object.assign(this, { active: false, at: 0 });
    this.face();
    this.acts.left();
    if (focus) this.play.focus();
  }

  stop() {
    this.touring = false;
    clearTimeout(this.ending);
    this.moving();
    this.player.stop();
  }

  end() {
    this.stop();
    for (const name of STOPS) window.removeEventListener(name, this.touched, { capture: true });
  }
}

/** Invert the easing of `animate`, because each drawing applies its own. */
const inverse = (t) => (t < 0.5 ? Math.cbrt(t / 4) : 1 - Math.cbrt((1 - t) * 2) / 2);

/** One moment of the animation with its current part, progress and visible extent of the scene. */
export class Moment {
  /** at: position in parts; between 3 and 4 the animation moves into part 4. */
  constructor(model, at) {
    const { parts, blocks, outro } = model;
    const count = Math.ceil(at - 1e-6);
    this.model = model;
    this.station = parts[Math.min(parts.length - 1, count)];
    this.share = at === count ? 1 : at - Math.floor(at);
    /** Parts not reached yet. */
    this.ahead = new Set(parts.slice(count + 1).map(({ id }) => id));
    this.leaving = outro.includes(this.station);
    /** True if the readout token is followed instead of the pinned one: from the first block on. */
    this.readingOut = model.header.readout === 'cls' && (this.leaving || blocks.includes(this.station));
    /** Blocks passed already. */
    this.past = this.leaving ? blocks : blocks.slice(0, Math.max(0, blocks.indexOf(this.station)));
  }

  /** End of the drawn stream: {id, share}; null if it is complete. */
  get reach() {
    const { blocks, flow } = this.model;
    if (!blocks.length || this.leaving) return null;
    if (!flow.includes(this.station)) return { id: flow[0].id, share: -1 };
    return { id: this.station.id, share: this.share };
  }
}

// ------------------------------------------------------------ drawing a moment

/** Draw a moment: a station and the progress to it in [0, 1]. */
export function drawMoment(ctx, view, part, share) {
  const draw = MOMENTS[part.kind];
  const here = placed(view, part, view.journeyPin);
  if (here && share >= 1 && part.kind !== 'block' && part.kind !== 'embed') ring(ctx, here, 2.5);
  if (draw) draw(ctx, view, part, share);
}

const lifted = (from, to, t, rise) => {
  const e = ease(t);
  const swell = 1 + 0.5 * Math.sin(Math.PI * e);
  const [fx, fy] = centre(from);
  const [tx, ty] = centre(to);
  const [x, y] = along([fx, fy], [(fx + tx) / 2, Math.min(fy, ty) - rise], [tx, ty], e);
  const w = mix(from[2], to[2], e) * swell;
  const h = mix(from[3], to[3], e) * swell;
  return [x - w / 2, y - h / 2, w, h];
};

function shadowed(ctx, draw) {
  ctx.save();
  ctx.shadowColor = 'rgb(0 0 0 / 0.35)';
  ctx.shadowBlur = 10;
  ctx.shadowOffsetY = 3;
  draw();
  ctx.restore();
}

function thumb(ctx, { model, seen, journeyPin }, box) {
  const { header } = model;
  const cell = model.tokenAt({ grid: header.grid, prefix: [] }, journeyPin);
  if (!seen || cell < 0) return;
  shadowed(ctx, () => drawPatch(ctx, seen, header.grid, cell, box));
  ring(ctx, box);
}

const by = (view, id) => view.model.byId.get(id);
const boxOf = (view, id, name) => {
  const box = view.plan.boxes[id];
  const { x, y, w, h } = box[name];
  return [x, y + view.offsets[box.band], w, h];
};

/** Move the patch from the image to the grid of patches. */
function liftOff(ctx, view, part, t) {
  const from = placed(view, by(view, 'picture'), view.journeyPin);
  const to = placed(view, part, view.journeyPin);
  if (from && to) thumb(ctx, view, lifted(from, to, t, 40));
}

/** Move the patch to E; its token appears below, channel by channel. */
function multiply(ctx, view, part, t) {
  const tile = boxOf(view, part.id, 'tile');
  const strip = boxOf(view, part.id, 'strip');
  const source = by(view, 'patches') ?? by(view, 'stem');
  const from = placed(view, source, view.journeyPin);
  const side = Math.max(14, Math.min(tile[2], tile[3]) * 0.3);
  const at = [...centre(tile), 0, 0];
  const target = [at[0] - side / 2, at[1] - side / 2, side, side];
  if (from && t < 1)
    thumb(ctx, view, t < 0.45 ? lifted(from, target, t / 0.45, 30) : sweep(target, tile, (t - 0.45) / 0.55));
  const values = view.model.content(view.journeyPin);
  if (!values) return;
  fill(ctx, view.colors.paper, strip[0] - 1, strip[1] - 1, strip[2] + 2, strip[3] + 2);
  grow(ctx, values, strip, (t - 0.45) / 0.5);
  ring(ctx, strip, 1);
}

/** Move a patch over the filters, one column of E after the other. */
const sweep = ([x, y, w, h], tile, t) => {
  const low = tile[1] + tile[3] - h;
  const top = tile[1];
  return [x, mix(mix(y, top, Math.min(1, t * 4)), low, Math.max(0, (t - 0.25) / 0.75)), w, h];
};

function grow(ctx, values, [x, y, w, h], t) {
  const shown = Math.max(0, Math.min(values.length, Math.round(values.length * t)));
  if (shown) drawStrip(ctx, values.subarray(0, shown), [x, y, (w * shown) / values.length, h], greatest(values));
}

/** Move the token to its row in the sequence, after [CLS]. */
function lineUp(ctx, view, part, t) {
  const to = placed(view, part, view.journeyPin);
  const first = placed(view, part, view.model.header.prefix[0]);
  const values = view.model.content(view.journeyPin);
  const source = by(view, 'embed');
  if (to && values && source && t < 1) {
    const box = lifted(boxOf(view, 'embed', 'strip'), to, t, 20);
    shadowed(ctx, () => drawStrip(ctx, values, box));
    ring(ctx, box, 1.5);
  }
  if (first && t > 0.6) ring(ctx, first, 3 - 1.5 * Math.min(1, (t - 0.6) / 0.4));
}

function addPlace(ctx, view, part, t) {
  const cell = placed(view, part, view.journeyPin);
  const strip = boxOf(view, part.id, 'strip');
  const values = view.model.position(view.journeyPin);
  if (!values) return;
  fill(ctx, view.colors.paper, strip[0] - 1, strip[1] - 1, strip[2] + 2, strip[3] + 2);
  if (cell) ring(ctx, cell, 2.5);
  const box = cell ? lifted(cell, strip, t, -10) : strip;
  if (t > 0.02) drawStrip(ctx, values, t < 1 ? box : strip);
  ring(ctx, t < 1 ? box : strip, 1.5);
}

/** Draw the arcs from the token's strongest keys; the scene draws the attention output. */
function ask(ctx, view, part, t) {
  drawKeys(ctx, view, part, view.journeyPin);
  drawArcs(ctx, view, part, view.journeyPin, ease(Math.min(1, t / 0.55)));
}

function throughMaps(ctx, view, part, t) {
  for (const spot of mapRects(view.model, part, view.plan.boxes[part.id], view.journeyPin)) {
    const [x, y, w, h] = spot;
    ctx.globalAlpha = ease(t);
    ring(ctx, [x, y + view.offsets[view.plan.boxes[part.id].band], w, h], 1.5);
    ctx.globalAlpha = 1;
  }
  const from = t < 1 && placed(view, by(view, 'picture'), view.journeyPin);
  if (from && part === view.model.parts[1]) thumb(ctx, view, lifted(from, boxOf(view, part.id, 'tile'), t, 20));
}

/** Draw the attention from [CLS] to the followed token, then frame [CLS] in the last block. */
function readOut(ctx, view, part, t) {
  drawGathering(ctx, view, t);
  const last = view.model.blocks.at(-1);
  const spot = last && placed(view, last, view.model.readout);
  if (spot && view.model.header.readout === 'cls') ring(ctx, spot, 3);
}

const MOMENTS = {
  patches: liftOff,
  maps: throughMaps,
  embed: multiply,
  prefix: lineUp,
  positions: addPlace,
  block: ask,
  norm: readOut,
};

// ------------------------------------------------------------ attention from [CLS]

/** Return [CLS]'s attention to a token per block (mean over heads): [{block, weight}]; [] without [CLS] readout. */
export function gathered(model, pin) {
  const { header, blocks } = model;
  if (header.readout !== 'cls' || header.prefix.includes(pin)) return [];
  return blocks.map((block) => ({ block, weight: model.given(block, pin) }));
}

export const strongest = (weights) => weights.reduce((best, entry) => (entry.weight > best.weight ? entry : best));

/** Draw the arcs from [CLS] to the followed token up to time t, with their weights. */
function drawGathering(ctx, view, t) {
  const weights = gathered(view.model, view.journeyPin);
  if (!weights.length) return;
  const most = strongest(weights);
  for (const { block, weight } of weights) {
    const from = placed(view, block, view.journeyPin);
    const to = placed(view, block, view.model.readout);
    if (!from || !to) continue;
    const share = weight / most.weight;
    ring(ctx, from, block === most.block ? 2.5 : 1.5);
    ctx.globalAlpha = 0.35 + 0.65 * share;
    arc(ctx, centre(from), centre(to), ease(Math.min(1, t / 0.7)), 1 + 3 * share, view.colors);
    ctx.globalAlpha = 1;
    if (t > 0.7) writeShare(ctx, view, block, percent(weight), block === most.block);
  }
}

function writeShare(ctx, { plan, offsets, colors }, block, text, strong) {
  const { tile, band } = plan.boxes[block.id];
  const style = strong ? '600 12px' : '12px';
  ctx.font = `${style} ${colors.font}`;
  const width = ctx.measureText(text).width + 8;
  const [x, y] = [tile.x + tile.w / 2, tile.y + offsets[band] + tile.h];
  if (width > tile.w && !strong) return;
  fill(ctx, colors.paper, x - width / 2, y - 18, width, 18);
  const color = strong ? colors.query : colors.ink;
  write(ctx, colors, text, x, y - 2, { style, color, align: 'center', base: 'bottom' });
}

// Play through moments: a play/pause button, a menu of the animation's files, and a timeline with a slider.

import { button, el, setText } from './dom.js';
import { animate, clock, mix, reducedMotion } from './motion.js';

const FACES = { play: ['▶ Play'], pause: ['❚❚ Pause'] };
// A file to take along has no code that loads later. WebKit, which writes no WebP, leaves out images within an SVG image.
const RECORDS =
  import.meta.url.startsWith('http') && el(null, 'canvas').toDataURL('image/webp').startsWith('data:image/webp');

/**
 * Let a button play the moments 0 … last().
 *   options: {at(), last(): current and last moment; step(to, done): show a moment, then call done();
 *             rewind(): show the first moment, if playing begins at the end; dwell: ms between moments;
 *             first: ms before the first (default: dwell); faces: {play: [text, label?], pause: [text, label?]};
 *             began(), ended(): called at start, and when it stops by itself or by its button;
 *             file: what the animation shows, the name of its files; flow: true if it moves without rests}
 * Returns {playing, stop(), toggle()}; stop() calls nothing.
 */
export function player(node, options) {
  return new Player(node, options);
}

class Player {
  constructor(node, options) {
    const defaults = { faces: FACES, first: options.dwell, began() {}, ended() {} };
    Object.assign(this, { node, cancel() {}, playing: false, ...defaults, ...options });
    node.onclick = () => this.toggle();
    this.face();
    if (RECORDS && this.file) this.offerFiles();
  }

  /** Add a menu of the formats in which this browser can write the animation. */
  offerFiles() {
    const row = this.node.parentElement;
    row.classList.add('vv-player');
    const menu = el(row, 'details', { class: 'vv-files' });
    const label = 'Download the animation';
    const summary = el(menu, 'summary', { 'aria-label': label, title: label }, '⤓');
    const list = el(menu, 'div');
    menu.ontoggle = async () => {
      if (!menu.open || list.children.length) return;
      const { FORMATS, download } = await import('./recording.js');
      for (const format of FORMATS)
        button(list, format.name, async () => {
          menu.open = false;
          await download(this, format, (share) => (summary.textContent = `⤓ ${Math.round(100 * share)} %`));
          summary.textContent = '⤓';
        });
    };
  }

  face() {
    const [text, label] = this.faces[this.playing ? 'pause' : 'play'];
    this.node.textContent = text;
    if (label) this.node.setAttribute('aria-label', label);
  }

  stop() {
    this.playing = false;
    this.cancel();
    this.face();
  }

  toggle() {
    if (this.playing) return this.finish();
    this.playing = true;
    this.face();
    this.began();
    if (this.at() >= this.last()) this.rewind();
    if (this.first) this.wait(this.first);
    else this.advance();
  }

  wait(ms) {
    if (this.playing) this.cancel = clock.wait(ms, () => this.advance());
  }

  advance() {
    if (!this.playing) return;
    if (this.at() >= this.last()) this.finish();
    else this.step(Math.floor(this.at()) + 1, () => this.wait(this.dwell));
  }

  finish() {
    this.stop();
    this.ended();
  }
}

/**
 * Create a timeline: play button, slider and the description of the moment.
 *   options: {class, last(), words(at), show(): draw the moment, dwell, first: pause on the first moment, file, label: of the slider (default: a training's),
 *             ms: of the motion to a moment (default: 0; with one the button stays with reduced motion), faces: of the button,
 *             fine: the slider's step if it may rest between two moments, as may a motion that is stopped,
 *             flow: ms from moment to moment while it plays, without a rest at any; `at` is then the nearest moment}
 * Returns {node, at (settable), place (on the way to `at`), draw(), move(at), jump(at): stop and move, stop()}.
 */
export function timeline(parent, options) {
  return new Timeline(parent, options);
}

class Timeline {
  constructor(parent, options) {
    Object.assign(this, { options, at: 0, stopMotion() {} });
    this.node = el(parent, 'div', { class: options.class });
    this.play = button(this.node, '', null);
    const { label = 'Training step', fine = '1' } = options;
    const range = { type: 'range', min: '0', step: fine, value: '0', 'aria-label': label };
    this.slider = el(this.node, 'input', range);
    this.words = el(this.node, 'span');
    this.player = player(this.play, {
      at: () => (options.fine || options.flow ? this.place : this.at),
      last: options.last,
      dwell: options.dwell,
      first: options.first ?? (options.ms ? 0 : options.dwell),
      file: options.file,
      flow: options.flow,
      faces: options.faces ?? FACES,
      rewind: () => {
        this.at = 0;
        options.show();
      },
      step: (to, done) => (options.flow && !reducedMotion() ? this.flow(done) : this.move(to, done)),
      ended: () => (options.fine || options.flow) && this.stop(),
    });
    this.slider.oninput = () => {
      this.player.stop();
      if (options.fine) this.place = Number(this.slider.value);
      this.move(Number(this.slider.value));
    };
  }

  get at() {
    return this.goal;
  }

  set at(at) {
    Object.assign(this, { goal: at, place: at });
  }

  move(at, done) {
    this.stopMotion();
    const from = this.place;
    this.goal = Math.max(0, Math.min(this.options.last(), at));
    const frame = (t) => {
      this.place = t === 1 ? this.goal : mix(from, this.goal, t);
      this.options.show();
    };
    this.stopMotion = animate(from === this.goal ? 0 : this.options.ms, frame, done);
  }

  /** Move to the last moment at an even speed. */
  flow(done) {
    this.stopMotion();
    const [from, last] = [this.place, this.options.last()];
    const frame = (t) => {
      this.place = mix(from, last, t);
      this.goal = Math.round(this.place);
      this.options.show();
    };
    this.stopMotion = animate((last - from) * this.options.flow, frame, done, (t) => t);
  }

  jump(at) {
    this.player.stop();
    this.move(at);
  }

  draw() {
    const last = this.options.last();
    this.play.style.display = reducedMotion() && !this.options.ms ? 'none' : '';
    this.node.style.display = last > 0 ? '' : 'none';
    this.slider.max = String(last);
    this.slider.value = String(this.options.fine ? this.place : this.at);
    setText(this.words, this.options.words(this.options.flow ? this.place : this.at));
    this.slider.setAttribute('aria-valuetext', this.words.textContent);
  }

  stop() {
    this.player.stop();
    this.stopMotion();
    this.at = this.options.fine ? this.place : this.goal;
  }
}

// Play through moments: a play/pause button, and a timeline with a slider.

import { button, el } from './dom.js';
import { reducedMotion } from './motion.js';

const FACES = { play: ['▶ Play'], pause: ['❚❚ Pause'] };

/**
 * Let a button play the moments 0 … last().
 *   options: {at(), last(): current and last moment; step(to, done): show a moment, then call done();
 *             rewind(): show the first moment, if playing begins at the end; dwell: ms between moments;
 *             first: ms before the first (default: dwell); faces: {play: [text, label?], pause: [text, label?]};
 *             began(), ended(): called at start, and when it stops by itself or by its button}
 * Returns {playing, stop(), toggle()}; stop() calls nothing.
 */
export function player(node, options) {
  return new Player(node, options);
}

class Player {
  constructor(node, options) {
    const defaults = { faces: FACES, first: options.dwell, began() {}, ended() {} };
    Object.assign(this, { node, timer: 0, playing: false, ...defaults, ...options });
    node.onclick = () => this.toggle();
    this.face();
  }

  face() {
    const [text, label] = this.faces[this.playing ? 'pause' : 'play'];
    this.node.textContent = text;
    if (label) this.node.setAttribute('aria-label', label);
  }

  stop() {
    this.playing = false;
    clearTimeout(this.timer);
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
    if (this.playing) this.timer = setTimeout(() => this.advance(), ms);
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
 *   options: {class, last(), words(at), show(at): draw a moment, dwell, label: of the slider (default: a training's)}
 * Returns {node, at (settable), draw(), stop()}.
 */
export function timeline(parent, options) {
  return new Timeline(parent, options);
}

class Timeline {
  constructor(parent, options) {
    this.options = options;
    this.at = 0;
    this.node = el(parent, 'div', { class: options.class });
    this.play = button(this.node, '', null);
    const range = { type: 'range', min: '0', step: '1', 'aria-label': options.label ?? 'Training step' };
    this.slider = el(this.node, 'input', range);
    this.words = el(this.node, 'span');
    this.player = player(this.play, {
      at: () => this.at,
      last: options.last,
      dwell: options.dwell,
      rewind: () => this.show(0),
      step: (to, done) => {
        this.show(to);
        done();
      },
    });
    this.slider.oninput = () => {
      this.stop();
      this.show(Number(this.slider.value));
    };
  }

  show(at) {
    this.at = at;
    this.options.show(at);
  }

  draw() {
    const last = this.options.last();
    this.play.style.display = reducedMotion() ? 'none' : '';
    this.node.style.display = last > 0 ? '' : 'none';
    this.slider.max = String(last);
    this.slider.value = String(this.at);
    this.words.textContent = this.options.words(this.at);
    this.slider.setAttribute('aria-valuetext', this.words.textContent);
  }

  stop() {
    this.player.stop();
  }
}

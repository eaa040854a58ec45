// Playing through moments: a button that plays and pauses, and a bar with a slider through training.

import { button, el } from './dom.js';
import { reducedMotion } from './motion.js';

const FACES = { play: ['▶ Play'], pause: ['❚❚ Pause'] };

/**
 * Makes a button play a picture through its moments 0 … last().
 *   options: {at(), last(): where it stands and ends; step(to, done): shows a moment, done() once it stands there;
 *             rewind(): shows the first moment at once, where playing begins at the end;
 *             dwell: ms between moments; first: ms before the first (default: dwell);
 *             faces: {play: [text, label?], pause: [text, label?]}; began(), ended(): told
 *             when it begins, and when it stops by itself or by its button}
 * Returns {playing, stop(), toggle()}; stop() tells nobody.
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
 * A bar through training: play, a slider, and the words of the moment.
 *   options: {class, last(), words(at), show(at): draws a moment, dwell}
 * Returns {node, at (may be set: the bar is drawn with the view), draw(), stop()}.
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
    const range = { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' };
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

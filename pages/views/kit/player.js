// Playing through moments: a button that plays and pauses, and a bar with a slider through training.

import { button, el } from './dom.js';
import { reducedMotion } from './motion.js';

const FACES = { play: ['▶ Play', 'Play'], pause: ['❚❚ Pause', 'Pause'] };

/**
 * Makes a button play a picture through its moments 0 … last().
 *   options: {at(), last(): where it stands and ends; step(to, done): shows a moment, done() once it stands there;
 *             rewind(): shows the first moment at once, where playing begins at the end;
 *             dwell: ms between moments; first: ms before the first (default: dwell);
 *             faces: {play: [text, label], pause: [text, label]}; ended(): told when it stops by itself or by its button}
 * Returns {playing, stop(), toggle()}; stop() tells nobody.
 */
export function player(node, options) {
  const { faces = FACES, dwell, first = dwell, ended = () => {} } = options;
  let timer = 0;
  let playing = false;
  const face = () => {
    const [text, label] = faces[playing ? 'pause' : 'play'];
    node.textContent = text;
    if (label) node.setAttribute('aria-label', label);
  };
  const stop = () => {
    playing = false;
    clearTimeout(timer);
    face();
  };
  const finish = () => {
    stop();
    ended();
  };
  const wait = (ms) => {
    if (playing) timer = setTimeout(advance, ms);
  };
  const advance = () => {
    if (!playing) return;
    if (options.at() >= options.last()) finish();
    else options.step(Math.floor(options.at()) + 1, () => wait(dwell));
  };
  const toggle = () => {
    if (playing) return finish();
    playing = true;
    face();
    if (options.at() >= options.last()) options.rewind();
    if (first) wait(first);
    else advance();
  };
  node.onclick = toggle;
  face();
  return {
    get playing() {
      return playing;
    },
    stop,
    toggle,
  };
}

/**
 * A bar through training: play, a slider, and the words of the moment.
 *   options: {class, last(), words(at), show(at): draws a moment, dwell}
 * Returns {node, at, set(at): shows no more than the bar itself, draw(), stop()}.
 */
export function timeline(parent, options) {
  const node = el(parent, 'div', { class: options.class });
  const play = button(node, '', null);
  const slider = el(node, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' });
  const words = el(node, 'span');
  const state = { at: 0 };
  const show = (at) => {
    state.at = at;
    options.show(at);
  };
  const playing = player(play, {
    at: () => state.at,
    last: options.last,
    dwell: options.dwell,
    rewind: () => show(0),
    step: (to, done) => {
      show(to);
      done();
    },
  });
  slider.oninput = () => {
    playing.stop();
    show(Number(slider.value));
  };
  return {
    node,
    get at() {
      return state.at;
    },
    set(at) {
      state.at = at;
    },
    draw() {
      play.style.display = reducedMotion() ? 'none' : '';
      node.style.display = options.last() > 0 ? '' : 'none';
      slider.max = String(options.last());
      slider.value = String(state.at);
      words.textContent = options.words(state.at);
      slider.setAttribute('aria-valuetext', words.textContent);
    },
    stop: playing.stop,
  };
}

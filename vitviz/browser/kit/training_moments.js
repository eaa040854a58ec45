// Interpolate between the stored moments of a training; counterpart of vitviz/plots/training_moments.py.

import { mix } from './motion.js';
import { counted } from './text.js';

/** Return [low, high, share] of a place between moments: moments of two runs are not mixed. */
export function surround({ joined }, place) {
  const low = Math.floor(place);
  if (low + 1 < joined) return [low, low + 1, place - low];
  const near = Math.round(place);
  return [near, near, 0];
}

/** Return a place between moments in words, with its own step: 'step 43 · epoch 0.3'. */
export function nameMoment(moments, place) {
  const [low, high, share] = surround(moments, place);
  const between = (values) => mix(values[low], values[high], share);
  const words = [`step ${counted(Math.round(between(moments.steps)))}`];
  if (moments.epochs.length) words.push(`epoch ${Number(between(moments.epochs).toPrecision(3))}`);
  if (moments.note && low < moments.joined) words.push(moments.note);
  return words.join(' · ');
}

/** Interpolate `size` values from `start` on in an array with one entry of `stride` values a moment. */
function blend(data, stride, [low, high, share], start, size) {
  const from = low * stride + start;
  if (!share) return data.subarray(from, from + size);
  const to = high * stride + start;
  const mixed = new Float32Array(size);
  for (let i = 0; i < size; i++) mixed[i] = mix(data[from + i], data[to + i], share);
  return mixed;
}

/** Panels whose values change along one timeline (`this.time`); those with fewer moments stretch theirs. */
export class MovingPanels {
  /** panels: each with its moments as `training`, null without any; arrays: one of each panel, (moments, …). */
  setPanels(panels, arrays) {
    const counts = arrays.map(({ shape }) => shape[0]);
    const moving = counts.findIndex((count) => count > 1); // the panel that has several moments
    Object.assign(this, { panels, counts, moving, frames: Math.max(...counts) });
  }

  /** Return a panel's place among its own moments. */
  placeOf(p) {
    return (this.time.place * (this.counts[p] - 1)) / Math.max(1, this.frames - 1);
  }

  frameOf(p) {
    return Math.round(this.placeOf(p));
  }

  /** Return `size` values from `start` on of a panel's array at the timeline's place, interpolated between moments. */
  valuesAt(p, { data, shape }, start, size) {
    const stride = shape.slice(1).reduce((product, length) => product * length, 1);
    return blend(data, stride, surround(this.panels[p].training ?? { joined: 0 }, this.placeOf(p)), start, size);
  }

  momentWords(p) {
    const training = this.panels[p]?.training;
    return training ? nameMoment(training, this.placeOf(p)) : '';
  }
}

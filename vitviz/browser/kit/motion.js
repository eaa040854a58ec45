// Animation that respects reduced motion, and the clock of all animations, which a recording replaces.

const PAGE_CLOCK = {
  recording: false,
  now: () => performance.now(),
  frame(act) {
    const handle = requestAnimationFrame(act);
    return () => cancelAnimationFrame(handle);
  },
  wait(ms, act) {
    const handle = setTimeout(act, ms);
    return () => clearTimeout(handle);
  },
};

/** {recording, now(), frame(act), wait(ms, act)}: the last two call act later and return a function that cancels it. */
export let clock = PAGE_CLOCK;

/** Let all animations follow another clock, by default the page's own. */
export function setClock(next = PAGE_CLOCK) {
  clock = next;
}

export const reducedMotion = () => !clock.recording && window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Cubic ease-in-out: [0, 1] -> [0, 1]. */
export const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

export const mix = (a, b, t) => a + (b - a) * t;

/** Call frame(eased t in [0, 1]) for `ms`, once with 1 for 0 ms or reduced motion; returns a function that stops it. */
export function animate(ms, frame, done = () => {}, curve = ease) {
  if (!ms || reducedMotion()) {
    frame(1);
    done();
    return () => {};
  }
  const began = clock.now();
  let cancel = () => {};
  const tick = () => {
    const t = Math.min(1, Math.max(0, (clock.now() - began) / ms));
    frame(curve(t));
    if (t < 1) cancel = clock.frame(tick);
    else done();
  };
  cancel = clock.frame(tick);
  return () => cancel();
}

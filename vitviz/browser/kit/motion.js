// Animation that respects reduced motion.

export const reducedMotion = () => window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Cubic ease-in-out: [0, 1] -> [0, 1]. */
export const ease = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

export const mix = (a, b, t) => a + (b - a) * t;

/** Call frame(eased t in [0, 1]) for `ms`, once with 1 for reduced motion; returns a function that stops it. */
export function animate(ms, frame, done = () => {}) {
  if (reducedMotion()) {
    frame(1);
    done();
    return () => {};
  }
  const began = performance.now();
  let handle = 0;
  const tick = (now) => {
    const t = Math.min(1, Math.max(0, (now - began) / ms));
    frame(ease(t));
    if (t < 1) handle = requestAnimationFrame(tick);
    else done();
  };
  handle = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(handle);
}

// How much larger pictures stand while someone presents: the style sheets read the same number, --vv-grow.

const NAME = '--vv-grow';
const AT_ONE = { width: 1200, height: 720 }; // px of a screen on which pictures are as large as ever
const MOST = 2.2;

/** A width in pixels as it is on this screen now: larger where a page is presented on a large one. */
export function grown(px) {
  return px * (Number(document.documentElement.style.getPropertyValue(NAME)) || 1);
}

/** Lets pictures grow with the screen, or be as large as ever. */
export function growing(on) {
  const { style } = document.documentElement;
  if (!on) return style.removeProperty(NAME);
  const share = Math.min(innerWidth / AT_ONE.width, innerHeight / AT_ONE.height);
  style.setProperty(NAME, String(Math.min(MOST, Math.max(1, share)).toFixed(3)));
}

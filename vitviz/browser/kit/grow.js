// Enlarge figures in presentation mode; style sheets read the factor from --vv-grow.

const NAME = '--vv-grow';
const AT_ONE = { width: 1200, height: 720 }; // px of a screen with factor 1
const MOST = 2.2;

/** Return a width in px times the current factor. */
export function grown(px) {
  return px * (Number(document.documentElement.style.getPropertyValue(NAME)) || 1);
}

export function growing(on) {
  const { style } = document.documentElement;
  if (!on) return style.removeProperty(NAME);
  const share = Math.min(innerWidth / AT_ONE.width, innerHeight / AT_ONE.height);
  style.setProperty(NAME, String(Math.min(MOST, Math.max(1, share)).toFixed(3)));
}

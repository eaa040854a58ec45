// Enlarge figures in presentation mode; style sheets read the factor from --vv-grow, views draw anew at CHANGED.

const NAME = '--vv-grow';
export const CHANGED = 'vitviz-grow';

/** Return a width in px times the current factor. */
export function grown(px) {
  return px * (Number(document.documentElement.style.getPropertyValue(NAME)) || 1);
}

/** Return true while figures are shown alone; they leave out what is secondary. */
export const isAlone = () => document.documentElement.style.getPropertyValue(NAME) !== '';

/** Set the factor; null ends the presentation. */
export function grow(factor) {
  const { style } = document.documentElement;
  if (factor === null) style.removeProperty(NAME);
  else style.setProperty(NAME, factor.toFixed(3));
  window.dispatchEvent(new Event(CHANGED));
}

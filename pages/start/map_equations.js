// Draw the model's equations: each term is a button, highlighted together with its parts.

import { button, el } from '../../vitviz/browser/kit/dom.js';

/** Return true if a term refers to a part: 'block.*' is every block, 'block.*\/mlp' the MLP of each. */
export function means(ref, id, place = '') {
  const [name, inside = ''] = ref.split('/');
  const same = name === id || (name.endsWith('.*') && id.startsWith(name.slice(0, -1)));
  return same && (!inside || !place || inside === place);
}

/** Return the place in a block to which terms refer; '' for none. */
export const placeOf = (refs) =>
  refs.map((ref) => ref.split('/')[1]).find((place) => ['attention', 'mlp', 'residual'].includes(place)) ?? '';

function script(parent, { sub, sup }) {
  if (!sub && !sup) return;
  const both = el(parent, 'span', { class: 'mp-scripts' });
  // A zero-width space separates them in the term's accessible name.
  el(both, 'span', {}, `\u200b${sub ?? ''}`);
  el(both, 'span', {}, `\u200b${sup ?? ''}`);
}

/** Return a term's text for screen readers: 'x p 1'. */
const spoken = ({ base, sub, sup }) => [base, sub, sup].filter(Boolean).join(' ');

function term(parent, token, { light, visit }) {
  const upright = token.base.length > 1 || /[A-ZΩ𝐄]/u.test(token.base);
  const node = button(parent, '', () => visit(token.parts), { class: `mp-term${upright ? ' mp-upright' : ''}` });
  node.setAttribute('aria-label', token.say ? `${spoken(token)}: ${token.say}` : spoken(token));
  el(node, 'span', { class: 'mp-base' }, token.base);
  script(node, token);
  node.onpointerenter = () => light(token.parts, token.say, node);
  node.onpointerleave = () => light([], '', node);
  node.onfocus = () => light(token.parts, token.say, node);
  node.onblur = () => light([], '', node);
  return { node, parts: token.parts };
}

/**
 * Draw the equations of a model.
 *   acts: {light(refs, say, node): highlight a term's parts (none: clear), visit(refs): open the part}
 * Returns {draw(equations), mark(id, place): highlight the terms of a part, '' for none}.
 */
export function equations(parent, acts) {
  const box = el(parent, 'div', { class: 'mp-equations', role: 'group', 'aria-label': 'Equations of this model' });
  let terms = [];
  return {
    node: box,
    draw(list) {
      box.replaceChildren();
      terms = [];
      el(box, 'p', { class: 'mp-lead-in vv-muted' }, 'As equations: hover over a term to see its meaning.');
      for (const { n, source, tokens } of list) {
        const line = el(box, 'div', { class: 'mp-equation' });
        const body = el(line, 'span', { class: 'mp-line' });
        for (const token of tokens) {
          if (typeof token === 'string') el(body, 'span', { class: 'mp-sign' }, token);
          else if (token.parts?.length) terms.push(term(body, token, acts));
          else script(el(body, 'span', { class: 'mp-plain' }, token.base), token);
        }
        if (n) el(line, 'span', { class: 'vv-muted mp-number', title: source }, `(${n})`);
      }
    },
    mark(id, place) {
      for (const { node, parts } of terms)
        node.classList.toggle('mp-lit', id !== '' && parts.some((ref) => means(ref, id, place)));
    },
  };
}

// The model's equations: every term is a button that lights its parts, and lights up with them.

import { button, el } from '../views/kit/dom.js';

/** Whether a term's reference means a part: 'block.*' means every block, 'block.*\/mlp' a place inside each. */
export function means(ref, id, place = '') {
  const [name, inside = ''] = ref.split('/');
  const same = name === id || (name.endsWith('.*') && id.startsWith(name.slice(0, -1)));
  return same && (!inside || !place || inside === place);
}

function script(parent, { sub, sup }) {
  if (!sub && !sup) return;
  const both = el(parent, 'span', { class: 'mp-scripts' });
  // A space of no width keeps them apart in the term's name.
  el(both, 'span', {}, `\u200b${sub ?? ''}`);
  el(both, 'span', {}, `\u200b${sup ?? ''}`);
}

/** A term's text in a line for those who hear it: 'x p 1'. */
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
 * The equations of a model.
 *   acts: {light(refs, say, node): lights what a term stands for (none: puts it out); visit(refs): opens the part}
 * Returns {draw(equations), mark(id, place): lights the terms that a part has, '' for none}.
 */
export function equations(parent, acts) {
  const box = el(parent, 'div', { class: 'mp-equations', role: 'group', 'aria-label': 'The equations of this model' });
  let terms = [];
  return {
    node: box,
    draw(list) {
      box.replaceChildren();
      terms = [];
      el(box, 'p', { class: 'mp-lead-in vv-muted' }, 'The same in signs: point at a term to see what it is.');
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

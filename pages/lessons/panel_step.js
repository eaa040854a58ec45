// The step of training in a lesson's panel. Events, not a widget's state: the sidebar's slider may move it meanwhile.

import { el } from '../views/kit/dom.js';
import { counted } from '../views/kit/words.js';

const SETTLED_MS = 150; // a slider that is dragged passes many steps

export default function lessonStep({ root, trigger, onUnmount }) {
  const label = el(root, 'label', { class: 'ls' });
  el(label, 'span', {}, 'Step');
  const range = el(label, 'input', { type: 'range', min: '0', step: '1' });
  const said = el(label, 'output');
  let steps = [];
  let timer = 0;
  const say = () => {
    said.textContent = counted(steps[Number(range.value)]);
    range.setAttribute('aria-valuetext', said.textContent);
  };
  range.oninput = () => {
    say();
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      trigger('step', steps[Number(range.value)]);
    }, SETTLED_MS);
  };
  onUnmount(() => clearTimeout(timer));
  return ({ header }) => {
    steps = header.steps;
    range.max = String(steps.length - 1);
    if (timer) return; // under the visitor's hand
    range.value = String(header.at);
    say();
  };
}

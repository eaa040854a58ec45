// The training step in a lesson's panel; sends events, because the sidebar's slider may change the step meanwhile.

import { el } from '../../vitviz/browser/kit/dom.js';
import { counted } from '../../vitviz/browser/kit/text.js';

const SETTLE_MS = 150; // a dragged slider passes many steps

export default function lessonStep({ root, trigger, onUnmount }) {
  const label = el(root, 'label', { class: 'ls' });
  el(label, 'span', {}, 'Step');
  const range = el(label, 'input', { type: 'range', min: '0', step: '1' });
  const output = el(label, 'output');
  let steps = [];
  let timer = 0;
  const update = () => {
    output.textContent = counted(steps[Number(range.value)]);
    range.setAttribute('aria-valuetext', output.textContent);
  };
  range.oninput = () => {
    update();
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      trigger('step', steps[Number(range.value)]);
    }, SETTLE_MS);
  };
  onUnmount(() => clearTimeout(timer));
  return ({ header }) => {
    steps = header.steps;
    range.max = String(steps.length - 1);
    if (timer) return; // the user is dragging
    range.value = String(header.at);
    update();
  };
}

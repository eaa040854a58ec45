// While presenting, every press of a key counts, however fast: the links of a lesson's stop are only drawn later.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { listenForKeys } from '../../pages/frame/keyboard.js';

test('three quick presses go three stops', async () => {
  const [listeners, clicked] = [{}, []];
  let stop = 5; // its links are drawn
  const open = async (number) => {
    clicked.push(number);
    await wait(20);
    stop = number;
  };
  const link = (number) => ({ href: `/?stop=${number}`, click: () => open(number) });
  const found = {
    '.st-key-lesson_panel': () => ({}),
    '.st-key-lesson_back a': () => link(stop - 1),
    '.st-key-lesson_next a': () => link(stop + 1),
    '[data-testid="stApp"]': () => ({ dataset: { testScriptState: 'notRunning' } }),
  };
  globalThis.window = { addEventListener: (name, act) => (listeners[name] = act) };
  globalThis.document = {
    documentElement: { dataset: { vitvizPresent: '' } },
    querySelector: (selector) => found[selector](),
  };
  listenForKeys();
  for (const key of ['ArrowRight', ' ', 'PageDown']) listeners.keydown({ key, preventDefault() {} });
  for (let i = 0; i < 200 && stop !== 8; i++) await wait(10);
  assert.deepEqual(clicked, [6, 7, 8]);
});

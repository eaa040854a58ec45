// Functions of views, by hand; shuffled patches as Python's (tests/unit/test_patches.py has the same numbers).

import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document = { createElement: () => ({ getContext: () => ({}) }) };
const { thin } = await import('../../pages/classroom/pen.js');
const { formatProbability, scramble, shuffledOrder } = await import('../../pages/lenses/patches/patches_puzzle.js');
const { countPairs, listMistakes } = await import('../../pages/train/lab/mistakes.js');
const { formulaOf, linesOf } = await import('../../vitviz/browser/explorer_parts.js');
const { colour } = await import('../../vitviz/browser/kit/pixels.js');

test('the first patches of the order change places in a circle', () => {
  assert.deepEqual([...shuffledOrder([2, 0, 3, 1], 3)], [2, 1, 3, 0]);
  assert.deepEqual([...shuffledOrder([2, 0, 3, 1], 0)], [0, 1, 2, 3]);
});

test('a patch is moved with all of its channels', () => {
  const image = { shape: [2, 4, 4], data: Float32Array.from({ length: 32 }, (_, i) => i) };
  const pixels = scramble(image, 2, Int32Array.from([3, 1, 2, 0]));
  assert.deepEqual([...pixels.subarray(0, 16)], [10, 11, 2, 3, 14, 15, 6, 7, 8, 9, 0, 1, 12, 13, 4, 5]);
  assert.equal(pixels[16], 26);
});

test('probabilities are written as in captions', () => {
  assert.deepEqual([0.5, 0.12345, 1, 0.00005, 0.000031, 0].map(formatProbability), [
    '50 %',
    '12.3 %',
    '100 %',
    '0.005 %',
    '3·10⁻⁵',
    '0',
  ]);
});

test('a value takes its colour, one outside the ends the ends’, and NaN none', () => {
  const table = Uint8Array.from({ length: 1024 }, (_, i) => (i % 4 === 3 ? 255 : i >> 2));
  const image = { data: new Uint8ClampedArray(5 * 4) };
  colour(image, [0, 1, 7, -3, NaN], table, 0, 1);
  const level = (i) => [...image.data.subarray(4 * i, 4 * i + 4)];
  assert.deepEqual([0, 1, 2, 3, 4].map(level), [
    [0, 0, 0, 255],
    [255, 255, 255, 255],
    [255, 255, 255, 255],
    [0, 0, 0, 255],
    [0, 0, 0, 0],
  ]);
});

test('mistakes begin with the least probable truth, and their pairs with the most frequent', () => {
  const labels = [0, 0, 1, 1, 2];
  const data = [...labels, 100, 100, 100, 100, 100, 1, 0, 2, 2, 1, 30, 90, 5, 40, 5]; // guesses and percents, twice
  const wrong = listMistakes({ labels }, { data, shape: [2, 2, 5] }, 1);
  const found = wrong.map(({ k, guess, given }) => `${k} as ${guess}: ${given}`);
  assert.deepEqual(found, ['2 as 2: 0.05', '4 as 1: 0.05', '0 as 1: 0.3', '3 as 2: 0.4']);
  const pairs = countPairs(wrong).map(({ key, count }) => `${key}: ${count}`);
  assert.deepEqual(pairs, ['1 2: 2', '0 1: 1', '2 1: 1']);
});

test('a long stroke is sent from end to end', () => {
  const points = [...Array(100).keys()];
  assert.deepEqual(thin(points, 100), points);
  const sent = thin(points, 30);
  assert.deepEqual([sent.length, sent[0], sent.at(-1)], [25, 0, 96]);
});

test('the inspector counts the tokens of the window, and names what a formula sums over', () => {
  const header = { prefix: [], grid: [8, 8], windowed: true, slots: 16, head: 2, scores: 'q·k' };
  const n = { best: 10, onPrefix: 0, self: 0.25, keys: 7.25, total: 1 };
  const weights = new Float32Array(64).fill(0.5);
  const lines = (row, found = header) => Object.fromEntries(linesOf(found, weights, n, row));
  assert.equal(lines(true)['Effective tokens'], '7.3 of 16');
  assert.equal(lines(true, { ...header, windowed: false })['Effective tokens'], '7.3 of 64');
  assert.equal(lines(false)['Received in total'], '1.00 (uniform: 1)');
  assert.match(lines(true)['Attends most to'], /row 2, column 3/);
  const formula = (row) => formulaOf(header, 9, weights, n, row);
  assert.equal(formula(true), 'A[10, 11] = softmax(q·k) = 0.500\nΣₖ A[10, k] = 1.00');
  assert.equal(formula(false), 'A[11, 10] = softmax(q·k) = 0.500\nΣ_q A[q, 10] = 1.00');
});

// The names of a chart's points stand beside them where there is room.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeNames } from '../../pages/views/chart_marks.js';

const INSIDE = [0, 0, 400, 300];
const point = (at, rank = 0, wide = 50) => ({ at, rank, wide, size: 11 });

test('names do not lie on one another, and the chosen one is drawn', () => {
  const near = Array.from({ length: 6 }, (_, i) => point([200 + i / 10, 150]));
  const spots = placeNames([...near, point([380, 280], 2)], [], INSIDE);
  assert.ok(spots.at(-1));
  const shown = spots.slice(0, -1).filter(Boolean);
  assert.ok(shown.length >= 2 && shown.length < 6);
  const places = shown.map(({ x, y, align }) => `${Math.round(x)} ${y} ${align}`);
  assert.equal(new Set(places).size, shown.length);
});

test('a name strikes no line that it can avoid, and no edge', () => {
  const line = [190, 60, 210, 150]; // from above down to the point
  const [spot] = placeNames([point([200, 150])], [line], INSIDE);
  assert.ok(spot.align !== 'center' || spot.y > 150);
  const [edge] = placeNames([point([2, 150])], [], INSIDE);
  assert.equal(edge.align, 'left');
});

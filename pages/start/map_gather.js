// How the followed token comes into [CLS]: an arc in every layer, as strong as the share of its look that [CLS] gives it.

import { ease } from '../views/kit/motion.js';
import { percent } from '../views/kit/words.js';
import { centre } from './map_cells.js';
import { arc, placed, ring } from './map_overlay.js';

/** What [CLS] gives a token in each block, the mean of the heads: [{block, weight}]; [] where [CLS] is not read, or is the token. */
export function gathered(model, pin) {
  const { header, blocks } = model;
  if (header.readout !== 'cls' || header.prefix.includes(pin)) return [];
  return blocks.map((block) => ({ block, weight: model.given(block, pin) }));
}

/** The one of most weight. */
export const strongest = (found) => found.reduce((best, one) => (one.weight > best.weight ? one : best));

/** The arcs as far as they have come, each with its share; the strongest in the colour of the query. */
export function drawGathering(ctx, view, t) {
  const found = gathered(view.model, view.journeyPin);
  if (!found.length) return;
  const most = strongest(found);
  for (const { block, weight } of found) {
    const from = placed(view, block, view.journeyPin);
    const to = placed(view, block, view.model.readout);
    if (!from || !to) continue;
    const share = weight / most.weight;
    ring(ctx, from, view.colors.query, view.colors.paper, block === most.block ? 2.5 : 1.5);
    ctx.globalAlpha = 0.35 + 0.65 * share;
    arc(ctx, centre(from), centre(to), ease(Math.min(1, t / 0.7)), 1 + 3 * share, view.colors);
    ctx.globalAlpha = 1;
    if (t > 0.7) write(ctx, view, block, percent(weight), block === most.block);
  }
}

/** A share at the foot of a block's tile. */
function write(ctx, { plan, offsets, colors }, block, text, strong) {
  const { tile, band } = plan.boxes[block.id];
  ctx.font = `${strong ? '600 ' : ''}12px ${colors.font}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  const width = ctx.measureText(text).width + 8;
  const [x, y] = [tile.x + tile.w / 2, tile.y + offsets[band] + tile.h];
  if (width > tile.w && !strong) return;
  ctx.fillStyle = colors.paper;
  ctx.fillRect(x - width / 2, y - 18, width, 18);
  ctx.fillStyle = strong ? colors.query : colors.ink;
  ctx.fillText(text, x, y - 2);
}

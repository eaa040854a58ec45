// What the stepper says: a sentence a stage, the tensors' shapes, what a patch reads.

/** What happens at a stage, in the order of the stepper's STAGES. */
export function tellStage(stage, { rows, cols, window: M, shift }) {
  const windows = (rows * cols) / M ** 2;
  const told = [
    `${rows} × ${cols} tokens of C values each, in reading order.`,
    `First block of the pair, W-MSA: cut into ${windows} windows of ${M} × ${M}. ` +
      'Every token attends inside its own window only.',
    shift
      ? `Second block, SW-MSA: torch.roll(x, (−${shift}, −${shift})). Everything moves ${shift} up and left; ` +
        'what leaves at one edge enters at the other.'
      : 'Without a shift nothing rolls: both blocks see the same windows.',
    shift
      ? 'Number the regions that were one piece of picture before the roll: ' +
        'slices (0, −M), (−M, −s), (−s, end) on both axes.'
      : 'One region: nothing was wrapped.',
    shift
      ? 'Cut into windows again: the same places on the grid, other patches inside.'
      : 'Cut into windows again: the same places on the grid, the same patches inside.',
    shift
      ? 'Where two ids differ inside a window, −100 is added to the score: after the softmax, nothing is left. ' +
        'Point at patch 1: its window holds three other corners of the picture.'
      : 'All ids are equal: nothing to mask.',
    'Softmax in each window. Here Q = K = the patches’ mean colours, so that no weights are needed; ' +
      '“Real attention” shows a Swin’s own.',
    'Put the windows side by side again: the grid, still rolled.',
    shift ? `torch.roll(x, (${shift}, ${shift})): every token is back in its place.` : 'Every token is in its place.',
  ];
  return told[stage];
}

/** The tensor's shape after every stage. */
export function shapesOf({ rows, cols, window: M }) {
  const n = M ** 2;
  const windows = (rows * cols) / n;
  const full = `(1,${rows},${cols},C)`;
  const cut = `(${windows},${n},C)`;
  const scores = `(${windows},h,${n},${n})`;
  return [full, cut, full, `(${rows},${cols})`, cut, `(${windows},${n},${n})`, scores, full, full];
}

/** What a patch reads of the keys {allowed, unmasked} in its window. */
export function readsOf(keys, isShifted, leaking) {
  const shut = keys.filter((key) => !key.allowed);
  if (!isShifted) return `reads all ${keys.length} patches of its window`;
  if (!shut.length) return `reads all ${keys.length}: nothing here was wrapped`;
  const open = keys.length - shut.length;
  if (!leaking) return `reads ${open} of ${keys.length}; ${shut.length} only look adjacent after the roll: masked`;
  const lost = (100 * shut.reduce((sum, key) => sum + key.unmasked, 0)).toFixed(0);
  return `reads ${keys.length}, ${shut.length} of them from across the edge: ${lost} % of its attention leaks`;
}

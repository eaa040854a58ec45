// One head in all layers, kept for the explorers by its tag: a change of layer alone names a strip that is here already.
// It draws nothing. Two explorers may name one strip, so it goes with the last of those that brought it.
export default view(({ root, onUnmount }) => {
  root.style.height = '0';
  const strips = (window.vitvizStrips ??= new Map());
  let mine = null;
  const release = (tag) => {
    const kept = strips.get(tag);
    kept?.owners.delete(root);
    if (kept && !kept.owners.size) strips.delete(tag);
  };
  onUnmount(() => release(mine));
  return function update({ header: { tag }, arrays }) {
    if (tag === mine) return;
    if (!strips.has(tag)) strips.set(tag, { arrays, owners: new Set() });
    strips.get(tag).owners.add(root);
    release(mine);
    mine = tag;
    window.dispatchEvent(new CustomEvent('vitviz:strip', { detail: { tag } }));
  };
});

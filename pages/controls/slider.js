// Follow a slider of Streamlit while it is dragged: the server learns its value only where it is released.

/**
 * Call moved(value) at every position of the slider with this key in the page's classes (a select slider's is its
 * option's index). Returns {attach(): call it after each run of the page, which may have made the slider anew, end()}.
 */
export function watchSlider(key, moved) {
  let node = null;
  let last = null;
  const watched = new MutationObserver(() => {
    const value = node.querySelector('input[type=range]')?.valueAsNumber;
    if (value === undefined || value === last) return;
    last = value;
    moved(value);
  });
  return {
    attach() {
      const found = document.querySelector(`.st-key-${key}`);
      last = found?.querySelector('input[type=range]')?.valueAsNumber ?? null;
      if (found === node) return;
      watched.disconnect();
      node = found;
      if (node)
        watched.observe(node, { attributes: true, attributeFilter: ['aria-valuetext', 'value'], subtree: true });
    },
    end: () => watched.disconnect(),
  };
}

// How the explorers of one group are viewed: a message of a few bytes, so that a change of opacity, scale or pin does
// not send the weights again. It draws nothing.
export default view(({ root }) => {
  root.style.height = '0';
  return function update({ header }) {
    window.vitvizViews ??= new Map();
    window.vitvizViews.set(header.group, header);
    window.dispatchEvent(new CustomEvent('vitviz:view', { detail: header }));
  };
});

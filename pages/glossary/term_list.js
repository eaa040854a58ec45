// List the glossary's terms in groups, with a search that filters them as the user types.

import { button, el } from '../../vitviz/browser/kit/dom.js';
import { plural } from '../../vitviz/browser/kit/text.js';

export default class TermList {
  constructor({ root, trigger }) {
    this.trigger = trigger;
    const search = el(root, 'input', {
      type: 'search',
      'aria-label': 'Search the terms',
      class: 'tl-search',
    });
    search.oninput = () => this.filter(search.value);
    this.search = search;
    this.count = el(root, 'p', { class: 'vv-muted tl-count', role: 'status' });
    this.list = el(root, 'nav', { class: 'tl', 'aria-label': 'Terms' });
    this.list.onkeydown = (event) => this.move(event);
  }

  update({ header }, fresh) {
    if (fresh && header.terms.map(([slug]) => slug).join() !== this.slugs) this.build(header);
    this.mark(header.selected);
  }

  build({ terms }) {
    this.slugs = terms.map(([slug]) => slug).join();
    this.list.replaceChildren();
    this.groups = new Map();
    this.entries = terms.map(([slug, word, group, text]) => {
      if (!this.groups.has(group)) {
        const box = el(this.list, 'section', {});
        el(box, 'h2', {}, group);
        this.groups.set(group, box);
      }
      const choose = () => {
        this.mark(slug);
        this.trigger('term', slug);
      };
      const node = button(this.groups.get(group), word, choose);
      return { slug, node, text: `${word} ${text}`.toLowerCase() };
    });
    this.search.placeholder = `Search ${plural(terms.length, 'term')}`;
    this.filter(this.search.value);
  }

  filter(typed) {
    const parts = typed.toLowerCase().split(/\s+/);
    for (const { node, text } of this.entries) node.hidden = !parts.every((part) => text.includes(part));
    for (const box of this.groups.values()) box.hidden = !box.querySelector('button:not([hidden])');
    const shown = this.entries.filter(({ node }) => !node.hidden).length;
    this.count.textContent = !typed ? '' : shown ? plural(shown, 'term') : 'No term matches.';
  }

  mark(selected) {
    for (const { slug, node } of this.entries) {
      if (slug === selected) node.setAttribute('aria-current', 'true');
      else node.removeAttribute('aria-current');
    }
    const node = this.entries.find(({ slug }) => slug === selected)?.node;
    if (!node) return;
    const [top, bottom] = [node.offsetTop, node.offsetTop + node.offsetHeight];
    if (top < this.list.scrollTop || bottom > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = top - this.list.clientHeight / 3;
    this.list.scrollLeft = node.offsetLeft - this.list.clientWidth / 3; // on a phone the list is one row
  }

  /** Move the focus to the next or previous term with the arrow keys. */
  move(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const nodes = this.entries.map(({ node }) => node).filter((node) => !node.hidden);
    nodes[nodes.indexOf(event.target) + step]?.focus();
  }
}

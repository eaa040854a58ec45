"""At 200 % zoom and on the narrowest phone no page scrolls sideways and no control is cut off or covered; keys reach
every view and leave it, with a focus that shows.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from pages.stores.registry import PAGES
from tests.browser.conftest import OpenPage, settle

pytestmark = pytest.mark.browser
ZOOMED, PHONE = (640, 400), (360, 740)  # 1280 × 800 at 200 %, and the narrowest phone of today
MOST_STOPS = 250  # of Tab on a page

# Controls of the page, those of views within their shadow roots too.
CONTROLS = """() => {
  const wanted = 'button, a[href], input, select, textarea, summary, [role=slider], [tabindex="0"]';
  const found = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      const seen = node.matches(wanted) && node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
      if (seen && !node.closest('[data-testid=stDataFrame]')) found.push(node);
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document.querySelector('[data-testid=stMain]'));
  return found;
}"""
UNREACHED = """(controls) => {
  const main = document.querySelector('[data-testid=stMain]');
  const up = (node) => node.parentElement || node.getRootNode().host || null;
  const within = (node, outer) => { for (; node; node = up(node)) if (node === outer) return true; return false; };
  const scrolls = (node) => {
    for (let at = up(node); at && at !== main; at = up(at))
      if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return true;
    return false;
  };
  const at = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.shadowRoot && hit.shadowRoot.elementFromPoint(x, y) !== hit) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner) break;
      hit = inner;
    }
    return hit;
  };
  const said = (node) => `${node.tagName.toLowerCase()} '${(node.getAttribute('aria-label') || node.textContent
    || node.className || '').trim().slice(0, 40)}'`;
  const wrong = [];
  for (const part of [document.documentElement, main]) {
    const over = part.scrollWidth - part.clientWidth;
    if (over > 1) wrong.push(`scrolls sideways by ${over} px`);
  }
  for (const node of controls) {
    const { left, right } = node.getBoundingClientRect();
    node.scrollIntoView({ block: 'center', inline: 'nearest' });
    const box = node.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    // The range of Streamlit's slider lies unseen beside its knob, and the pad of a digit over its image's button.
    if (node.closest('[data-testid=stSlider]')) continue;
    if ((left < -1 || right > innerWidth + 1) && !scrolls(node)) wrong.push(`cut off: ${said(node)}`);
    // The range of a slider lies unseen beside the knob that is dragged.
    if (box.height > innerHeight || scrolls(node) || node.type === 'range') continue;
    const hit = at(box.left + box.width / 2, box.top + box.height / 2);
    if (hit?.matches('.vv-pad')) continue;
    const block = node.closest('label, [data-baseweb]') || node;
    if (!hit || !(within(hit, node) || within(node, hit) || within(hit, block)))
      wrong.push(`covered: ${said(node)} by ${hit ? said(hit) : 'nothing'}`);
  }
  main.scrollTo(0, 0);
  return wrong;
}"""
# What has the focus, in which view it lies, and whether it looks different from what has it not.
FOCUS = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  let node = document.activeElement;
  while (node && node.shadowRoot && node.shadowRoot.activeElement) node = node.shadowRoot.activeElement;
  if (!node || node === document.body) return null;
  const up = (part) => part.parentElement || part.getRootNode().host || null;
  const outer = [];
  for (let at = node; at && outer.length < 8; at = up(at)) outer.push(at);
  const inMain = document.querySelector('[data-testid=stMain]').contains(document.activeElement);
  const said = `${node.tagName.toLowerCase()} ${(node.getAttribute('aria-label') || node.textContent || node.type || '')
    .trim().slice(0, 40)}`;
  const look = () => JSON.stringify(outer.map((part) => {
    const style = getComputedStyle(part);
    return [style.outlineStyle === 'none' ? '' : style.outline, style.boxShadow, style.borderColor,
      style.backgroundColor, style.color, style.textDecorationLine];
  }));
  const focused = look();
  node.blur();
  await drawn();
  // Streamlit's table draws its focus itself.
  const shown = look() !== focused || !!node.closest('[data-testid=stDataFrame]');
  node.focus();
  let view = null;
  for (let at = node; at; at = up(at)) if (at.matches?.('.vv[data-component]')) view = at.dataset.component;
  return { shown, view, inMain, said };
}"""
# But in a box of code, whose button for copying would then take the focus and vanish with it.
STILL = ":not(.stCode, .stCode *) { transition: none !important; animation: none !important; }"
VIEWS = """(controls) => [...new Set(controls.map((node) => {
  let view = null;
  for (let at = node; at; at = at.parentElement || at.getRootNode().host)
    if (at.matches?.('.vv[data-component]')) view = at.dataset.component;
  return view;
}).filter(Boolean))]"""


@pytest.mark.slow  # ten seconds a page: .ci/run leaves it to `pytest --slow`
@pytest.mark.parametrize("slug", [entry.slug for entry in PAGES])
def test_a_page_is_for_everyone(open_page: OpenPage, slug: str) -> None:
    address = "" if slug == "home" else slug
    page = open_page(address, width=ZOOMED[0], height=ZOOMED[1], device_scale_factor=2)
    found = {}
    for size in (ZOOMED, PHONE):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        settle(page)
        found[size] = page.evaluate(f"() => ({UNREACHED})(({CONTROLS})())")
    assert found == {ZOOMED: [], PHONE: []}
    views = set(page.evaluate(f"() => ({VIEWS})(({CONTROLS})())"))
    reached, hidden, last = walk(page)
    assert views <= reached and hidden == []
    assert "Add to my lesson" in last or slug in ("lessons", "class_room")  # the end of the page


def walk(page: Page) -> tuple[set[str], list[str], str]:
    """(views that Tab comes to, stops whose focus does not show, the last stop) from the first control to the end."""
    page.add_style_tag(content=STILL)
    page.locator("[data-testid=stMain] h1").first.click(position={"x": 2, "y": 2})
    reached, hidden, last = set(), [], ""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None or not stop["inMain"]:
            return reached, hidden, last
        last = stop["said"]
        if stop["view"]:
            reached.add(stop["view"])
        if not stop["shown"]:
            hidden.append(stop["said"])
    raise AssertionError(f"Tab never leaves the page: last {last}")


FAULTY = """<div data-testid="stMain" style="width: 300px; height: 300px; overflow: auto"><h1>Title</h1>
<button>fine</button><button style="outline: none; border-color: red; background: white">unseen</button>
<div style="position: relative"><button>under</button><p style="position: absolute; inset: 0; margin: 0">over</p></div>
<div style="width: 300px; overflow: hidden"><button style="margin-left: 900px">outside</button></div>
<div style="width: 400px">wide</div></div>"""


def test_the_checks_see_what_is_wrong(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 640, "height": 400})
    page.set_content(FAULTY)
    found = page.evaluate(f"() => ({UNREACHED})(({CONTROLS})())")
    assert found == [
        "scrolls sideways by 100 px",
        "covered: button 'under' by p 'over'",
        "cut off: button 'outside'",
    ]
    assert walk(page) == (set(), ["button unseen"], "button outside")
    page.close()

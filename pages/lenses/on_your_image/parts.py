"""A face taken apart and put together wrong: parts that are dragged, and every model's answer to what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.on_your_picture import faces, model_choice, papers, part_selection, prediction
from pages.lenses.on_your_picture.model_choice import Compared
from pages.lenses.on_your_picture.parts_view import parts_view
from pages.selection import selection, substitute
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.assembly import Part, Parts, assembled, decode, emptied, encode, put_wrong
from vitviz.config import Preparation
from vitviz.data.face_parts import FACES, from_the_middle, parts_of
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import assembly as plots
from vitviz.plots.image_changes import Answered
from vitviz.probe.robustness import Sweep, sweep
from vitviz.text import percent, plain, plural

VIEW = "on_picture.parts"
FACE = "sample:cat"  # whose parts are known
MATHEMATICS = r"""
A part is a rectangle $R_i$ of what the models read; put together at places $p_i$ the picture is

$$
x'(p_i + o) = x(r_i + o) \text{ for } r_i + o \in R_i, \qquad x' = \frac{G(m\,x)}{G(m)} \text{ where a part is missing,}
$$

$m$ being 0 in all $R_i$ and 1 elsewhere, and $G$ a Gaussian: what lies around a hole, smoothed into it. A model that
answers by *which* parts there are gives $x'$ the class of $x$; one that answers by *where* they are need not.
"""


@dataclass(frozen=True, eq=False)
class Told:
    """One model's answers: to the whole picture, as it is put together, and put together wrong with one click."""

    name: str
    family: str
    whole: Sweep
    now: Sweep
    wrong: Sweep

    def chances(self, of: Sweep, watched: int) -> float:
        """The probability of the watched class."""
        return float(of.probabilities[0, watched])

    def lost(self, watched: int) -> float:
        """How much of it is gone where the parts lie wrong."""
        return self.chances(self.whole, watched) - self.chances(self.wrong, watched)

    @property
    def keeps(self) -> bool:
        """Whether it answers the wrong picture as the whole one."""
        return bool(self.whole.answers[0] == self.wrong.answers[0])


@st.fragment
def draw() -> None:
    """The models, the question, the picture with its parts, and what comes of it."""
    with page.row():
        choices = model_choice.choose()
    if not choices:
        return
    of = face(choices)
    named = known(of)
    parts, taken, mark = part_selection.now(
        (of.image, of.offset, of.grain_px),
        of.grain_px,
        VIEW,
        lambda: tuple(named.values()) or from_the_middle(of.grain_px),
    )
    found = [tell(of, i, parts) for i in range(len(of.choices))]
    watched = watched_of(of, found)
    keys = [choice.key for choice in of.choices]
    guessed = prediction.read(keys, ("apart", of.image, *keys)).guess
    if not guessed:
        what = plain(of.classes[watched])
        prediction.ask(
            keys, of.names, f"Put together wrong: which model loses most of its probability of {what}?"
        )
    show(of, parts, named, found, plots.Told(watched, of.truth, mark, taken.apart_seen))
    page.caption(describe(found, parts, watched, of.classes))
    if guessed:
        st.markdown(measured(of, found, keys.index(guessed) if guessed in keys else -1, watched))
        prediction.again()
        faces.draw()
    papers.say("parts")
    page.drawers(
        "on_picture.parts",
        math=MATHEMATICS,
        code=(assembled, emptied, put_wrong),
        numbers=partial(numbers, found, of.classes),
    )


def face(choices: tuple[ModelChoice, ...]) -> Compared:
    """The models with the chosen picture; where that is not one for them with the cat, whose parts are known."""
    image, said = substitute.picture(choices[0])
    if not said or choices[0].preparation.in_chans != 3:
        of = model_choice.compared(choices)
    else:
        of = Compared(choices, FACE, selection.current().offset)
        page.say(
            f":gray[These models never learned from the chosen picture's kind: here stands **{_title(FACE)}**.]"
        )
    if of.image != FACE and of.choices[0].preparation.in_chans == 3 and image != FACE:
        st.button(
            f"Take {_title(FACE)}, whose parts are known",
            key="on_picture.cat",
            type="tertiary",
            icon=":material/pets:",
            on_click=selection.set_image,
            args=(FACE,),
        )
    return of


def _title(image: str) -> str:
    return plain(cached.picture_title(image))


def known(of: Compared) -> dict[str, Part]:
    """The parts of a sample's face, by name; none of another picture."""
    kind, _, name = of.image.partition(":")
    if kind != "sample" or name not in FACES:
        return {}
    return parts_of(name, cached.prepared(of.image, of.preparation, of.offset).box, of.grain_px)


def tell(of: Compared, which: int, parts: Parts) -> Told:
    """One model's three answers."""
    choice = of.choices[which]
    model = cached.loaded(choice, of.steps[which])
    whole, now, wrong = (
        _answered(model.digest, model, of.image, of.preparation, of.offset, text)
        for text in ("", encode(parts), encode(put_wrong(parts, of.grain_px)))
    )
    return Told(of.names[which], model_choice.family(choice.config), whole, now, wrong)


@cached.per_picture(shared=240, upload=120)
def _answered(
    digest: str,
    _model: LoadedModel,
    image: str,
    preparation: Preparation,
    offset: cached.Offset,
    apart: str,
) -> Sweep:
    return sweep(_model, _frame(image, preparation, offset, apart)[None])


def _frame(image: str, preparation: Preparation, offset: cached.Offset, apart: str) -> np.ndarray:
    """What the models read, its parts as `apart` says; '' for the whole picture."""
    seen = cached.prepared(image, preparation, offset).shown
    return assembled(seen, decode(apart, len(seen)) or ())


def watched_of(of: Compared, found: Sequence[Told]) -> int:
    """The class whose probability is followed: the picture's, or what all models together answer to it."""
    if of.truth >= 0:
        return of.truth
    return int(np.mean([one.whole.probabilities[0] for one in found], axis=0).argmax())


def show(of: Compared, parts: Parts, named: dict[str, Part], found: Sequence[Told], told: plots.Told) -> None:
    """The picture with its parts, and every model's answer to it."""
    frames = np.stack([of.seen, assembled(of.seen, parts), emptied(of.seen, parts)])
    apart = plots.Apart(frames, parts, named, told)
    answered = [
        Answered(
            one.name,
            one.now.by,
            np.concatenate([one.whole.probabilities, one.now.probabilities]),
            np.concatenate([one.whole.views, one.now.views]),
        )
        for one in found
    ]
    ground = model_choice.ground(of.image, of.preparation, of.offset)
    parts_view(plots.payload(apart, answered, ground, of.classes), key=VIEW)


def describe(found: Sequence[Told], parts: Parts, watched: int, classes: Sequence[str]) -> str:
    """Who still answers as before, and who has lost most of the watched class, as it is put together now."""
    if all(part.at_home for part in parts):
        return (
            "Every part lies where it was cut: these are the answers to the picture itself. Drag a part, or put the"
            " picture together wrong with one click."
        )
    keep = sum(int(one.whole.answers[0] == one.now.answers[0]) for one in found)
    falls = [one.chances(one.whole, watched) - one.chances(one.now, watched) for one in found]
    most = found[int(np.argmax(falls))]
    of = f"{keep} of {plural(len(found), 'model')} {'answers' if keep == 1 else 'answer'}"
    said = f"As it lies now, {of} as to the whole picture."
    if max(falls) <= 0:
        return f"{said} None gives {plain(classes[watched])} less."
    return (
        f"{said} {plain(most.name)} loses{' most' if len(found) > 1 else ''}: its {plain(classes[watched])} goes from"
        f" {percent(most.chances(most.whole, watched))} to {percent(most.chances(most.now, watched))}."
    )


def measured(of: Compared, found: Sequence[Told], guessed: int, watched: int) -> str:
    """What one click does to every model, whether the guess was right, and whether the lecture's claim holds here."""
    lost = [one.lost(watched) for one in found]
    best = [i for i, one in enumerate(lost) if one == max(lost) and one > 0]
    verdict = ""
    if guessed >= 0:
        verdict = f"You said {plain(found[guessed].name)}: {'right' if guessed in best else 'not so'}. "
    each = "; ".join(
        f"{plain(one.name)} {percent(one.chances(one.whole, watched))} → {percent(one.chances(one.wrong, watched))}"
        for one in found
    )
    what = plain(of.classes[watched])
    loses = "loses most of its" if len(best) == 1 else "lose most of their"
    who = (
        f"**{' and '.join(plain(found[i].name) for i in best)}** {loses} {what}, {100 * max(lost):.1f} points"
        if best
        else f"no model loses any of its {what}"
    )
    return f"{verdict}Put together wrong with one click, {who}. {each}. {claim(found, of.truth, of.classes)}".strip()


def claim(found: Sequence[Told], truth: int, classes: Sequence[str]) -> str:
    """The lecture's sentence against what CNN and ViT answer here; '' where there are not both.

    Who does not know the whole picture has nothing to lose: of it the sentence is not tested.
    """
    first = {one.family: one for one in reversed(found)}
    if not {"CNN", "ViT"} <= first.keys():
        return ""
    said = "The lecture: a CNN still takes a scrambled face for a face, a ViT sees that the parts lie wrong."
    both = {family: first[family] for family in ("CNN", "ViT")}
    blind = [family for family, one in both.items() if truth >= 0 and int(one.whole.answers[0]) != truth]
    if blind:
        takes = " and ".join(
            f"the {family} takes it for {plain(classes[int(both[family].whole.answers[0])])}"
            for family in blind
        )
        return f"{said} This picture cannot show it: whole as it is, {takes}."
    does = {True: "keeps its answer", False: "changes its answer"}
    agrees = both["CNN"].keeps and not both["ViT"].keeps
    return (
        f"{said} Here the CNN {does[both['CNN'].keeps]} and the ViT {does[both['ViT'].keeps]}:"
        f" {'so it is on this picture' if agrees else 'not so on this picture'}."
    )


def numbers(found: Sequence[Told], classes: Sequence[str]) -> None:
    """Every probability, to take away."""
    columns: dict[str, list[object]] = {name: [] for name in ("model", "picture", "class", "probability")}
    for one in found:
        for picture, of in (("whole", one.whole), ("as it lies", one.now), ("wrong", one.wrong)):
            columns["model"] += [one.name] * len(classes)
            columns["picture"] += [picture] * len(classes)
            columns["class"] += list(classes)
            columns["probability"] += [float(chance) for chance in of.probabilities[0]]
    st.dataframe(columns, hide_index=True, height=240)
    page.csv("Probabilities (CSV)", columns, "in_parts.csv", "on_picture.parts.csv")

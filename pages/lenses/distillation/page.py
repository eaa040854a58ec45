"""DeiT: a student's second token, and what it has learned from a teacher."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.distillation import student_training, teacher_effect, token_agreement
from pages.selection import selection, subject, substitute
from pages.selection.subject import Subject
from pages.stores import cached, catalogue, runs
from pages.stores.model_choice import ModelChoice
from pages.views.bars import bars
from pages.views.maps import maps
from vitviz.analysis import student_tokens as analysis
from vitviz.analysis.map_similarity import shared_mass
from vitviz.config import ModelConfig, ViTConfig
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.attention import maps_view
from vitviz.plots.distillation import disagreement_figure, similarity_figure
from vitviz.text import apart, percent, plain, signed
from vitviz.training.distillation import distillation_loss

MEASURED = "distillation.json"
TAUGHT = {"hard": "answers, not its probabilities", "soft": "probabilities, not its answers alone"}
NOT_SHIPPED = "Measured for shipped students beside their teacher; this model is none of them."
STREAM = ("embedded", "blocks.*", "logits_cls", "logits_dist")
TOP = 4  # classes in a voice's bars
MEAN = "mean"
REPEATS = "Repeats the teacher's mistakes"
FloatArray = NDArray[np.floating[Any]]
Voice = tuple[tuple[str, ...], FloatArray]  # class names and probabilities
MATH = r"""
A student carries a second token, [DIST], beside [CLS]: $N + 2$ positions, two heads. With the teacher's hard decision
$y_t = \arg\max_c Z_t(c)$ (Touvron et al. 2021, equation 3):

$$
L = \tfrac12\,\mathrm{CE}\bigl(Z_{cls},\, y\bigr) + \tfrac12\,\mathrm{CE}\bigl(Z_{dist},\, y_t\bigr).
$$

Where pictures are mixed (mixup, CutMix), $y$ is the mixture of both labels, and the teacher decides about the mixed
picture that the student sees.

At test time the model answers with the mean of the two heads' logits, $(Z_{cls} + Z_{dist}) / 2$, as timm does; the
paper adds the two softmaxes, $\mathrm{softmax}(Z_{cls}) + \mathrm{softmax}(Z_{dist})$. Softly, with
temperature $\tau$ and weight $\lambda$ (3 and 0.1 in the paper):
$(1-\lambda)\,\mathrm{CE}(Z_{cls}, y) + \lambda\tau^2\,\mathrm{KL}(p_t\,\|\,p_{dist})$ with
$p = \mathrm{softmax}(Z/\tau)$.

**Cosine of the two tokens** after every layer: $\frac{x_{cls}\cdot x_{dist}}{\|x_{cls}\|\,\|x_{dist}\|}$. In the
paper's ImageNet models it is 0.06 as they enter and 0.93 at the end. **Shared mass** of two rows of attention:
$\sum_k \min(a_k, b_k)$ over all keys.
"""
ASKS = (
    Question(
        "Which share of their attention do [CLS] and [DIST] have in common in the last layer?",
        model_measures.TokensShare(),
    ),
)


def student() -> tuple[ModelChoice, int]:
    """The sidebar's model and step if it has a distillation token; else the nearest student."""
    chosen = selection.choice()
    if has_two_heads(chosen.config):
        return chosen, selection.current().step
    best = substitute.nearest(has_two_heads)
    return best, best.steps[-1]


def has_two_heads(config: ModelConfig) -> bool:
    """Whether a model has a second token, and a head for each."""
    return bool(abilities(config).distillation)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="distillation"):
    """The layer, from 1, and the head of its attention, from 1, or 'mean'."""

    block: int
    head: int | str

    @property
    def one_head(self) -> int | None:
        """The head; None for the mean of all."""
        return self.head if isinstance(self.head, int) else None


@dataclass(frozen=True)
class OwnPicture(widgets.Chosen, page="distillation"):
    """Whether the chosen picture is shown although the student never learned from such ones."""

    own_picture: bool


def choose(config: ViTConfig) -> Choice:
    """Draws the controls."""
    with page.row():
        with st.container(width=168):
            block = widgets.slider(Choice.key("block"), "Layer", 1, config.depth, config.depth)
        heads: list[int | str] = [MEAN, *range(1, config.num_heads + 1)]
        with st.container(width="content"):
            head = widgets.segmented(Choice.key("head"), "Head", heads, MEAN)
    return Choice(block, head)


def look(now: Subject, block: int, head: int | None) -> tuple[FloatArray, FloatArray]:
    """The rows of [CLS] and [DIST] over all keys, of one head or the mean."""
    heads = now.attn[block - 1]
    rows = heads.mean(axis=0) if head is None else heads[head - 1]
    return rows[0], rows[1]


def opinions(now: Subject, teacher: ModelChoice | None) -> dict[str, Voice]:
    """Class names and probabilities of every voice on this picture."""
    found = now.capture(STREAM)
    voices: dict[str, Voice] = {
        "[CLS] head": (now.classes, subject.probabilities(now.model, found["logits_cls"][0])),
        "[DIST] head": (now.classes, subject.probabilities(now.model, found["logits_dist"][0])),
    }
    if teacher is not None:
        logits = cached.captured(teacher, None, now.image, ("logits",), now.offset).logits[0]
        loaded = cached.loaded(teacher)
        voices = {
            f"Teacher: {teacher.title}": (loaded.classes, subject.probabilities(loaded, logits)),
            **voices,
        }
    return voices


def stage(now: Subject, block: int, head: int | None, teacher: ModelChoice | None) -> None:
    """Where both tokens look, and what every voice says of the picture."""
    pictures, voices = st.columns([2, 1], gap="medium")
    by_cls, by_dist = look(now, block, head)
    prefix = now.layout.num_prefix_tokens
    rows = np.stack([by_cls, by_dist])
    names = ("[CLS]", "[DIST]")
    with pictures:
        on_patches = rows[:, prefix:].sum(axis=1)
        maps(
            maps_view(
                now.ground(seen=False),
                rows[:, prefix:],
                [f"{name} looks at" for name in names],
                now.layout.grid,
                shared_scale=True,
                notes=[f"{percent(share, 0)} of its mass on patches" for share in on_patches],
            ),
            key="distillation.maps",
        )
        which = "on the mean of all heads" if head is None else f"in head {head}"
        page.caption(
            f"Layer {block}, {which}: the two tokens share"
            f" {percent(float(shared_mass(*rows)), 0)} of their attention."
            f" [CLS] gives {percent(by_cls[0])} to itself and {percent(by_cls[1])} to [DIST]; [DIST]"
            f" {percent(by_dist[1])} to itself and {percent(by_dist[0])} to [CLS]. One scale for both."
        )
    with voices:
        for index, (name, (classes, chances)) in enumerate(opinions(now, teacher).items()):
            st.markdown(f"**{name}**")
            top = np.argsort(-chances, kind="stable")[:TOP]
            bars([classes[i] for i in top], chances[top], key=f"distillation.voice{index}")
        page.caption(together(now))


def together(now: Subject) -> str:
    """What both heads say as one, by either way of combining them."""
    found = now.capture(STREAM)
    both = analysis.combined(found["logits_cls"][0], found["logits_dist"][0])
    mean, total = (
        f"{plain(now.classes[int(chances.argmax())])} at {percent(float(chances.max()))}"
        for chances in both.values()
    )
    return (
        f"Together: {mean} by the mean of the logits, which is timm's and this app's answer; {total} by the paper's sum"
        " of the softmaxes."
    )


def depth(now: Subject, choice: ModelChoice, block: int) -> None:
    """How alike the two tokens are after every layer."""
    st.subheader("How alike are the two tokens?", anchor=False)
    similarity = _similarity(now)
    first = choice.steps[0]
    start = None if now.step == first else _similarity(subject.of(choice, first, now.image))
    page.figure(similarity_figure(similarity, start, block, selection.mode()), "distillation.similarity")
    far = int(similarity.argmin())
    before = "" if start is None else f" Before training the last was {signed(start[-1])}."
    page.caption(
        f"They enter with a cosine of {signed(similarity[0])} and leave layer {len(similarity) - 1} with"
        f" {signed(similarity[-1])}; they are furthest apart {'as they enter' if not far else f'after layer {far}'}."
        + before
    )


def _similarity(now: Subject) -> NDArray[np.float64]:
    found = now.capture(STREAM)
    layers = len([name for name in found.arrays if name.removeprefix("blocks.").isdigit()])
    stream = [found["embedded"][0], *(found[f"blocks.{layer}"][0] for layer in range(layers))]
    return analysis.token_similarity(np.stack(stream))


def teacher_of(choice: ModelChoice) -> ModelChoice | None:
    """The shipped model that a student was taught by, as its file says; None where it has none, or another."""
    if choice.path is None:
        return None
    header = catalogue.header(choice.path)
    if header.train is None or header.train.distill_from is None:
        return None
    found = selection.models().get(f"checkpoint:{Path(header.train.distill_from).stem}")
    if found is None or found.path is None:
        return None
    digest = f"{catalogue.header(found.path).digest}:{found.last_step}"
    return found if header.card.get("teacher") in (None, "", digest) else None


def measured(choice: ModelChoice) -> dict[str, Any] | str:
    """What was measured for exactly these files, or a sentence about why there is nothing."""
    file = catalogue.CHECKPOINTS / MEASURED
    if not file.is_file() or choice.path is None or not choice.key.startswith("checkpoint:"):
        return NOT_SHIPPED
    stored = json.loads(file.read_text("utf-8"))
    entry = stored["students"].get(choice.path.stem)
    if entry is None:
        return NOT_SHIPPED
    for name, digest in entry["digests"].items():
        path = catalogue.CHECKPOINTS / f"{name}.safetensors"
        if not path.is_file() or catalogue.header(path).digest != digest:
            when, how = stored["measured"], stored["command"]
            return f"A file has changed since this was measured on {when}: measure again with `{how}`."
    found: dict[str, Any] = entry | {"date": stored["measured"], "command": stored["command"]}
    return found


def twin_of(choice: ModelChoice, entry: dict[str, Any] | str) -> ModelChoice | None:
    """The model without a teacher that a student was measured, or trained, beside; None where there is none."""
    if isinstance(entry, str):
        run = runs.find(choice.key.removeprefix("run:")) if choice.key.startswith("run:") else None
        beside = None if run is None else token_agreement.twin_in_run(run)
        return None if beside is None else selection.models().get(f"run:{beside.id}")
    return None if entry["twin"] is None else selection.models().get(f"checkpoint:{entry['twin']}")


def agreement(entry: dict[str, Any] | str) -> None:
    """Who decides differently from whom, over all test pictures."""
    if isinstance(entry, str):
        st.markdown(f":gray[{entry}]")
        return
    names, differs, accuracy = entry["names"], np.array(entry["differs"]), entry["accuracy"]
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with left:
        page.figure(disagreement_figure(names, differs, selection.mode()), "distillation.differs")
    with right:
        helped = st.column_config.NumberColumn(
            help="Share of the teacher's wrong pictures that get the same wrong class."
        )
        page.table(
            {"Voice": names, "Accuracy": accuracy, REPEATS: [None, *entry["repeats"][1:]]},
            dict.fromkeys(("Accuracy", REPEATS), percent),
            {REPEATS: helped},
            "distillation.voices",
        )
    page.caption(describe_agreement(entry))


def describe_agreement(entry: dict[str, Any]) -> str:
    """Which head stands nearer to the teacher, and what the teacher was worth."""
    names, differs, accuracy = entry["names"], np.array(entry["differs"]), entry["accuracy"]
    cls, dist, both = (names.index(name) for name in ("[CLS] head", "[DIST] head", "both heads"))
    nearer, other = sorted((cls, dist), key=lambda voice: differs[0, voice])
    text = (
        f"Percent of {entry['pictures']:,} test pictures that two voices decide differently. The {names[nearer]}"
        f" differs from the teacher on {percent(differs[0, nearer])}, the {names[other]} on"
        f" {percent(differs[0, other])}. [DIST] learnt the teacher's {TAUGHT[entry['taught']]}."
    )
    if "twin" in names:
        twin = names.index("twin")
        gain = apart(accuracy[both], accuracy[twin])
        noise = 200 * float(np.sqrt(entry["discordant"] / entry["pictures"]))  # two standard errors, paired
        text += (
            f" The twin without a teacher differs on {percent(differs[0, twin])}; with a teacher and its token the same"
            f" body, after as many updates, is {abs(gain):.1f} points {'better' if gain >= 0 else 'worse'}"
            f" ({percent(accuracy[both])} against {percent(accuracy[twin])}),"
            f" {'more' if abs(gain) > noise else 'no more'} than the {noise:.1f} points that the"
            " choice of so many test pictures alone can make. Another seed would move both models as well."
        )
    added = "both, added"
    if added in names:
        total = percent(accuracy[names.index(added)])
        text += (
            f" With the heads' softmaxes added, as in the paper, it has {total}; the mean of their logits,"
            f" 'both heads' here, {percent(accuracy[both])}."
        )
    return text + f" Measured at the last step, {entry['date']}, with `{entry['command']}`."


def tokens() -> None:
    """Where both tokens look at one picture, what they say of it, and how alike they are layer by layer."""
    chosen, step = student()
    substitute.say_which(
        chosen, lacks="distillation token", button="Choose this student", key="distillation.choose"
    )
    seen = subject.of(chosen, step, substitute.picture_or_own(chosen, OwnPicture.key("own_picture")))
    said = choose(as_vit(chosen.config))
    stage(seen, said.block, said.one_head, teacher_of(chosen))
    depth(seen, chosen, said.block)
    page.drawers(
        "distillation",
        math=MATH,
        code=(distillation_loss, analysis.combined, analysis.token_similarity, shared_mass),
        asks=ASKS,
        at=seen,
    )


def voices() -> None:
    """Who decides like whom over many pictures, and what the student takes over from its teacher."""
    chosen, step = student()
    substitute.say_which(
        chosen, lacks="distillation token", button="Choose this student", key="distillation.choose"
    )
    entry = measured(chosen)
    agreement(entry)
    token_agreement.draw(chosen, step, teacher_of(chosen), twin_of(chosen, entry))
    page.drawers("distillation.voices", code=(analysis.disagreement, analysis.combined))


def lesson() -> None:
    """A lesson of one's own, and the whole one on CIFAR-10."""
    student_training.draw()
    selection.link_to(
        "live_lab", "Train a student of CIFAR-10, live", **{"live_lab.recipe": "cifar10_deit_soft"}
    )
    page.drawers("distillation.lesson", code=(student_training.lesson, distillation_loss))


VIEWS = {
    "tokens": ("Two tokens", tokens),
    "voices": ("Who decides like whom?", voices),
    "worth": ("Does a teacher help?", teacher_effect.draw),
    "lesson": ("Teach one yourself", lesson),
}


@dataclass(frozen=True)
class View(widgets.Chosen, page="distillation"):
    """Which of `VIEWS` is shown."""

    view: str


entry_of_page = registry.BY_SLUG["distillation"]
page.header(entry_of_page.title, entry_of_page.question)
widgets.hold(Choice, OwnPicture, token_agreement.Choice, teacher_effect.Choice, student_training.Choice)
sections.choose(View.key("view"), VIEWS)()

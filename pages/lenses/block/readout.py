"""After the last block: LayerNorm and the head, with the numbers that make the class."""

from __future__ import annotations

import streamlit as st

from pages.frame import page
from pages.lenses.block.block_view import block as draw_block
from pages.selection.subject import Subject
from pages.views.bars import bars
from vitviz.analysis.readout import READS, Answer, answer_of, steps_of_answer
from vitviz.config import ViTConfig
from vitviz.probe.block_record import Record
from vitviz.probe.logit_lens import readout_weights
from vitviz.text import percent, plain, plural, signed

SHOWN = 5  # classes


def describe(found: Answer, reads: str, classes: tuple[str, ...]) -> str:
    """Which class wins, by how much, and how few channels decide it, from the dot products."""
    first, second = found.order[:2]
    lead = float(found.logits[first] - found.logits[second])
    half = _until_half(found)
    return (
        f"The head reads {reads}. **{plain(classes[first])}** wins with the logit {signed(float(found.logits[first]))},"
        f" {lead:.2f} above {plain(classes[second])}, which the softmax makes"
        f" {percent(found.probabilities[first])}: e to the power of {lead:.2f} times as much as"
        f" {plain(classes[second])}'s {percent(found.probabilities[second])}. Half of what speaks for it comes from"
        f" {plural(half, 'channel')} of {len(found.products)}."
    )


def _until_half(found: Answer) -> int:
    """How many of the strongest channels hold half of all that is positive among the products."""
    gains = sorted((float(value) for value in found.products if value > 0), reverse=True)
    total, count = 0.0, 0
    while count < len(gains) and total < sum(gains) / 2:
        total, count = total + gains[count], count + 1
    return count


def draw(now: Subject, config: ViTConfig, record: Record) -> None:
    """The steps from the last block to the classes, their probabilities, and what they say."""
    st.subheader("After the last block: LayerNorm and head", anchor=False)
    if not now.able.class_head:
        st.info(now.able.class_head.why_not, icon=":material/block:")
        return
    weights, prefix = readout_weights(now.model.vit), now.layout.prefix
    found = answer_of(record["output"], weights, config.readout, prefix)
    reads = "[CLS] and [DIST], with a head for each" if found.second is not None else READS[config.readout][0]
    draw_block(
        steps_of_answer(found, config.readout, now.classes, normed=weights.gain is not None),
        picture=now.prepared.shown,
        layout=now.layout,
        token=0,
        head=1,
        heads=config.num_heads,
        key="block.answer",
        on_change=_nothing,
    )
    top = found.order[:SHOWN]
    bars([now.classes[i] for i in top], found.probabilities[top], key="block.classes")
    page.caption(describe(found, reads, now.classes))


def _nothing() -> None:
    """A channel of the answer is no channel of a norm: a click on it changes nothing."""

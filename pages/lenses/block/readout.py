"""LayerNorm and classifier head after the last block, with the numbers that make the prediction."""

import streamlit as st

from pages.frame import page
from pages.lenses.block.block_view import draw_steps
from pages.lenses.block.captions import describe_readout
from pages.selection.subject import Subject
from pages.views.bars import draw_bars
from vitviz.analysis.readout import READS, list_readout_steps, predict_from_stream
from vitviz.config import ViTConfig
from vitviz.probe.layers import Record
from vitviz.probe.logits import readout_weights

MOST_CLASSES = 5


def draw(subject: Subject, config: ViTConfig, record: Record) -> None:
    st.subheader("After the last block: LayerNorm and classifier head", anchor=False)
    if not subject.able.class_head:
        st.info(subject.able.class_head.why_not, icon=":material/block:")
        return
    weights, prefix = readout_weights(subject.model.vit), subject.layout.prefix
    answer = predict_from_stream(record["output"], weights, config.readout, prefix)
    readout = (
        "[CLS] and [DIST], with a head for each" if answer.second is not None else READS[config.readout][0]
    )
    draw_steps(
        list_readout_steps(answer, config.readout, subject.classes, normed=weights.gain is not None),
        subject,
        token=0,
        head=1,
        heads=config.num_heads,
        key="block.answer",
    )
    top = answer.order[:MOST_CLASSES]
    draw_bars([subject.classes[i] for i in top], answer.probabilities[top], key="block.classes")
    page.caption(describe_readout(answer, readout, subject.classes))

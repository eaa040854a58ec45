"""An image taken apart and put together: by hand, as a link holds it, and as it travels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import photo_of, unpack
from vitviz.analysis.image_parts import (
    MOST,
    ImagePart,
    PlacedParts,
    assemble,
    cut_part,
    decode_parts,
    encode_parts,
    fill_holes,
    misplace_parts,
)
from vitviz.data.faces import ARRANGEMENTS, PARTS, arranged, faces_dataset, from_the_middle, parts_of
from vitviz.plots.image_changes import Answered, AssemblyHeader, ImageParts, pack_parts
from vitviz.plots.photo import encode_photo

SIZE = 16
IMAGE = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
EYES = (cut_part(2, 2, 4, 2), cut_part(10, 2, 4, 2), cut_part(6, 10, 5, 3))


@st.composite
def cuts(draw: st.DrawFn) -> PlacedParts:
    parts = []
    for _ in range(draw(st.integers(1, MOST))):
        width, height = draw(st.integers(2, SIZE)), draw(st.integers(2, SIZE))
        ends = [draw(st.integers(0, SIZE - side)) for side in (width, height, width, height)]
        parts.append(ImagePart(ends[0], ends[1], width, height, ends[2], ends[3]))
    return tuple(parts)


def test_parts_at_home_make_the_image_itself() -> None:
    assert np.array_equal(assemble(IMAGE, EYES), IMAGE)
    assert np.array_equal(assemble(IMAGE, ()), IMAGE)


def test_a_part_that_is_moved_is_there_and_its_place_is_filled_from_around() -> None:
    flat = np.full((SIZE, SIZE, 3), 50, np.uint8)
    flat[4:6, 4:6] = 200
    (part,) = (ImagePart(4, 4, 2, 2, 10, 12),)
    out = assemble(flat, (part,))
    assert (out[12:14, 10:12] == 200).all() and (out[4:6, 4:6] == 50).all()
    assert (
        np.delete(out.reshape(-1, 3), [y * SIZE + x for y in (12, 13) for x in (10, 11)], axis=0) == 50
    ).all()
    everything = fill_holes(IMAGE, (cut_part(0, 0, SIZE, SIZE),))
    assert np.array_equal(everything[3, 3], np.rint(IMAGE.mean(axis=(0, 1))))


def test_later_parts_lie_over_earlier_ones() -> None:
    over = (ImagePart(0, 0, 2, 2, 8, 8), ImagePart(4, 4, 2, 2, 8, 8))
    assert np.array_equal(assemble(IMAGE, over)[8:10, 8:10], IMAGE[4:6, 4:6])


def test_put_together_wrong_each_lies_about_anothers_middle() -> None:
    left, right, mouth = misplace_parts(EYES, SIZE)
    assert (left.x, left.y) == (10, 2) and (right.x, right.y) == (6, 10) and (mouth.x, mouth.y) == (1, 1)
    (alone,) = misplace_parts((cut_part(1, 2, 4, 3),), SIZE)
    assert (alone.x, alone.y) == (SIZE - 4 - 1, SIZE - 3 - 2)


@given(cuts())
def test_what_a_link_holds_is_what_was_put_together(parts: PlacedParts) -> None:
    assert decode_parts(encode_parts(parts), SIZE) == parts
    wrong = misplace_parts(parts, SIZE)
    assert decode_parts(encode_parts(wrong), SIZE) == wrong  # no part leaves the image
    assert assemble(IMAGE, wrong).shape == IMAGE.shape


@pytest.mark.parametrize("text", ["", "0", "000000", "00__00", "é01100", "001100" * 9, "f01100", "0011f0"])
def test_what_is_no_arrangement_is_refused(text: str) -> None:
    """Too short, a side of 1 px, a side too long, a strange sign, too many, a cut or a place beyond the edge."""
    assert decode_parts(text, SIZE) is None
    assert decode_parts("001100", SIZE) == (ImagePart(0, 0, 2, 2, 0, 0),)


def test_the_cats_parts_follow_the_crop() -> None:
    named = parts_of("cat", (0.0, 75.5, 300.0, 300.0), 32)
    assert list(named) == ["left eye", "right eye", "nose", "ear"]
    assert named["left eye"] == cut_part(6, 9, 9, 7)  # (132 - 75.5) / 9.375, 80 / 9.375, to 216 and 154
    assert "ear" not in parts_of("cat", (0.0, 0.0, 300.0, 300.0), 32)  # beyond the left crop
    assert parts_of("coffee", (0.0, 0.0, 400.0, 400.0), 32) == {}
    assert from_the_middle(32) == (
        cut_part(8, 8, 8, 8),
        cut_part(16, 8, 8, 8),
        cut_part(8, 16, 8, 8),
        cut_part(16, 16, 8, 8),
    )


def test_faces_are_put_together_otherwise_and_backgrounds_are_none() -> None:
    data = faces_dataset()
    assert data.train_images.shape == (140, 24, 24, 1) and len(data.test_images) == 60
    faces = data.test_images[data.labels_of("test") == 1]
    found = {name: arranged(faces, name) for name in ARRANGEMENTS}
    assert np.array_equal(found["whole"], faces) and np.array_equal(found["turned"], faces[:, ::-1, ::-1])
    for face, wrong, shuffled in zip(faces, found["wrong"], found["shuffled"], strict=True):
        assert np.array_equal(np.sort(shuffled, axis=None), np.sort(face, axis=None))
        eye, nose = PARTS[0], misplace_parts(PARTS, 24)[0]
        piece = face[eye.top : eye.top + eye.height, eye.left : eye.left + eye.width]
        assert np.array_equal(wrong[nose.y : nose.y + nose.height, nose.x : nose.x + nose.width], piece)
    # learned and tested faces are different people's images
    assert not {face.tobytes() for face in faces} & {face.tobytes() for face in data.train_images}


def test_the_photograph_travels_whole_and_without_its_parts() -> None:
    ground = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    part = ImagePart(2, 4, 4, 2, 8, 8)
    frames = np.stack([IMAGE, assemble(IMAGE, (part,)), fill_holes(IMAGE, (part,))])
    chances, views = np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[[0.0, 1.0]], [[2.0, 0.5]]])
    header, arrays = unpack(
        pack_parts(
            ImageParts(frames, (part,), {"nose": cut_part(2, 4, 4, 2)}, AssemblyHeader(1, -1, 3, False)),
            [Answered("a", "cnn", "gradient", chances, views)],
            encode_photo(ground),
            ("cat", "dog"),
        )
    )
    both = photo_of(arrays)
    assert both.shape == (128, 64, 3) and np.array_equal(both[:64], ground)
    hole = np.zeros((64, 64), bool)
    hole[16:24, 8:24] = True  # four times as many pixels as the models see
    assert np.array_equal(both[64:][~hole], ground[~hole]) and not np.array_equal(
        both[64:][hole], ground[hole]
    )
    assert header["parts"] == [[2, 4, 4, 2, 8, 8]] and header["named"] == {"nose": [2, 4, 4, 2]}
    assert (header["watched"], header["mark"], header["photograph"]) == (1, 3, True)
    assert arrays["view0"].tolist() == [[[0, 128]], [[255, 64]]]

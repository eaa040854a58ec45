"""Classes in their database: teacher, learners, shared view, and behaviour when clocks and disks fail."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from vitviz.classes import class_store, teacher_images
from vitviz.classes import class_store as module
from vitviz.classes.class_store import LIFE_S, Attendance, ClassStore, clean_name, hash_member
from vitviz.classes.codes import (
    ALPHABET,
    LENGTH,
    CodeAttempts,
    DelayedAttempts,
    format_code,
    generate_code,
    parse_code,
)
from vitviz.classes.database import NAME, ClassError
from vitviz.classes.shared_view import LessonText, SharedView, build_shared_view, is_private
from vitviz.lessons.lesson import Link

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600.0
PAGE = SharedView(Link("patches", (("model", "checkpoint:digits_vit"), ("pin", "cls"))), "fifteen", 3)


class Time:
    """A clock that is set by hand, as the system's can be."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def classes(tmp_path: Path, clock: Time) -> ClassStore:
    return ClassStore(tmp_path / "runs" / NAME, clock)


def long_ago(classes: ClassStore, code: str, seconds: float) -> None:
    """Age the teacher's last heartbeat without a jump of the clock."""
    with classes.database.writing() as file:
        file.execute("UPDATE class SET seen = seen - ? WHERE code = ?", (seconds, code))


def test_a_code_is_read_as_people_type_it() -> None:
    codes = {generate_code() for _ in range(200)}
    assert len(codes) == 200 and all(len(code) == LENGTH and {*code} <= {*ALPHABET} for code in codes)
    assert not {*"01OIUL"} & {*ALPHABET}
    assert parse_code(" k7q-m4t ") == parse_code("K7Q M4T") == "K7QM4T"
    assert format_code("K7QM4T") == "K7Q\N{NO-BREAK SPACE}M4T"
    for wrong in ("", "K7QM4", "K7QM4TT", "K7QM40", "'; DROP", "K" * 999, "ｋ7QM4T"):
        assert parse_code(wrong) is None, wrong


def test_a_class_is_opened_shown_and_closed_by_its_teacher_alone(classes: ClassStore) -> None:
    assert classes.load("K7QM4T") is None and classes.list_codes("teacher") == []
    code = classes.open("teacher")
    room = classes.load(code)
    assert room is not None and (room.teacher, room.version, room.shown) == ("teacher", 0, None)
    assert classes.show(code, PAGE) == 1
    room = classes.load(code)
    assert room is not None and room.shown == PAGE
    classes.close(code, "somebody else")
    assert classes.load(code) is not None
    classes.close(code, "teacher")
    assert classes.load(code) is None
    with pytest.raises(ClassError, match="closed"):
        classes.show(code, PAGE)


def test_who_is_here_is_counted_and_not_named(classes: ClassStore, clock: Time) -> None:
    code = classes.open("teacher")
    for token, follows in (("a", True), ("b", True), ("c", False)):
        classes.record_learner(code, hash_member(code, token), follows, f"name of {token}")
    assert classes.count_present(code) == Attendance(3, 2)
    clock.now += module.PRESENT_S - 1
    classes.record_learner(code, hash_member(code, "a"), False)
    assert classes.count_present(code) == Attendance(3, 1)
    clock.now += 2
    assert classes.count_present(code) == Attendance(1, 0)
    classes.leave(code, hash_member(code, "a"))
    assert classes.count_present(code) == Attendance(0, 0)
    assert hash_member(code, "a") != hash_member("K7QM4T", "a") and "a" * 6 not in hash_member(code, "a" * 6)


def test_a_class_is_gone_twelve_hours_after_the_last_sign(classes: ClassStore) -> None:
    code = classes.open("teacher")
    classes.record_learner(code, "me", True)
    teacher_images.store_image(classes, code, np.zeros((4, 4, 3), np.uint8))
    long_ago(classes, code, LIFE_S - 60)
    assert classes.load(code) is not None
    classes.record_teacher(code)
    long_ago(classes, code, LIFE_S + 60)
    assert classes.load(code) is None and classes.list_codes("teacher") == []
    classes.sweep()
    with classes.database.reading() as file:
        assert file is not None
        for table in ("class", "member", "picture"):
            assert file.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("jump", [13 * HOUR, -13 * HOUR])
def test_a_clock_that_is_set_ends_no_class(classes: ClassStore, clock: Time, jump: float) -> None:
    code = classes.open("teacher")
    assert classes.load(code) is not None
    clock.now += jump  # while the class sits there
    classes.sweep()
    assert classes.load(code) is not None
    classes.record_teacher(code)  # its teacher's page says so every few seconds, by the new time
    assert (
        ClassStore(classes.database.path, clock).load(code) is not None
    )  # another process, which saw no jump


def test_what_there_may_be_is_bounded(classes: ClassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(module.MAX_PER_TEACHER):
        code = classes.open("teacher")
    with pytest.raises(ClassError, match="close one first"):
        classes.open("teacher")
    monkeypatch.setattr(module, "MAX_CLASSES", 3)
    with pytest.raises(ClassError, match="maximum of classes"):
        classes.open("another")
    monkeypatch.setattr(module, "MAX_MEMBERS", 2)
    classes.record_learner(code, "a", True)
    classes.record_learner(code, "b", True)
    classes.record_learner(code, "b", False)
    with pytest.raises(ClassError, match="full"):
        classes.record_learner(code, "c", True)
    with pytest.raises(ClassError, match="closed"):
        classes.record_learner("K7QM4T", "a", True)
    assert clean_name("  a\nb\0  " + "x" * 999) == "a b " + "x" * 20 and clean_name("\u202e\n") == ""


def test_two_processes_write_one_file(classes: ClassStore) -> None:
    code = classes.open("teacher")
    script = (
        "import sys; from pathlib import Path; from vitviz.classes.class_store import ClassStore\n"
        "classes = ClassStore(Path(sys.argv[1]))\n"
        "for i in range(40): classes.record_learner(sys.argv[2], f'{sys.argv[3]} {i}', True)"
    )
    # The fixture's clock is not the other processes': they are counted as members, not as present.
    command = [sys.executable, "-c", script, str(classes.database.path), code]
    others = [subprocess.Popen([*command, str(i)], cwd=ROOT) for i in range(2)]
    versions = [classes.show(code, PAGE) for _ in range(40)]
    assert [other.wait(120) for other in others] == [0, 0]
    assert versions == list(range(1, 41))
    with classes.database.reading() as file:
        assert file is not None and file.execute("SELECT count(*) FROM member").fetchone() == (80,)


def test_many_threads_share_the_file(classes: ClassStore) -> None:
    code = classes.open("teacher")

    def learner(token: int) -> None:
        for _ in range(5):
            classes.record_learner(code, str(token), True)
            assert classes.load(code) is not None

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(learner, range(16)))
    assert classes.count_present(code) == Attendance(16, 16)


def test_a_file_that_another_holds_keeps_nobody_for_long(
    classes: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitviz.classes.database.WAIT_S", 0.05)
    code = classes.open("teacher")
    classes = ClassStore(classes.database.path)
    other = sqlite3.connect(classes.database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ClassError, match="busy"):
        classes.record_learner(code, "me", True)
    with classes.database.reading() as file:  # who only looks waits for nobody
        assert file is not None and file.execute("SELECT count(*) FROM class").fetchone() == (1,)
    other.execute("ROLLBACK")
    other.close()
    classes.record_learner(code, "me", True)


def test_a_file_that_vanished_is_no_class_and_the_next_begins_anew(classes: ClassStore) -> None:
    code = classes.open("teacher")
    for path in classes.database.path.parent.iterdir():
        path.unlink()
    assert classes.load(code) is None and classes.count_present(code) == Attendance(0, 0)
    with pytest.raises(ClassError, match="no open class"):
        classes.show(code, PAGE)
    assert classes.load(classes.open("teacher")) is not None


def test_a_damaged_file_is_reported(classes: ClassStore) -> None:
    code = classes.open("teacher")
    path = classes.database.path
    classes.database.close()
    for beside in path.parent.glob(f"{NAME}-*"):
        beside.unlink()
    path.write_bytes(b"no database, but long enough to be looked at as one " * 100)
    for act in (
        lambda: classes.load(code),
        lambda: classes.open("teacher"),
        lambda: classes.show(code, PAGE),
    ):
        with pytest.raises(ClassError, match=f"damaged: the operator can delete {NAME}"):
            act()
    path.unlink()
    path.mkdir()
    with pytest.raises(ClassError, match="cannot be used"):
        classes.load(code)


def test_after_a_rollback_the_file_of_a_newer_version_is_left_alone(classes: ClassStore) -> None:
    """Its open classes come back with the newer app; deleting it, as the message once said, would lose them."""
    code = classes.open("teacher")
    with classes.database.writing() as file:
        file.execute("PRAGMA user_version = 99")
        file.execute("CREATE TABLE of_a_newer_version (code TEXT)")
    classes.database.close()
    before = classes.database.path.read_bytes()
    older = ClassStore(classes.database.path)
    for act in (lambda: older.load(code), lambda: older.open("teacher"), older.sweep):
        with pytest.raises(ClassError, match="version 99.* the operator can update the app") as refusal:
            act()
        assert "delete" not in str(refusal.value)
    assert classes.database.path.read_bytes() == before


def test_a_file_that_cannot_be_written_is_reported_and_can_be_read(
    classes: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = classes.open("teacher")
    with classes.database.writing() as file:
        file.execute("PRAGMA query_only = ON")  # as of a disk that was mounted anew, also for root
    with pytest.raises(ClassError, match="cannot be written"):
        classes.show(code, PAGE)
    assert classes.load(code) is not None


def test_what_is_shown_goes_through_the_file_and_back() -> None:
    own = SharedView(
        Link("patches"), words=LessonText("Ours", 1, 3, "A *stop*", "Words, [CLS]", "Look."), away=True
    )
    assert SharedView.parse(str(PAGE)) == PAGE and SharedView.parse(str(own)) == own != SharedView(
        Link("patches")
    )
    assert PAGE.query == {"model": "checkpoint:digits_vit", "pin": "cls", "lesson": "fifteen", "stop": "3"}
    for text in (
        "",
        "null",
        "[]",
        '["patches", "", 0]',
        '["../up", "", 1]',
        '["patches", "<b>", 1]',
        '["patches", "", 1, ["Ours", 4, 3, "", "", ""]]',
        '["patches", "", 1, ["Ours", 1, 3, "", ""]]',
        '["patches", "", 1, ["Ours", 1, 3, "", 5, ""]]',
        f'["patches", "", 1, ["Ours", 1, 3, "", "{"w" * 9999}", ""]]',
        "[" * 9999,
    ):
        assert SharedView.parse(text) is None, text[:20]


def test_what_is_the_teachers_alone_is_not_shown() -> None:
    written = {
        "class": "K7QM4T",
        "model": "weights:secretsecretsecret",
        "step": "3",
        "image": "upload:" + "x" * 22,
        "other.image": "upload:" + "y" * 22,
        "live_lab.dataset": "own:" + "z" * 22,
        "lesson": "mine",
        "stop": "2",
    }
    assert is_private(written["image"]) and is_private(written["model"]) and not is_private("digits:3")
    public = build_shared_view("patches", written, {}, frozenset({"mine"}))
    values = " ".join(public.query.values())
    assert "secret" not in values and "xxx" not in values and "yyy" not in values and "zzz" not in values
    assert not public.lesson
    copies = {written["image"]: "upload:" + "z" * 22}
    public = build_shared_view("patches", written, copies, frozenset())
    assert public.query["image"] == copies[written["image"]] and public.lesson == "mine" and public.stop == 2


def test_a_link_without_room_loses_its_longest_values() -> None:
    written = {"model": "checkpoint:digits_vit", **{f"page.key_{i}": "v" * (20 + i) for i in range(60)}}
    public = build_shared_view("patches", written, {}, frozenset())
    assert public.query["model"] == "checkpoint:digits_vit" and "page.key_0" in public.query
    assert "page.key_59" not in public.query and SharedView.parse(str(public)) == public


def test_an_image_is_kept_without_loss_for_its_class_alone(classes: ClassStore) -> None:
    code, other = classes.open("teacher"), classes.open("another")
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    key = teacher_images.store_image(classes, code, image)
    found = teacher_images.load_image(classes, code, key)
    assert found is not None and (found == image).all()
    assert (
        teacher_images.load_image(classes, other, key) is None
        and teacher_images.load_image(classes, code, "../x") is None
    )
    for _ in range(teacher_images.CLASS_IMAGES):
        teacher_images.store_image(classes, code, image)
    assert teacher_images.load_image(classes, code, key) is None  # the oldest has made room
    key = teacher_images.store_image(classes, code, image)
    with classes.database.writing() as file:
        file.execute("UPDATE picture SET png = ? WHERE id = ?", (b"spoilt", key))
    assert teacher_images.load_image(classes, code, key) is None
    teacher_images.delete_images(classes, code)
    with classes.database.reading() as file:
        assert file is not None and file.execute("SELECT count(*) FROM picture").fetchone() == (0,)


def test_an_image_that_is_too_large_is_refused(classes: ClassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher_images, "CLASS_IMAGE_BYTES", 100)
    code = classes.open("teacher")
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    with pytest.raises(ClassError, match="MB"):
        teacher_images.store_image(classes, code, noise)


def test_all_classes_images_together_are_bounded(
    classes: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    first, second = (classes.open(teacher) for teacher in ("ann", "bob"))
    kept = teacher_images.store_image(classes, first, image)
    monkeypatch.setattr(teacher_images, "CLASS_IMAGES_BYTES", 6000)  # of noise, one takes 4.8 kB
    with pytest.raises(ClassError, match="storage for shared images is full"):
        teacher_images.store_image(classes, second, image)
    assert teacher_images.load_image(classes, first, kept) is not None  # nobody's makes room for another's
    teacher_images.store_image(classes, second, image[:4, :4])
    monkeypatch.setattr(teacher_images, "CLASS_IMAGES", 1)
    teacher_images.store_image(classes, first, image)  # its own oldest does


def test_wrong_tries_are_counted_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, at = CodeAttempts(3, 60.0, names=2), [0.0]
    monkeypatch.setattr("vitviz.classes.codes.time.monotonic", lambda: at[0])
    for window_s in (0.0, 61.0):
        at[0] = window_s
        for _ in range(3):
            assert tries.is_allowed("me")
            tries.record_failure("me")
        assert not tries.is_allowed("me") and tries.is_allowed("you")
    for name in ("a", "b", "c"):
        tries.record_failure(name)
    assert len(tries._failures) == 2


def test_many_wrong_codes_delay_their_network_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, at = DelayedAttempts(burst=3, spacing_s=2.0, longest_s=5.0, names=2), [0.0]
    monkeypatch.setattr("vitviz.classes.codes.time.monotonic", lambda: at[0])
    assert [attempts.reserve("school") for _ in range(8)] == [0, 0, 0, 0, 2, 4, None, None]
    assert attempts.reserve("home") == 0
    at[0] = 6.0
    assert attempts.reserve("school") == 0, "the wait ends however many were refused"
    for _ in range(100):
        assert attempts.reserve("class") == 0, "a right code costs nothing"
        attempts.refund("class")
    assert len(attempts._due_s) == 2


def test_the_teachers_key_opens_the_lead_until_it_is_revoked(tmp_path: Path) -> None:
    store = ClassStore(tmp_path / NAME)
    code = store.open("opener")
    with pytest.raises(ClassError, match="does not lead"):
        class_store.create_key(store, code, "stranger")
    key = class_store.create_key(store, code, "opener")
    assert not class_store.accept_key(store, code, key[:-1], "phone")
    assert not class_store.accept_key(store, "K7QM4T", key, "phone")
    assert class_store.accept_key(store, code, key, "phone") and store.list_codes("phone") == [code]
    state = store.load(code)
    assert state is not None and state.is_led_by("phone") and not state.is_led_by("stranger")
    held = b"".join(each.read_bytes() for each in tmp_path.glob(f"{NAME}*"))
    assert key.encode() not in held, "only a hash of the key is stored"
    newer = class_store.create_key(store, code, "opener")  # and the older one is revoked
    state = store.load(code)
    assert state is not None and not state.is_led_by("phone")
    assert not class_store.accept_key(store, code, key, "phone")
    assert class_store.accept_key(store, code, newer, "laptop")
    class_store.revoke_key(store, code, "laptop")  # the browser that revokes goes on leading
    state = store.load(code)
    assert state is not None and state.is_led_by("laptop") and state.is_led_by("opener")
    assert not class_store.accept_key(store, code, newer, "phone")
    store.close(code, "laptop")
    assert store.load(code) is None

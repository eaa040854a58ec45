"""Run a class's challenge: equal data, parameter budget and time, and a board of the submitted runs.

Every function that uses the database raises ClassError if it cannot be read or written.
"""

from dataclasses import dataclass, replace

from vitviz.classes.class_store import ClassStore, clean_name
from vitviz.classes.database import ClassError, check_open
from vitviz.training.run_config import RunConfig
from vitviz.training.run_size import parameters

DATASET = "digits"
MAX_PARAMETERS = 60_000
SECONDS = 20.0  # of training on one core
OVERHEAD_S = 5.0  # of a run's start and test, on a quiet core
_SLACK = 1.05  # a run ends with the update during which its time is over
MAX_RUNS_EACH = 3  # per participant
MAX_ENTRIES = 300
TERMS = (
    f"Train on Digits with at most {MAX_PARAMETERS:,} parameters, {SECONDS:g} seconds on one core, from random weights."
    f" Up to {MAX_RUNS_EACH} runs per participant; the best test accuracy counts."
)


@dataclass(frozen=True)
class ChallengeState:
    """A challenge's state: whether submission has ended, and the number of submitted runs."""

    ended: bool
    entries: int


@dataclass(frozen=True)
class Submission:
    """A submitted run: its id, the member's hash in this class, and a nickname or ''."""

    run: str
    who: str
    name: str


def apply_rules(config: RunConfig) -> RunConfig:
    """Return a run's config with the challenge's time limit and thread count.

    Raises:
        ValueError: if the config breaks a rule.
    """
    train = config.train
    if config.members:
        raise ValueError("the challenge trains one model, received an experiment with several")
    if train.dataset != DATASET:
        raise ValueError("the challenge trains on Digits: choose it as the dataset")
    if train.start_from is not None:
        raise ValueError("the challenge starts from random weights, received pretrained weights")
    if train.distill_from is not None:
        raise ValueError(
            "the challenge excludes distillation: choose an architecture without a teacher model"
        )
    if (count := parameters(config.model)) > MAX_PARAMETERS:
        raise ValueError(f"the challenge allows {MAX_PARAMETERS:,} parameters, this model has {count:,}")
    timed = replace(train, epochs=None, seconds=SECONDS, clock="core", threads=1)
    return replace(config, train=timed, lease_s=None)


def check_trained_run(config: RunConfig, seconds: float) -> None:
    """Raise ValueError with the rule that a trained run breaks.

    Args:
        seconds: of training, by the run's own clock.
    """
    apply_rules(config)
    core_s = seconds * (1 if config.train.clock == "core" else config.train.threads or 1)
    if core_s > _SLACK * SECONDS:
        raise ValueError(f"the challenge allows {SECONDS:g} seconds on one core, this run took {core_s:.0f}")


def open_challenge(classes: ClassStore, code: str) -> None:
    """Open a class's challenge, or reopen it; submitted runs stay on the board.

    Raises:
        ClassError: if the class is closed or the database cannot be written.
    """
    with classes.database.writing() as file:
        check_open(file, code)
        file.execute("INSERT INTO challenge (code) VALUES (?) ON CONFLICT DO UPDATE SET ended = 0", (code,))


def close_challenge(classes: ClassStore, code: str) -> None:
    """End submission; the board stays."""
    classes.database.execute("UPDATE challenge SET ended = 1 WHERE code = ?", code)


def load_challenge(classes: ClassStore, code: str) -> ChallengeState | None:
    """Return the state of a class's challenge; None if it has none."""
    rows = classes.database.fetch(
        "SELECT ended, (SELECT count(*) FROM entry WHERE entry.code = challenge.code)"
        " FROM challenge WHERE code = ?",
        code,
    )
    return ChallengeState(bool(rows[0][0]), rows[0][1]) if rows else None


def explain_full(classes: ClassStore, code: str, who: str) -> str:
    """Return why a member cannot submit another run; '' if the member can."""
    query = "SELECT count(*), coalesce(sum(who = ?), 0) FROM entry WHERE code = ?"
    ((total, submitted),) = classes.database.fetch(query, who, code) or [(0, 0)]
    if submitted >= MAX_RUNS_EACH:
        return f"you have submitted {submitted} runs, the maximum"
    return f"the board is full with {total} runs" if total >= MAX_ENTRIES else ""


def submit_run(classes: ClassStore, code: str, who: str, name: str, run: str) -> None:
    """Add a run to the board.

    Raises:
        ClassError: if the challenge has ended, the member or the class has reached its maximum, or the database
            cannot be written.
    """
    if reason := explain_full(classes, code, who):
        raise ClassError(reason)
    with classes.database.writing() as file:
        row = file.execute("SELECT ended FROM challenge WHERE code = ?", (code,)).fetchone()
        if row is None or row[0]:
            raise ClassError("the challenge has ended")
        file.execute(
            "INSERT OR IGNORE INTO entry (code, run, who, name) VALUES (?, ?, ?, ?)",
            (code, run, who, clean_name(name)),
        )


def load_entries(classes: ClassStore, code: str) -> list[Submission]:
    """Return the submitted runs."""
    rows = classes.database.fetch("SELECT run, who, name FROM entry WHERE code = ?", code)
    return [Submission(*row) for row in rows]


def load_open_entries(classes: ClassStore) -> list[Submission]:
    """Return the runs submitted to every open challenge."""
    query = "SELECT run, who, name FROM entry JOIN challenge USING (code) WHERE NOT ended"
    return [Submission(*row) for row in classes.database.fetch(query)]

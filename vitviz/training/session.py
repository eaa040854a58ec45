"""One process training one run into its directory: records out, commands in, and a last word in the status.

A run of one model is one lane; an experiment has a lane per member, and they take their turns one after the other,
so that all are always equally far: of unequal batches the smaller take more turns. One that diverges stops alone.
What steers and what resumes is the whole's.
"""

from __future__ import annotations

import errno
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from threading import Event as Signal
from threading import Lock, Thread
from typing import Any

import torch

from vitviz.data.datasets import DatasetError
from vitviz.text import reason
from vitviz.training import run_lock
from vitviz.training.files import read_lines, write_status
from vitviz.training.limits import MAX_TRAINING_S
from vitviz.training.model_trainer import Listener, ModelTrainer
from vitviz.training.model_trainers import (
    as_one,
    combine_status,
    how_it_ended,
    make_lanes,
    restore,
    taught_by,
)
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError, Status
from vitviz.training.snapshot_files import load_resume, save_resume

FLUSH_S = 0.05  # a page that polls ten times a second finds something new each time
STATUS_S = 0.25
RESUME_SAVE_S = 3.0  # at least so long between saves; a killed process loses what came after the last
RESUME_SAVE_SHARE = 0.02  # of the time may go into saving
LEASE_CHECK_S = 1.0
LEAST_LEASE_S = 90.0  # once it trains: a page in a hidden tab says once a minute that it watches
POLL_S = 0.05


class Session:
    """Trains a run until it ends, is stopped, or nobody watches it any more.

    Args:
        run: where everything is written.
        device: 'auto', or a torch device.
        listen: told every event, beside the files.
        control_at: commands before this byte are old; None: all that are there now.
        token: of the claim that a server made for this process; None: it claims the run itself.
    """

    def __init__(
        self,
        run: Run,
        device: str = "auto",
        listen: Listener | None = None,
        control_at: int | None = None,
        token: str | None = None,
    ) -> None:
        self.run = run
        self._token = token or run_lock.new_token()
        self.config: RunConfig = run.config()
        self.device = default_device() if device == "auto" else device
        self._listen = listen
        self._control = run.directory / "control.jsonl"
        self._control_at = run.control_end() if control_at is None else control_at
        self._lanes: list[ModelTrainer] = []
        self._flushed = self._said = self._leased = 0.0
        self._lease: float | None = None  # the time that the lease was last seen to say
        self._watched = 0.0  # when that was
        self._saved, self._save_pause = time.monotonic(), RESUME_SAVE_S
        self._paused = self._stopping = False
        self._steps_wanted = 0
        self._message = ""
        self._saying = Lock()
        self._teacher = ""
        self.status = replace(
            run.status(), state="starting", message="", pid=os.getpid(), host=platform.node()
        )

    def perform(self) -> Status:
        """Train to the end; returns how the run stands then. Errors end in the status, not as exceptions.

        A run that another process trains is left alone, and one that another takes over is let go of.
        """
        try:
            if not run_lock.claim_run(self.run.directory, self._token):
                return self.run.status()
            if self._stopped_before():
                return replace(self.status, state="stopped")
            self._say("starting")
            with self._pulse():
                return self._guarded()
        except run_lock.ClaimLost:
            return self.run.status()
        except OSError as error:  # not even the last word can be written: readers find the trainer silent
            return replace(self.status, state="failed", message=f"nothing can be written ({reason(error)})")
        finally:
            run_lock.release(self.run.directory, self._token)

    def _still_ours(self) -> None:
        if not run_lock.is_claimed_by(self.run.directory, self._token):
            raise run_lock.ClaimLost

    def _stopped_before(self) -> bool:
        """Return True if it was told to stop while this process was loading: who did has written that, and may go on.

        The commands are looked at and not taken: what else was asked for meanwhile takes effect once there is a model.
        """
        return any(entry.get("command") == "stop" for entry in read_lines(self._control, self._control_at)[0])

    @contextmanager
    def _pulse(self) -> Iterator[None]:
        """Says every few seconds that this process lives, also while a turn or a download takes longer."""
        ended = Signal()

        def beat() -> None:
            while not ended.wait(run_lock.BEAT_S):
                with self._saying, suppress(OSError):  # a full disk is told by the training itself
                    if self.status.ended or not run_lock.renew(self.run.directory, self._token):
                        return
                    self.status = replace(self.status, heartbeat=time.time())
                    write_status(self.run.directory / "status.json", asdict(self.status))

        pulse = Thread(target=beat, daemon=True)
        pulse.start()
        try:
            yield
        finally:
            ended.set()
            pulse.join()

    def _guarded(self) -> Status:
        try:
            self._perform()
        except run_lock.ClaimLost:
            raise
        except KeyboardInterrupt:
            self._say("stopped", "interrupted from the keyboard; resume goes on from the last save")
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full" if full else f"a file could not be written ({reason(error)})"
            self._say(
                "failed", f"{why}; everything up to the last save is whole, and resume goes on from there"
            )
        except (ValueError, KeyError, DatasetError) as error:
            self._say("failed", str(error))
        except MemoryError:
            self._say("failed", "there was not enough memory for this model and batch")
        except Exception as error:  # an uploaded run may hold anything; its worker goes on to the next run
            self._say(
                "failed", f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
            )
        return self.status

    def _perform(self) -> None:
        self._lanes, self._teacher = make_lanes(self.run, torch.device(self.device), self._listen)
        self._resume()
        state, message = "", ""
        while not state:
            events = self._round()
            if all(lane.ended for lane in self._lanes):
                state, message = how_it_ended(self._lanes)
            elif any(isinstance(event, StepRecord) for event in events):
                if self._steer():
                    state, message = "stopped", self._message
                elif time.monotonic() - self._saved >= self._save_pause:
                    self._save()
        self._flush()
        if state != "diverged":  # a diverged run keeps the last good save
            self._save()
        self._say(state, message)

    def _resume(self) -> None:
        saved = load_resume(self.run)
        if saved is not None and saved[1].get("teacher", self._teacher) != self._teacher:
            raise RunError(
                f"{taught_by(self._lanes)} is another teacher than the one that this run began with"
            )
        if saved is not None:
            restore(self._lanes, *saved)
        for lane in self._lanes:
            lane.begin(saved is not None)

    def _round(self) -> list[Event]:
        """Return one turn of every lane that lies behind, so that all are always equally far."""
        found: list[Event] = []
        waiting = [lane for lane in self._lanes if lane.ended is None]
        least = min((lane.trainer.progress for lane in waiting), default=1.0)
        for lane in [lane for lane in waiting if lane.trainer.progress <= least]:
            found += lane.turn()
            now = time.monotonic()
            if now - self._flushed >= FLUSH_S:
                self._flush()
            if now - self._said >= STATUS_S:
                self._say("running")
        return found

    def _flush(self) -> None:
        self._still_ours()
        for lane in self._lanes:
            lane.flush()
        self._flushed = time.monotonic()

    def _save(self) -> None:
        self._flush()
        started = time.monotonic()
        tensors, values = as_one(self._lanes)
        save_resume(self.run, tensors, {**values, "teacher": self._teacher})
        self._saved = time.monotonic()
        self._save_pause = max(RESUME_SAVE_S, (self._saved - started) / RESUME_SAVE_SHARE)

    def _say(self, state: str, message: str = "") -> None:
        with self._saying:
            self._still_ours()
            known = combine_status(self._lanes) if self._lanes else self.status
            known = replace(known, pid=os.getpid(), host=platform.node())
            self.status = replace(known, state=state, message=message, heartbeat=time.time())
            # First: who reads that the whole is paused finds its members as they are.
            for lane in self._lanes:
                if lane.run.is_member:
                    lane.say(self.status)
            write_status(self.run.directory / "status.json", asdict(self.status))
        self._said = time.monotonic()

    def _steer(self) -> bool:
        """Follow the commands, wait while paused; whether the run should stop here."""
        self._steps_wanted = max(
            0, self._steps_wanted - 1
        )  # what was made; what is asked for now comes after it
        self._obey()
        if combine_status(self._lanes).seconds > MAX_TRAINING_S:
            self._stopping = True
            self._message = (
                f"it has trained for {MAX_TRAINING_S / 3600:g} hours, the most that a run may take"
            )
        if self._paused and not self._steps_wanted and not self._stopping:
            self._save()
            self._say("paused")
        while self._paused and not self._steps_wanted and not self._stopping:
            time.sleep(POLL_S)
            self._obey()
            if time.monotonic() - self._said >= 1.0:
                self._say("paused")
        return self._stopping

    def _obey(self) -> None:
        commands, self._control_at = read_lines(self._control, self._control_at)
        for entry in commands:
            command = entry.get("command")
            if command == "pause":
                self._paused = True
            elif command in ("resume", "step"):
                self._paused = command == "step"
                self._steps_wanted += self._paused
                for lane in self._lanes:
                    lane.trainer.record_all = self._paused
            elif command == "stop":
                self._stopping, self._message = True, "stopped; resume goes on from here"
            elif command == "set":
                self._change(entry)
        if time.monotonic() - self._leased >= LEASE_CHECK_S:
            self._leased = time.monotonic()
            if self._abandoned():
                self._stopping, self._message = (
                    True,
                    "nobody watched, so it was stopped; resume goes on from here",
                )

    def _change(self, entry: dict[str, Any]) -> None:
        for lane in self._lanes:
            changes: dict[str, Any] = {
                key: entry[key] for key in ("learning_rate", "weight_decay") if key in entry
            }
            try:
                lane.trainer.change(**changes)
            except (ValueError, TypeError) as error:
                changes = {"refused": str(error)}
            lane.note("changed", **changes)
            lane.status = replace(
                lane.status, learning_rate=lane.trainer.learning_rate, weight_decay=lane.trainer.weight_decay
            )

    def _abandoned(self) -> bool:
        """Return True if nobody has viewed the run for the lease's time, by the monotonic clock: the machine may have
        slept.
        """
        if self.config.lease_s is None:
            return False
        try:
            touched = (self.run.directory / "lease.json").stat().st_mtime
        except OSError:
            touched = self.config.created
        counted = time.monotonic()
        if (
            self._lease is None
        ):  # what passed before it began is known by the clock alone, which may have been set
            passed = min(max(0.0, time.time() - touched), max(0.0, self.config.lease_s - LEAST_LEASE_S))
            self._watched = counted - passed
        elif touched != self._lease:
            self._watched = counted
        self._lease = touched
        return counted - self._watched > self.config.lease_s


def default_device() -> str:
    """'cuda' where there is one, else 'cpu'."""
    return "cuda" if torch.cuda.is_available() else "cpu"

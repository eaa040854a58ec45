"""Train a run in its directory: write records, follow commands, and write the final status.

The models of an experiment are updated in turn, so that all have the same progress; with unequal batches the smaller
one makes more updates. A model that diverges stops alone. Commands and the saved state belong to the whole run.
"""

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

from vitviz.data.dataset import DatasetError
from vitviz.devices import choose_training_device
from vitviz.text import is_disk_full, reason
from vitviz.training import run_lock
from vitviz.training.atomic_files import read_lines, write_status
from vitviz.training.model_trainer import Listener, ModelTrainer
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError, Status
from vitviz.training.run_size import MAX_TRAINING_S
from vitviz.training.session_models import (
    combine_status,
    list_teachers,
    make_model_trainers,
    pack_state,
    restore_state,
    summarise_endings,
)
from vitviz.training.snapshot_files import load_resume, save_resume
from vitviz.weight_identity import resolve_identity

FLUSH_S = 0.05  # a page polls ten times a second
STATUS_S = 0.25
RESUME_SAVE_S = 3.0  # minimum between saves; a killed process loses later updates
RESUME_SAVE_SHARE = 0.02  # maximum share of the time spent saving
LEASE_CHECK_S = 1.0
LEAST_LEASE_S = 90.0  # a hidden tab renews the lease once a minute
POLL_S = 0.05


class Session:
    """Trains a run until it ends, is stopped, or its lease expires.

    Args:
        device: a torch device; None: CUDA's, or the CPU if there is none.
        listen: called with every event.
        control_at: commands before this byte are ignored; None: all current ones.
        token: of the lock that a server created for this process; None: locks the run itself.
    """

    def __init__(
        self,
        run: Run,
        device: str | None = None,
        listen: Listener | None = None,
        control_at: int | None = None,
        token: str | None = None,
    ) -> None:
        self.run = run
        self._token = token or run_lock.new_token()
        self.config: RunConfig = run.config()
        self.device = str(choose_training_device(device))
        self._listen = listen
        self._control = run.directory / "control.jsonl"
        self._control_at = run.control_end() if control_at is None else control_at
        self._models: list[ModelTrainer] = []
        self._flushed_at = self._status_written = self._lease_checked = 0.0
        self._lease: float | None = None  # modification time of the lease when last read
        self._watched_at = 0.0  # when it last changed, on the monotonic clock
        self._saved_at, self._save_pause = time.monotonic(), RESUME_SAVE_S
        self._paused = self._stopping = False
        self._steps_requested = 0
        self._message = ""
        self._status_lock = Lock()
        self._teacher = ""
        self.status = replace(
            run.status(), state="starting", message="", pid=os.getpid(), host=platform.node()
        )

    def perform(self) -> Status:
        """Train to the end and return the final status, which also reports errors.

        Does nothing if another process holds the run's lock, and stops if one takes it over.
        """
        try:
            if not run_lock.claim_run(self.run.directory, self._token):
                return self.run.status()
            if self._was_stopped_before_start():
                return replace(self.status, state="stopped")
            self._set_state("starting")
            with self._keep_alive():
                return self._perform_safely()
        except run_lock.ClaimLost:
            return self.run.status()
        except OSError as error:  # the status cannot be written: readers see a missing heartbeat
            return replace(
                self.status, state="failed", message=f"The run's folder cannot be written ({reason(error)})."
            )
        finally:
            run_lock.release(self.run.directory, self._token)

    def _check_claim(self) -> None:
        if not run_lock.is_claimed_by(self.run.directory, self._token):
            raise run_lock.ClaimLost

    def _was_stopped_before_start(self) -> bool:
        """Return True if the run was stopped while this process was loading.

        Commands are only read: others take effect once there is a model.
        """
        return any(entry.get("command") == "stop" for entry in read_lines(self._control, self._control_at)[0])

    @contextmanager
    def _keep_alive(self) -> Iterator[None]:
        """Renew the heartbeat every few seconds in a thread, also during a long update or download."""
        ended = Signal()

        def beat() -> None:
            while not ended.wait(run_lock.BEAT_S):
                with self._status_lock, suppress(OSError):  # the training itself reports a full disk
                    if self.status.has_ended or not run_lock.renew(self.run.directory, self._token):
                        return
                    self.status = replace(self.status, heartbeat=time.time())
                    write_status(self.run.directory / "status.json", asdict(self.status))

        heartbeat = Thread(target=beat, daemon=True)
        heartbeat.start()
        try:
            yield
        finally:
            ended.set()
            heartbeat.join()

    def _perform_safely(self) -> Status:
        try:
            self._perform()
        except run_lock.ClaimLost:
            raise
        except KeyboardInterrupt:
            self._set_state(
                "stopped", "Interrupted from the keyboard. Resume to continue from the last save."
            )
        except OSError as error:
            cause = (
                "The disk is full"
                if is_disk_full(error)
                else f"A file could not be written ({reason(error)})"
            )
            self._set_state("failed", f"{cause}. Resume to continue from the last save.")
        except (ValueError, KeyError, DatasetError) as error:
            self._set_state("failed", str(error))
        except MemoryError:
            self._set_state(
                "failed", "Not enough memory for this model and batch: use a smaller batch or model."
            )
        except (
            Exception
        ) as error:  # an uploaded run may fail in any way; the worker continues with the next run
            self._set_state(
                "failed", f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
            )
        return self.status

    def _perform(self) -> None:
        self._models, self._teacher = make_model_trainers(self.run, torch.device(self.device), self._listen)
        self._resume()
        state, message = "", ""
        while not state:
            events = self._round()
            if all(model.ended for model in self._models):
                state, message = summarise_endings(self._models)
            elif any(isinstance(event, StepRecord) for event in events):
                if self._steer():
                    state, message = "stopped", self._message
                elif time.monotonic() - self._saved_at >= self._save_pause:
                    self._save()
        self._flush()
        if state != "diverged":  # a diverged run keeps its last valid save
            self._save()
        self._set_state(state, message)

    def _has_teachers(self, stored: str) -> bool:
        """Return True if the teachers of a saved state are those of this session."""
        return set(map(resolve_identity, stored.split())) == set(self._teacher.split())

    def _resume(self) -> None:
        saved = load_resume(self.run)
        if saved is not None and not self._has_teachers(str(saved[1].get("teacher", self._teacher))):
            raise RunError(
                f"the teacher {list_teachers(self._models)} was changed since this run started: start a new run"
            )
        if saved is not None:
            restore_state(self._models, *saved)
        for model in self._models:
            model.begin(saved is not None)

    def _round(self) -> list[Event]:
        """Update every model with the least progress once; returns the events."""
        events: list[Event] = []
        waiting = [model for model in self._models if model.ended is None]
        least = min((model.trainer.progress for model in waiting), default=1.0)
        for model in [model for model in waiting if model.trainer.progress <= least]:
            events += model.turn()
            time_s = time.monotonic()
            if time_s - self._flushed_at >= FLUSH_S:
                self._flush()
            if time_s - self._status_written >= STATUS_S:
                self._set_state("running")
        return events

    def _flush(self) -> None:
        self._check_claim()
        for model in self._models:
            model.flush()
        self._flushed_at = time.monotonic()

    def _save(self) -> None:
        self._flush()
        started = time.monotonic()
        tensors, values = pack_state(self._models)
        save_resume(self.run, tensors, {**values, "teacher": self._teacher})
        self._saved_at = time.monotonic()
        self._save_pause = max(RESUME_SAVE_S, (self._saved_at - started) / RESUME_SAVE_SHARE)

    def _set_state(self, state: str, message: str = "") -> None:
        with self._status_lock:
            self._check_claim()
            known = combine_status(self._models) if self._models else self.status
            known = replace(known, pid=os.getpid(), host=platform.node())
            self.status = replace(known, state=state, message=message, heartbeat=time.time())
            # Members first: a reader of the experiment's state finds them up to date.
            for model in self._models:
                if model.run.is_member:
                    model.write_member_status(self.status)
            write_status(self.run.directory / "status.json", asdict(self.status))
        self._status_written = time.monotonic()

    def _steer(self) -> bool:
        """Follow the commands and wait while paused; returns True if the run should stop."""
        self._steps_requested = max(0, self._steps_requested - 1)  # the step just made
        self._follow_commands()
        if combine_status(self._models).seconds > MAX_TRAINING_S:
            self._stopping = True
            self._message = f"Stopped at the limit of {MAX_TRAINING_S / 3600:g} hours of training."
        if self._paused and not self._steps_requested and not self._stopping:
            self._save()
            self._set_state("paused")
        while self._paused and not self._steps_requested and not self._stopping:
            time.sleep(POLL_S)
            self._follow_commands()
            if time.monotonic() - self._status_written >= 1.0:
                self._set_state("paused")
        return self._stopping

    def _follow_commands(self) -> None:
        commands, self._control_at = read_lines(self._control, self._control_at)
        for entry in commands:
            command = entry.get("command")
            if command == "pause":
                self._paused = True
            elif command in ("resume", "step"):
                self._paused = command == "step"
                self._steps_requested += self._paused
                for model in self._models:
                    model.trainer.record_all = self._paused
            elif command == "stop":
                self._stopping, self._message = True, "Stopped. Resume to continue from here."
            elif command == "set":
                self._change(entry)
        if time.monotonic() - self._lease_checked >= LEASE_CHECK_S:
            self._lease_checked = time.monotonic()
            if self._abandoned():
                self._stopping, self._message = (
                    True,
                    "Stopped because no browser showed the run. Resume to continue from here.",
                )

    def _change(self, entry: dict[str, Any]) -> None:
        for model in self._models:
            changes: dict[str, Any] = {
                key: entry[key]
                for key in ("learning_rate", "weight_decay")
                if key in entry and entry[key] != getattr(model.trainer, key)
            }
            if not changes:  # a page sends a rate again when its control follows the run's
                continue
            try:
                model.trainer.change(**changes)
            except (ValueError, TypeError) as error:
                changes = {"refused": str(error)}
            model.note("changed", **changes)
            model.status = replace(
                model.status,
                learning_rate=model.trainer.learning_rate,
                weight_decay=model.trainer.weight_decay,
            )

    def _abandoned(self) -> bool:
        """Return True if the lease has expired by the monotonic clock, as the machine may have slept."""
        if self.config.lease_s is None:
            return False
        try:
            touched = (self.run.directory / "lease.json").stat().st_mtime
        except OSError:
            touched = self.config.created
        counted = time.monotonic()
        if self._lease is None:  # earlier time is only known from the wall clock, which may have been set
            passed = min(max(0.0, time.time() - touched), max(0.0, self.config.lease_s - LEAST_LEASE_S))
            self._watched_at = counted - passed
        elif touched != self._lease:
            self._watched_at = counted
        self._lease = touched
        return counted - self._watched_at > self.config.lease_s

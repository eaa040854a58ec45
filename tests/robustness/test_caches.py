"""Folders of data and weights that cannot be written, go while they are used, or hold what is no file of theirs."""

from __future__ import annotations

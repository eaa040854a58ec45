"""Run the command `vitviz` as `python -m vitviz`."""

from vitviz.cli import main

raise SystemExit(main())

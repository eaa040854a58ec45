"""Run the command `vitviz` as `python -m vitviz`."""

from vitviz.command import main

raise SystemExit(main())

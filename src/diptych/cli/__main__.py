"""`python -m diptych.cli` is `diptych`: how the command starts itself again in several processes."""

from diptych.cli.main import run

run()

"""The command line with only the fake methods in it, for tests that need a process of their own."""

from diptych.cli.main import run
from diptych.methods import registry
from experiments import fakes

if __name__ == "__main__":
    registry._METHODS = fakes.METHODS
    run()

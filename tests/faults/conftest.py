"""Every test is an attack: its mark `faults(attack, promise)` and `noted(times, found)` make a row of the table."""

import os

import pytest

from diptych.search import build_index
from faults.table import Row, markdown, read_rows, write_rows
from search.gallery import make

_rows = pytest.StashKey[dict[str, Row]]()
_noted = pytest.StashKey[list]()
_load = pytest.StashKey[float]()


def pytest_addoption(parser):
    parser.addoption("--table", action="store_true", help="write the table of attacks into the documentation")


def pytest_configure(config):
    config.stash[_rows] = {}
    config.stash[_load] = os.getloadavg()[0]


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("faults") is not None:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def noted(request):
    """Note how often an attack was made and what came of it, in a few words."""

    def note(times, found):
        request.node.stash[_noted] = [times, found]

    return note


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    marker = item.get_closest_marker("faults")
    if marker is not None and (report.when == "call" or (report.when == "setup" and not report.passed)):
        attack, promise = marker.args
        times, found = item.stash.get(_noted, [0, ""])
        if report.skipped:
            found = report.longrepr[2].removeprefix("Skipped: ")
        elif report.failed:
            found = f"{found}; {call.excinfo.exconly().splitlines()[0][:120]}".removeprefix("; ").replace("|", "/")
        held = None if report.skipped else report.passed
        item.config.stash[_rows][item.name] = Row(attack, times, promise, found, held, round(call.duration, 1))
    return report


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash[_rows]
    if rows:
        terminalreporter.section("attacks")
        terminalreporter.write(markdown(list(rows.values())))
    if rows and config.getoption("--table", default=False):
        write_rows(read_rows() | rows, config.stash[_load])


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A folder with `raw`, `dataset`, `model` and `index`: eighty images of plain colours and sentences about them."""
    folder = tmp_path_factory.mktemp("world")
    build_index(folder / "model", make(folder, components=4), folder / "index")
    return folder

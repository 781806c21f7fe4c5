"""Deep methods made so short that many can be fitted in one test run."""

from dataclasses import replace

import pytest
from threadpoolctl import threadpool_limits

from diptych.methods.deep import cdmlmr
from diptych.methods.deep import profile as profiles


@pytest.fixture
def one_thread():
    """Compute on one thread, so that sums are added up in the same order everywhere."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)


@pytest.fixture
def hurried(monkeypatch) -> None:
    """Let every profile take a few dozen steps: enough to move every weight, too few to learn much."""
    steps = dict.fromkeys(profiles.PUBLISHED, 15) | {"metric": 60}
    narrow = {"supervised_width": 16, "pathway_width": 12, "dense_widths": (24, 16), "count_widths": (24, 16)}
    short = {name: replace(profiles.PROFILES["fast"], name=name, steps=steps, **narrow) for name in profiles.PROFILES}
    monkeypatch.setattr(profiles, "PROFILES", short)
    small = replace(cdmlmr.FAST, width=16, dbn_widths=(16, 12), dense_steps=10, count_steps=10, steps=24)
    monkeypatch.setattr(cdmlmr, "FAST", small)
    monkeypatch.setattr(cdmlmr, "sizes_for", lambda rows, columns: small)

import pytest


@pytest.fixture(autouse=True)
def fake_registry():
    """Real methods here, not the fakes of the other experiments."""

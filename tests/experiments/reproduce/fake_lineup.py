"""Fakes under the names of the line-up, one of which learns from a pool."""

from diptych.methods.registry import Entry
from experiments.fakes import Seeded


class Pooled(Seeded):
    """Noisy, and less so when it sees a pool."""

    uses_unlabelled = True

    def _fit(self, data, progress) -> None:
        asked = self.noise
        self.noise = asked if data.pools else 4 * asked
        super()._fit(data, progress)
        self.noise = asked


def entry(kind: str, **defaults) -> Entry:
    module = "experiments.reproduce.fake_lineup" if kind == "Pooled" else "experiments.fakes"
    return Entry(f"{module}:{kind}", "made up", defaults)


METHODS = {
    "cca-paper": entry("Seeded", noise=100.0),
    "kcca-rbf": entry("Seeded", noise=0.5),
    "kcca-poly": entry("Seeded", noise=5.0),
    "cfa": entry("Failing"),
    "base": entry("Seeded", noise=8.0),
    "cdmlmr": entry("Pooled", noise=0.5),
    "steady": entry("Fake"),
}

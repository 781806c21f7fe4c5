"""The page of all benchmark results, written from `results/*.json` alone."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "results" / "benchmarks.md"


@dataclass(frozen=True)
class Aim:
    """A figure that should be at least, or at most, some value.

    Attributes:
        benchmark: the benchmark that measures it.
        key: its name there.
        words: its description.
        least: the aim, if larger is better.
        most: the aim, if smaller is better.
    """

    benchmark: str
    key: str
    words: str
    least: float | None = None
    most: float | None = None

    def line(self, results: Mapping[str, Mapping[str, Any]]) -> str | None:
        """A row of the table; None while it has not been measured."""
        value = results.get(self.benchmark, {}).get("figures", {}).get(self.key)
        if value is None:
            return None
        aim = f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"
        reached = value >= self.least if self.least is not None else value <= (self.most or 0.0)
        return f"| {self.words} | {aim} | {shown(value)} | {'yes' if reached else '**no**'} | `{self.benchmark}` |"


AIMS = (
    Aim("map", "ratio_sklearn", "MAP of 10,000 × 10,000: speed relative to scikit-learn", least=10),
    Aim("map", "ratio_torchmetrics", "the same: speed relative to torchmetrics", least=10),
    Aim("cca", "ratio_cca_zoo", "CCA of 2,173 pairs: speed relative to cca-zoo", least=1),
    Aim("cca", "kcca_ratio_cca_zoo", "KCCA of 2,173 pairs: speed relative to cca-zoo", least=1),
    Aim("rbm", "ratio", "Gaussian RBM: speed relative to scikit-learn's in single precision", least=3),
    Aim("cdmlmr", "seconds", "CDMLMR on RSICD with a cold cache: seconds", most=60),
    Aim("cdmlmr", "ratio_sm", "the same: time relative to `sm`", most=5),
    Aim("cdmlmr", "ratio_two_tower", "its network: time relative to two towers at equal epochs", most=1.5),
    Aim("second_stage", "seconds_for_5000_steps", "5,000 steps of CDMLMR's multi-task network: seconds", most=60),
    Aim("second_stage", "ratio_library", "one step: speed relative to parts of pytorch-metric-learning", least=1),
    Aim(
        "ingest",
        "nuswide_2000_images_per_s",
        "the NUS-WIDE recipe on two cores: images per second",
        least=40,
    ),
    Aim("ingest", "encoder_overhead", "the convolutional encoder: overhead over its bare network", most=0.2),
    Aim("index", "single_ratio_1000000", "one query in 1,000,000 vectors: rate relative to bare faiss", least=0.9),
    Aim("index", "open_s_1000000", "opening an index of 1,000,000 to the first result: seconds", most=2),
    Aim(
        "binary",
        "recall_ratio_1000000",
        "256-bit codes of 1,000,000 vectors: recall relative to the float index",
        least=0.95,
    ),
    Aim("binary", "memory_ratio_1000000", "the same: memory relative to the float index", most=0.1),
    Aim("page", "asked_first_result_ms", "the page over 100,000 items: ms from Enter to the first result", most=300),
    Aim("page", "first_result_ms", "the same: ms from opening the page with a cold cache", most=300),
    Aim("page", "all_files_kb", "all files of the page, in four languages: kB uncompressed", most=150),
    Aim("page", "all_files_gzip_kb", "the same: kB compressed, as sent", most=150),
    Aim("page", "page_files_kb", "the page's own files loaded by a first visit: kB uncompressed", most=150),
    Aim("startup", "help_ratio", "`diptych --help`: time relative to `import typer, rich`", most=3),
    Aim("startup", "version_ratio", "`diptych --version`: the same", most=3),
    Aim("startup", "search_help_ratio", "`diptych search --help`: the same", most=3),
    Aim("startup", "features_ratio", "`diptych features`: the same", most=3),
    Aim("startup", "methods_ratio", "`diptych methods`: the same", most=3),
    *(
        Aim(
            "http",
            f"ratio_{n}",
            f"requests per second, {n} client{'s' * (n > 1)}, over a bare handler's",
            least=0.8,
        )
        for n in (1, 8, 64)
    ),
)


def write_page() -> None:
    """Write docs/results/benchmarks.md."""
    PAGE.write_text(render(), encoding="utf-8")


def render() -> str:
    """The page."""
    measured = [path for path in sorted(RESULTS.glob("*.json")) if (HERE / f"bench_{path.stem}.py").exists()]
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in measured}
    lines = [
        "# Speed",
        "",
        "This page lists the measured speed, memory and size of Diptych against its aims. If there is a peer, it was "
        "measured in the same run, and the figure is a ratio. `make bench` measures everything again and writes this "
        "page; `python -m benchmarks NAME` runs one benchmark.",
        "",
        "| figure | aim | measured | reached | benchmark |",
        "| --- | ---: | ---: | --- | --- |",
        *(line for aim in AIMS if (line := aim.line(results)) is not None),
    ]
    for name, found in results.items():
        lines += ["", f"## {name}", "", *_described(name), "", f"Measured on {_machine(found['machine'])}.", ""]
        lines += ["| figure | |", "| --- | ---: |"]
        lines += [f"| `{key}` | {shown(value)} |" for key, value in found["figures"].items()]
    return "\n".join(lines) + "\n"


def shown(value: object) -> str:
    """A figure for display: four significant digits, with thousands separators."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{', '.join(f'{each:,}' for each in value)}" if isinstance(value, list) else str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _described(name: str) -> list[str]:
    """The docstring of a benchmark; parsed, not imported, because its peers may not be installed."""
    text = ast.get_docstring(ast.parse((HERE / f"bench_{name}.py").read_text(encoding="utf-8"))) or ""
    return text.splitlines()


def _machine(machine: Mapping[str, Any]) -> str:
    return f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['system']}"


if __name__ == "__main__":
    write_page()

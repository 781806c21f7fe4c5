"""Two modalities give what they gave before any number could be joined: embeddings recorded then, compared now.

`two_modalities.npz` holds the first test items of fits by the version before, on one thread. Where the processor and
the libraries are those it was recorded with, every bit must be the same. A change that is meant to change a method's
embeddings records them anew: `DIPTYCH_RECORD=1 python -m pytest tests/methods/test_two_modalities.py`.
"""

import os
import platform
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import synthetic
from diptych.data import Protocol, training_data
from diptych.methods import create, method_class
from diptych.methods.propagation import propagate

FILE = Path(__file__).with_name("two_modalities.npz")
EXPECTED = dict(np.load(FILE))
RECORDING = "DIPTYCH_RECORD" in os.environ
CASES = sorted({key.rpartition("/")[0] for key in EXPECTED if not key.startswith(("propagation", "environment"))})
PROTOCOLS = {
    "plain": Protocol(),
    "pool": Protocol(unlabelled="test-features"),
    "pairs": Protocol(unlabelled="train", labels_per_class=6, use_pairs=True),
    "propagate": Protocol(unlabelled="train", labels_per_class=3, propagate=True, use_pairs=True),
}
DEEP = ("dcca", "deep-corr", "base", "cdmlmr", "triplet", "auto")


def environment() -> str:
    """What decides the last bits of a product of matrices."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    known = sorted({line for line in lines if line.startswith(("model", "cpu family", "stepping", "flags"))} or lines)
    processor = sha256("\n".join(known).encode()).hexdigest()[:16]
    libraries = [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "torch", "faiss-cpu")]
    return "; ".join([platform.machine(), processor, *libraries])


SAME = environment() == str(EXPECTED["environment"])


@pytest.fixture(scope="module", autouse=True)
def _recorded():
    """Write what was found in the place of what was expected, where that is asked for."""
    yield
    if RECORDING:
        EXPECTED["environment"] = np.array(environment())
        np.savez_compressed(FILE, **EXPECTED)


def check(found, key, deep):
    expected = EXPECTED[key]
    found = np.asarray(found)[: len(expected)]
    if RECORDING:
        EXPECTED[key] = found
        return
    if SAME:
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-3 if deep else 1e-5)


@pytest.fixture(scope="module")
def mixed_dataset(tmp_path_factory):
    return synthetic.write(tmp_path_factory.mktemp("data") / "mixed", synthetic.draft(mixed_text=True, seed=5))


@pytest.mark.usefixtures("hurried", "one_thread")
@pytest.mark.parametrize("case", CASES)
def test_embeddings_are_those_of_before(case, request):
    name, data, protocol = case.split("/")
    dataset = request.getfixturevalue(f"{data}_dataset")
    quick = {"profile": "fast", "device": "cpu", "cache": None}
    params = {key: value for key, value in quick.items() if key in method_class(name).parameter_defaults()}
    params |= {"components": 4, "batch_size": 16} if name == "deep-corr" else {}
    model = create(name, **params).fit(dataset, PROTOCOLS[protocol])
    purpose = "both" if "both" in model.purposes else "auto"
    for modality in ("image", "text"):
        rows = dataset.split("test").having(modality).features(modality)
        check(model.embed(modality, rows, purpose), f"{case}/{modality}", name.startswith(DEEP))


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("data", ["counts", "gaps"])
def test_propagated_labels_are_those_of_before(data, request):
    protocol = PROTOCOLS["propagate"]
    found, _ = propagate(training_data(request.getfixturevalue(f"{data}_dataset"), protocol), protocol)
    check(found.soft_labels, f"propagation/{data}", deep=False)

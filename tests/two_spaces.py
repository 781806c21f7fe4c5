"""A small method with two spaces: classes by ridge regression, partners by canonical correlation."""

import numpy as np

from diptych.export.graph import side_by_side
from diptych.methods import Method
from diptych.methods.registry import Entry

ENTRY = Entry("two_spaces:TwoSpaces", "two spaces, for tests")
_COMPONENTS = 5


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TwoSpaces(Method):
    """Each part of a row has one length: 1 in the class space, `weight` in the partner space."""

    uses_labels = True

    def __init__(self, weight: float = 0.5, classes: bool = True) -> None:
        self.weight = weight
        self.classes = classes

    def _fit(self, data, progress) -> None:
        pairs = data.train
        for name in data.modalities:
            pairs = pairs.having(name)
        self.centres_, self.scales_, whitened, whiteners = {}, {}, {}, {}
        for name in data.modalities:
            rows = _dense(pairs.features(name))
            self.centres_[name], self.scales_[name] = rows.mean(axis=0), rows.std(axis=0) + 1e-6
            rows = self._scaled(name, rows)
            values, vectors = np.linalg.eigh(rows.T @ rows / len(rows) + 0.1 * np.eye(rows.shape[1]))
            whiteners[name] = vectors / np.sqrt(values)
            whitened[name] = rows @ whiteners[name]
        one, other = data.modalities
        left, strengths, right = np.linalg.svd(whitened[one].T @ whitened[other] / len(whitened[one]))
        directions = {one: left[:, :_COMPONENTS], other: right[:_COMPONENTS].T}
        by_strength = np.sqrt(strengths[:_COMPONENTS])
        self.partner_ = {name: whiteners[name] @ directions[name] * by_strength for name in data.modalities}
        self.class_ = {name: self._regress(data.train.labelled().having(name), name) for name in data.modalities}
        self.spaces_ = {"partner": _COMPONENTS}
        if self.classes:
            self.spaces_ = {"class": self.class_[one].shape[1], "partner": _COMPONENTS}

    def _regress(self, part, name):
        rows = self._scaled(name, _dense(part.features(name)))
        target = part.labels.matrix.toarray().astype(np.float64)
        gram = rows.T @ rows + np.eye(rows.shape[1])
        return np.linalg.solve(gram, rows.T @ (target - target.mean(axis=0)))

    def _scaled(self, name, rows):
        return (rows - self.centres_[name]) / self.scales_[name]

    def _embed(self, modality, rows):
        scaled = self._scaled(modality, _dense(rows))
        partner = self.weight * unit(scaled @ self.partner_[modality])
        return np.hstack([unit(scaled @ self.class_[modality]), partner]) if self.classes else partner

    def trace(self, modality, rows):
        """The same as a graph."""
        scaled = (rows.astype("float64") - self.centres_[modality]) / self.scales_[modality]
        parts = [scaled @ self.class_[modality]] * self.classes + [scaled @ self.partner_[modality]]
        lengths = [1.0] * self.classes + [self.weight]
        scaled_parts = [
            part / (part * part).sum().apply("Sqrt") * length for part, length in zip(parts, lengths, strict=True)
        ]
        return side_by_side(scaled_parts).astype("float32")


def _dense(rows):
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)

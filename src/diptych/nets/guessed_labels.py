"""What the rows of a batch are taken for: given class probabilities, and guesses where there are none."""

import torch
from torch import Tensor

from diptych.nets.graph import graph_distances, neighbour_graph

Outputs = dict[str, dict[str, Tensor]]
"""What the network gives for the rows of each modality: name of the output to members × rows × columns."""


@torch.no_grad()
def shared_graph(outputs: Outputs, neighbours: int) -> Tensor:
    """Return which rows of the two modalities are neighbours in S, all members' codes side by side."""
    first, second = (parts["shared"].transpose(0, 1).flatten(1) for parts in outputs.values())
    return neighbour_graph(graph_distances(first, second, "cosine"), neighbours)


@torch.no_grad()
def guessed_labels(outputs: Outputs, targets: Tensor, graph: Tensor | None, *, paired: bool) -> dict[str, Tensor]:
    """Return every row's class probabilities, by modality: given ones first, then guesses.

    A guess is the mean over members and softmax layers. With a graph it is averaged with what the row's neighbours in
    the other modality say, and sharpened.

    Args:
        outputs: of the network; rows with given labels come first.
        targets: the given probabilities.
        graph: which rows are neighbours; None leaves the guesses as they are.
        paired: whether guessed rows stand beside their partners, which then share one guess.
    """
    known = len(targets)
    labels = {}
    for name, parts in outputs.items():
        heads = [part.softmax(-1).mean(0) for key, part in parts.items() if key.endswith(" classes")]
        labels[name] = torch.cat([targets, torch.stack(heads).mean(0)[known:]])
    first, second = labels
    if paired:
        together = _normalised(labels[first][known:] * labels[second][known:] + 1e-6)
        labels = {name: torch.cat([targets, together]) for name in labels}
    if graph is None:
        return labels
    edges = graph.to(targets.dtype)
    votes = {first: _normalised(edges @ labels[second]), second: _normalised(edges.t() @ labels[first])}
    return {name: torch.cat([targets, _sharpened(0.5 * (own + votes[name])[known:])]) for name, own in labels.items()}


def _normalised(rows: Tensor) -> Tensor:
    return rows / rows.sum(1, keepdim=True).clamp_min(1e-12)


def _sharpened(rows: Tensor) -> Tensor:
    return _normalised(rows.square())

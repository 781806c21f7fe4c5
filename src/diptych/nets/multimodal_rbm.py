"""Joint machine over several modalities: fill in the modalities that are missing by mean field."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diptych.errors import ConfigError
from diptych.nets.rbm import BernoulliRBM


@dataclass(frozen=True)
class Completion:
    """What a joint machine makes of some of its visible groups.

    Attributes:
        visible: every group: those given as they were, the others generated.
        joint: the hidden probabilities, given all of them.
    """

    visible: dict[str, Tensor]
    joint: Tensor


@torch.no_grad()
def complete(rbm: BernoulliRBM, known: Mapping[str, Tensor], iterations: int = 10) -> Completion:
    """Infer the missing groups of a joint machine, the top of a multimodal DBN (Srivastava and Salakhutdinov 2012).

    The missing groups start at zero; then, `iterations` times, h ← σ(Σ_m v_m W_m + c) and each missing
    v_m ← σ(W_m h + b_m). A last upward pass gives the joint code. With nothing missing that pass is all there is.

    Args:
        rbm: a trained machine with named groups.
        known: rows of at least one group.
        iterations: number of mean-field rounds; 10 in the published configurations.
    """
    unknown = [name for name in known if name not in rbm.groups]
    if not known or unknown:
        raise ConfigError(f"the groups given are {list(known)}; give one or more of {', '.join(rbm.groups)}.")
    rows = next(iter(known.values()))
    visible = {name: known.get(name, rows.new_zeros(len(rows), size)) for name, size in rbm.groups.items()}
    state = rbm.join(visible)
    missing = [rbm.columns(name) for name in rbm.groups if name not in known]
    for _ in range(iterations if missing else 0):
        guess = rbm.visible_mean(rbm.hidden_probability(state))
        for columns in missing:
            state[:, columns] = guess[:, columns]
    return Completion(rbm.split(state), rbm.hidden_probability(state))

"""Two pathways and their branches: the net that CDMLMR trains on frozen representations."""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.dense import DenseStack, dense

TrunkActivation = Literal["relu", "tanh", "sigmoid"]
Branch = Literal["contrastive", "quadruplet"]
Representation = Literal["branch_concat", "semi", "quad", "branch_mean", "trunk"]

BRANCHES: tuple[Branch, ...] = ("contrastive", "quadruplet")

_ONE_BRANCH: dict[str, Branch] = {"semi": "contrastive", "quad": "quadruplet"}
_SHARED = "shared"


class Pathways(nn.Module):
    """A trunk of dense layers for each modality, and on it one dense sigmoid layer for each loss.

    The net of CDMLMR (Huang and Peng 2017); what the paper leaves open is a switch. Weights start Xavier uniform,
    biases at zero.

    Args:
        sizes: width of each modality's input, by name.
        random: the source of the weights.
        branches: the losses that have a branch.
        widths: widths of the trunk's layers.
        branch_width: width of every branch.
        activation: after every layer of the trunk.
        share_branch_fc: whether the modalities share the layer of a branch, which makes their trunks comparable.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        random: torch.Generator,
        *,
        branches: Sequence[Branch] = BRANCHES,
        widths: Sequence[int] = (256, 256, 256),
        branch_width: int = 256,
        activation: TrunkActivation = "relu",
        share_branch_fc: bool = False,
    ) -> None:
        super().__init__()
        self.modalities = tuple(sizes)
        self.activation = activation
        self.share_branch_fc = share_branch_fc
        # Trunks come first and branches in one order: a net with fewer branches starts from the same weights.
        self.trunks = nn.ModuleDict(
            {
                name: DenseStack((size, *widths), random, activation=activation, scheme="xavier")
                for name, size in sizes.items()
            }
        )
        owners = (_SHARED,) if share_branch_fc else self.modalities
        layers = {
            branch: nn.ModuleDict({owner: dense(widths[-1], branch_width, random, "xavier") for owner in owners})
            for branch in BRANCHES
        }
        self.branches = nn.ModuleDict({branch: layers[branch] for branch in BRANCHES if branch in branches})

    def trunk(self, modality: str, x: Tensor) -> Tensor:
        """Return the last layer of a modality's trunk."""
        output: Tensor = self.trunks[modality](x)
        return output

    def trunk_layers(self, modality: str) -> list[nn.Module]:
        """Return the layers of a modality's trunk."""
        stack = self.trunks[modality]
        assert isinstance(stack, DenseStack)
        return list(stack.layers)

    def branch_layers(self, modality: str) -> dict[str, nn.Module]:
        """Return the layer of every branch that a modality goes through, by its loss."""
        owner = _SHARED if self.share_branch_fc else modality
        return {name: self.branches[name].get_submodule(owner) for name in self.branches}

    def outputs(self, modality: str, trunk: Tensor) -> dict[str, Tensor]:
        """Return the sigmoid output of every branch, by its loss, on a trunk's output."""
        return {name: torch.sigmoid(layer(trunk)) for name, layer in self.branch_layers(modality).items()}

    def forward(self, modality: str, x: Tensor) -> dict[str, Tensor]:
        """Return the sigmoid output of every branch, by its loss."""
        return self.outputs(modality, self.trunk(modality, x))

    def encode(self, inputs: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """Return the branches' outputs of several modalities."""
        return {modality: self(modality, x) for modality, x in inputs.items()}

    def represent(self, modality: str, x: Tensor, kind: Representation = "branch_concat") -> Tensor:
        """Return what is retrieved, see `representation`."""
        require_comparable(kind, self.share_branch_fc)
        trunk = self.trunk(modality, x)
        return representation(kind, self.outputs(modality, trunk), trunk)


def require_comparable(kind: Representation, share_branch_fc: bool) -> None:
    """Refuse to retrieve by trunks that nothing ties together."""
    if kind == "trunk" and not share_branch_fc:
        raise ConfigError(
            "the representation is 'trunk' but the modalities have branch layers of their own, so that their trunks "
            "are not comparable; set share_branch_fc or choose another representation."
        )


def representation(kind: Representation, outputs: Mapping[str, Tensor], trunk: Tensor) -> Tensor:
    """Return the representation of items by which they are retrieved.

    Args:
        kind: "branch_concat" puts the L2-normalised outputs of all branches side by side, so that a cosine is the mean
            of the branches' cosines; "branch_mean" averages them; "semi" and "quad" are the output of the contrastive
            and of the quadruplet branch alone; "trunk" is the trunk, for branch layers that the modalities share.
        outputs: the branches' outputs by loss.
        trunk: the trunk's output.
    """
    if kind == "trunk":
        return trunk
    if kind in _ONE_BRANCH:
        branch = _ONE_BRANCH[kind]
        if branch not in outputs:
            raise ConfigError(f"the representation is '{kind}' but the net has no {branch} branch.")
        return outputs[branch]
    directions = [functional.normalize(output, dim=1) for output in outputs.values()]
    if kind == "branch_concat":
        return torch.cat(directions, dim=1)
    if kind == "branch_mean":
        return torch.stack(directions).mean(0)
    raise ConfigError(f"the representation is '{kind}'; choose one of branch_concat, semi, quad, branch_mean, trunk.")

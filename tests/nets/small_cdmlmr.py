"""The network of CDMLMR so small that loops can follow it: dense sounds, counted words, a few rows of each."""

import torch

from diptych.nets.cdmlmr import CdmlmrNetwork, CdmlmrOptions, DeepBelief, NetworkShape
from diptych.nets.cdmlmr_batch import TowerRows
from diptych.nets.cdmlmr_objective import CdmlmrObjective
from diptych.nets.rows import MixedBatch
from nets.enumeration import seeded

SIZES = {"sound": 5, "text": 6}
WORDS = 10
CLASSES = 3
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
LABELLED, POOL = len(LABELS), 6
BATCH = MixedBatch(
    torch.tensor([0, 1, 3, 4, 2, 6]), {"sound": torch.tensor([5, 0, 2]), "text": torch.tensor([1, 4, 3])}
)
PAIRED_BATCH = BATCH._replace(unlabelled=dict.fromkeys(SIZES, torch.tensor([5, 0, 2])))
LABELLED_BATCH = BATCH._replace(unlabelled={name: torch.zeros(0, dtype=torch.int64) for name in SIZES})
PLAIN = {"mixup": 0.0, "input_dropout": 0.0, "dropout": 0.0, "neighbours": 2, "ramp_steps": 4}


def make_dbns(random, dtype):
    def weights(inputs, outputs):
        return tuple(torch.randn(shape, generator=random, dtype=dtype) for shape in ((inputs, outputs), (outputs,)))

    return {
        name: DeepBelief(weights(size, 4), weights(4, 3), WORDS if name == "text" else None)
        for name, size in SIZES.items()
    }


def make_network(members=2, dtype=torch.float64, *, with_dbn=True, **switches) -> CdmlmrNetwork:
    """A network none of whose parameters is zero or equal to another."""
    random = seeded(11)
    shape = NetworkShape(SIZES, CLASSES, members, 7, **switches)
    net = CdmlmrNetwork(shape, make_dbns(random, dtype) if with_dbn else {}, random).to(dtype)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=random, dtype=dtype))
    return net


def make_words(count, dtype, random):
    """Word frequencies that add up to `WORDS`; the first text is empty."""
    words = torch.rand(count, SIZES["text"], generator=random, dtype=dtype)
    words = WORDS * words / words.sum(1, keepdim=True)
    words[0] = 0.0
    return words


def make_rows(dtype=torch.float64, seed=1) -> dict[str, TowerRows]:
    random = seeded(seed)
    features = {
        name: [torch.randn(count, size, generator=random, dtype=dtype) for count in (LABELLED, POOL)]
        for name, size in SIZES.items()
    }
    visible = make_words(LABELLED, dtype, random), make_words(POOL, dtype, random)
    return {"sound": TowerRows(*features["sound"]), "text": TowerRows(*features["text"], visible=visible)}


def make_objective(
    *, members=2, dtype=torch.float64, net=None, rows=None, targets=None, paired=False, options=None, **switches
) -> CdmlmrObjective:
    """The objective without dropout and mixup unless `options` says otherwise; `switches` are the network's."""
    net = make_network(members, dtype, **switches) if net is None else net
    targets = torch.nn.functional.one_hot(LABELS, CLASSES).to(dtype) if targets is None else targets
    settings = CdmlmrOptions(**PLAIN | (options or {}))
    return CdmlmrObjective(net, rows or make_rows(dtype), targets, settings, paired=paired)


def gradients_of(objective, batch=BATCH, step=7, seed=5) -> dict[str, torch.Tensor]:
    """The gradients of one batch, by parameter."""
    objective.module.zero_grad()
    objective.gradients(batch, step, seeded(seed))
    return {name: parameter.grad.clone() for name, parameter in objective.module.named_parameters()}

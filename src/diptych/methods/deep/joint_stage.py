"""A joint machine over the codes of several modalities: the top of the multimodal DBN."""

from collections.abc import Mapping

import numpy as np

from diptych.methods.deep.dbn_stage import CodedModality, train_rbm
from diptych.methods.deep.joint_machine import JointMachine
from diptych.methods.deep.layers import run_chain
from diptych.methods.deep.workshop import Workshop
from diptych.nets import BernoulliRBM


def train_joint(shop: Workshop, coded: Mapping[str, CodedModality]) -> tuple[JointMachine, str]:
    """Train on the codes of training pairs; return the machine, frozen, and its key."""
    pairs = shop.data.train.having(*coded)
    rows = np.concatenate([run_chain(m.chain, pairs.features(name)) for name, m in coded.items()], axis=1)
    rbm = BernoulliRBM(
        {name: modality.width for name, modality in coded.items()},
        shop.profile.joint_width,
        random=shop.random("joint"),
    )
    upstream = tuple(modality.key for modality in coded.values())
    key = train_rbm(shop, "joint RBM", "joint-rbm", rbm, shop.tensor(rows), rows, upstream)
    return JointMachine.of(rbm), key

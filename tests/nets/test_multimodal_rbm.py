import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets import BernoulliRBM, complete
from nets.enumeration import seeded, shaken


@pytest.fixture
def rbm():
    return shaken(BernoulliRBM({"image": 4, "text": 3}, 5, random=seeded()), seed=1)


def rows(width, seed=2):
    return torch.rand(6, width, generator=seeded(seed), dtype=torch.float64)


def test_with_nothing_missing_the_joint_code_is_the_posterior(rbm):
    known = {"text": rows(3), "image": rows(4)}
    found = complete(rbm, known)
    assert_close(found.joint, rbm.hidden_probability(rbm.join(known)).detach())
    assert torch.equal(found.visible["text"], known["text"])


@pytest.mark.parametrize("rounds", [0, 1, 2, 10])
def test_rounds_equal_the_loop_by_hand(rbm, rounds):
    image = rows(4)
    W = {name: rbm.weight.detach()[rbm.columns(name)] for name in rbm.groups}
    text = torch.zeros(6, 3, dtype=torch.float64)
    for _ in range(rounds):
        h = torch.sigmoid(image @ W["image"] + text @ W["text"] + rbm.hidden_bias.detach())
        text = torch.sigmoid(h @ W["text"].t() + rbm.visible_bias.detach()[rbm.columns("text")])
    found = complete(rbm, {"image": image}, rounds)
    assert_close(found.visible["text"], text)
    assert torch.equal(found.visible["image"], image)


def test_the_fixed_point_satisfies_both_equations(rbm):
    found = complete(rbm, {"text": rows(3)}, iterations=100)
    assert_close(found.joint, rbm.hidden_probability(rbm.join(found.visible)).detach())
    assert_close(found.visible["image"], rbm.split(rbm.visible_mean(found.joint))["image"].detach(), atol=1e-4, rtol=0)


def test_swapping_the_modalities_changes_nothing(rbm):
    swapped = BernoulliRBM({"text": 3, "image": 4}, 5, random=seeded()).double()
    with torch.no_grad():
        order = [4, 5, 6, 0, 1, 2, 3]
        swapped.weight.copy_(rbm.weight[order])
        swapped.visible_bias.copy_(rbm.visible_bias[order])
        swapped.hidden_bias.copy_(rbm.hidden_bias)
    one, two = complete(rbm, {"image": rows(4)}), complete(swapped, {"image": rows(4)})
    assert_close(one.joint, two.joint)
    assert_close(one.visible["text"], two.visible["text"])


def test_the_given_rows_are_left_alone(rbm):
    image = rows(4)
    kept = image.clone()
    complete(rbm, {"image": image})
    assert torch.equal(image, kept)


@pytest.mark.parametrize("known", [{}, {"sound": torch.zeros(1, 2)}])
def test_unknown_or_absent_groups_are_refused(rbm, known):
    with pytest.raises(ConfigError, match="one or more of image, text"):
        complete(rbm, known)

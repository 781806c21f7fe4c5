import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets.losses import reduce_terms

TERMS = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
WEIGHTS = torch.tensor([[2.0, 0.0], [0.5, 1.0]])


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 7.5), ("batch", 7.5 / 2), ("mean", 7.5 / 3.5)])
def test_weighted_reductions(reduction, expected):
    assert_close(reduce_terms(TERMS, WEIGHTS, reduction, 2), torch.tensor(expected))


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 10.0), ("batch", 5.0), ("mean", 2.5)])
def test_without_weights_every_term_counts_once(reduction, expected):
    assert_close(reduce_terms(TERMS, None, reduction, 2), torch.tensor(expected))


def test_a_mean_of_small_weights_is_not_diluted():
    assert_close(reduce_terms(TERMS, WEIGHTS * 0.01, "mean", 2), reduce_terms(TERMS, WEIGHTS, "mean", 2))


@pytest.mark.parametrize("reduction", ["sum", "batch", "mean"])
def test_nothing_selected_is_zero_with_zero_gradients(reduction):
    terms = TERMS.clone().requires_grad_()
    loss = reduce_terms(terms, torch.zeros(2, 2), reduction, 2)
    loss.backward()
    assert loss == 0 and torch.equal(terms.grad, torch.zeros(2, 2))


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ConfigError, match="reduction is 'max'; choose one of mean, batch, sum"):
        reduce_terms(TERMS, None, "max", 2)

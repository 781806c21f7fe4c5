"""Two towers: both losses against loops, members against nets of their own, and what the training loop relies on."""

from math import exp, log

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets.rows import MixedBatch, MixedBatches
from diptych.nets.two_tower import TwoTowerNet, TwoTowerObjective, TwoTowerOptions, info_nce_terms
from diptych.training import Cosine, LoopSettings, RowwiseObjective, train
from nets.enumeration import seeded

COLUMNS = {"image": 6, "text": 5}
LABELLED, UNLABELLED, CLASSES = 14, 9, 3
PLAIN = TwoTowerOptions(input_dropout=0.0, dropout=0.0)
BATCH = MixedBatch(torch.tensor([3, 0, 11, 7]), {name: torch.tensor([2, 8]) for name in COLUMNS})


def net(members=1, seed=0, dtype=torch.float64) -> TwoTowerNet:
    return TwoTowerNet(COLUMNS, CLASSES, seeded(seed), members=members, hidden=8, width=4).to(dtype)


def objective(module, options=PLAIN, targets=None, dtype=torch.float64) -> TwoTowerObjective:
    rows = {
        name: torch.randn(LABELLED + UNLABELLED, size, generator=seeded(size)).to(dtype)
        for name, size in COLUMNS.items()
    }
    targets = torch.eye(CLASSES)[torch.arange(LABELLED) % CLASSES] if targets is None else targets
    return TwoTowerObjective(module, rows, targets.to(dtype), options)


def naive_info_nce(first, second, temperature) -> list[float]:
    """One pair after the other, one similarity after the other."""

    def similarity(a, b) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b))) / temperature

    terms = []
    for place in range(len(first)):
        own = similarity(first[place], second[place])
        forward = sum(exp(similarity(first[place], other)) for other in second)
        backward = sum(exp(similarity(other, second[place])) for other in first)
        terms.append(0.5 * ((log(forward) - own) + (log(backward) - own)))
    return terms


class TestLosses:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("temperature", [0.07, 1.0])
    def test_info_nce_is_that_of_a_loop(self, temperature, dtype) -> None:
        first, second = (torch.randn(2, 7, 4, generator=seeded(seed)).to(dtype) for seed in (1, 2))
        found = info_nce_terms(first, second, temperature)
        for member in range(2):
            expected = naive_info_nce(first[member].double().numpy(), second[member].double().numpy(), temperature)
            np.testing.assert_allclose(found[member].numpy(), expected, rtol=1e-4 if dtype == torch.float32 else 1e-10)

    def test_info_nce_does_not_mind_which_modality_comes_first_nor_how_long_embeddings_are(self) -> None:
        first, second = (torch.randn(1, 7, 4, generator=seeded(seed)) for seed in (1, 2))
        expected = info_nce_terms(first, second, 0.1)
        assert_close(info_nce_terms(second, first, 0.1), expected)
        assert_close(info_nce_terms(3.0 * first, 0.2 * second, 0.1), expected)
        order = torch.tensor([4, 1, 0, 6, 2, 3, 5])
        assert_close(info_nce_terms(first[:, order], second[:, order], 0.1), expected[:, order])

    def test_a_pair_alone_in_its_batch_has_nothing_to_be_told_from(self) -> None:
        row = torch.randn(1, 1, 4, generator=seeded())
        assert_close(info_nce_terms(row, -row, 0.07), torch.zeros(1, 1))

    def test_an_embedding_of_nothing_does_not_explode(self) -> None:
        rows = torch.randn(1, 5, 4, generator=seeded(1))
        rows[0, 2] = 0.0
        first, second = rows.clone().requires_grad_(), torch.randn(1, 5, 4, generator=seeded(2))
        info_nce_terms(first, second, 0.07).sum().backward()
        assert 0 < first.grad[0, 2].norm() < 1e4

    def test_the_gradient_of_info_nce(self) -> None:
        rows = [torch.randn(2, 4, 3, generator=seeded(seed), dtype=torch.float64) for seed in (1, 2)]
        assert torch.autograd.gradcheck(
            lambda a, b: info_nce_terms(a, b, 0.5), [each.requires_grad_() for each in rows], raise_exception=True
        )

    def test_all_pairs_count_in_info_nce_and_labelled_rows_alone_in_the_cross_entropy(self) -> None:
        soft = torch.rand(LABELLED, CLASSES, generator=seeded(3))
        soft = soft / soft.sum(1, keepdim=True)
        options = TwoTowerOptions(contrast_weight=0.5, class_weight=2.0, input_dropout=0.0, dropout=0.0)
        made = objective(net(2), options, soft)
        found = {name: part.tolist() for name, part in made.losses(BATCH, seeded()).items()}
        places = [*BATCH.labelled.tolist(), *(LABELLED + BATCH.unlabelled["image"]).tolist()]
        encoded = {name: made.module.encode(name, rows[places]) for name, rows in made.rows.items()}
        for member in range(2):
            embeddings = [parts["embedding"][member].detach().double().numpy() for parts in encoded.values()]
            pairs = np.mean(naive_info_nce(*embeddings, options.temperature))
            classes = 0.0
            for parts in encoded.values():
                for place, row in enumerate(BATCH.labelled.tolist()):
                    log_probabilities = parts["classes"][member, place].log_softmax(0).tolist()
                    classes -= sum(t * p for t, p in zip(soft[row].tolist(), log_probabilities, strict=True)) / 4
            assert found["pairs"][member] == pytest.approx(0.5 * pairs, rel=1e-4)
            assert found["classes"][member] == pytest.approx(2.0 * classes, rel=1e-4)

    @pytest.mark.parametrize(
        ("params", "sentence"),
        [
            ({"temperature": 0.0}, "temperature is 0.0; it must be above zero"),
            ({"contrast_weight": -1.0}, "contrast_weight is -1.0"),
            ({"class_weight": -0.5}, "class_weight is -0.5"),
            ({"contrast_weight": 0.0, "class_weight": 0.0}, "both 0, so nothing would be learned"),
            ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and below 1"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, params, sentence) -> None:
        with pytest.raises(ConfigError, match=sentence):
            TwoTowerOptions(**params)


def alone(together: TwoTowerNet, member: int) -> TwoTowerNet:
    """A net of one member with the weights of one among several."""
    single = net()
    with torch.no_grad():
        for own, other in zip(single.modules(), together.modules(), strict=True):
            if hasattr(own, "weight_of"):
                own.weight_of(0).copy_(other.weight_of(member))
                own.bias[0].copy_(other.bias[member])
    return single


class TestMembers:
    def test_members_trained_together_are_those_trained_alone(self) -> None:
        together = net(3)
        singles = [alone(together, member) for member in range(3)]
        for module in (together, *singles):
            training(module)
        for member, single in enumerate(singles):
            expected = alone(together, member).state_dict()
            start = alone(net(3), member).state_dict()
            for name, value in single.state_dict().items():
                assert_close(value, expected[name], rtol=1e-6, atol=1e-9)
                assert not torch.equal(value, start[name])

    def test_members_drop_units_of_their_own(self) -> None:
        made = objective(net(2), TwoTowerOptions(input_dropout=0.0, dropout=0.5))
        inputs = made._inputs(BATCH, seeded())
        kept = inputs["image kept"]
        assert set(kept.unique().tolist()) == {0.0, 2.0}
        assert not torch.equal(kept[:, :, 0], kept[:, :, 1])
        assert not torch.equal(kept[:, 0], kept[:, 1])


def training(module, folder=None, options=PLAIN, progress=None, dtype=torch.float64, steps=12) -> TwoTowerObjective:
    made = objective(module, options, dtype=dtype)
    settings = LoopSettings(
        steps, 8, "adamw", Cosine(0.01, steps), weight_decay=0.01, decay_biases=True, log_every=1, checkpoint_every=5,
        device="cpu",
    )  # fmt: skip
    batches = MixedBatches(LABELLED, dict.fromkeys(COLUMNS, UNLABELLED), 8, seed=4, labelled_share=0.5, paired=True)
    keywords = {} if progress is None else {"progress": progress}
    train(made, settings, batches=batches, folder=folder, stage="two towers", **keywords)
    return made


class TestLoop:
    def test_figures_are_detached_scalars_and_every_parameter_gets_a_gradient(self) -> None:
        made = objective(net(2), TwoTowerOptions())
        figures = made.gradients(BATCH, 0, seeded())
        assert list(figures) == ["loss", "classes", "pairs"]
        assert_close(figures["loss"], figures["classes"] + figures["pairs"])
        assert not any(value.requires_grad for value in figures.values())
        for name, parameter in made.module.named_parameters():
            assert parameter.grad is not None and parameter.grad.abs().max() > 0, name

    def test_a_resumed_run_is_the_same_run_to_the_bit(self, tmp_path) -> None:
        def interrupt(stage, done, total, figures) -> None:
            if done >= 8:
                raise InterruptedError

        def attempt(**keywords):
            single = torch.float32
            return training(net(2, dtype=single), options=TwoTowerOptions(), dtype=single, **keywords)

        straight = attempt().module.state_dict()
        with pytest.raises(InterruptedError):
            attempt(folder=tmp_path, progress=interrupt)
        resumed = attempt(folder=tmp_path).module.state_dict()
        assert all(torch.equal(resumed[name], value) for name, value in straight.items())

    def test_several_processes_may_divide_a_batch(self) -> None:
        """Every row is encoded by itself: the halves of a batch give the halves of what the whole gives."""
        made = objective(net(2), TwoTowerOptions())
        assert isinstance(made, RowwiseObjective)
        inputs = made._inputs(BATCH, seeded())
        whole = made.encode(inputs)
        halves = [made.encode({name: rows[part] for name, rows in inputs.items()}) for part in (slice(4), slice(4, 6))]
        for name, parts in whole.items():
            for key, value in parts.items():
                assert_close(torch.cat([half[name][key] for half in halves]), value)
        made.encode = lambda _: whole
        assert_close(
            made.losses(BATCH, seeded())["pairs"], objective(net(2), TwoTowerOptions()).losses(BATCH, seeded())["pairs"]
        )

import torch
from torch.testing import assert_close

from diptych.nets.losses import active_share, contrastive_terms, output_spread, pair_figures
from nets.enumeration import seeded


def test_figures_of_selected_pairs_equal_a_loop():
    random = seeded(1)
    squared = 4 * torch.rand(6, 6, generator=random)
    similar = torch.rand(6, 6, generator=random) < 0.5
    weights = torch.randint(3, (6, 6), generator=random).float()
    figures = pair_figures(squared, similar, weights, contrastive_terms(squared, similar, 1.2))
    listed = [
        (bool(similar[p, q]), float(squared[p, q]) ** 0.5)
        for p in range(6)
        for q in range(6)
        for _ in range(int(weights[p, q]))
    ]
    near = [distance for kind, distance in listed if kind]
    far = [distance for kind, distance in listed if not kind]
    assert_close(figures["similar_distance"], torch.tensor(sum(near) / len(near)))
    assert_close(figures["dissimilar_distance"], torch.tensor(sum(far) / len(far)))
    assert_close(figures["active_hinges"], torch.tensor(sum(d < 1.2 for d in far) / len(far)))
    assert 0 < figures["active_hinges"] < 1


def test_figures_carry_no_gradients():
    squared = torch.rand(3, 3, generator=seeded(2)).requires_grad_()
    similar = torch.eye(3, dtype=torch.bool)
    figures = pair_figures(squared, similar, torch.ones(3, 3), contrastive_terms(squared, similar, 1.0))
    assert not any(value.requires_grad for value in figures.values())
    assert not output_spread(squared).requires_grad and not active_share(squared).requires_grad


def test_figures_without_pairs_are_nan():
    figures = pair_figures(torch.ones(2, 2), torch.eye(2, dtype=torch.bool), torch.zeros(2, 2), torch.ones(2, 2))
    assert all(value.isnan() for value in figures.values())


def test_active_share_and_spread():
    assert active_share(torch.tensor([0.0, 1.0, 2.0, 0.0])) == 0.5
    outputs = torch.rand(8, 3, generator=seeded(3))
    assert_close(output_spread(outputs), torch.tensor(outputs.numpy().std(0).mean()))
    assert output_spread(torch.full((8, 3), 0.5)) == 0

import pytest
import torch
from torch.testing import assert_close

from diptych.nets import CorrespondenceAutoencoder, CorrespondenceObjective
from nets.enumeration import seeded

SIZES = {"image": 5, "text": 4}


def make_net(variant="full", hidden=3):
    return CorrespondenceAutoencoder(SIZES, hidden, seeded(), variant=variant).double()


def make_data(rows=8, seed=0):
    return {n: torch.rand(rows, s, generator=seeded(seed + s), dtype=torch.float64) for n, s in SIZES.items()}


@pytest.mark.parametrize(
    ("variant", "routes"),
    [
        ("corr", ["image_to_image", "text_to_text"]),
        ("cross", ["image_to_text", "text_to_image"]),
        ("full", ["image_to_image", "image_to_text", "text_to_image", "text_to_text"]),
    ],
)
def test_each_variant_has_its_decoders_and_its_loss(variant, routes):
    net, data = make_net(variant), make_data()
    assert list(net.decoders) == routes
    total = 0.0
    for route in routes:
        source, target = route.split("_to_")
        guess = torch.sigmoid(net.decoders[route](net.embed(source, data[source])))
        total = total + 0.5 * ((guess - data[target]) ** 2).sum() / 8
    gap = 0.5 * ((net.embed("image", data["image"]) - net.embed("text", data["text"])) ** 2).sum() / 8
    figures = CorrespondenceObjective(net, data, 0.3).gradients(torch.arange(8), 0, seeded())
    assert_close(figures["loss"], (0.7 * total + 0.3 * gap).detach())
    assert list(figures) == ["loss", *routes, "correspondence"]


def test_pull_on_a_code_is_alpha_times_the_difference():
    net, data = make_net("corr"), make_data(1)
    image, text = (net.embed(name, x) for name, x in data.items())
    image.retain_grad()
    (0.8 * 0.5 * (image - text).square().sum(1).mean()).backward()
    assert_close(image.grad, 0.8 * (image - text).detach())
    net.zero_grad()
    CorrespondenceObjective(net, data, 1.0).gradients(torch.arange(1), 0, seeded())
    slope = ((image - text) * image * (1 - image)).detach()
    assert_close(net.encoders["image"].weight.grad, slope.t() @ data["image"])


def test_alpha_one_draws_the_codes_together():
    net, data = make_net("full"), make_data(20)
    objective = CorrespondenceObjective(net, data, 1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    gaps = []
    for step in range(200):
        optimizer.zero_grad()
        gaps.append(float(objective.gradients(torch.arange(20), step, seeded())["correspondence"]))
        optimizer.step()
    assert gaps[-1] < 0.01 * gaps[0]


def test_alpha_zero_decouples_the_two_autoencoders():
    def text_weights(image_seed):
        net, data = make_net("corr"), make_data()
        data["image"] = make_data(seed=image_seed)["image"]
        objective = CorrespondenceObjective(net, data, 0.0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(5):
            optimizer.zero_grad()
            objective.gradients(torch.arange(8), step, seeded())
            optimizer.step()
        return [*net.encoders["text"].parameters(), *net.decoders["text_to_text"].parameters()]

    assert all(torch.equal(a, b) for a, b in zip(text_weights(0), text_weights(99), strict=True))

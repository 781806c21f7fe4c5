"""A deep Boltzmann machine small enough to enumerate: a Gaussian and a word-count pathway."""

from itertools import product
from math import log, pi

import torch

from diptych.nets import DeepBoltzmannMachine, GaussianRBM, Layers, Pathway, ReplicatedSoftmax
from nets.enumeration import binary_states, count_vectors, log_multinomial, seeded, shaken, visible_energy

FIRST, SECOND, JOINT = 2, 2, 2
WORDS, LENGTH, COLUMNS = 3, 3, 2


def tiny_model(scale=0.5):
    gaussian = GaussianRBM(COLUMNS, FIRST, random=seeded())
    counts = ReplicatedSoftmax(WORDS, FIRST, random=seeded(), document_length=LENGTH)
    paths = {"image": Pathway(gaussian, SECOND, seeded()), "text": Pathway(counts, SECOND, seeded())}
    return shaken(DeepBoltzmannMachine(paths, JOINT, seeded()), seed=1, scale=scale)


def tiny_data(rows=40, seed=2):
    random = seeded(seed)
    image = torch.randn(rows, COLUMNS, generator=random, dtype=torch.float64)
    text = count_vectors(WORDS, LENGTH)[torch.randint(10, (rows,), generator=random)]
    return {"image": image, "text": text}


def hidden_states():
    """Every joint hidden state: first and second layer of both pathways, joint layer."""
    blocks = [binary_states(FIRST), binary_states(FIRST), binary_states(SECOND), binary_states(SECOND)]
    rows = [torch.cat(parts) for parts in product(*blocks, binary_states(JOINT))]
    a, b, c, d, e = torch.stack(rows).split([FIRST, FIRST, SECOND, SECOND, JOINT], dim=1)
    return {"image": a, "text": b}, {"image": c, "text": d}, e


def energy(model, layers):
    """E for every row; at mean-field probabilities it is the expected energy."""
    total = -(layers.joint @ model.joint_bias)
    for name, path in model.pathways.items():
        v, first, second = layers.visible[name], layers.first[name], layers.second[name]
        total = total + visible_energy(path.bottom, v) - (path.bottom.hidden_input(v) * first).sum(1)
        total = total - ((first @ path.weight + path.bias) * second).sum(1)
        total = total - (second @ model.joint_weights[name] * layers.joint).sum(1)
    return total


def log_partition(model):
    """log Z with v integrated (Gaussian) or summed over all documents (counts), for every hidden state."""
    first, second, joint = hidden_states()
    image, text = model.pathways["image"], model.pathways["text"]
    push = first["image"] @ image.bottom.weight.t()
    score = 0.5 * push.square().sum(1) + push @ image.bottom.visible_bias + 0.5 * COLUMNS * log(2 * pi)
    score = score + first["image"] @ image.bottom.hidden_bias
    documents = count_vectors(WORDS, LENGTH)
    per_document = documents @ (text.bottom.weight @ first["text"].t() + text.bottom.visible_bias[:, None])
    score = score + torch.logsumexp(per_document + log_multinomial(documents)[:, None], 0)
    score = score + LENGTH * first["text"] @ text.bottom.hidden_bias
    for name, path in model.pathways.items():
        score = score + ((first[name] @ path.weight + path.bias) * second[name]).sum(1)
        score = score + (second[name] @ model.joint_weights[name] * joint).sum(1)
    return torch.logsumexp(score + joint @ model.joint_bias, 0)


def log_likelihood(model, data):
    """Exact mean log p(v) of the rows."""
    first, second, joint = hidden_states()
    scores = []
    for row in range(len(data["image"])):
        visible = {name: x[row].expand(len(joint), -1) for name, x in data.items()}
        scores.append(torch.logsumexp(-energy(model, Layers(visible, first, second, joint)), 0))
    coefficient = log_multinomial(data["text"])
    return (torch.stack(scores) + coefficient).mean() - log_partition(model)


def lower_bound(model, data, layers):
    """The variational bound on the mean log p(v)."""
    hidden = [*layers.first.values(), *layers.second.values(), layers.joint]
    entropy = sum(-(torch.xlogy(q, q) + torch.xlogy(1.0 - q, 1.0 - q)).sum(1) for q in hidden)
    return (log_multinomial(data["text"]) - energy(model, layers) + entropy).mean() - log_partition(model)

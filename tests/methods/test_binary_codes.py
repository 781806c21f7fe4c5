"""Binary codes: ITQ against a loop written out, what bits mean, and codes as part of any model."""

from itertools import pairwise

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError, NotFittedError
from diptych.methods import create, load_model, save_model
from diptych.methods.binary_codes import itq_rotation, learn_codes, random_rotation


def naive_itq(rows, rotation, rounds):
    """Gong and Lazebnik's two steps, entry by entry, with the Procrustes solution by an eigenvalue decomposition."""
    for _ in range(rounds):
        projected = rows @ rotation
        signs = np.array([[1.0 if value > 0 else -1.0 for value in row] for row in projected])
        across = np.zeros((rows.shape[1], rows.shape[1]))
        for row, sign in zip(rows, signs, strict=True):
            across += np.outer(row, sign)
        values, vectors = np.linalg.eigh(across.T @ across)  # polar factor: A (AᵀA)^(−½)
        rotation = across @ vectors @ np.diag(values**-0.5) @ vectors.T
    return rotation


def quantisation_loss(rows, rotation):
    projected = rows @ rotation
    return np.sum((np.sign(projected) - projected) ** 2)


@pytest.fixture
def rows():
    draw = np.random.default_rng(0)
    values = draw.standard_normal((80, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    return values - values.mean(axis=0)


@pytest.mark.parametrize("rounds", [1, 7])
def test_itq_is_the_naive_loop(rows, rounds) -> None:
    start = random_rotation(6, np.random.default_rng(1))
    found = itq_rotation(rows, start, rounds)
    np.testing.assert_allclose(found, naive_itq(rows, start, rounds), atol=1e-9)
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-9)


def test_every_round_brings_coordinates_nearer_to_their_signs(rows) -> None:
    start = random_rotation(6, np.random.default_rng(2))
    losses = [quantisation_loss(rows, itq_rotation(rows, start, rounds)) for rounds in range(12)]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(losses))


def test_a_bit_is_the_sign_of_a_rotated_coordinate() -> None:
    embeddings = np.random.default_rng(0).standard_normal((50, 40)).astype(np.float32)
    codes = learn_codes(embeddings, 32)
    packed = codes.encode(embeddings)
    assert packed.shape == (50, 4) and codes.bits == 32
    for row, code in zip(embeddings, packed, strict=True):
        centred = row / np.linalg.norm(row) - codes.centre
        for bit in range(32):
            assert (code[bit // 8] >> (bit % 8)) & 1 == (centred @ codes.rotation[:, bit] > 0)
    np.testing.assert_array_equal(codes.encode(7 * embeddings), packed)


@pytest.mark.parametrize("bits", [64, 512])
def test_more_bits_than_columns_estimate_the_angle(bits) -> None:
    """Embeddings of ten columns have codes of any length: further bits are further votes on the angle."""
    draw = np.random.default_rng(3)
    embeddings = draw.standard_normal((400, 10))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    codes = learn_codes(embeddings, bits)
    bits_of = np.unpackbits(codes.encode(embeddings), axis=1)
    differing = (bits_of[:50, None] != bits_of[None, 50:100]).mean(axis=2)
    angles = np.arccos(np.clip(embeddings[:50] @ embeddings[50:100].T, -1, 1)) / np.pi
    assert np.abs(differing - angles).mean() < (0.06 if bits == 64 else 0.03)
    assert np.corrcoef(differing.ravel(), angles.ravel())[0, 1] > 0.9


def test_what_a_code_stands_for_is_near_its_embedding() -> None:
    draw = np.random.default_rng(4)
    embeddings = draw.standard_normal((500, 16)) @ draw.standard_normal((16, 64))
    units = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    cosines = []
    for bits in (32, 128, 512):
        codes = learn_codes(embeddings, bits)
        decoded = codes.decode(codes.encode(embeddings))
        np.testing.assert_allclose(np.linalg.norm(decoded, axis=1), 1.0, atol=1e-5)
        cosines.append(float((decoded * units).sum(axis=1).mean()))
    assert cosines[0] > 0.7 and cosines == sorted(cosines) and cosines[-1] > 0.95


def test_codes_are_saved_with_a_model_and_belong_to_its_fingerprint(dense_dataset, tmp_path) -> None:
    model = create("cca", ridge=0.1, components=8).fit(dense_dataset)
    save_model(model, tmp_path / "plain")
    plain = load_model(tmp_path / "plain")
    assert plain.bits == 0
    rows = dense_dataset.split("test").having("image").features("image")
    with pytest.raises(NotFittedError, match="has no binary codes; call binarise first"):
        plain.embed_bits("image", rows)
    model.binarise(64, dense_dataset)
    save_model(model, tmp_path / "binary")
    again = load_model(tmp_path / "binary")
    assert again.bits == 64
    np.testing.assert_array_equal(again.embed_bits("image", rows), model.embed_bits("image", rows))
    np.testing.assert_array_equal(again.embed("image", rows), plain.embed("image", rows))


def test_partners_have_near_codes(dense_dataset) -> None:
    model = create("cca", ridge=0.1, components=8).fit(dense_dataset).binarise(128, dense_dataset)
    test = dense_dataset.split("test").having("image", "text")
    image, text = (model.embed_bits(name, test.features(name)) for name in ("image", "text"))
    distances = np.array([[np.unpackbits(a ^ b).sum() for b in text] for a in image])
    assert np.diag(distances).mean() < distances.mean() - 10


def test_only_training_items_are_looked_at(dense_dataset) -> None:
    model = create("cca", ridge=0.1, components=8).fit(dense_dataset)
    train = dense_dataset.split("train")
    rows = {name: train.having(name).features(name) for name in model.modalities}
    expected = model.binarise(64, rows).codes_
    np.testing.assert_array_equal(model.binarise(64, dense_dataset).codes_.rotation, expected.rotation)


def test_codes_of_a_choice_are_kept_with_the_method_chosen(dense_dataset, tmp_path) -> None:
    model = create("auto", budget_s=1.0).fit(dense_dataset).binarise(64, dense_dataset)
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").bits == 64


def test_a_fit_forgets_codes_of_before(dense_dataset) -> None:
    model = create("cfa").fit(dense_dataset).binarise(64, dense_dataset)
    assert model.fit(dense_dataset).bits == 0


@pytest.mark.parametrize("bits", [0, 60, 2048, 64.0, True])
def test_a_number_of_bits_that_no_code_has_is_refused(dense_dataset, bits) -> None:
    model = create("cfa").fit(dense_dataset)
    with pytest.raises(ConfigError, match="it must be a multiple of 8 between 32 and 1024"):
        model.binarise(bits, dense_dataset)


def test_embeddings_that_are_all_the_same_have_no_codes() -> None:
    with pytest.raises(DataError, match="all embeddings are the same"):
        learn_codes(np.ones((5, 4)), 64)

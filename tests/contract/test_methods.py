"""What every registered method promises, whatever it does inside."""

import json

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, DataError, FitError, NotFittedError
from diptych._core.state import pack
from diptych.data import Protocol
from diptych.methods import load_model, method_class, save_model

TRANSDUCTIVE = Protocol(unlabelled="test-features")
KNOWS_NOTHING = {"chance"}
MAY_KNOW_NOTHING = {"chance", "cca-paper"}
LEARNS_NOTHING = {"identity"}
"""What these know of the test items is in their features already, whatever training held."""


def beats_chance(name, method, dataset, pair=("image", "text"), factor=1.5) -> bool:
    """Whether retrieval beats chance clearly.

    A method trained in a hurry only has to be on its way, and its codes are z-scored first: sigmoid codes of two
    modalities differ by an offset that takes longer to learn away than what they say.
    """
    hurried = "profile" in method.get_params()
    bar = 1.1 if hurried else factor
    score = synthetic.score_on_test(method, dataset, pair, normalised=hurried)
    chance = synthetic.chance_score(dataset)
    return name in MAY_KNOW_NOTHING or score > bar * chance


def learned(method) -> tuple[str, dict[str, bytes]]:
    """Everything learned but the record, in a form that equals only what is bit-identical."""
    state, arrays = pack({key: value for key, value in method.learned_state().items() if key != "record_"})
    return json.dumps(state), {key: value.tobytes() + str(value.dtype).encode() for key, value in arrays.items()}


def rows_of(dataset, modality, split="test"):
    return dataset.split(split).having(modality).features(modality)


class TestParameters:
    def test_constructor_only_assigns(self, name) -> None:
        cls = method_class(name)
        given = {key: object() for key in cls.parameter_defaults()}
        made = cls(**given)
        assert vars(made) == given

    def test_parameters_survive_a_round_trip(self, name, make) -> None:
        method = make(name)
        again = type(method)(**method.get_params())
        assert again.get_params() == method.get_params()
        assert again.set_params(**method.get_params()) is again
        assert repr(again) == repr(method)

    def test_unknown_parameters_are_refused(self, name, make) -> None:
        with pytest.raises(ConfigError, match="has no parameter 'colour'"):
            make(name).set_params(colour=1)
        with pytest.raises(ConfigError, match="has no parameter 'colour'"):
            make(name, colour=1)

    def test_it_says_what_it_is(self, name) -> None:
        cls = method_class(name)
        assert cls.__doc__
        assert cls.citation or name in KNOWS_NOTHING
        assert ("seed" in cls.parameter_defaults()) == cls.stochastic


class TestFit:
    def test_fit_is_repeatable_and_keeps_a_record(self, name, make, fitted, counts_dataset) -> None:
        method = make(name)
        before = method.get_params()
        assert method.fit(counts_dataset) is method
        assert method.get_params() == before
        assert method.is_fitted
        assert method.modalities == ("image", "text")
        assert method.record_["dataset"]["fingerprint"] == counts_dataset.fingerprint
        assert all({"params", "score"} <= trial.keys() for trial in method.record_["selection"])
        json.dumps(method.record_)
        assert learned(method) == learned(fitted(name, counts_dataset))

    def test_retrieval_beats_chance(self, name, fitted, counts_dataset, dense_dataset) -> None:
        for dataset in (counts_dataset, dense_dataset):
            assert beats_chance(name, fitted(name, dataset), dataset)

    def test_counts_and_dense_columns_stand_side_by_side(self, name, fitted, mixed_dataset, tmp_path) -> None:
        method = fitted(name, mixed_dataset)
        assert beats_chance(name, method, mixed_dataset)
        save_model(method, tmp_path / "model")
        rows = rows_of(mixed_dataset, "text")
        np.testing.assert_array_equal(load_model(tmp_path / "model").embed("text", rows), method.embed("text", rows))

    def test_gaps_and_missing_labels_do_not_matter(self, name, fitted, gaps_dataset) -> None:
        method = fitted(name, gaps_dataset, Protocol(unlabelled="train"))
        assert beats_chance(name, method, gaps_dataset, factor=1.3)

    def test_no_validation_split_is_needed(self, name, fitted, unjudged_dataset) -> None:
        assert beats_chance(name, fitted(name, unjudged_dataset), unjudged_dataset, factor=1.3)

    def test_few_labels_are_enough(self, name, make, counts_dataset) -> None:
        protocol = Protocol(unlabelled="train", labels_per_class=2)
        codes = make(name).fit(counts_dataset, protocol).embed("image", rows_of(counts_dataset, "image"))
        assert np.isfinite(codes).all()

    def test_propagated_labels_serve_as_labels(self, name, make, counts_dataset) -> None:
        protocol = Protocol(unlabelled="train", labels_per_class=2, propagate=True)
        method = make(name).fit(counts_dataset, protocol)
        assert np.isfinite(method.embed("image", rows_of(counts_dataset, "image"))).all()
        assert ("propagation" in method.record_) == method.uses_labels
        assert ("propagated labels" in method.record_["saw"]) == method.uses_labels

    def test_three_modalities_are_joined_or_refused(self, name, make, three_dataset) -> None:
        method = make(name)
        if method.max_modalities is None:
            method.fit(three_dataset)
            for pair in (("image", "audio"), ("audio", "text")):
                assert beats_chance(name, method, three_dataset, pair)
        else:
            message = r"joins 2 modalities and the dataset has 3 \(image, text, audio\); use a method .*cca.*, sm, "
            with pytest.raises(FitError, match=message):
                method.fit(three_dataset)
            assert method.fit(three_dataset, modalities=("audio", "image")).modalities == ("audio", "image")

    def test_items_may_lack_some_of_three_modalities(self, name, make, three_gaps_dataset) -> None:
        if method_class(name).max_modalities is not None:
            pytest.skip("it joins two modalities")
        method = make(name).fit(three_gaps_dataset, Protocol(unlabelled="train"))
        for pair in (("image", "text"), ("image", "audio"), ("audio", "text")):
            assert beats_chance(name, method, three_gaps_dataset, pair, factor=1.3)
        for modality in ("image", "text", "audio"):
            assert np.isfinite(method.embed(modality, rows_of(three_gaps_dataset, modality))).all()

    def test_one_modality_is_refused(self, name, make, counts_dataset) -> None:
        with pytest.raises(FitError, match="needs two; the dataset gives 1"):
            make(name).fit(counts_dataset, modalities=("image",))

    def test_labels_are_needed_by_those_that_use_them(self, name, make, variant) -> None:
        unlabelled, cls = variant(name, without_labels), method_class(name)
        if cls.uses_labels and not cls.works_without_labels:
            with pytest.raises(FitError, match="learns from labels and no training item has one"):
                make(name).fit(unlabelled)
        else:
            method = make(name).fit(unlabelled)
            assert method.is_fitted
            assert "labels" not in method.record_["saw"]


class TestHonesty:
    """What a protocol withholds cannot be seen in what is learned."""

    def test_test_items_leave_no_trace(self, name, fitted, counts_dataset, variant) -> None:
        """Inductively nothing of a test item is seen: neither its features, nor its label, nor its pairing."""
        assert learned(fitted(name, variant(name, change_all_of_test))) == learned(fitted(name, counts_dataset))

    def test_test_labels_and_pairs_leave_no_trace(self, name, fitted, counts_dataset, variant) -> None:
        """Transductively only features are seen, and only by a method that says so."""
        seen = fitted(name, counts_dataset, TRANSDUCTIVE)
        if method_class(name).uses_unlabelled:
            other = fitted(name, variant(name, change_labels_and_pairs_of_test), TRANSDUCTIVE)
        else:
            other = fitted(name, counts_dataset)
        assert learned(seen) == learned(other)

    def test_nothing_to_learn_is_not_learned(self, name, fitted, counts_dataset, variant) -> None:
        """On shuffled training data the score loses most of what it had above chance."""
        noise = variant(name, synthetic.shuffle_for_training, 0)
        chance = synthetic.chance_score(counts_dataset)
        informed = synthetic.score_on_test(fitted(name, counts_dataset), counts_dataset)
        blind = synthetic.score_on_test(fitted(name, noise), noise)
        if name in LEARNS_NOTHING:
            assert blind == informed
        else:
            assert blind < max(1.5 * chance, (informed + chance) / 2)

    def test_the_record_says_what_was_seen(self, name, fitted, counts_dataset) -> None:
        method = fitted(name, counts_dataset, TRANSDUCTIVE)
        assert ("labels" in method.record_["saw"]) == method.uses_labels
        assert ("test features" in method.record_["saw"]) == method.uses_unlabelled


class TestEmbed:
    @pytest.mark.parametrize("modality", ["image", "text"])
    def test_codes_are_finite_singles_and_repeatable(self, name, fitted, counts_dataset, modality) -> None:
        method, rows = fitted(name, counts_dataset), rows_of(counts_dataset, modality)
        codes = method.embed(modality, rows)
        assert codes.ndim == 2
        assert len(codes) == rows.shape[0]
        assert codes.dtype == np.float32
        assert np.isfinite(codes).all()
        np.testing.assert_array_equal(codes, method.embed(modality, rows))

    @pytest.mark.parametrize("modality", ["image", "text"])
    def test_a_row_is_embedded_alone_as_among_others(self, name, fitted, counts_dataset, modality) -> None:
        method, rows = fitted(name, counts_dataset), rows_of(counts_dataset, modality)
        np.testing.assert_allclose(method.embed(modality, rows[::3]), method.embed(modality, rows)[::3], atol=1e-5)
        assert method.embed(modality, rows[:0]).shape == (0, method.embed(modality, rows[:1]).shape[1])

    @pytest.mark.parametrize("modality", ["image", "text"])
    def test_width_of_numbers_does_not_matter(self, name, fitted, counts_dataset, modality) -> None:
        method, rows = fitted(name, counts_dataset), rows_of(counts_dataset, modality)
        narrow, wide = (method.embed(modality, rows.astype(kind)) for kind in (np.float32, np.float64))
        np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=1e-4)

    def test_represent_gives_comparable_codes(self, name, fitted, dense_dataset) -> None:
        queries, gallery = rows_of(dense_dataset, "image")[:7], rows_of(dense_dataset, "text")[:9]
        left, right = fitted(name, dense_dataset).represent("image", "text", queries, gallery)
        assert (len(left), len(right)) == (7, 9)
        assert left.shape[1] == right.shape[1]

    @pytest.mark.parametrize("modality", ["image", "text"])
    def test_purposes_are_served_or_refused(self, name, fitted, counts_dataset, modality) -> None:
        """Where there are spaces, each part of a row has one length in all rows; elsewhere a purpose is refused."""
        method, rows = fitted(name, counts_dataset), rows_of(counts_dataset, modality)
        plain = method.embed(modality, rows)
        np.testing.assert_array_equal(method.embed(modality, rows, "auto"), plain)
        if not method.purposes:
            for purpose in ("class", "partner", "both"):
                with pytest.raises(ConfigError, match=f"'{name}' has a single space and .* '{purpose}'; leave"):
                    method.embed(modality, rows, purpose)
                with pytest.raises(ConfigError, match="has a single space"):
                    method.represent("image", "text", rows_of(counts_dataset, "image"), rows, purpose)
            return
        parts = [method.embed(modality, rows, space) for space in method.spaces]
        assert [part.shape[1] for part in parts] == list(method.spaces.values())
        np.testing.assert_array_equal(plain, method.embed(modality, rows, method.purposes[0]))
        for part in parts:
            np.testing.assert_allclose(np.linalg.norm(part, axis=1), np.linalg.norm(part[0]), rtol=1e-4)
        if "both" in method.purposes:
            np.testing.assert_array_equal(np.hstack(parts), method.embed(modality, rows, "both"))

    def test_unfitted_methods_say_so(self, name, make, tmp_path) -> None:
        with pytest.raises(NotFittedError, match=r"not fitted yet; call fit first"):
            make(name).embed("image", np.zeros((1, 12)))
        with pytest.raises(NotFittedError):
            save_model(make(name), tmp_path / "model")

    def test_bad_rows_are_refused(self, name, fitted, counts_dataset) -> None:
        method = fitted(name, counts_dataset)
        with pytest.raises(DataError, match="has no modality 'smell'; it has image, text"):
            method.embed("smell", np.zeros((1, 12)))
        with pytest.raises(DataError, match=r"shape \(1, 13\); this model takes 12 columns"):
            method.embed("image", np.zeros((1, 13)))
        with pytest.raises(DataError, match="takes 12 columns"):
            method.embed("image", np.zeros(12))
        with pytest.raises(DataError, match="row 0, column 0 of 'image' is nan: replace it"):
            method.embed("image", np.full((1, 12), np.nan))


class TestFolder:
    def test_a_loaded_model_is_the_saved_one(self, name, fitted, counts_dataset, tmp_path) -> None:
        method = fitted(name, counts_dataset, TRANSDUCTIVE)
        save_model(method, tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        kept = method.saved_as
        assert type(loaded) is type(kept)
        assert loaded.registry_name == kept.registry_name
        assert loaded.get_params() == kept.get_params()
        assert loaded.similarity == method.similarity
        assert loaded.record_ == method.record_
        assert learned(loaded) == learned(method)
        for modality in ("image", "text"):
            rows = rows_of(counts_dataset, modality)
            np.testing.assert_array_equal(loaded.embed(modality, rows), method.embed(modality, rows))

    def test_truncated_weights_are_refused(self, name, fitted, counts_dataset, tmp_path) -> None:
        save_model(fitted(name, counts_dataset), tmp_path / "model")
        weights = tmp_path / "model" / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
        with pytest.raises(DataError, match=r"is damaged: model\.json and weights\.safetensors"):
            load_model(tmp_path / "model")


def without_labels(draft):
    return synthetic.replace(draft, labels=[None] * len(draft.ids), classes=())


def change_labels_and_pairs_of_test(draft):
    return synthetic.reverse_test_rows(synthetic.change_test_labels(draft), "text")


def change_all_of_test(draft):
    changed = change_labels_and_pairs_of_test(draft)
    rows = changed.modalities["image"]
    values = np.where((np.asarray(draft.splits) == "test")[:, None], 2 * rows.values + 1, rows.values)
    image = synthetic.ModalityRows(rows.kind, values.astype(rows.values.dtype))
    return synthetic.replace(changed, modalities={**changed.modalities, "image": image})

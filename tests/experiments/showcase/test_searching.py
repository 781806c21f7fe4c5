import numpy as np

from diptych.data.synthetic import make_synthetic
from diptych.experiments.showcase import best_searcher, search
from diptych.methods.cca import CCA
from diptych.methods.chance import Chance


def test_hits_are_those_of_a_naive_loop(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=80)
    source, target = dataset.modalities
    model = CCA().fit(dataset)
    everything = dataset.everything.having(source, target)
    queries = everything.features(source)[:5]
    gallery = dataset.everything.having(target)
    codes = model.embed(target, gallery.features(target)).astype(float)
    asked = model.embed(source, queries).astype(float)
    for query, hits in zip(asked, search(model, dataset, source, target, queries, 7), strict=True):
        cosines = [query @ code / (np.linalg.norm(query) * np.linalg.norm(code)) for code in codes]
        best = sorted(range(len(codes)), key=lambda place: -cosines[place])[:7]
        assert [hit.item for hit in hits] == [int(gallery.index[place]) for place in best]
        np.testing.assert_allclose([hit.score for hit in hits], [cosines[place] for place in best], atol=1e-6)


def test_all_items_are_ranked_where_no_number_is_given(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=100)
    source, target = dataset.modalities
    model = CCA().fit(dataset)
    rows = dataset.everything.having(source, target).features(source)[:1]
    (hits,) = search(model, dataset, source, target, rows)
    assert sorted(hit.item for hit in hits) == np.flatnonzero(dataset.has(target)).tolist()


def test_who_finds_partners_searches(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=400)
    models = {"chance": Chance().fit(dataset), "cca": CCA().fit(dataset)}
    assert best_searcher(models, dataset) == "cca"

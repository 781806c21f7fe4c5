from diptych.data.synthetic import make_synthetic
from diptych.experiments.showcase import best_searcher
from diptych.methods.cca import CCA
from diptych.methods.chance import Chance


def test_who_finds_partners_searches(tmp_path):
    dataset = make_synthetic(tmp_path / "d", items=400)
    models = {"chance": Chance().fit(dataset), "cca": CCA().fit(dataset)}
    assert best_searcher(models, dataset) == "cca"

import json

import numpy as np
import pytest
import scipy.io

import synthetic
from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import compare
from diptych.experiments import Callbacks, reproduce_study
from diptych.experiments.reproduce import render_appendix, render_page
from diptych.experiments.reproduce.studies import LINEUP
from diptych.experiments.run_store import read_scores
from diptych.experiments.score_blocks import item_scores, merged_directions
from diptych.methods import registry
from experiments import fakes
from experiments.fakes import fits
from experiments.reproduce import fake_lineup


@pytest.fixture(scope="module")
def done(counts_dataset, tmp_path_factory):
    """One reproduction that several tests look at; the registry is faked by hand, as fixtures are not yet there."""
    out = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_METHODS", fake_lineup.METHODS)
        patch.setattr(registry, "entry_points", lambda group: [])
        content = reproduce_study("wikipedia", out, data=counts_dataset.path, seeds=(0, 1))
    return out, content


def verdict(content, key, protocol, codes="plain"):
    (claim,) = [claim for claim in content["claims"] if claim["key"] == key]
    return claim["verdicts"][protocol][codes]


def test_the_folder_holds_page_record_and_both_comparisons(done):
    out, content = done
    assert json.loads((out / "reproduction.json").read_text()) == content
    assert (out / "reproduction.md").read_text() == render_page(content)
    assert (out / "reproduction-appendix.md").read_text() == render_appendix(content)
    everyone = json.loads((out / "inductive" / "results.json").read_text())
    pooled = json.loads((out / "transductive" / "results.json").read_text())
    assert list(everyone["methods"]) == ["cca-paper", "kcca-poly", "kcca-rbf", "cdmlmr", "base"]
    assert list(pooled["methods"]) == ["cdmlmr"]
    assert everyone["protocol"]["unlabelled"] == "none"
    assert pooled["protocol"]["unlabelled"] == "test-features"


def test_methods_without_a_pool_share_their_run_and_others_do_not(done):
    _, content = done
    inductive, transductive = (content["protocols"][name]["methods"] for name in ("inductive", "transductive"))
    assert list(inductive) == list(transductive)
    for name, method in transductive.items():
        assert method["shared_with_inductive"] == (name != "cdmlmr")
        assert (method["plain"] == inductive[name]["plain"]) == (name != "cdmlmr")
    assert "test features" in transductive["cdmlmr"]["saw"]
    assert "test features" not in inductive["cdmlmr"]["saw"]


def test_figures_are_those_of_the_runs(done):
    out, content = done
    runs = [read_scores(out / "inductive" / "runs" / "kcca-poly" / str(seed)) for seed in (0, 1)]
    found = content["protocols"]["inductive"]["methods"]["kcca-poly"]
    for codes, part in (("plain", "directions"), ("z-scored", "normalised")):
        for measure in ("map", "map@50"):
            by_seed = [[getattr(run, part)[d].mean(measure) for d in content["directions"]] for run in runs]
            table = np.array(by_seed)
            for column, values in zip((*content["directions"], "average"), (*table.T, table.mean(axis=1)), strict=True):
                assert found[codes][column][measure] == pytest.approx(values.mean())
                assert found[codes][column][f"{measure}_std"] == pytest.approx(values.std(ddof=1))
                low, high = found[codes][column][f"{measure}_ci95"]
                assert low < values.mean() < high
    assert found["published"] == {"map": [0.2, 0.185, 0.193], "map@50": [0.245, 0.277, 0.261]}


def test_neighbours_are_tested_on_the_same_items(done):
    out, content = done
    (step, *_) = content["protocols"]["inductive"]["ranking"]["plain"]
    items = {}
    for name in (step["higher"], step["lower"]):
        runs = [read_scores(path) for path in sorted((out / "inductive" / "runs" / name).iterdir())]
        items[name] = item_scores(merged_directions(runs))
    expected = compare(items[step["higher"]], items[step["lower"]])
    assert (step["difference"], step["p_value"]) == (expected.difference, expected.p_value)
    means = [method["plain"]["average"]["map"] for method in content["protocols"]["inductive"]["methods"].values()]
    assert items[step["higher"]].mean() == pytest.approx(max(means))


def test_verdicts_follow_from_the_runs(done):
    _, content = done
    for protocol in ("inductive", "transductive"):
        assert verdict(content, "kernel", protocol)["words"] == "reproduced"
        assert verdict(content, "figures", protocol)["words"] == "cannot be tested on these features"
        missing = verdict(content, "above-cmdn", protocol)["words"]
        assert missing == "cannot be tested (cmdn failed: it is not part of this version)"
    assert "cfa failed: the <b>matrix</b> is singular" in verdict(content, "best", "inductive")["words"]
    assert verdict(content, "pool-helps-cdmlmr", "between protocols")["words"] == "reproduced"
    words = verdict(content, "pool-helps-cdmlmr-semi", "between protocols")["words"]
    assert words.startswith("cannot be tested (cdmlmr-semi, transductive failed: it is not part of this version")


def test_the_page_says_how_it_was_made_and_nothing_of_this_machine(done, counts_dataset):
    out, content = done
    page = (out / "reproduction.md").read_text() + (out / "reproduction-appendix.md").read_text()
    assert "$ diptych reproduce wikipedia --data FOLDER --out REPORT --seeds 0,1 --profile standard" in page
    assert counts_dataset.fingerprint in page
    assert "Seeds 0, 1. Fitting took 0.00 hours" in page
    assert f"numpy {np.__version__}" in page
    assert f"Chance level: MAP {content['chance']['map']:.3f}" in page
    assert "not absolute figures" in page
    assert "<b>" not in page
    for path in (out, counts_dataset.path):
        assert str(path) not in page
        assert str(path) not in (out / "reproduction.json").read_text()
    for claim in content["claims"]:
        assert claim["claim"] in page
    for rule in content["rules"]:
        assert rule in page
    rows = [line for line in page.splitlines() if line.startswith("| KCCA (poly) (`kcca-poly`)")]
    assert len(rows) == 9  # the page's own; two protocols, two measures, plain and z-scored
    assert sum("0.200 / 0.185 / 0.193" in row for row in rows) == 4
    assert sum("for 2,296-d" in row for row in rows) == 4


def test_every_table_of_the_page_is_regular(done):
    out, _ = done
    before = None
    pages = (out / "reproduction.md").read_text() + "\n" + (out / "reproduction-appendix.md").read_text()
    for line in pages.splitlines():
        width = line.count(" | ") if line.startswith("| ") else None
        assert before is None or width is None or width == before, line
        before = width


def test_finished_runs_are_kept_and_the_page_stays_the_same(done, counts_dataset, log):
    out, content = done
    page = (out / "reproduction.md").read_bytes()
    again = reproduce_study("wikipedia", out, data=counts_dataset.path, seeds=(0, 1))
    assert set(fits(log)) == {"cfa"}  # only what failed is tried again
    assert again == content
    assert (out / "reproduction.md").read_bytes() == page


def test_a_subset_leaves_the_rest_untested(counts_dataset, tmp_path):
    content = reproduce_study(
        "wikipedia", tmp_path, data=counts_dataset.path, seeds=(0,), methods=("kcca-rbf", "steady")
    )
    assert not (tmp_path / "transductive").exists()
    assert verdict(content, "kernel", "transductive")["words"] == "cannot be tested (kcca-poly was not run)"
    assert content["command"].endswith("--methods kcca-rbf,steady")
    method = content["protocols"]["inductive"]["methods"]["steady"]
    assert (method["group"], method["published"]) == ("beyond", {})
    assert method["plain"]["average"]["map_std"] is None


def test_a_path_in_a_failure_is_not_shown(counts_dataset, tmp_path, monkeypatch):
    def break_down(self, data, progress):
        raise DataError(f"{counts_dataset.path} is odd, see {tmp_path / 'inductive'}.")

    monkeypatch.setattr(fakes.Fake, "_fit", break_down)
    content = reproduce_study("wikipedia", tmp_path, data=counts_dataset.path, seeds=(0,), methods=("steady",))
    assert content["protocols"]["inductive"]["missing"] == {"steady": "failed: FOLDER is odd, see REPORT/inductive."}
    assert content["protocols"]["inductive"]["ranking"]["plain"] == []
    assert "nothing to compare" in (tmp_path / "reproduction-appendix.md").read_text()


def test_progress_is_announced_once_for_both_protocols(counts_dataset, tmp_path):
    class Diary(Callbacks):
        def __init__(self):
            self.announced, self.seen = [], []

        def planned(self, runs):
            self.announced.append([run.name for run in runs])

        def finished(self, run, average_map, seconds):
            self.seen.append(run.name)

    diary = Diary()
    reproduce_study(
        "wikipedia", tmp_path, data=counts_dataset.path, seeds=(3,), methods=("steady", "cdmlmr"), callbacks=diary
    )
    assert diary.announced == [["steady", "cdmlmr seed 3", "cdmlmr seed 3, transductive"]]
    assert diary.seen == diary.announced[0]


@pytest.fixture
def release(tmp_path):
    """A release of 40 training and 30 test documents in the official form."""
    folder = tmp_path / "release"
    folder.mkdir()
    random = np.random.default_rng(0)
    shapes = {"I_tr": (40, 5), "I_te": (30, 5), "T_tr": (40, 3), "T_te": (30, 3)}
    scipy.io.savemat(folder / "raw_features.mat", {name: random.random(shape) for name, shape in shapes.items()})
    (folder / "categories.list").write_text("art\nsport\n")
    for part, count in (("train", 40), ("test", 30)):
        lines = [f"{part}text{i}-1\t{part}image{i}\t{i % 2 + 1}\n" for i in range(count)]
        (folder / f"{part}set_txt_img_cat.list").write_text("".join(lines))
    return folder


def test_released_files_are_imported_and_may_be_left_out_later(release, tmp_path, log):
    out = tmp_path / "out"
    first = reproduce_study("wikipedia", out, data=release, seeds=(0,), methods=("steady",))
    assert (out / "dataset" / "dataset.json").exists()
    assert "split: test documents shuffled with seed 0" in first["dataset"]["source"]
    assert first["inputs"]["modalities"]["image"]["here"] == "5-d dense (bag of SIFT visual words)"
    again = reproduce_study("wikipedia", out, data=release, seeds=(0,), methods=("steady",))
    without = reproduce_study("wikipedia", out, seeds=(0,), methods=("steady",))
    assert first == again == without
    assert fits(log) == ["steady"]


def test_without_data_it_says_where_to_get_them(tmp_path):
    with pytest.raises(ConfigError, match=r"Wikipedia are not given: download the .*svcl\.ucsd\.edu.*--data FOLDER"):
        reproduce_study("wikipedia", tmp_path)
    with pytest.raises(ConfigError, match=r"NUS-WIDE-10k are not given.*--data FOLDER"):
        reproduce_study("nuswide10k", tmp_path)
    with pytest.raises(DataError, match="nowhere is not a folder; pass --data"):
        reproduce_study("wikipedia", tmp_path, data=tmp_path / "nowhere")
    assert not (tmp_path / "inductive").exists()


def test_a_dataset_without_the_modalities_is_refused(tmp_path):
    data = synthetic.write(tmp_path / "data", synthetic.draft(("image", "audio")))
    with pytest.raises(DataError, match="has no modality 'text', which Wikipedia needs; it has image, audio"):
        reproduce_study("wikipedia", tmp_path / "out", data=data.path)


def test_an_unknown_method_is_refused_before_anything_runs(counts_dataset, tmp_path):
    with pytest.raises(ConfigError, match="no method 'stedy'; did you mean 'steady'"):
        reproduce_study("wikipedia", tmp_path, data=counts_dataset.path, methods=("stedy",))
    with pytest.raises(ConfigError, match="there is no method to run"):
        reproduce_study("wikipedia", tmp_path, data=counts_dataset.path, methods=())
    assert list(tmp_path.iterdir()) == []


def test_the_line_up_s_real_methods_exist_or_are_reported(done):
    _, content = done
    inductive = content["protocols"]["inductive"]
    assert {*inductive["methods"], *inductive["missing"]} == {row.method for row in LINEUP}


def test_the_page_opens_with_what_was_found(done):
    out, content = done
    page = (out / "reproduction.md").read_text()
    opening = page.split("## Findings")[1].split("The claims")[0]
    methods = content["protocols"]["transductive"]["methods"]
    scores = {name: each["plain"]["average"]["map"] for name, each in methods.items()}
    best = max(scores, key=scores.__getitem__)
    assert f"`{best}` is the best of {len(scores)} methods with {scores[best]:.3f}" in opening
    assert "(transductive protocol)" in opening
    assert len(page.split()) < 2_000  # the failures of the fake methods are long

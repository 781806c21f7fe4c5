import numpy as np
import pytest

from diptych.experiments.curve_results import draw, write_plots


def point(count, value, deterministic=False):
    scores = {"map": value, "map_ci95": [value - 0.02, value + 0.03], "map_std_over_seeds": 0.01}
    return {"labels_per_class": count, "deterministic": deterministic} | dict.fromkeys(
        ("average", "a->b", "b->a"), scores
    )


@pytest.fixture
def results():
    """One method with a gap at 5, and one that needs no labels."""
    counts = [1, 5, 20, "all"]
    return {
        "dataset": {"name": "costs $5 to $9"},
        "split": "test",
        "chance": {"map": 0.12, "a->b": {"map": 0.11}, "b->a": {"map": 0.13}},
        "labels_per_class": counts,
        "kept_labels_per_class": [1.0, 5.0, 20.0, 80.4],
        "methods": {
            "gappy": {"label_free": False, "points": [point(1, 0.2), point(20, 0.3), point("all", 0.4)]},
            "flat": {"label_free": True, "points": [point(count, 0.25) for count in counts]},
        },
    }


def lines_of(axes):
    """Lines by name: those of error bars carry theirs on the container."""
    return {container.get_label(): container[0] for container in axes.containers}


def test_lines_pass_through_the_means_with_a_gap_where_none_is(results):
    figure = draw(results)
    assert [axes.get_title() for axes in figure.axes] == ["average", "a → b", "b → a"]
    for axes, chance in zip(figure.axes, (0.12, 0.11, 0.13), strict=True):
        lines = lines_of(axes)
        np.testing.assert_array_equal(lines["gappy"].get_ydata(), [0.2, np.nan, 0.3, 0.4])
        np.testing.assert_array_equal(lines["flat"].get_ydata(), [0.25] * 4)
        np.testing.assert_array_equal(lines["gappy"].get_xdata(), [1, 5, 20, 80.4])
        (level,) = [line for line in axes.lines if line.get_label() == "random ranking"]
        assert set(level.get_ydata()) == {chance}
        assert axes.get_xscale() == "log"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "5", "20", "all\n(80)"]


def test_the_band_is_the_interval_and_the_whisker_the_spread(results):
    axes = draw(results).axes[0]
    band = axes.collections[0]
    heights = np.concatenate([path.vertices[:, 1] for path in band.get_paths()])
    assert heights.min() == pytest.approx(0.18) and heights.max() == pytest.approx(0.43)
    whiskers = axes.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(whiskers[0], [[1, 0.19], [1, 0.21]])


def test_a_method_has_one_colour_with_and_without_propagation(results):
    spread = {"label_free": False, "points": [point(1, 0.3)]}
    results["methods"] = {"gappy": results["methods"]["gappy"], "gappy + propagation": spread, **results["methods"]}
    lines = lines_of(draw(results).axes[0])
    assert lines["gappy"].get_color() == lines["gappy + propagation"].get_color() != lines["flat"].get_color()
    assert lines["gappy"].get_linestyle() != lines["gappy + propagation"].get_linestyle()


def test_the_legend_names_every_method_and_chance(results):
    (legend,) = draw(results).legends
    assert [text.get_text() for text in legend.get_texts()] == ["gappy", "flat", "random ranking"]


def test_the_same_results_give_the_same_bytes(results, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_plots(tmp_path / name, results)
    for file in ("curve.svg", "curve.png"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    drawing = (tmp_path / "one" / "curve.svg").read_text()
    assert "<!-- costs $5 to $9, split test -->" in drawing
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["curve.png", "curve.svg"]


def test_many_directions_are_drawn_as_their_average(results):
    results["chance"]["a->c"] = {"map": 0.1}
    assert [axes.get_title() for axes in draw(results).axes] == ["average"]


def test_nothing_to_draw_leaves_the_chance_level(results, tmp_path):
    results["methods"] = {}
    write_plots(tmp_path, results)
    assert (tmp_path / "curve.png").stat().st_size > 0


def test_more_methods_than_colours_look_different(results):
    block = results["methods"]["gappy"]
    results["methods"] = {f"m{number}": block for number in range(20)}
    looks = [(line.get_color(), line.get_marker()) for line in lines_of(draw(results).axes[0]).values()]
    assert len(set(looks)) == 20

from collections import Counter

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diptych.data.importers import IMPORTERS, import_arrays
from diptych.data.importers.array_files import parse_reference
from diptych.data.importers.reading import read_features

X = np.random.default_rng(0).normal(size=(12, 3))
COUNTS = np.random.default_rng(1).integers(0, 3, size=(12, 4))
NAMES = ["cat", "dog"] * 6


def write_csv(path, rows, header=None, separator=","):
    lines = [header] if header else []
    lines += [separator.join(repr(float(v)) if v is not None else "" for v in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_v73(path, **variables):
    """What MATLAB writes for `save -v7.3`: HDF5, transposed, behind a 512-byte header."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if sp.issparse(value):
                columns = sp.csc_array(value)
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
                group.attrs["MATLAB_class"] = np.bytes_("double")
                parts = {"data": columns.data, "ir": columns.indices, "jc": columns.indptr}
                for key, part in parts.items():
                    group[key] = part.astype(float if key == "data" else np.uint64)
            else:
                file.create_dataset(name, data=value.T).attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b"\0" * 8 + b"\x00\x02IM")
    return path


def save_npy(folder, values):
    np.save(folder / "x.npy", values)
    return folder / "x.npy"


def save_npz(folder, values, **others):
    np.savez_compressed(folder / "x.npz", X=values, **others)
    return folder / "x.npz"


def save_parquet(folder, values):
    columns = {f"x{i}": values[:, i] for i in range(values.shape[1])}
    pq.write_table(pa.table({"name": ["n"] * len(values), **columns}), folder / "x.parquet")
    return folder / "x.parquet"


def save_mat(folder, values):
    scipy.io.savemat(folder / "x.mat", {"X": values, "other": np.eye(2)})
    return f"{folder / 'x.mat'}:X"


WRITERS = {
    "npy": save_npy,
    "npz": save_npz,
    "npz key": lambda f, v: f"{save_npz(f, v, Y=np.eye(2))}:X",
    "csv": lambda f, v: write_csv(f / "x.csv", v),
    "csv header": lambda f, v: write_csv(f / "x.csv", v, ",".join(f"c{i}" for i in range(v.shape[1]))),
    "tsv": lambda f, v: write_csv(f / "x.tsv", v, separator="\t"),
    "parquet": save_parquet,
    "mat": save_mat,
    "mat v7.3": lambda f, v: f"{write_v73(f / 'x.mat', X=v, other=np.eye(2))}:X",
}


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize("values", [X, X[:1], X[:, :1], X[:1, :1]], ids=["table", "row", "column", "cell"])
def test_every_format_gives_the_same_numbers(tmp_path, writer, values):
    found = read_features(parse_reference(writer(tmp_path, values)))
    assert found.shape == values.shape
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_npz(tmp_path, form):
    sp.save_npz(tmp_path / "x.npz", form(COUNTS))
    dataset = import_arrays(tmp_path / "out", features={"text": tmp_path / "x.npz"})
    assert dataset.modalities["text"].kind == "counts"
    np.testing.assert_array_equal(dataset.columns["text"].values.toarray(), COUNTS)


@pytest.mark.parametrize("version", ["old", "v7.3"])
def test_sparse_matlab(tmp_path, version):
    if version == "old":
        scipy.io.savemat(tmp_path / "x.mat", {"S": sp.csc_matrix(COUNTS.astype(float))})
    else:
        write_v73(tmp_path / "x.mat", S=sp.csc_array(COUNTS.astype(float)))
    dataset = import_arrays(tmp_path / "out", features={"text": f"{tmp_path / 'x.mat'}:S"})
    assert dataset.modalities["text"].kind == "counts"
    np.testing.assert_array_equal(dataset.columns["text"].values.toarray(), COUNTS)


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e9, 1e9)))
def test_csv_round_trip_is_exact(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("csv")
    np.testing.assert_array_equal(read_features(parse_reference(write_csv(folder / "x.csv", values))), values)


def test_kind_is_guessed_and_can_be_given(tmp_path):
    sp.save_npz(tmp_path / "halves.npz", sp.csr_array(COUNTS * 0.5))
    sp.save_npz(tmp_path / "counts.npz", sp.csr_array(COUNTS))
    np.save(tmp_path / "dense.npy", COUNTS)
    files = {name: tmp_path / name for name in ("halves.npz", "counts.npz", "dense.npy")}
    features = {"a": files["halves.npz"], "b": files["counts.npz"], "c": files["dense.npy"], "d": files["dense.npy"]}
    dataset = import_arrays(tmp_path / "out", features=features, kinds={"d": "counts"})
    assert {name: m.kind for name, m in dataset.modalities.items()} == {
        "a": "dense",
        "b": "counts",
        "c": "dense",
        "d": "counts",
    }


@pytest.fixture
def table(tmp_path):
    """One CSV with everything; items 3 and 7 lack the image, item 5 has no label."""
    lines = ["key,image_0,image_1,text_0,text_1,kind,part,title"]
    for i in range(12):
        image = "," if i in (3, 7) else f"{i}.5,{-i}"
        label = "" if i == 5 else NAMES[i]
        part = ["train", "train", "validation", "test"][i % 4]
        lines.append(f'k{i},{image},{i},{i % 3},{label},{part},"title, {i}"')
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def test_a_single_table_may_hold_everything(tmp_path, table):
    dataset = import_arrays(
        tmp_path / "out",
        features={"image": f"{table}:image_*", "text": f"{table}:text_0,text_1"},
        kinds={"text": "counts"},
        labels=f"{table}:kind",
        splits=f"{table}:part",
        ids=f"{table}:key",
        metadata={"title": f"{table}:title"},
        allow_missing=True,
        name="mine",
    )
    assert dataset.name == "mine"
    assert dataset.ids.tolist() == [f"k{i}" for i in range(12)]
    assert dataset.has("image").tolist() == [i not in (3, 7) for i in range(12)]
    np.testing.assert_array_equal(dataset.columns["image"].values[3], [4.5, -4])
    np.testing.assert_array_equal(dataset.columns["text"].values.toarray()[4], [4, 1])
    assert dataset.labels.is_labelled.tolist() == [i != 5 for i in range(12)]
    assert Counter(dataset.splits.tolist()) == {"train": 6, "val": 3, "test": 3}
    assert dataset.items.column("title").to_pylist()[2] == "title, 2"
    assert len(dataset.source["files"]) == 1
    assert str(tmp_path) not in (dataset.path / "dataset.json").read_text()


def arrays_with_labels(tmp_path, labels, **options):
    np.save(tmp_path / "x.npy", X)
    return import_arrays(tmp_path / "out", features={"image": tmp_path / "x.npy"}, labels=labels, **options)


def label_file(tmp_path, form):
    codes = np.array([0, 1] * 6)
    if form == "txt":
        (tmp_path / "y.txt").write_text("\n".join(NAMES) + "\n")
        return tmp_path / "y.txt"
    if form == "csv":
        (tmp_path / "y.csv").write_text("label\n" + "\n".join(NAMES) + "\n")
        return tmp_path / "y.csv"
    if form == "npy":
        np.save(tmp_path / "y.npy", np.array(NAMES))
        return tmp_path / "y.npy"
    if form == "npy numbers":
        np.save(tmp_path / "y.npy", codes.astype(np.uint8)[:, None])
        return tmp_path / "y.npy"
    if form == "parquet":
        pq.write_table(pa.table({"label": NAMES, "n": codes}), tmp_path / "y.parquet")
        return f"{tmp_path / 'y.parquet'}:label"
    if form == "mat cell":
        scipy.io.savemat(tmp_path / "y.mat", {"y": np.array(NAMES, dtype=object)})
        return f"{tmp_path / 'y.mat'}:y"
    if form == "mat numbers":
        scipy.io.savemat(tmp_path / "y.mat", {"y": codes[None, :] + 1.0})
        return f"{tmp_path / 'y.mat'}:y"
    write_v73(tmp_path / "y.mat", y=codes[:, None] + 1.0)
    return f"{tmp_path / 'y.mat'}:y"


@pytest.mark.parametrize(
    "form", ["txt", "csv", "npy", "npy numbers", "parquet", "mat cell", "mat numbers", "mat v7.3 numbers"]
)
def test_labels_from_any_file(tmp_path, form):
    dataset = arrays_with_labels(tmp_path, label_file(tmp_path, form), classes=["cat", "dog"])
    assert dataset.labels.codes.tolist() == [0, 1] * 6
    assert dataset.classes == ("cat", "dog")


def test_empty_lines_are_unlabelled_items_and_stay_in_training(tmp_path):
    cells = ["cat"] * 5 + [""] * 2 + ["dog"] * 5
    for name, head in (("y.csv", "label\n"), ("y.txt", "")):
        (tmp_path / name).write_text(head + "\n".join(cells) + "\n")
        np.save(tmp_path / "x.npy", X)
        dataset = import_arrays(
            tmp_path / f"{name}.out", features={"image": tmp_path / "x.npy"}, labels=tmp_path / name, test_share=0.4
        )
        assert dataset.labels.is_labelled.tolist() == [cell != "" for cell in cells]
        assert dataset.splits[5:7].tolist() == ["train", "train"]
        assert Counter(dataset.splits.tolist())["test"] == 4


def test_several_labels_in_one_cell_and_as_a_table(tmp_path):
    (tmp_path / "y.txt").write_text("\n".join(["cat|dog", "dog", ""] * 4) + "\n")
    dataset = arrays_with_labels(tmp_path, tmp_path / "y.txt", label_separator="|")
    assert dataset.labels.matrix.toarray()[:3].astype(int).tolist() == [[1, 1], [0, 1], [0, 0]]
    np.save(tmp_path / "y.npy", np.array([[1, 1], [0, 1], [0, 0]] * 4))
    again = arrays_with_labels(tmp_path, tmp_path / "y.npy", classes=["cat", "dog"], overwrite=True)
    np.testing.assert_array_equal(again.labels.matrix.toarray(), dataset.labels.matrix.toarray())


def test_without_labels_items_are_split_by_seed(tmp_path):
    dataset = arrays_with_labels(tmp_path, None)
    assert Counter(dataset.splits.tolist()) == {"train": 9, "val": 1, "test": 2}
    assert dataset.ids.tolist() == [str(i) for i in range(12)]
    prints = {arrays_with_labels(tmp_path, None, seed=s, overwrite=True).fingerprint for s in (0, 0, 1)}
    assert len(prints) == 2


def test_documents_make_partners(tmp_path):
    (tmp_path / "doc.txt").write_text("\n".join("aabbccddeeff") + "\n")
    dataset = arrays_with_labels(tmp_path, None, documents=tmp_path / "doc.txt")
    assert dataset.everything.documents.tolist() == list("aabbccddeeff")
    assert dataset.splits[::2].tolist() == dataset.splits[1::2].tolist(), "partners must not be parted"
    assert set(dataset.splits.tolist()) == {"train", "val", "test"}


def test_a_colon_in_a_file_name_is_no_part(tmp_path):
    np.save(tmp_path / "a:b.npy", X)
    assert len(import_arrays(tmp_path / "out", features={"image": tmp_path / "a:b.npy"})) == 12


def test_registry_names_every_importer():
    assert set(IMPORTERS) == {"wikipedia", "nuswide10k", "arrays"}

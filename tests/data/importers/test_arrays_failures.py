"""Every bad file gives one clear sentence with the file's name, and leaves no folder behind."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from diptych._core.errors import ConfigError, DataError
from diptych.data.importers import import_arrays


def text(name, content):
    return lambda folder: (folder / name).write_text(content) and (folder / name)


def array(values):
    def write(folder):
        np.save(folder / "x.npy", values, allow_pickle=True)
        return folder / "x.npy"

    return write


def archive(**values):
    def write(folder):
        np.savez(folder / "x.npz", **values)
        return folder / "x.npz"

    return write


def truncated(write, keep):
    def cut(folder):
        path = write(folder)
        path.write_bytes(path.read_bytes()[:keep])
        return path

    return cut


def part(write, name):
    return lambda folder: f"{write(folder)}:{name}"


def mat(folder):
    scipy.io.savemat(folder / "x.mat", {"X": np.eye(4), "Y": np.eye(3), "s": {"a": 1}, "c": np.array([1, "a"], object)})
    return folder / "x.mat"


def parquet(folder):
    pq.write_table(pa.table({"a": [1.0] * 4, "name": ["x"] * 4}), folder / "x.parquet")
    return folder / "x.parquet"


def wordy_parquet(folder):
    pq.write_table(pa.table({"name": ["x"] * 4}), folder / "x.parquet")
    return folder / "x.parquet"


def bad_sparse(folder):
    matrix = sp.csr_array(np.eye(4))
    parts = {"indices": matrix.indices + 9, "indptr": matrix.indptr, "data": matrix.data, "shape": matrix.shape}
    np.savez(folder / "x.npz", format=np.bytes_("csr"), **parts)
    return folder / "x.npz"


def marker(folder):
    (folder / "unpickled").touch()


class Dangerous:
    """Unpickling this leaves a trace."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return (marker, (self.folder,))


FEATURES = {
    "missing file": (lambda f: f / "none.npy", r"none\.npy does not exist; check the path"),
    "missing file with part": (lambda f: f"{f}/none.mat:X", r"none\.mat does not exist"),
    "folder": (lambda f: f, "is a folder; give the file inside it"),
    "empty npy": (lambda f: (f / "x.npy").touch() or f / "x.npy", r"x\.npy is empty"),
    "empty csv": (lambda f: (f / "x.csv").touch() or f / "x.csv", r"x\.csv is empty"),
    "blank csv": (text("x.csv", "\n\n"), r"x\.csv has no rows"),
    "header only": (text("x.csv", "a,b\n"), r"x\.csv has no rows below its header"),
    "unknown format": (
        text("x.docx", "x"),
        r"x\.docx is of a kind that cannot be read here; use one of: csv, mat, npy",
    ),
    "truncated npy": (truncated(array(np.eye(40)), 300), r"x\.npy is damaged or not a NumPy file"),
    "truncated npy header": (truncated(array(np.eye(4)), 9), r"x\.npy is damaged"),
    "truncated npz": (truncated(archive(X=np.eye(40)), 300), r"x\.npz is damaged"),
    "text as npy": (text("x.npy", "hello"), r"x\.npy is not a NumPy file"),
    "text as npz": (text("x.npz", "hello"), r"x\.npz is not a NumPy file"),
    "text as mat": (text("x.mat", "hello"), r"x\.mat cannot be read as a MATLAB file"),
    "text as parquet": (text("x.parquet", "hello"), r"x\.parquet cannot be read as Parquet"),
    "objects in npy": (array(np.array([[None]] * 4)), r"x\.npy holds pickled Python objects, which are never opened"),
    "objects in npz": (archive(X=np.array([[{}]] * 4)), r"x\.npz holds pickled Python objects"),
    "two arrays": (archive(X=np.eye(4), Y=np.eye(4)), r"has the arrays X, Y; choose one as in x\.npz:NAME"),
    "no arrays": (archive(), r"x\.npz"),
    "wrong key": (part(archive(X=np.eye(4)), "Z"), r"x\.npz has no array 'Z'; it has X"),
    "part of npy": (part(array(np.eye(4)), "Z"), "holds a single array, so ':Z' cannot be chosen"),
    "empty part": (part(array(np.eye(4)), ""), "ends in a colon"),
    "bad sparse index": (bad_sparse, r"x\.npz is damaged"),
    "two variables": (mat, r"x\.mat has the variables .*X, Y.*; choose one as in x\.mat:VARIABLE"),
    "wrong variable": (part(mat, "Z"), r"x\.mat has no variable 'Z'; it has .*X, Y"),
    "struct": (part(mat, "s"), r"x\.mat:s"),
    "cell": (part(mat, "c"), r"x\.mat:c"),
    "truncated mat": (truncated(mat, 200), r"x\.mat cannot be read as a MATLAB file"),
    "one dimension": (array(np.ones(4)), r"x\.npy has shape \(4,\)"),
    "three dimensions": (array(np.ones((4, 2, 2))), r"x\.npy has shape \(4, 2, 2\)"),
    "no columns": (array(np.ones((4, 0))), r"has shape \(4, 0\)"),
    "no rows": (array(np.ones((0, 4))), "no items"),
    "strings": (array(np.full((4, 2), "x")), "features must be real numbers"),
    "complex": (array(np.ones((4, 2), complex)), "features must be real numbers"),
    "infinite": (array(np.array([[1.0], [np.inf]])), r"x\.npy: row 1 \(item '1'\), column 0 of 'image' is inf"),
    "one nan": (array(np.array([[1.0, 2], [np.nan, 1]])), r"row 1 \(item '1'\), column 0 of 'image' is nan"),
    "nan row": (array(np.array([[1.0], [np.nan]])), r"row 1 of 'image' has no number at all; .*--allow-missing"),
    "empty cell": (text("x.csv", "1,2\n3,\n"), r"row 1 \(item '1'\), column 1 of 'image' is nan"),
    "ragged": (text("x.csv", "a,b\n1,2\n3\n"), r"x\.csv, line 3 has 1 cells where the first line has 2"),
    "word in csv": (text("x.csv", "a,b\n1,2\n3,x\n"), r"x\.csv, line 3: 'x' is not a number"),
    "wrong column": (part(text("x.csv", "a,b\n1,2\n"), "c*"), r"x\.csv has no column 'c\*'; it has a, b"),
    "column without header": (part(text("x.csv", "1,2\n3,4\n"), "a"), r"x\.csv has no header line"),
    "open quote": (text("x.csv", 'a,b\n1,"2\n'), r"x\.csv is not a valid table"),
    "not text": (lambda f: (f / "x.csv").write_bytes(b"\xff\xfe\x00,1\n") and f / "x.csv", r"x\.csv is not UTF-8"),
    "wordy parquet": (wordy_parquet, r"x\.parquet has no column of numbers"),
    "word column": (part(parquet, "name"), "column 'name' is not numeric"),
    "no parquet column": (part(parquet, "z"), "has no column 'z'; it has a, name"),
}


def fails(tmp_path, sentence, **options):
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises((DataError, ConfigError), match=sentence) as caught:
        import_arrays(tmp_path / "out", **options)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(("write", "sentence"), FEATURES.values(), ids=FEATURES.keys())
def test_bad_features(tmp_path, write, sentence):
    fails(tmp_path, sentence, features={"image": write(tmp_path)})


def test_nothing_is_ever_unpickled(tmp_path):
    values = np.array([[Dangerous(tmp_path)]])
    fails(tmp_path, "never opened", features={"image": array(values)(tmp_path)})
    fails(tmp_path, "never opened", features={"image": archive(X=values)(tmp_path)})
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Dangerous(tmp_path)))
    fails(tmp_path, "is not a NumPy file", features={"image": tmp_path / "raw.npy"})
    assert not (tmp_path / "unpickled").exists()


COLUMNS = {
    "short labels": (
        {"labels": text("y.txt", "a\nb\n")},
        r"y\.txt has 2 rows but .*x\.npy has 4; give one row per item",
    ),
    "header eaten": (
        {"labels": text("y.csv", "a\nb\na\nb\n")},
        r"y\.csv has 3 rows \(a first line that is not all numbers",
    ),
    "negative label": (
        {"labels": text("y.txt", "0\n1\n-1\n0\n")},
        r"y\.txt: row 2 has the label -1.*--missing-label -1",
    ),
    "unknown class": (
        {"labels": text("y.txt", "a\nb\nc\na\n"), "classes": ["a", "b"], "ids": text("i.txt", "p\nq\nr\ns\n")},
        r"y\.txt: row 2 has the class 'c', which is not among the 2 known classes",
    ),
    "unused class": ({"labels": text("y.txt", "a\na\na\na\n"), "classes": ["a", "b"]}, "no item carries the class 'b'"),
    "many columns": ({"labels": text("y.csv", "a,b\n1,2\n")}, r"y\.csv has 2 columns \(a, b\); name one"),
    "two columns fit": ({"labels": part(text("y.csv", "la,lb\n1,2\n"), "l*")}, "fits 2 columns; name exactly one"),
    "no such column": ({"labels": part(text("y.csv", "a,b\n1,2\n"), "c")}, r"y\.csv has no column 'c'"),
    "missing labels": ({"labels": lambda f: f / "y.txt"}, r"y\.txt does not exist"),
    "object labels": (
        {"labels": lambda f: (np.save(f / "y.npy", np.array([{}]), allow_pickle=True), f / "y.npy")[1]},
        "never",
    ),
    "unknown split": ({"splits": text("s.txt", "train\ntest\nval\nother\n")}, r"s\.txt: row 3 has the split 'other'"),
    "no split": ({"splits": text("s.txt", "train\n\nval\ntest\n")}, r"s\.txt: row 1 has the split None"),
    "same ids": ({"ids": text("i.txt", "a\nb\na\nc\n")}, r"i\.txt: rows 0 and 2 share the id 'a'"),
    "no id": ({"ids": text("i.txt", "a\n\nb\nc\n")}, r"i\.txt: row 1 is empty"),
    "short metadata": ({"metadata": {"title": text("m.txt", "a\n")}}, r"m\.txt has 1 rows but"),
    "reserved": ({"metadata": {"label": text("m.txt", "a\nb\nc\nd\n")}}, "'label' has a reserved name"),
    "unknown kind": ({"kinds": {"image": "words"}}, "the kind of 'image' is 'words'; choose one of dense, counts"),
    "kind of nothing": ({"kinds": {"text": "counts"}}, "a kind is given for 'text', but the modalities are image"),
    "negative count": ({"kinds": {"image": "counts"}}, r"x\.npy: row 3 .* is -1.0: a count cannot be negative"),
    "shares": ({"val_share": 0.6, "test_share": 0.6}, "leave room for training"),
    "seed": ({"seed": -1}, "seed is -1"),
}


@pytest.mark.parametrize(("options", "sentence"), COLUMNS.values(), ids=COLUMNS.keys())
def test_bad_columns_and_options(tmp_path, options, sentence):
    values = np.eye(4)
    values[3, 3] = -1

    def written(value):
        if isinstance(value, dict):
            return {key: written(inner) for key, inner in value.items()}
        return value(tmp_path) if callable(value) else value

    features = {"image": array(values)(tmp_path)}
    fails(tmp_path, sentence, features=features, **{key: written(value) for key, value in options.items()})


def test_modalities_of_unequal_length(tmp_path):
    np.save(tmp_path / "y.npy", np.eye(3))
    features = {"image": array(np.eye(4))(tmp_path), "text": tmp_path / "y.npy"}
    fails(tmp_path, r"y\.npy has 3 rows but .*x\.npy has 4", features=features)


def test_no_features(tmp_path):
    fails(tmp_path, "no features are given", features={})


def test_an_existing_folder_is_refused_before_any_file_is_read(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes").write_text("mine")
    fails(tmp_path, "already exists", features={"image": tmp_path / "none.npy"})
    fails(tmp_path, "is not a dataset", features={"image": tmp_path / "none.npy"}, overwrite=True)
    assert (tmp_path / "out" / "notes").read_text() == "mine"

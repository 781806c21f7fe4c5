"""Write files and folders so that a reader sees the old content or the new, never a part of it."""

import ctypes
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import DataError
from diptych._core.locks import claim, claim_new

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
_TEMPORARY = ".diptych-tmp"
_swept: set[Path] = set()
T = TypeVar("T")


def default_cache_root() -> Path:
    """Return `$DIPTYCH_CACHE`, or `~/.cache/diptych` where it is not set."""
    chosen = os.environ.get("DIPTYCH_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "diptych"


def refuse_existing(target: Path, *, overwrite: bool, only: tuple[str, str] | None = None) -> None:
    """Raise before any work is done if `target` is there and may not be replaced.

    Args:
        target: the file or folder.
        overwrite: whether it may be replaced.
        only: of folders, the file that marks those that may be replaced and what such a folder is called, such as
            ("model.json", "a model"); an empty folder always may.
    """
    if not target.exists():
        return
    if not overwrite:
        raise DataError(f"{target} already exists; choose another folder or pass --overwrite.")
    if only is None or (target / only[0]).is_file() or (target.is_dir() and not any(target.iterdir())):
        return
    raise DataError(f"{target} is not {only[1]}, so it is not overwritten; choose another folder.")


@contextmanager
def explained_writes(target: Path, then: str) -> Iterator[None]:
    """Turn an error of writing into one sentence that names the target and says what to do.

    Args:
        target: the file or folder that the block makes.
        then: what to do once the cause is gone, as in "run the same command again".

    Raises:
        DataError: for every `OSError` of the block.
    """
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            problem = f"the disk of {target} is full; free space or choose another folder, then {then}."
            raise DataError(problem) from None
        place = f" for {error.filename}" if error.filename and error.strerror else ""
        reason = f"{error.strerror or error}{place}"
        problem = f"{target} cannot be written ({reason}); mend that or choose another folder, then {then}."
        raise DataError(problem) from None


def is_disk_full(error: OSError) -> bool:
    """Whether an error means that the disk is full: NumPy and shutil say so in their message alone."""
    if error.errno is not None:
        return error.errno in _DISK_FULL
    return os.strerror(errno.ENOSPC) in str(error) or "requested and" in str(error)


def _sync(path: Path) -> None:
    """Force a file's or a folder's entries to disk, so that a rename never outruns its content."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target` that takes its place when the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep_abandoned(target.parent)
    with claim_new(lambda: _temporary_file(target)) as temporary:
        try:
            yield temporary
            _sync(temporary)
            temporary.chmod(0o644)
            temporary.replace(target)
            _sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _temporary_file(target: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=f"{_TEMPORARY}{target.suffix}")
    os.close(handle)
    return Path(name)


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside `target` that vanishes with the block; after a kill a later process sweeps it up."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep_abandoned(target.parent)
    with claim_new(lambda: Path(tempfile.mkdtemp(_TEMPORARY, f".{target.name}.", target.parent))) as temporary:
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def sweep_abandoned(folder: Path) -> None:
    """Remove temporary files and folders that killed processes have left in a folder; looks once in a process."""
    if folder in _swept:
        return
    _swept.add(folder)
    for path in folder.glob(f".*{_TEMPORARY}*"):
        with claim(path) as mine:
            if mine and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif mine:
                path.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Replace a text file atomically."""
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(target: Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Replace a JSON file atomically; non-finite numbers are refused rather than written."""
    write_text(target, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(source: Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Read a JSON file, with an error that names it when it is missing or broken."""
    try:
        return json.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{source} is missing.") from None
    except OSError as error:
        raise DataError(f"{source} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not valid JSON ({error}); restore it or make the folder again.") from None


@contextmanager
def interpreting(source: Path, fix: str) -> Iterator[None]:
    """Report in one sentence that a file is damaged, whatever goes wrong while its content is interpreted.

    Args:
        source: the file.
        fix: what to do about it.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, EOFError, OSError) as error:
        raise DataError(f"{source} is damaged ({type(error).__name__}: {error}); {fix}.") from None


def checked_fields(value: T) -> T:
    """Return a dataclass made of JSON if each of its fields is of the kind that its annotation says.

    Raises:
        TypeError: otherwise; `interpreting` makes a sentence of it.
    """
    for name, kind in get_type_hints(type(value)).items():
        if not _is_of(getattr(value, name), kind):
            raise TypeError(f"{name} is {getattr(value, name)!r:.60}")
    return value


def _is_of(value: Any, kind: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold, and any annotation
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in inner
    if origin in (Union, UnionType):
        return any(_is_of(value, one) for one in inner)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(_is_of(k, inner[0]) and _is_of(v, inner[1]) for k, v in value.items())
    if origin is list:
        return isinstance(value, list) and all(_is_of(each, inner[0]) for each in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def write_npy(target: Path, blocks: Iterable[Singles], count: int) -> tuple[int, int]:
    """Replace a `.npy` file atomically by float32 rows that come block by block, one block in memory at a time.

    Args:
        target: the file.
        blocks: the rows, all of one width; at least one block.
        count: how many rows there will be, for the head of the file is written first.

    Returns:
        The shape of what was written.
    """
    shape: tuple[int, int] | None = None
    written = 0
    with atomic_file(target) as temporary, temporary.open("wb") as file:
        for block in blocks:
            if shape is None:
                shape = count, block.shape[1]
                head = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, head)
            if block.shape[1] != shape[1]:
                raise DataError(f"{target}: rows of {block.shape[1]} numbers came after rows of {shape[1]}.")
            file.write(np.ascontiguousarray(block, dtype="<f4").data)
            written += len(block)
            del block  # before the next one is made
        if shape is None or written != count:
            raise DataError(f"{target} was to hold {count} rows but {written} came; it is not written.")
    return shape


@contextmanager
def atomic_folder(target: Path, *, overwrite: bool = False, former: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` when the block succeeds, and vanishes when it fails.

    An existing folder is only replaced with `overwrite`; it then goes to `former`, on the same disk, or is deleted.
    """
    refuse_existing(target, overwrite=overwrite)
    target = target.resolve()  # so that "." has a name and a link keeps pointing at the folder
    restore_interrupted(target)
    with temporary_folder(target) as temporary:
        yield temporary
        for path in temporary.rglob("*"):
            _sync(path)
        temporary.chmod(0o755)
        replaces = target.exists()
        exchange_folders(temporary, target)
        if former is not None and replaces:
            former.parent.mkdir(parents=True, exist_ok=True)
            temporary.rename(former)


def exchange_folders(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`, and `target`, if it is there, in the place of `new`.

    Where the system cannot exchange two folders in one step, the former folder stays beside the target until the new
    one is in place; `restore_interrupted` brings it back after a crash between the two renames.
    """
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        retired = _retired(target)
        shutil.rmtree(retired, ignore_errors=True)
        target.rename(retired)
        try:
            new.rename(target)
        except BaseException:
            retired.rename(target)
            raise
        retired.rename(new)
    _sync(target.parent)


def restore_interrupted(target: Path) -> None:
    """Bring back the former folder if a crash hit between the two renames that replace it."""
    retired = _retired(target)
    if not target.exists() and retired.is_dir():
        retired.rename(target)


def _retired(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or a libc without it
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))

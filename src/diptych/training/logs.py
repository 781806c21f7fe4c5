"""Logs a person can open: a CSV of the figures, one of the validations, and TensorBoard on request."""

import csv
import io
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from diptych.atomic import write_text
from diptych.errors import ConfigError
from diptych.training.bundle import delete_unfinished
from diptych.training.history import History

Row = dict[str, float]


class CsvLog:
    """A CSV file that holds each row exactly once, however often training was interrupted.

    The rows known from the checkpoint replace whatever the file held; later ones are appended.
    """

    def __init__(self, path: Path, rows: list[Row]) -> None:
        self.path = path
        self.rows = rows
        self.columns: list[str] = []
        delete_unfinished(path)
        self._rewrite()

    def append(self, row: Row) -> None:
        """Write the row, which is already the last of `rows`."""
        if set(row) <= set(self.columns):
            with self.path.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, self.columns, restval="", lineterminator="\n").writerow(row)
        else:  # a figure that was not there before needs a column
            self._rewrite()

    def _rewrite(self) -> None:
        self.columns = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        if self.columns:
            writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.path, text.getvalue())


class RunLog:
    """The logs of one stage; without a folder it does nothing."""

    def __init__(self, folder: Path | None, history: History, *, tensorboard: bool = False) -> None:
        self.history = history
        self._board: Any = None
        self._files: tuple[CsvLog, CsvLog] | None = None
        if folder is None:
            return
        validations = [{"step": step, "score": score} for step, score in history.validations]
        self._files = CsvLog(folder / "log.csv", history.rows), CsvLog(folder / "validation.csv", validations)
        if tensorboard:
            self._board = _open_board(folder / "tensorboard", history)

    def figures(self, row: Row) -> None:
        """Add a log point to the history and the logs."""
        self.history.rows.append(row)
        if self._files:
            self._files[0].append(row)
        self._show(row)

    def validation(self, step: int, score: float) -> None:
        """Add a validation to the history and the logs."""
        self.history.validations.append((step, score))
        row = {"step": step, "score": score}
        if self._files:
            self._files[1].rows.append(row)
            self._files[1].append(row)
        self._show({"step": step, "validation": score})

    def _show(self, row: Row) -> None:
        if self._board is not None:
            for name, value in row.items():
                if name != "step":
                    self._board.add_scalar(name, value, int(row["step"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            self._board.close()


def _open_board(folder: Path, history: History) -> Any:  # noqa: ANN401 - the package is optional
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "tensorboard is not installed; run `pip install diptych[tensorboard]` or leave it off."
        ) from None
    return SummaryWriter(str(folder), purge_step=history.resumed_from + 1)

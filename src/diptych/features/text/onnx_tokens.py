"""The tokenizer of an exported text encoder: texts become the graph's input."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.errors import ConfigError, optional_package
from diptych._core.state import stateful
from diptych.features.encoder_files import EncoderFolder, check_hash, file_hash

TOKENIZER = "tokenizer.json"
EXTRA = "text"
_LONGEST = 100_000  # files say 1e30 where they mean that nobody knows
_USUAL_LENGTH = 77


@stateful
@dataclass(frozen=True)
class TokenRule:
    """How the tokens of a text, or of a passage of it, become a row of the graph's input.

    Attributes:
        path: the tokenizer's file.
        sha256: what it must hash to.
        before: tokens put before a passage.
        after: tokens put after it.
        length: the most tokens of a row, those included.
        padding: the token that fills rows up to `length`; None where rows are as long as their passage.
        unknown: the token of what the vocabulary lacks; None where nothing is.
    """

    path: str
    sha256: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    length: int
    padding: int | None
    unknown: int | None

    @property
    def room(self) -> int:
        """The most tokens of a passage."""
        return self.length - len(self.before) - len(self.after)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; none where every one is unknown."""
        ids: list[int] = _tokenizer(Path(self.path), self.sha256).encode(text, add_special_tokens=False).ids
        return ids if any(token != self.unknown for token in ids) else []

    def rows(self, passages: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Passages of one length as the graph reads them, and which of their tokens count."""
        ends = ((0, 0), (len(self.before), len(self.after)))
        ids = np.pad(passages, ends)
        ids[:, : len(self.before)] = self.before
        ids[:, ids.shape[1] - len(self.after) :] = self.after
        mask = np.ones_like(ids)
        if self.padding is not None:
            filling = ((0, 0), (0, self.length - ids.shape[1]))
            ids, mask = np.pad(ids, filling, constant_values=self.padding), np.pad(mask, filling)
        return ids, mask


def read_token_rule(folder: EncoderFolder, fixed_length: int | None, *, takes_mask: bool) -> TokenRule:
    """Read the tokenizer's settings from an encoder's folder.

    Rows are filled up where the graph takes one length, and where it has no mask by which to pass over what fills them,
    since it was then trained on rows filled up.

    Args:
        folder: where to read.
        fixed_length: the length the graph takes; None for any.
        takes_mask: whether the graph is told which tokens count.

    Raises:
        ConfigError: when there is no tokenizer, or its settings contradict the graph.
    """
    file = folder.path / TOKENIZER
    if not file.is_file():
        raise ConfigError(
            f"{folder.path} has no {TOKENIZER}, the tokenizer in one file, which 'fast' tokenizers write; "
            f"{folder.found()}."
        )
    sha256 = file_hash(file)
    tokenizer = _tokenizer(file, sha256)
    settings, clip = folder.json("tokenizer_config.json") or {}, folder.json("open_clip_config.json") or {}
    text = clip.get("model_cfg", {}).get("text_cfg", {})
    stored = folder.json(TOKENIZER) or {}
    before, after = _around(tokenizer)
    if (text.get("tokenizer_kwargs") or {}).get("strip_sep_token"):
        after = ()
    length = fixed_length or _length(text, settings, stored, folder)
    pads = fixed_length is not None or not takes_mask or _pads_to_length(stored)
    rule = TokenRule(
        str(file.resolve()),
        sha256,
        before,
        after,
        length,
        _padding(tokenizer, settings, stored, folder) if pads else None,
        _unknown(tokenizer, settings, stored),
    )
    if rule.room < 1:
        raise ConfigError(f"{folder.path}: {length} tokens a text leave no room beside {len(before) + len(after)}.")
    return rule


@lru_cache(maxsize=2)
def _tokenizer(file: Path, sha256: str) -> Any:  # noqa: ANN401
    check_hash(file, sha256)
    library = optional_package("tokenizers", "this encoder", EXTRA)
    try:
        tokenizer = library.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises a bare Exception
        raise ConfigError(f"{file} is no tokenizer that this version of tokenizers reads ({error}).") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:  # noqa: ANN401
    """The tokens that the tokenizer puts before and after a text."""
    plain, whole = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            return tuple(whole[:start]), tuple(whole[start + len(plain) :])
    return (), ()


def _length(text: dict[str, Any], settings: dict[str, Any], stored: dict[str, Any], folder: EncoderFolder) -> int:
    """The most tokens of a text, by the first file that says so."""
    config = folder.json("config.json") or {}
    said = (
        text.get("context_length"),
        settings.get("model_max_length"),
        (stored.get("truncation") or {}).get("max_length"),
        (config.get("text_config") or config).get("max_position_embeddings"),
    )
    lengths = (int(length) for length in said if isinstance(length, int | float) and 0 < length < _LONGEST)
    return next(lengths, _USUAL_LENGTH)


def _pads_to_length(stored: dict[str, Any]) -> bool:
    strategy = (stored.get("padding") or {}).get("strategy")
    return isinstance(strategy, dict) and "Fixed" in strategy


def _padding(tokenizer: Any, settings: dict[str, Any], stored: dict[str, Any], folder: EncoderFolder) -> int:  # noqa: ANN401
    """The token that fills rows up; 0 where nobody says, as open_clip has it."""
    said = (stored.get("padding") or {}).get("pad_id")
    if isinstance(said, int) and folder.json("open_clip_config.json") is None:
        return said
    token = settings.get("pad_token") or (folder.json("special_tokens_map.json") or {}).get("pad_token")
    token = token.get("content") if isinstance(token, dict) else token
    found = tokenizer.token_to_id(token) if token and folder.json("open_clip_config.json") is None else None
    return 0 if found is None else int(found)


def _unknown(tokenizer: Any, settings: dict[str, Any], stored: dict[str, Any]) -> int | None:  # noqa: ANN401
    token = (stored.get("model") or {}).get("unk_token") or settings.get("unk_token")
    token = token.get("content") if isinstance(token, dict) else token
    if not token or _bytewise(stored):
        return None
    found = tokenizer.token_to_id(token)
    return None if found is None else int(found)


def _bytewise(stored: dict[str, Any]) -> bool:
    """Whether every byte is in the vocabulary, so that nothing is unknown."""
    return "ByteLevel" in str(stored.get("pre_tokenizer")) or bool((stored.get("model") or {}).get("byte_fallback"))

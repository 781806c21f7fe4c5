"""Suggestions for a typed query: completions, corrections of spelling, and which words are ignored."""

from collections.abc import Sequence
from dataclasses import dataclass

from diptych._core.errors import DiptychError
from diptych.index.words import is_spelled, matched_words, plain
from diptych.search.raw_embedder import RawEmbedder
from diptych.search.texts import Texts

_MOST_WORDS = 32
"""Words of a query that are looked at; a longer text is no query that a person would have misspelled."""
_LONGEST_SUGGESTION = 60
_COMPLETIONS = 12


@dataclass(frozen=True)
class Suggester:
    """Knows the words of an index.

    Attributes:
        raw: reads texts.
        modality: of the texts; None where the index reads none.
        texts: the texts by their words; None where there are none.
        labels: the names of the classes.
    """

    raw: RawEmbedder
    modality: str | None
    texts: Texts | None
    labels: Sequence[str] = ()

    def ignored(self, words: str) -> tuple[str, ...]:
        """The typed words that contribute nothing: unknown to the feature extractor and to the texts of the index."""
        if self.modality is None or not words:
            return ()
        try:
            unread = self.raw.ignored_words(self.modality, words)
        except DiptychError:
            return ()
        if self.texts is None or not unread:
            return unread
        counts = self.texts.index.word_counts(unread)
        return tuple(word for word in unread if not counts[word])

    def did_you_mean(self, words: str) -> str | None:
        """The query with words that no text holds replaced by near ones of the index; None if there is nothing to say.

        A proper word of the language needs no correction, though no text holds it.
        """
        typed = words.split()
        if self.texts is None or not typed or len(typed) > _MOST_WORDS:
            return None
        bare = [_bare(word) for word in typed]
        counts = self.texts.index.word_counts([word for word in dict.fromkeys(bare) if word])
        corrected, changed = [], False
        for word, plain_word in zip(typed, bare, strict=True):
            better = None
            if plain_word and not counts[plain_word] and is_spelled(plain(plain_word)):
                better = self._correction(plain_word)
            corrected.append(word if better is None else word.replace(plain_word, better))
            changed |= better is not None
        return " ".join(corrected) if changed else None

    def is_misspelled(self, words: str, corrected: str) -> bool:
        """Whether a query is surely misspelled: what was corrected is no word, and all else is one or stands in a text.

        "Gall bladder" is no misspelling of "ball ladder", whatever the texts hold.
        """
        if self.texts is None:
            return False
        pairs = [(_bare(word), word != better) for word, better in zip(words.split(), corrected.split(), strict=True)]
        counts = self.texts.index.word_counts([word for word, _ in pairs if word])
        known = {
            word: bool(counts.get(word)) or self.raw.is_word(self.modality or "", word) for word, _ in pairs if word
        }
        return all(known.get(word, True) != changed for word, changed in pairs)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """How what is being typed may go on: labels, whole short texts, and words that complete the last one."""
        beginning = " ".join(prefix.split())
        if not beginning or limit < 1:
            return []
        folded = beginning.casefold()
        found = [label for label in self.labels if label.casefold().startswith(folded)]
        if self.texts is not None:
            completed = self._completed(beginning, prefix[-1:].isspace())
            found += self._openings(folded, [beginning, *completed[:2]])
            found += completed
        distinct = {suggestion.casefold(): suggestion for suggestion in reversed(found)}
        return list(dict.fromkeys(distinct[one.casefold()] for one in found if one.casefold() != folded))[:limit]

    def _correction(self, word: str) -> str | None:
        assert self.texts is not None
        if self.raw.is_word(self.modality or "", word):
            return None
        nearest = self.texts.index.correct(word, 1)
        return nearest[0][0] if nearest else None

    def _completed(self, beginning: str, ended: bool) -> list[str]:
        """The last word completed; what stands together with the words before it in some text comes first."""
        assert self.texts is not None
        *before, last = beginning.split(" ")
        if ended:
            return []
        head = " ".join(before)
        words = [word for word, _ in self.texts.index.complete(last, _COMPLETIONS)]
        made = [f"{head} {word}" if head else word for word in words]
        if not head or not made:
            return made
        best = self.texts.index.search_words(made, 1, with_metadata=True)
        together = []
        for one, found in zip(made, best, strict=True):
            text = str(found.metadata[0].get("text", "")) if found.metadata else ""
            together.append(len(matched_words(one, text)) >= len(one.split(" ")))
        return [one for one, whole in zip(made, together, strict=True) if whole]

    def _openings(self, folded: str, queries: Sequence[str]) -> list[str]:
        """Short texts, or the first lines of texts, that begin so."""
        assert self.texts is not None
        found: list[str] = []
        for hits in self.texts.index.search_words(list(dict.fromkeys(queries)), _COMPLETIONS, with_metadata=True):
            for about in hits.metadata or ():
                lines = str(about.get("text", "")).strip().splitlines()
                first = " ".join(lines[0].split()) if lines else ""
                if len(first) <= _LONGEST_SUGGESTION and first.casefold().startswith(folded):
                    found.append(first)
        return list(dict.fromkeys(found))


def _bare(word: str) -> str:
    """A word without punctuation around it."""
    start, stop = 0, len(word)
    while start < stop and not word[start].isalnum():
        start += 1
    while stop > start and not word[stop - 1].isalnum():
        stop -= 1
    return word[start:stop]

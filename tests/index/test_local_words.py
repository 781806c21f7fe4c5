"""The local engine keeps the contract of words, whether its entries are recent or folded, few or many."""

from diptych.index import create_index, open_index
from index.words_contract import IDENTITY, WordsContract


class TestRecent(WordsContract):
    def new(self, place, *, words=True):
        return create_index(place, IDENTITY, words=words)

    def again(self, place):
        return open_index(place)


class TestFoldedOften(TestRecent):
    def new(self, place, *, words=True):
        return create_index(place, IDENTITY, words=words, fold_at=2)

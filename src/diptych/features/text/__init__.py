"""Features of texts: words, weighted words, topics, and the codes of a sentence encoder."""

from diptych.features.text.bow import BagOfWords, BagOfWordsExtractor
from diptych.features.text.sentence import SentenceEncoder, SentenceExtractor
from diptych.features.text.tfidf import TfIdf, TfIdfExtractor
from diptych.features.text.tokens import tokenise
from diptych.features.text.topics import Topics, TopicsExtractor
from diptych.features.text.vocabulary import Vocabulary

__all__ = [
    "BagOfWords",
    "BagOfWordsExtractor",
    "SentenceEncoder",
    "SentenceExtractor",
    "TfIdf",
    "TfIdfExtractor",
    "Topics",
    "TopicsExtractor",
    "Vocabulary",
    "tokenise",
]

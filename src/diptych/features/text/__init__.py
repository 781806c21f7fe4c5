"""Features of texts: words, weighted words, topics, and the embeddings of pretrained encoders."""

from diptych.features.text.bow import BagOfWords, BagOfWordsExtractor
from diptych.features.text.minilm import MiniLm, MiniLmExtractor
from diptych.features.text.sentence import SentenceEncoder, SentenceExtractor
from diptych.features.text.tfidf import TfIdf, TfIdfExtractor
from diptych.features.text.tokens import tokenise
from diptych.features.text.topics import Topics, TopicsExtractor
from diptych.features.text.universal import UniversalExtractor, UniversalSentenceEncoder
from diptych.features.text.vocabulary import Vocabulary
from diptych.features.text.wordllama import WordLlama, WordLlamaExtractor

__all__ = [
    "BagOfWords",
    "BagOfWordsExtractor",
    "MiniLm",
    "MiniLmExtractor",
    "SentenceEncoder",
    "SentenceExtractor",
    "TfIdf",
    "TfIdfExtractor",
    "Topics",
    "TopicsExtractor",
    "UniversalExtractor",
    "UniversalSentenceEncoder",
    "Vocabulary",
    "WordLlama",
    "WordLlamaExtractor",
    "tokenise",
]

"""Turn raw pictures and texts, or stored features, into the numbers a method learns from."""

from diptych.features.contract import Block, Extractor, Feature
from diptych.features.pipeline import (
    FittedModality,
    Pipeline,
    check_same_pipeline,
    fit_pipeline,
    load_pipeline,
    pipeline_of,
    save_pipeline,
)
from diptych.features.readable import ignored_words, is_whole_word, text_encoder_columns
from diptych.features.registry import (
    DEFAULT_FEATURES,
    check_available,
    describe_features,
    feature_names,
    make_feature,
    media,
)
from diptych.features.scaling import Scaling, fit_scaling
from diptych.features.text.cleaning import clean_text

__all__ = [
    "DEFAULT_FEATURES",
    "Block",
    "Extractor",
    "Feature",
    "FittedModality",
    "Pipeline",
    "Scaling",
    "check_available",
    "check_same_pipeline",
    "clean_text",
    "describe_features",
    "feature_names",
    "fit_pipeline",
    "fit_scaling",
    "ignored_words",
    "is_whole_word",
    "load_pipeline",
    "make_feature",
    "media",
    "pipeline_of",
    "save_pipeline",
    "text_encoder_columns",
]

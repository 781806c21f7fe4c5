"""Turn raw images and texts into the rows of numbers a method learns from."""

from typing import TYPE_CHECKING

from diptych._core.errors import lazy_exports

if TYPE_CHECKING:
    from diptych._core.arrays import ImageArray
    from diptych._core.state import stateful
    from diptych.features.catalogue import DEFAULT_FEATURES
    from diptych.features.contract import Block, ComposedExtractor, Composition, Extractor, Feature, width
    from diptych.features.pipeline import (
        FittedModality,
        Pipeline,
        check_same_pipeline,
        fit_pipeline,
        ignored_words,
        is_whole_word,
        load_pipeline,
        pipeline_of,
        read_items,
        save_pipeline,
        text_encoder_columns,
    )
    from diptych.features.registry import (
        check_available,
        describe_features,
        make_feature,
        media_types,
    )
    from diptych.features.scaling import Scaling, fit_scaling
    from diptych.features.text import clean_text

__getattr__ = lazy_exports(
    __name__,
    {
        "diptych._core.arrays": ["ImageArray"],
        "diptych._core.state": ["stateful"],
        "contract": [
            "Block",
            "ComposedExtractor",
            "Composition",
            "Extractor",
            "Feature",
            "width",
        ],
        "pipeline": [
            "FittedModality",
            "Pipeline",
            "check_same_pipeline",
            "fit_pipeline",
            "ignored_words",
            "is_whole_word",
            "load_pipeline",
            "pipeline_of",
            "read_items",
            "save_pipeline",
            "text_encoder_columns",
        ],
        "catalogue": ["DEFAULT_FEATURES"],
        "registry": [
            "check_available",
            "describe_features",
            "make_feature",
            "media_types",
        ],
        "scaling": ["Scaling", "fit_scaling"],
        "text": ["clean_text"],
    },
)

__all__ = [
    "DEFAULT_FEATURES",
    "Block",
    "ComposedExtractor",
    "Composition",
    "Extractor",
    "Feature",
    "FittedModality",
    "ImageArray",
    "Pipeline",
    "Scaling",
    "check_available",
    "check_same_pipeline",
    "clean_text",
    "describe_features",
    "fit_pipeline",
    "fit_scaling",
    "ignored_words",
    "is_whole_word",
    "load_pipeline",
    "make_feature",
    "media_types",
    "pipeline_of",
    "read_items",
    "save_pipeline",
    "stateful",
    "text_encoder_columns",
    "width",
]

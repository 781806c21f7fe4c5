"""Turn raw pictures and texts, or stored features, into the numbers a method learns from."""

from diptych.features.contract import Block, Extractor, Feature, Picture
from diptych.features.pipeline import (
    FittedModality,
    Pipeline,
    check_same_pipeline,
    fit_pipeline,
    load_pipeline,
    pipeline_of,
    save_pipeline,
)
from diptych.features.registry import feature_names, make_feature, media
from diptych.features.scaling import Scaling, fit_scaling

__all__ = [
    "Block",
    "Extractor",
    "Feature",
    "FittedModality",
    "Picture",
    "Pipeline",
    "Scaling",
    "check_same_pipeline",
    "feature_names",
    "fit_pipeline",
    "fit_scaling",
    "load_pipeline",
    "make_feature",
    "media",
    "pipeline_of",
    "save_pipeline",
]

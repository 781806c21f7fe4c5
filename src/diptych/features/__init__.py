"""Turn raw or stored features into the numbers a method learns from."""

from diptych.features.scaling import Scaling, fit_scaling

__all__ = ["Scaling", "fit_scaling"]

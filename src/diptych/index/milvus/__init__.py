"""An index in Milvus, for what outgrows one machine."""

from diptych.index.milvus.engine import MilvusIndex, create, open

__all__ = ["MilvusIndex", "create", "open"]

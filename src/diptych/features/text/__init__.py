"""Features of texts: counted words, topics, and pretrained encoders.

Import a feature from its module: each needs its own optional packages.
"""

"""Features of images: descriptors of colour, texture and layout, visual words, and pretrained encoders.

Import a feature from its module: each needs its own optional packages.
"""

"""Features of sounds: statistics of log-mel spectrograms, cepstral coefficients, and pretrained encoders.

Import a feature from its module: each needs its own optional packages.
"""

"""Methods whose embedding is linear in the features or in a kernel of them, and the algebra behind them."""

"""Speed and memory against peers, measured in the same run; one module per claim."""

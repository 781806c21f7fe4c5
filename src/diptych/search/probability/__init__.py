"""How scores become probabilities: learned from validation items and simulated queries, judged on test items."""

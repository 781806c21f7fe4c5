"""The methods, one contract for all."""

"""Search pictures with words and words with pictures, in your own data."""

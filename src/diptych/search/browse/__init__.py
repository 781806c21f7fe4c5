"""Looking at an index without a query: its documents, sorted and counted, its near-duplicates, and its layout."""

"""What keeps the documentation true: pages that are written from the code."""

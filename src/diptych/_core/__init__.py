"""What every package stands on: errors, arrays, files, state, progress and seeds. It imports nothing above it."""

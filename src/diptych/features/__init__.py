"""Turn raw or stored features into the numbers a method learns from."""

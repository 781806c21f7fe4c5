"""What the engines that speak to a server share: names, addresses, and the order of results."""

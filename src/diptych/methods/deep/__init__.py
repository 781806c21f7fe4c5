"""Methods that train networks, and what they share: profiles, frozen layers, and stages."""

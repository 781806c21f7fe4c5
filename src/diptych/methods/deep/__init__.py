"""What the deep methods share: profiles, frozen layers, and the stages they train one after the other."""

"""Methods that embed items by their classes: class posteriors, and regressions on labels."""

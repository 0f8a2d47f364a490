"""Where work runs: threads over blocks of rows, whose statistics are added in a fixed order."""

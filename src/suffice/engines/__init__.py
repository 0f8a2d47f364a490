"""Where work runs: the same sum of statistics, on threads here or on a cluster elsewhere."""

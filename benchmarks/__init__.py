"""Speed against the peers, in one process, with answers compared first: ``python -m benchmarks``."""

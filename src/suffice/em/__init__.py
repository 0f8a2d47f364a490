"""The EM algorithm: `fit` and its loop, acceleration, checkpoints, results; `init` finds where it starts."""

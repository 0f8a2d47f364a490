"""Questions about the columns of a joint distribution: conditionals, marginals, imputation, surprisal, prediction."""

"""Information and standard errors: how well the rows determine the parameters."""

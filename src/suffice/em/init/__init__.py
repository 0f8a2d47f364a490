"""Initial values of EM: partitions of the rows, k-means, short runs on a subsample, split and merge moves."""

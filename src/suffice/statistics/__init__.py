"""What a model keeps of the rows: additive statistics, centred moments, and the weights of rows."""

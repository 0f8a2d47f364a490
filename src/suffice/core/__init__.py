"""What every distribution is made of: parameters, statistics, the contract, fitting and believing."""

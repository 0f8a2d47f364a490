"""Every benchmark, one after the other."""

from benchmarks import classifiers, densities, estimation, machine, mixtures, sequences

machine.main()
estimation.main()
mixtures.main([])
classifiers.main([])
sequences.main()
densities.main([])

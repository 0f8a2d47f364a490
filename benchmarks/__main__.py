"""Every benchmark, one after the other."""

from benchmarks import classifiers, densities, estimation, machine, mixtures

machine.main()
estimation.main()
mixtures.main([])
classifiers.main([])
densities.main([])

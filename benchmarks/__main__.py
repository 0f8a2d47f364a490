"""Every benchmark, one after the other."""

from benchmarks import classifiers, estimation, machine, mixtures

machine.main()
estimation.main()
mixtures.main([])
classifiers.main([])

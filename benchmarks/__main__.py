"""Every benchmark, one after the other."""

from benchmarks import classifiers, estimation, machine, mixtures, sequences

machine.main()
estimation.main()
mixtures.main([])
classifiers.main([])
sequences.main()

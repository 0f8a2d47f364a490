"""Every benchmark, one after the other."""

from benchmarks import estimation, machine, mixtures

machine.main()
estimation.main()
mixtures.main([])

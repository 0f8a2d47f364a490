"""Every benchmark, one after the other."""

from benchmarks import estimation, machine

machine.main()
estimation.main()

"""A search at random for problems that break a law: ``python -m tests.search --seconds 60 --seed 0``."""

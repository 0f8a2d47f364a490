"""`python -m suffice` is `suffice`."""

from suffice.cli import main

main()

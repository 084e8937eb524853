"""`python -m pyptx`: the same as the command `pyptx`."""

from pyptx.cli import main

main()

"""`python -m pyptx`: the same as the command `pyptx`."""

from pyptx._cli import main

main()

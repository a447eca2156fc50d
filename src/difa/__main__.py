"""`python -m difa`."""

from difa.cli import main

main()

"""`python -m fakekube`."""

from fakekube.cli import main

main()

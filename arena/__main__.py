"""`python -m arena` starts the command line."""

from arena.cli.app import main

if __name__ == "__main__":
    main()

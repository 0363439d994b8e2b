"""The command line: parse and print; the work is elsewhere. One file per command group."""

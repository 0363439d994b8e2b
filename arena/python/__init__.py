"""The functions for scripts and notebooks, which `arena` exports: docs/python.md.

The command line calls them, too. They install no signal handlers, print nothing, and leave the
process as they found it.
"""

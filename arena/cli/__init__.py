"""The command line: it parses arguments and prints results; other packages do the work.

One file per command, or per group of commands such as `arena config`.
"""

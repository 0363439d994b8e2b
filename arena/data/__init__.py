"""The files of a data directory: where each one lies, and how it is written and read.

No module here loads torch or opens the league's database.
"""

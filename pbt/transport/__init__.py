"""Transport: the memory that processes share and the messages that they send each other.

Code that samples, acts or learns goes through it, and so works alike in one process or in several.
"""

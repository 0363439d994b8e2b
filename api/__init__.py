"""The service: a REST interface to `arena`, and the process that keeps trainings running.

It never imports torch, vizdoom or faster_fifo: games and networks run in other processes.
"""

"""The service: REST over `arena`, and the supervision of trainings. Never imports torch, vizdoom
or faster_fifo; games run in other processes.
"""

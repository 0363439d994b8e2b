"""Population-based training: the decision (pure), the controller, and the ports through which
the engine speaks.
"""

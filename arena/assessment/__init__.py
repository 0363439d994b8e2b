"""What may be said of a population: is it learning, which member is best, what did PBT do, is
anything broken. Terminal, service and dashboard say the same sentence.
"""

"""Games: the contract that every game keeps, adapters of other libraries, the registry of names."""

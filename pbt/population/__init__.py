"""Population-based training: scores, rounds, and the controller that puts them in force."""

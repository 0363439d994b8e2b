"""Board games, card games and control tasks of PettingZoo and Gymnasium, under registered names."""

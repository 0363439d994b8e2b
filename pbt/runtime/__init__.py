"""Running a population: which process hosts which component, and what follows when one dies."""

"""Turns the declarative list of the MPI interface into headers, entry points and tables."""

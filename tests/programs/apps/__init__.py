"""The programs that `./run programs` knows, the cheap ones first: a module for each.

To add one: a module here with a PROGRAM (see model.py), and its name in this list.
"""
from apps import armci, blacs, coarrays, dune, ga, hdf5, hpcc, meson, p4est, pnetcdf, scotch, tachyon

PROGRAMS = [module.PROGRAM for module in (tachyon, meson, dune, armci, coarrays, ga, hdf5, p4est, pnetcdf, hpcc, blacs, scotch)]

"""The programs that `./run programs` knows, the cheap ones first: a module for each.

To add one: a module here with a PROGRAM (see model.py), and its name in this list.
"""
from apps import (armci, arpack, blacs, boost, coarrays, dune, espresso, fftw, ga, hdf5, hmmer, hpcc, hypre, lammps, meson,
                  mrbayes, mumps, netcdf, p4est, petsc, pnetcdf, raxml, scalapack, scotch, spooles, sundials, superlu, tachyon)

PROGRAMS = [module.PROGRAM for module in (
    tachyon, meson, fftw, dune, armci, boost, sundials, coarrays, ga, hdf5, netcdf, p4est, pnetcdf, hpcc, blacs, scalapack, mumps,
    superlu, arpack, spooles, mrbayes, hmmer, raxml, hypre, scotch, lammps, petsc, espresso)]

"""The programs that `./run programs` knows, the cheap ones first: a module for each.

To add one: a module here with a PROGRAM (see model.py), and its name in this list.
"""
from apps import (armci, arpack, blacs, boost, coarrays, dune, espresso, fftw, ga, gromacs, hdf5, hpcc, hypre, lammps,
                  meson, mumps, netcdf, p4est, petsc, pnetcdf, raxml, scalapack, scotch, sundials, superlu, tachyon)

PROGRAMS = [module.PROGRAM for module in (
    tachyon, meson, fftw, dune, armci, boost, sundials, coarrays, ga, hdf5, netcdf, p4est, pnetcdf, hpcc, blacs, scalapack, mumps,
    superlu, arpack, raxml, hypre, scotch, lammps, espresso, gromacs, petsc)]

"""The programs that `./run programs` knows, the cheap ones first: a module for each.

To add one: a module here with a PROGRAM (see model.py), and its name in this list.
"""
from apps import blacs, hpcc, scotch, tachyon

PROGRAMS = [module.PROGRAM for module in (tachyon, hpcc, blacs, scotch)]

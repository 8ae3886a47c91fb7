"""MPI without mpi4py: the few calls that the scripts of this folder make, by ctypes."""

import atexit
import ctypes

abi = ctypes.CDLL("libmpi_abi.so.1")
# Handles of the standard ABI.
WORLD, INT, SUM = (ctypes.c_void_p(value) for value in (0x101, 0x209, 0x021))


def number_of(call):
    value = ctypes.c_int(-1)
    call(WORLD, ctypes.byref(value))
    return value.value


def barrier():
    abi.MPI_Barrier(WORLD)


def sum_of(number):
    mine, total = ctypes.c_int(number), ctypes.c_int(-1)
    abi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, INT, SUM, WORLD)
    return total.value


abi.MPI_Init(None, None)
atexit.register(abi.MPI_Finalize)
rank, size = number_of(abi.MPI_Comm_rank), number_of(abi.MPI_Comm_size)

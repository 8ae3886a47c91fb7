"""numpy in each rank: its own modules, its own BLAS."""

import numpy

import mpi

matrix = numpy.arange(100.0 * 100).reshape(100, 100) + mpi.rank
mpi.barrier()
product = matrix @ matrix
expected = sum(matrix[3, k] * matrix[k, 5] for k in range(100))
assert abs(product[3, 5] - expected) < 1e-6 * expected
assert abs(numpy.linalg.det(numpy.eye(4) * (mpi.rank + 2)) - (mpi.rank + 2) ** 4) < 1e-9
numpy.random.seed(mpi.rank)
first = numpy.random.rand(5)
mpi.barrier()
numpy.random.seed(mpi.rank)
assert (numpy.random.rand(5) == first).all()
numpy.set_printoptions(precision=2 + mpi.rank)
mpi.barrier()
assert str(numpy.array([1 / 3])) == f"[0.{'3' * (2 + mpi.rank)}]"
# A buffer of MPI's is the memory of an array.
array = numpy.arange(8, dtype=numpy.intc) + mpi.rank
total = numpy.empty_like(array)
mpi.abi.MPI_Allreduce(array.ctypes.data_as(mpi.ctypes.c_void_p),
                          total.ctypes.data_as(mpi.ctypes.c_void_p), len(array), mpi.INT, mpi.SUM, mpi.WORLD)
assert (total == mpi.size * numpy.arange(8) + sum(range(mpi.size))).all()
print("fine")

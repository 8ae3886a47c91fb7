# Large extension modules with libraries of their own (BLAS, Fortran's runtime) in each rank.
import ctypes

import numpy

program = ctypes.CDLL(None)
rank = program.test_rank()

matrix = numpy.arange(100.0 * 100).reshape(100, 100) + rank
program.test_yield()
product = matrix @ matrix
expected = sum(matrix[3, k] * matrix[k, 5] for k in range(100))
assert abs(product[3, 5] - expected) < 1e-6 * expected
assert abs(numpy.linalg.det(numpy.eye(4) * (rank + 2)) - (rank + 2) ** 4) < 1e-9
numpy.random.seed(rank)
first = numpy.random.rand(5)
program.test_yield()
numpy.random.seed(rank)
assert (numpy.random.rand(5) == first).all()
numpy.seterr(divide="raise" if rank % 2 else "ignore")
program.test_yield()
try:
    numpy.ones(1) / numpy.zeros(1)
    assert rank % 2 == 0
except FloatingPointError:
    assert rank % 2 == 1
assert abs(numpy.fft.fft(numpy.ones(8))[0] - 8) < 1e-12

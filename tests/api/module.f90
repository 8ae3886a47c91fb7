! The module mpi: any type in a choice buffer, array elements as buffers.
program t
  use mpi
  implicit none
  integer :: ierr, rank, req(2), i(4), provided
  real :: x(10)
  complex :: z
  integer(kind=MPI_ADDRESS_KIND) :: a, b
  call mpi_init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_isend(x, 10, MPI_REAL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, req(1), ierr)
  call mpi_irecv(z, 1, MPI_COMPLEX, MPI_PROC_NULL, 0, MPI_COMM_WORLD, req(2), ierr)
  call mpi_waitall(2, req, MPI_STATUSES_IGNORE, ierr)
  call mpi_bcast(i(2), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call mpi_get_address(x, a, ierr)
  b = mpi_aint_add(a, 4_MPI_ADDRESS_KIND)
  print *, mpi_wtime() > 0, b
  call mpi_finalize(ierr)
end program

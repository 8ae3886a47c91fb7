! mpif.h in free form.
subroutine send_it(y)
  implicit none
  include 'mpif.h'
  integer ierr
  real y(3)
  character(len=MPI_MAX_PROCESSOR_NAME) name
  integer length
  call mpi_bcast(y, 3, MPI_REAL, 0, MPI_COMM_WORLD, ierr)
  call mpi_get_processor_name(name, length, ierr)
end subroutine

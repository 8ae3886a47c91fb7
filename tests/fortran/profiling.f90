! A tool in Fortran: it replaces MPI's procedures by the names of MPI-4.1 section 19.1.5.
module counters
  integer :: ranks = 0, barriers = 0
end module
subroutine MPI_Comm_rank_f08(comm, rank, ierror)
  use mpi_f08, only: MPI_Comm, PMPI_Comm_rank
  use counters
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, intent(out) :: rank
  integer, optional, intent(out) :: ierror
  ranks = ranks + 1
  call PMPI_Comm_rank(comm, rank, ierror)
end subroutine
subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, only: MPI_Comm, PMPI_Barrier
  use counters
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine
program profiling
  use mpi_f08
  use check_m
  use counters
  implicit none
  integer :: rank, a(5), b(5)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Barrier(MPI_COMM_WORLD)
  call check(ranks == 1 .and. barriers == 1, 'calls counted')
  a = rank
  b = -1
  call PMPI_Allreduce(a(1:5:2), b(1:5:2), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call check(all(b(2:4:2) == -1) .and. b(1) >= rank, 'a section in the profiling interface')
  call done()
end program

! What each test program of this folder ends with, and says when it is wrong.
module check_m
  use mpi_f08
  implicit none
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    integer :: rank
    if (ok) return
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
    flush (6)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
  subroutine done()
    integer :: rank
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Finalize()
    if (rank == 0) print '(a)', 'passed'
  end subroutine
end module

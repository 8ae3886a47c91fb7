! Array sections as buffers of collectives: blocking, non-blocking, persistent; one stride (a
! resized datatype) and several (a copy that lives as long as the operation).
program collectives
  use check_m
  implicit none
  integer :: rank, n
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call reductions()
  call nonblocking_reduction()
  call persistent_reduction()
  call blocks()
  call several_strides()
  call counts_and_displacements()
  call neighbors()
  call done()
contains
  subroutine reductions()
    integer :: a(10), b(3, 10)
    a = rank
    b = -1
    call MPI_Allreduce(a(1:10:3), b(2, 1:10:3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(2, 1:10:3) == n * (n - 1) / 2) .and. count(b == -1) == 26, 'allreduce')
    b = rank
    call MPI_Allreduce(MPI_IN_PLACE, b(1:3:2, ::5), 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call check(all(b(1:3:2, ::5) == n - 1) .and. all(b(2, :) == rank), 'allreduce in place')
    b = -1
    call MPI_Scan(a(::5), b(1, ::5), 2_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(1, ::5) == rank * (rank + 1) / 2), 'scan with large counts')
  end subroutine
  subroutine nonblocking_reduction()
    integer, asynchronous :: a(20), b(20)
    type(MPI_Request) :: request
    logical :: flag
    a = rank
    b = -1
    call MPI_Iallreduce(a(1:20:2), b(2:20:2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(b(2:20:2) == n * (n - 1) / 2) .and. all(b(1:19:2) == -1), 'iallreduce')
    b = -1
    call MPI_Iallreduce(a(1:20:2), b(2:20:2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE)
    end do
    call MPI_F_sync_reg(b)
    call check(all(b(2:20:2) == n * (n - 1) / 2), 'data are there when the status is')
    b(2) = 77
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(b(2) == 77, 'and are not written again')
    b = -1
    if (rank == 0) b = 3
    call MPI_Ibcast(b(1:20:4), 5, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(b(1:20:4) == 3), 'ibcast')
  end subroutine
  subroutine persistent_reduction()
    integer, asynchronous :: a(3, 4), b(2, 8)
    type(MPI_Request) :: request
    integer :: i
    call MPI_Allreduce_init(a(2, :), b(1, ::2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do i = 1, 3
      a = rank * i
      b = -1
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(all(b(1, ::2) == i * n * (n - 1) / 2) .and. count(b == -1) == 12, 'persistent allreduce')
    end do
    call MPI_Request_free(request)
  end subroutine
  subroutine blocks()
    ! One stride: blocks of all ranks lie at multiples of it.
    integer :: a(5), b(0:4 * n - 1), i
    type(MPI_Request) :: request
    a = rank
    b = -1
    call MPI_Allgather(a(1:5:4), 2, MPI_INTEGER, b(::2), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b(::2) == [(i / 2, i = 0, 2 * n - 1)]) .and. all(b(1::2) == -1), 'allgather')
    b = -1
    call MPI_Iallgather(a(1:5:4), 2, MPI_INTEGER, b(::2), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(b(::2) == [(i / 2, i = 0, 2 * n - 1)]) .and. all(b(1::2) == -1), 'iallgather')
  end subroutine
  subroutine several_strides()
    integer, asynchronous :: a(2), b(3, 0:n - 1)
    type(MPI_Request) :: request
    integer :: i
    a = [rank, -rank]
    b = -99
    call MPI_Gather(a, 2, MPI_INTEGER, b(1:2, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) call check(all([(all(b(:, i) == [i, -i, -99]), i = 0, n - 1)]), 'gather')
    b = -99
    call MPI_Iallgather(a, 2, MPI_INTEGER, b(2:3, :), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all([(all(b(:, i) == [-99, i, -i]), i = 0, n - 1)]), 'iallgather with several strides')
    call MPI_Scatter(b(2:3, :), 2, MPI_INTEGER, a(2:1:-1), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(a == [-rank, rank]), 'scatter')
  end subroutine
  subroutine counts_and_displacements()
    integer, asynchronous :: a(2 * n), b(3, 2 * n)
    integer :: counts(n), displs(n), i
    integer(MPI_COUNT_KIND) :: large_counts(n)
    integer(MPI_ADDRESS_KIND) :: large_displs(n)
    type(MPI_Request) :: request
    a = rank
    b = -1
    counts = 1
    displs = [(2 * (i - 1), i = 1, n)]
    call MPI_Alltoallv(a, counts, displs, MPI_INTEGER, b(2, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b(2, ::2) == [(i, i = 0, n - 1)]) .and. all(b(2, 2::2) == -1), 'alltoallv')
    b = -1
    large_counts = 2
    large_displs = [(2 * (i - 1), i = 1, n)]
    call MPI_Iallgatherv(a(:2), 2_MPI_COUNT_KIND, MPI_INTEGER, b(1:3:3, :), large_counts, large_displs, &
                         MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(b(1, :) == [((i - 1) / 2, i = 1, 2 * n)]), 'iallgatherv with large counts')
  end subroutine
  subroutine neighbors()
    type(MPI_Comm) :: ring
    integer :: a(4), b(2, 4)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], [.true.], .false., ring)
    a = rank
    b = -1
    call MPI_Neighbor_alltoall(a(1:4:3), 1, MPI_INTEGER, b(1, 1:4:3), 1, MPI_INTEGER, ring)
    call check(b(1, 1) == mod(rank - 1 + n, n) .and. b(1, 4) == mod(rank + 1, n), 'neighbours')
    call check(count(b == -1) == 6, 'neighbours: the rest')
    call MPI_Comm_free(ring)
  end subroutine
end program

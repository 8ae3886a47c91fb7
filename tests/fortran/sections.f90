! Array sections as buffers: one message, non-blocking, persistent, matched, derived datatypes.
program sections
  use check_m
  implicit none
  integer :: rank, n, left, right
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  right = mod(rank + 1, n)
  left = mod(rank - 1 + n, n)
  call check(MPI_SUBARRAYS_SUPPORTED, 'subarrays are supported')
  call blocking()
  call nonblocking()
  call persistent()
  call types_and_elements()
  call reversed_and_large()
  call characters()
  call done()
contains
  subroutine fill(a)
    integer, intent(out) :: a(:, :)
    integer :: i, j
    do j = 1, size(a, 2)
      do i = 1, size(a, 1)
        a(i, j) = 1000 * rank + 10 * i + j
      end do
    end do
  end subroutine
  subroutine blocking()
    integer :: a(6, 5), b(7, 4), i
    type(MPI_Status) :: status
    call fill(a)
    b = -1
    call MPI_Sendrecv(a(2:6:2, 1:5:2), 9, MPI_INTEGER, right, 1, b(2:4, 2:4), 9, MPI_INTEGER, left, 1, &
                      MPI_COMM_WORLD, status)
    do i = 1, 3
      call check(all(b(2:4, i + 1) == 1000 * left + [20, 40, 60] + 2 * i - 1), 'sendrecv of sections')
    end do
    call check(count(b == -1) == 28 - 9, 'the rest is untouched')
    call MPI_Get_count(status, MPI_INTEGER, i)
    call check(i == 9, 'count of a section')
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 1, 'status')
    b = 0
    if (rank == 0) b(1:7:3, 1:4:3) = 5
    call MPI_Bcast(b(1:7:3, 1:4:3), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(sum(b) == 30 .and. b(7, 4) == 5, 'broadcast into a section')
    call part_of_a_slab()
  end subroutine
  subroutine part_of_a_slab()
    integer :: a(4, 4, 3), b(32)
    integer :: i
    a = reshape([(i, i = 1, 48)], shape(a))
    b = 0
    ! 11 of the 2 x 4 x 3 elements: two planes' worth, less a part.
    call MPI_Sendrecv(a(1:4:3, :, :), 11, MPI_INTEGER, right, 2, b, 32, MPI_INTEGER, left, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(b(1:11) == [1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21]) .and. b(12) == 0, 'a part of a slab')
  end subroutine
  subroutine nonblocking()
    integer, asynchronous :: a(50), b(100)
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    a = rank
    b = -1
    call MPI_Irecv(b(1:100:4), 25, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(2:50:2), 25, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all(b(1:100:4) == left) .and. count(b == -1) == 75, 'non-blocking sections')
    call check(requests(1) == MPI_REQUEST_NULL .and. .not. requests(2) /= MPI_REQUEST_NULL, 'requests')
    call check(statuses(1)%MPI_SOURCE == left, 'statuses')
  end subroutine
  subroutine persistent()
    real(8), asynchronous :: a(3, 10), b(10, 3)
    type(MPI_Request) :: requests(2)
    integer :: i
    call MPI_Recv_init(b(1:9:2, 2), 5, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(a(3, 1:10:2), 5, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, requests(2))
    do i = 1, 3
      a = 10 * rank + i
      b = -1
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(all(b(1:9:2, 2) == 10 * left + i) .and. count(b == -1) == 25, 'persistent sections')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine
  subroutine types_and_elements()
    ! Elements larger and smaller than the datatype, and a datatype with gaps.
    complex :: z(8), y(8)
    integer :: a(40), b(40), i
    type(MPI_Datatype) :: pair, every_second
    z = cmplx(rank, -rank)
    y = 0
    call MPI_Sendrecv(z(1:8:2), 8, MPI_REAL, right, 5, y(2:8:2), 4, MPI_COMPLEX, left, 5, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(y(2:8:2) == cmplx(left, -left)) .and. all(y(1:7:2) == 0), 'two reals in an element')
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    a = [(100 * rank + i, i = 1, 40)]
    b = 0
    call MPI_Sendrecv(a(1:40:3), 3, pair, right, 6, b(2:12:2), 6, MPI_INTEGER, left, 6, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(b(2:12:2) == 100 * left + [1, 4, 7, 10, 13, 16]), 'a datatype of two elements')
    b = 0
    call MPI_Sendrecv(a(1:40:3), 1, every_second, right, 7, b, 3, MPI_INTEGER, left, 7, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(b(1:3) == 100 * left + [1, 7, 13]), 'a datatype with gaps over a section')
    call MPI_Type_free(pair)
    call MPI_Type_free(every_second)
    call check(pair == MPI_DATATYPE_NULL, 'type null')
  end subroutine
  subroutine reversed_and_large()
    integer :: a(10), b(10), i
    integer(MPI_COUNT_KIND) :: n
    type(MPI_Status) :: status
    a = [(i, i = 1, 10)]
    b = 0
    call MPI_Sendrecv(a(10:1:-1), 10_MPI_COUNT_KIND, MPI_INTEGER, right, 8, b(1:9:2), 5_MPI_COUNT_KIND, &
                      MPI_BYTE, MPI_PROC_NULL, 8, MPI_COMM_WORLD, status)
    call MPI_Recv(b, 10_MPI_COUNT_KIND, MPI_INTEGER, left, 8, MPI_COMM_WORLD, status)
    call check(all(b == [(i, i = 10, 1, -1)]), 'a reversed section')
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check(n == 10, 'large count')
  end subroutine
  subroutine characters()
    character(len=3) :: words(4), received(4)
    words = ['abc', 'def', 'ghi', 'jkl']
    received = '...'
    call MPI_Sendrecv(words(1:4:2), 6, MPI_CHARACTER, right, 9, received(2:4:2), 6, MPI_CHARACTER, left, 9, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(received == ['...', 'abc', '...', 'ghi']), 'strings')
    call MPI_Sendrecv(words(1:4)(2:2), 4, MPI_CHARACTER, right, 9, received(1:4)(3:3), 4, MPI_CHARACTER, left, &
                      9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(received == ['..b', 'abe', '..h', 'ghk']), 'parts of strings')
  end subroutine
end program

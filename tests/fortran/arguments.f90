! Everything else that is passed: strings, logicals, handles, statuses, absent arguments, large
! counts, kinds, constants; and what is wrong.
program arguments
  use, intrinsic :: iso_c_binding
  use check_m
  implicit none
  integer :: rank, n, provided
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call strings()
  call statuses()
  call sizes()
  call memory()
  call graphs()
  call datatypes()
  call any_buffer()
  call partitions()
  call wrong_use()
  call done()
contains
  subroutine strings()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=20) :: value
    character(len=4) :: short
    type(MPI_Info) :: info, copy
    integer :: length, keys
    logical :: flag
    call MPI_Comm_set_name(MPI_COMM_SELF, 'myself   ')
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length)
    call check(name == 'myself' .and. length == 6, 'name')
    call MPI_Comm_get_name(MPI_COMM_SELF, short, length)
    call check(short == 'myse', 'a short string')
    call MPI_Info_create(info)
    call MPI_Info_set(info, '  key ', ' a value  ')
    value = 'untouched'
    call MPI_Info_get(info, 'key', len(value), value, flag)
    call check(flag .and. value == 'a value', 'info')
    length = len(value)
    call MPI_Info_get_string(info, 'key', length, value, flag)
    call check(flag .and. value == 'a value' .and. length == 7, 'info string')
    call MPI_Info_dup(info, copy)
    call MPI_Info_get_nkeys(copy, keys)
    call check(keys == 1 .and. copy /= info, 'keys')
    call MPI_Info_free(info)
    call MPI_Info_free(copy)
    call check(all([info, copy] == MPI_INFO_NULL), 'info null')
    call MPI_Error_string(MPI_ERR_TAG, name, length)
    call check(length > 0 .and. name(length + 1:) == ' ', 'error string')
  end subroutine
  subroutine statuses()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: list(3), copy
    integer :: i, words(MPI_STATUS_SIZE), which(3), done_count, a(3), b(3)
    logical :: flag
    a = [7, 8, 9]
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(b(2), 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_SELF, requests(2))
    call MPI_Send(a(2), 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF)
    call MPI_Waitany(3, requests, i, list(1))
    call check(i == 2 .and. list(1)%MPI_TAG == 5 .and. b(2) == 8, 'index from 1')
    call check(all(requests == MPI_REQUEST_NULL), 'comparison of arrays')
    call MPI_Status_f082f(list(1), words)
    call MPI_Status_f2f08(words, copy)
    call check(copy%MPI_SOURCE == 0 .and. copy%MPI_TAG == 5, 'converted status')
    call MPI_Get_count(copy, MPI_INTEGER, i)
    call check(i == 1, 'count of a converted status')
    call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE)
    call check(flag, 'test of nothing')
    call MPI_Waitsome(3, requests, done_count, which, list)
    call check(done_count == MPI_UNDEFINED, 'nothing to wait for')
    call MPI_Irecv(b(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1))
    call MPI_Irecv(b(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(3))
    call MPI_Send(a(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
    call MPI_Waitsome(3, requests, done_count, which, list)
    call check(done_count == 1 .and. which(1) == 3 .and. list(1)%MPI_TAG == 3, 'waitsome')
    call MPI_Send(a(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(b(1) == 7 .and. b(3) == 9, 'data')
  end subroutine
  subroutine sizes()
    integer :: size
    integer(MPI_COUNT_KIND) :: large
    real(8) :: matrix(3, 2)
    complex(8) :: z
    integer(2) :: i
    call MPI_Sizeof(matrix(:, 1), size)
    call check(size == 8, 'size of a double')
    call MPI_Sizeof(z, size)
    call check(size == 16, 'size of a complex')
    call MPI_Sizeof(i, size)
    call check(size == 2, 'size of a short integer')
    call MPI_Type_size(MPI_DOUBLE_PRECISION, size)
    call MPI_Type_size(MPI_DOUBLE_PRECISION, large)
    call check(size == 8 .and. large == 8, 'both sizes')
    call check(MPI_Wtime() >= 0 .and. MPI_Wtick() > 0, 'clock')
    call check(PMPI_Wtime() >= 0, 'clock of the profiling interface')
    call check(MPI_VERSION >= 4 .and. MPI_STATUS_SIZE == 8, 'constants')
  end subroutine
  subroutine memory()
    type(c_ptr) :: place, detached
    integer, pointer :: words(:)
    integer(MPI_ADDRESS_KIND) :: a, b
    integer :: size, two(2)
    character, target, asynchronous :: room(1000 + MPI_BSEND_OVERHEAD)
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
    call c_f_pointer(place, words, [10])
    words = 3
    call MPI_Free_mem(words)
    call MPI_Get_address(two(1), a)
    call MPI_Get_address(two(2), b)
    call check(MPI_Aint_diff(b, a) == 4 .and. MPI_Aint_add(a, 4_MPI_ADDRESS_KIND) == b, 'addresses')
    call MPI_Buffer_attach(room, 1000)
    call MPI_Buffer_detach(detached, size)
    call check(size == 1000 .and. c_associated(detached, c_loc(room)), 'buffer')
  end subroutine
  subroutine graphs()
    type(MPI_Comm) :: graph, grid
    integer :: weights(2), sources(1), targets(1), indegree, outdegree, dims(2), coords(2)
    logical :: weighted, periods(2)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank - 1 + n, n)], MPI_UNWEIGHTED, 1, &
                                        [mod(rank + 1, n)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted)
    call check(indegree == 1 .and. outdegree == 1 .and. .not. weighted, 'graph')
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, targets, weights)
    call check(sources(1) == mod(rank - 1 + n, n) .and. targets(1) == mod(rank + 1, n), 'neighbours')
    call MPI_Comm_free(graph)
    dims = 0
    call MPI_Dims_create(n, 2, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid)
    call MPI_Cart_get(grid, 2, dims, periods, coords)
    call check(periods(1) .and. .not. periods(2) .and. product(dims) == n, 'grid')
    call MPI_Comm_free(grid)
  end subroutine
  subroutine datatypes()
    type(MPI_Datatype) :: t, u, parts(2)
    integer :: ints(10), ni, na, nd, combiner
    integer(MPI_ADDRESS_KIND) :: addresses(2), lb, extent
    integer(MPI_COUNT_KIND) :: li, la, ll, ld, counts(10)
    call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], &
                                [MPI_DOUBLE_PRECISION, MPI_INTEGER], t)
    call MPI_Type_get_extent(t, lb, extent)
    call check(lb == 0 .and. extent == 16, 'extent')
    call MPI_Type_get_envelope(t, ni, na, nd, combiner)
    call check(ni == 3 .and. na == 2 .and. nd == 2 .and. combiner == MPI_COMBINER_STRUCT, 'envelope')
    call MPI_Type_get_contents(t, ni, na, nd, ints, addresses, parts)
    call check(parts(1) == MPI_DOUBLE_PRECISION .and. parts(2) == MPI_INTEGER .and. addresses(2) == 8, 'contents')
    call MPI_Type_contiguous(5_MPI_COUNT_KIND, MPI_INTEGER, u)
    call MPI_Type_get_envelope(u, li, la, ll, ld, combiner)
    call check(li == 0 .and. la == 0 .and. ll == 1 .and. ld == 1, 'large envelope')
    call MPI_Type_get_contents(u, li, la, ll, ld, ints, addresses, counts, parts)
    call check(counts(1) == 5 .and. parts(1) == MPI_INTEGER, 'large contents')
    call MPI_Type_free(t)
    call MPI_Type_free(u)
    call MPI_Type_create_f90_real(15, 307, t)
    call check(t /= MPI_DATATYPE_NULL, 'kind of a real')
  end subroutine
  subroutine any_buffer()
    ! Scalars, expressions, array elements, pointers, allocatable arrays, derived types.
    type point
      sequence
      integer :: x, y
    end type
    type(point) :: p, q
    integer, allocatable :: a(:)
    integer, pointer :: b(:)
    integer, target :: c(6)
    character(len=5) :: text
    call MPI_Sendrecv(rank + 41, 1, MPI_INTEGER, 0, 0, p%y, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(p%y == rank + 41, 'an expression')
    p = point(1, 2)
    call MPI_Sendrecv(p, 2, MPI_INTEGER, 0, 0, q, 2, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(q%x == 1 .and. q%y == 2, 'a derived type')
    allocate (a(3))
    b => c(1:6:2)
    c = 0
    a = [4, 5, 6]
    call MPI_Sendrecv(a, 3, MPI_INTEGER, 0, 0, b, 3, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(all(c == [4, 0, 5, 0, 6, 0]), 'a pointer')
    call MPI_Sendrecv(a(2), 2, MPI_INTEGER, 0, 0, c(5), 2, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(all(c(5:6) == [5, 6]), 'array elements')
    call assumed_size(a, c)
    call MPI_Sendrecv('hello', 5, MPI_CHARACTER, 0, 0, text, 5, MPI_CHARACTER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(text == 'hello', 'a string')
    deallocate (a)
    allocate (a(0))
    call MPI_Sendrecv(a, 0, MPI_INTEGER, 0, 0, a, 0, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  end subroutine
  subroutine assumed_size(a, c)
    integer :: a(*), c(3, *)
    call MPI_Sendrecv(a, 3, MPI_INTEGER, 0, 0, c, 3, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call check(all(c(1:3, 1) == [4, 5, 6]), 'an array of assumed size')
  end subroutine
  ! Their count has one form, of MPI_COUNT_KIND.
  subroutine partitions()
    integer(MPI_COUNT_KIND), parameter :: each = 3
    integer :: sent(6), received(6), i, code, class
    type(MPI_Request) :: requests(2)
    sent = [(10 * i, i = 1, 6)]
    received = 0
    call MPI_Precv_init(received, 2, each, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, requests(1))
    call MPI_Psend_init(sent, 2, each, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, requests(2))
    call MPI_Startall(2, requests)
    call MPI_Pready_list(2, [1, 0], requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(received == sent), 'partitions')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Psend_init(sent, 2, 2_MPI_COUNT_KIND**61, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, requests(1), code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_COUNT, 'a count of 64 bits')
  end subroutine
  subroutine wrong_use()
    integer :: a(10), ierror, class
    type(MPI_Request) :: request
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    a = 0
    call MPI_Send(a(1:10:2), -5, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_COUNT, 'a negative count of a section')
    call MPI_Send(a(1:10:2), 5, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_TYPE, 'no datatype of a section')
    call MPI_Isend(a(1:10:2), 5, MPI_INTEGER, n, 0, MPI_COMM_WORLD, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_RANK, 'a wrong rank with a section')
    call MPI_Iallreduce(a(1:10:2), a(2:10:2), 5, MPI_INTEGER, MPI_OP_NULL, MPI_COMM_WORLD, request, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_OP, 'no operation with a section')
    call MPI_Comm_size(MPI_Comm(77777), a(1), ierror)
    call check(ierror /= MPI_SUCCESS, 'a wrong handle')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine
end program

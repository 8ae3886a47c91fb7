! Fortran through the generated bindings: sentinels, callbacks, handles, statuses, strings.
module callbacks
  implicit none
  include 'mpif.h'
  integer :: copies = 0, deletes = 0, errors = 0
contains
  subroutine my_copy(comm, key, extra, vin, vout, flag, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, vin, vout
    logical :: flag
    copies = copies + 1
    vout = vin + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
  subroutine my_delete(comm, key, v, extra, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: v, extra
    deletes = deletes + 1
    ierr = MPI_SUCCESS
  end subroutine
  subroutine my_op(a, b, n, t)
    integer :: n, t, i
    integer :: a(n), b(n)
    if (t /= MPI_INTEGER) stop 99
    do i = 1, n
      b(i) = a(i) + 2 * b(i) - b(i)
    end do
  end subroutine
  subroutine my_err(comm, code)
    integer :: comm, code
    errors = errors + 1
  end subroutine
end module
subroutine check(ok, what)
  logical :: ok
  character(len=*) :: what
  if (.not. ok) then
    print *, 'wrong: ', what
    stop 1
  end if
end subroutine
program t
  use callbacks
  implicit none
  integer :: ierr, rank, n, op, key, dup, req(2), st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE,2), idx(2), oc, i, eh, l, cls
  integer :: a(4), b(4), grp, cart, dims(2), coords(2)
  integer(kind=MPI_ADDRESS_KIND) :: v, extra
  logical :: flag, per(2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: value
  integer :: info, nk
  double precision :: t0
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
  t0 = MPI_WTIME()
  call check(t0 >= 0d0, 'wtime')
  a = rank + 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, a, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(all(a == n * (n + 1) / 2), 'in place')
  call MPI_OP_CREATE(my_op, .true., op, ierr)
  a = rank + 1
  call MPI_ALLREDUCE(a, b, 4, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call check(all(b == n * (n + 1) / 2), 'user op')
  call MPI_OP_FREE(op, ierr)
  call check(op == MPI_OP_NULL, 'op null')
  extra = 5
  call MPI_COMM_CREATE_KEYVAL(my_copy, my_delete, key, extra, ierr)
  v = 37
  call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, v, ierr)
  v = 0
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, key, v, flag, ierr)
  call check(flag .and. v == 37, 'attr')
  call MPI_COMM_DUP(MPI_COMM_WORLD, dup, ierr)
  call MPI_COMM_GET_ATTR(dup, key, v, flag, ierr)
  call check(flag .and. v == 42, 'copied attr')
  call MPI_COMM_FREE(dup, ierr)
  call check(dup == MPI_COMM_NULL, 'comm null')
  call check(copies == 1 .and. deletes == 1, 'callbacks counted')
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, v, flag, ierr)
  call check(flag .and. v >= 32767, 'tag ub')
  call MPI_COMM_CREATE_ERRHANDLER(my_err, eh, ierr)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, eh, ierr)
  call MPI_SEND(a, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierr)
  call check(ierr /= MPI_SUCCESS .and. errors == 1, 'errhandler')
  call MPI_ERROR_CLASS(ierr, cls, ierr)
  call check(cls == MPI_ERR_COUNT, 'class')
  call MPI_ISEND(a, 1, MPI_INTEGER, mod(rank + 1, n), 3, MPI_COMM_WORLD, req(1), ierr)
  call MPI_IRECV(b, 4, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, req(2), ierr)
  call MPI_WAITALL(2, req, sts, ierr)
  call check(all(req == MPI_REQUEST_NULL), 'requests')
  call check(sts(MPI_SOURCE, 2) == mod(rank - 1 + n, n) .and. sts(MPI_TAG, 2) == 3, 'status')
  call MPI_GET_COUNT(sts(1, 2), MPI_INTEGER, i, ierr)
  call check(i == 1, 'count')
  call MPI_IRECV(b, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, req(1), ierr)
  req(2) = MPI_REQUEST_NULL
  call MPI_SEND(a, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, ierr)
  call MPI_WAITANY(2, req, i, MPI_STATUS_IGNORE, ierr)
  call check(i == 1, 'index from 1')
  call MPI_WAITSOME(2, req, oc, idx, MPI_STATUSES_IGNORE, ierr)
  call check(oc == MPI_UNDEFINED, 'waitsome')
  call MPI_COMM_SET_NAME(MPI_COMM_WORLD, 'my world   ', ierr)
  call MPI_COMM_GET_NAME(MPI_COMM_WORLD, name, l, ierr)
  call check(l == 8 .and. name == 'my world', 'name')
  call MPI_INFO_CREATE(info, ierr)
  call MPI_INFO_SET(info, '  key ', ' value  ', ierr)
  value = 'untouched'
  call MPI_INFO_GET(info, 'nokey', 20, value, flag, ierr)
  call check(.not. flag .and. value == 'untouched', 'no key')
  call MPI_INFO_GET(info, 'key', 20, value, flag, ierr)
  call check(flag .and. value == 'value', 'info')
  call MPI_INFO_FREE(info, ierr)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'fortran ok'
  call MPI_FINALIZE(ierr)
end program

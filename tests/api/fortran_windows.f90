! Windows in Fortran: handles, attributes and their callbacks, error handlers, memory, operations.
module window_callbacks
  implicit none
  include 'mpif.h'
  integer :: deletes = 0, errors = 0, expected = 0
contains
  subroutine my_delete(win, key, v, extra, ierr)
    integer :: win, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: v, extra
    if (win == expected .and. v == 7 .and. extra == 5) deletes = deletes + 1
    ierr = MPI_SUCCESS
  end subroutine
  subroutine my_err(win, code)
    integer :: win, code
    if (win == expected) errors = errors + 1
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
  use window_callbacks
  implicit none
  integer :: ierr, rank, n, next, win, key, eh, got, group, world, req, same, unit, size
  integer :: memory(4), values(2)
  integer(kind=MPI_ADDRESS_KIND) :: v, extra, bytes, disp, where
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
  next = mod(rank + 1, n)
  memory = 0
  bytes = 16
  call MPI_WIN_CREATE(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call check(ierr == MPI_SUCCESS .and. win /= MPI_WIN_NULL, 'create')
  expected = win
  call MPI_WIN_SET_NAME(win, 'grid', ierr)
  call MPI_WIN_GET_NAME(win, name, size, ierr)
  call check(size == 4 .and. name == 'grid', 'name')
  ! predefined attributes are values
  call MPI_WIN_GET_ATTR(win, MPI_WIN_SIZE, v, flag, ierr)
  call check(flag .and. v == 16, 'size')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_DISP_UNIT, v, flag, ierr)
  call check(flag .and. v == 4, 'unit')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, v, flag, ierr)
  call MPI_GET_ADDRESS(memory, where, ierr)
  call check(flag .and. v == where, 'base')
  ! attributes of the program
  extra = 5
  call MPI_WIN_CREATE_KEYVAL(MPI_WIN_NULL_COPY_FN, my_delete, key, extra, ierr)
  v = 7
  call MPI_WIN_SET_ATTR(win, key, v, ierr)
  v = 0
  call MPI_WIN_GET_ATTR(win, key, v, flag, ierr)
  call check(flag .and. v == 7, 'attribute')
  call MPI_WIN_DELETE_ATTR(win, key, ierr)
  call check(deletes == 1, 'delete function')
  v = 7
  call MPI_WIN_SET_ATTR(win, key, v, ierr)
  call MPI_WIN_FREE_KEYVAL(key, ierr)
  ! operations
  call MPI_WIN_FENCE(0, win, ierr)
  values = rank + 10
  disp = 1
  call MPI_PUT(values, 2, MPI_INTEGER, next, disp, 2, MPI_INTEGER, win, ierr)
  call MPI_WIN_FENCE(0, win, ierr)
  call check(memory(2) == mod(rank + n - 1, n) + 10 .and. memory(4) == 0, 'put')
  call MPI_WIN_FENCE(0, win, ierr)
  call MPI_ACCUMULATE(values, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, MPI_SUM, win, ierr)
  call MPI_WIN_FENCE(MPI_MODE_NOSUCCEED, win, ierr)
  call check(memory(2) == 2 * (mod(rank + n - 1, n) + 10), 'accumulate')
  call MPI_WIN_LOCK(MPI_LOCK_SHARED, next, 0, win, ierr)
  call MPI_RGET(got, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win, req, ierr)
  call MPI_WAIT(req, MPI_STATUS_IGNORE, ierr)
  call MPI_WIN_UNLOCK(next, win, ierr)
  call check(got == 2 * (rank + 10), 'rget')
  call MPI_WIN_SHARED_QUERY(win, rank, bytes, unit, where, ierr)
  call check(bytes == 16 .and. unit == 4, 'query')
  call MPI_WIN_GET_GROUP(win, group, ierr)
  call MPI_COMM_GROUP(MPI_COMM_WORLD, world, ierr)
  call MPI_GROUP_COMPARE(group, world, same, ierr)
  call check(same == MPI_IDENT, 'group')
  ! error handlers
  call MPI_WIN_CREATE_ERRHANDLER(my_err, eh, ierr)
  call MPI_WIN_SET_ERRHANDLER(win, eh, ierr)
  call MPI_WIN_UNLOCK(next, win, ierr)
  call check(errors == 1 .and. ierr /= MPI_SUCCESS, 'error handler')
  call MPI_WIN_CALL_ERRHANDLER(win, MPI_ERR_OTHER, ierr)
  call check(errors == 2, 'called error handler')
  call MPI_WIN_FREE(win, ierr)
  call check(win == MPI_WIN_NULL .and. deletes == 2, 'free')
  bytes = 64
  call MPI_WIN_ALLOCATE(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, where, win, ierr)
  call check(where /= 0, 'allocate')
  call MPI_WIN_FREE(win, ierr)
  if (rank == 0) print '(a)', 'No Errors'
  call MPI_FINALIZE(ierr)
end program

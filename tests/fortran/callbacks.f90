! Procedures that MPI calls: operations, attributes, error handlers, generalized requests.
module procedures
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: copies = 0, deletes = 0, errors = 0, queries = 0, frees = 0, cancels = 0
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) error stop 'another datatype'
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
  end subroutine
  subroutine add_large(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) error stop 'another datatype'
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
  end subroutine
  subroutine copy(comm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletes = deletes + 1
    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL .or. keyval == MPI_KEYVAL_INVALID) ierror = MPI_ERR_OTHER
    if (attribute_val < 30 .or. extra_state /= 5) ierror = MPI_ERR_OTHER
  end subroutine
  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    integer :: class
    call MPI_Error_class(error_code, class)
    if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_COUNT) errors = errors + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    status%MPI_SOURCE = int(extra_state)
    status%MPI_TAG = 17
    call MPI_Status_set_elements(status, MPI_INTEGER, 3)
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine free_state(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    if (extra_state == 23) frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (extra_state == 23 .and. .not. complete) cancels = cancels + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use check_m
  use procedures
  implicit none
  integer :: rank, n
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call operations()
  call attributes()
  call error_handlers()
  call generalized()
  call done()
contains
  subroutine operations()
    type(MPI_Op) :: op
    integer :: a(4), b(4), c(2, 4)
    logical :: commutes
    call MPI_Op_create(add, .true., op)
    call MPI_Op_commutative(op, commutes)
    call check(commutes, 'commutes')
    a = rank
    call MPI_Allreduce(a, b, 4, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(b == n * (n - 1) / 2), 'operation')
    c = -1
    call MPI_Allreduce(a, c(2, :), 4, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(c(2, :) == n * (n - 1) / 2) .and. all(c(1, :) == -1), 'operation on a section')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'op null')
    call MPI_Op_create_c(add_large, .true., op)
    call MPI_Allreduce(a, b, 4, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(b == n * (n - 1) / 2), 'operation with large counts')
    call MPI_Op_free(op)
  end subroutine
  subroutine attributes()
    type(MPI_Comm) :: dup
    type(MPI_Datatype) :: t, u
    integer :: key, dup_key, null_key, type_key
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copy, delete, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, null_key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 37_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, dup_key, 38_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, null_key, 39_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, dup)
    call MPI_Comm_get_attr(dup, key, value, flag)
    call check(flag .and. value == 42, 'copied attribute')
    call MPI_Comm_get_attr(dup, dup_key, value, flag)
    call check(flag .and. value == 38, 'duplicated attribute')
    call MPI_Comm_get_attr(dup, null_key, value, flag)
    call check(.not. flag, 'attribute that is not copied')
    call MPI_Comm_free(dup)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
    call check(copies == 1 .and. deletes == 2, 'calls counted')
    call MPI_Comm_free_keyval(key)
    call check(key == MPI_KEYVAL_INVALID, 'key freed')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, type_key, 0_MPI_ADDRESS_KIND)
    call MPI_Type_contiguous(2, MPI_INTEGER, t)
    call MPI_Type_set_attr(t, type_key, 4_MPI_ADDRESS_KIND)
    call MPI_Type_dup(t, u)
    call MPI_Type_get_attr(u, type_key, value, flag)
    call check(flag .and. value == 4, 'attribute of a datatype')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'tag bound')
    call MPI_Type_free(t)
    call MPI_Type_free(u)
  end subroutine
  subroutine error_handlers()
    type(MPI_Errhandler) :: handler
    integer :: ierror, class
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(class, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_COUNT .and. errors == 1, 'error handler')
    call MPI_Send(class, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD)  ! without ierror
    call check(errors == 2, 'error handler without ierror')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    call check(handler == MPI_ERRHANDLER_NULL, 'handler null')
  end subroutine
  subroutine generalized()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: i
    logical :: flag
    call MPI_Grequest_start(query, free_state, cancel, 23_MPI_ADDRESS_KIND, request)
    call MPI_Test(request, flag, status)
    call check(.not. flag, 'not complete')
    call MPI_Cancel(request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call check(status%MPI_SOURCE == 23 .and. status%MPI_TAG == 17, 'status of a query')
    call MPI_Get_count(status, MPI_INTEGER, i)
    call check(i == 3, 'count of a query')
    call check(queries == 1 .and. frees == 1 .and. cancels == 1, 'generalized request: calls')
  end subroutine
end program

! COMMON, SAVE, module and initialised variables of each rank.
module counters
  implicit none
  integer :: counter = 17
  real(8), allocatable :: values(:)
end module

subroutine count_calls(calls)
  integer :: calls
  integer, save :: saved = 0
  saved = saved + 1
  calls = saved
end subroutine

block data
  common /block/ a, b
  integer :: a, b
  data a /5/, b /6/
end block data

program main
  use counters
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function test_rank() bind(c)
      import
    end function
  end interface
  integer :: a, b, calls, rank, blank
  common /block/ a, b
  common blank
  rank = test_rank()
  call count_calls(calls)
  if (counter /= 17 .or. a /= 5 .or. b /= 6 .or. calls /= 1 .or. blank /= 0 .or. &
      allocated(values)) stop 1
  allocate(values(100))
  values = rank
  counter = rank
  a = rank
  blank = rank
  if (counter /= rank .or. a /= rank .or. sum(values) /= 100 * rank) stop 2
  deallocate(values)
end program

#!/bin/sh
# cases.sh BUILD PROJECT CASE: one case of a program with libraries that were not compiled for this MPI, with compat/bin in
# PATH and nothing else. Exit status 77: a tool that the case needs is not installed.
# Long: each case is some lines long, and all use what stands above the first.
build=$1 project=$2 case=$3
PATH=$build/compat/bin:$build/bin:$PATH
export PATH
# shellcheck source=tests/names/prepare.sh
. "$(dirname "$0")/../names/prepare.sh"
cp "$project"/* "$dir" && cd "$dir" || exit 1

# A library with AddressSanitizer needs that first in the process, which mpcrun brings and these programs do not.
sanitizer=$(ldd "$build/lib/libmpi_abi.so" | sed -n 's/.*libasan.*=> \([^ ]*\).*/\1/p')
# A program alone, as ranks of one process, and as processes: "ok SIZE" by each rank, and a text by each on each stream.
runs() {
  alone=$(timeout 60 env ${sanitizer:+"LD_PRELOAD=$sanitizer"} "$@" 2>&1) || fail "$1 alone: $alone"
  has "$alone" "ok 1"
  for way in "mpcrun -n" "mpirun --ranks-per-process 1${sanitizer:+ -x LD_PRELOAD=$sanitizer} -np"; do
    $way 3 "$@" >out 2>err || fail "$way $1: $(cat out err)"
    is "$(grep -c 'ok 3' out)" 3
  done
}
tells() {
  for number in 0 1 2; do
    is "$(grep -c "$1 of $number\$" "$2")" 1
  done
}
# Was it linked as an executable, because of code that was not compiled with -fPIC?
is_second_format() { readelf -dW "$1" | grep -q 'FLAGS_1.*PIE'; }
# A program in C that mpcc links with plain.o.
plain() {
  cat >plain.c
  gcc -O2 -fPIE "$@" -c plain.c -o plain.o || fail "plain.c"
  cat >small.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
int plain(int rank);
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_right = plain(rank);
  if (is_right) printf("ok %d\n", size);
  MPI_Finalize();
  return !is_right;
}
END_OF_C
}

case $case in
cmake)
  # Static, object and shared libraries, of which none links MPI.
  need cmake
  need make
  { cmake -S . -B b && cmake --build b && (cd b && timeout 100 ctest --output-on-failure); } >log 2>&1 ||
    { cat log; fail build; }
  is_second_format b/prog || fail "first format"
  runs b/prog -v -n 42 rest
  for text in output "half line" cout; do tells "$text" out; done
  for text in error settings clog cerr; do tells "$text" err; done
  is "$(grep -c 'put$' out)" 3
  ;;
wrapper)
  # The same by mpicxx, with archives of gcc.
  g++ -std=c++17 -O1 -fPIE -c cxx_part.cpp && gcc -fPIE -c c_part.c between.c objects.c && ar rcs libplain.a ./*_part.o between.o ||
    fail compile
  gcc -shared -fPIC settings.c -o libsettings.so || fail settings
  mpicxx -O1 main.cpp objects.o libplain.a -L. -lsettings -Wl,-rpath,"$dir" -o prog || fail link
  runs ./prog -v -n 42 rest
  # A process is told what it gets: no linker's complaint, as it is settled.
  [ -n "$sanitizer" ] || is "$(mpicxx main.cpp objects.o libplain.a -L. -lsettings -o prog 2>&1)" ""
  # Only position-independent code: the first format, byte for byte as without the folder of the linker.
  gcc -fPIC -c c_part.c between.c objects.c && g++ -std=c++17 -fPIC -c cxx_part.cpp && rm libplain.a &&
    ar rcs libplain.a ./*_part.o between.o || fail compile
  mpicxx main.cpp objects.o libplain.a -L. -lsettings -Wl,-rpath,"$dir" -o prog || fail link
  is_second_format prog && fail "second format"
  runs ./prog -v -n 42 rest
  ;;
unchanged)
  has "$(mpicc -showme:link)" " -B$build/lib/mpc/link/ "
  has "$(OMPI_FC=another-fortran mpifort -show)" "another-fortran "
  case $(OMPI_FC=another-fortran mpifort -show) in *" -B"*) fail "-B for a compiler that may not know it" ;; esac
  plain -fPIC <<'END_OF_C'
int plain(int rank) { return rank >= 0; }
END_OF_C
  mpicc -c small.c || fail compile
  for with in "" "-fuse-ld=bfd"; do
    # shellcheck disable=SC2086  # no word or one
    eval "$(mpicc -show small.o plain.o $with -o with)" && eval "$(mpicc -show small.o plain.o $with -o without |
      sed "s, -B$build/lib/mpc/link/,,")" || fail link
    cmp with without || fail "another file$with"
  done
  echo 'int missing(void); int main(void) { return missing(); }' >m.c
  mpicc m.c -o m 2>err && fail "links an undefined function"
  has "$(cat err)" "missing"
  [ ! -e m ] || fail "leaves a program"
  ;;
redirected)
  plain <<'END_OF_C'
#include <stdio.h>
#include <string.h>
int plain(int rank) {
  char name[32], text[32] = "";
  snprintf(name, sizeof name, "out.%d", rank);
  static char buffer[256];
  if (setvbuf(stdout, buffer, _IOFBF, sizeof buffer) != 0) return 0;
  fprintf(stdout, "before %d\n", rank);
  if (fflush(stdout) != 0) return 0;
  if (rank == 1) {
    if (freopen(name, "w", stdout) != stdout) return 0;
    fputs("to the file\n", stdout);
    fflush(stdout);
    FILE* file = fopen(name, "r");
    if (!file || !fgets(text, sizeof text, file) || strcmp(text, "to the file\n") != 0) return 0;
    fclose(file);
    if (freopen("/dev/null", "w", stderr) != stderr) return 0;
  }
  fprintf(stderr, "still %d\n", rank);
  return 1;
}
END_OF_C
  mpicc small.c plain.o -o prog && is_second_format prog || fail link
  mpcrun -n 3 ./prog >out 2>err || fail run
  is "$(grep -c before out)" 3
  is "$(grep -c 'ok 3' out)" 2
  is "$(sort err)" "still 0
still 2"
  has "$(cat out.1)" "ok 3"
  printf 'line\n' | mpcrun -n 2 ./prog >out 2>&1 || fail "with input"
  ;;
fortran)
  need cmake
  need make
  need gfortran
  cat >part.f90 <<'END_OF_F'
module part
  implicit none
  integer, save :: calls = 0
  real(8) :: table(3) = [1d0, 2d0, 3d0]
  integer, save :: mine = 3
  !$omp threadprivate(mine)
  common /block/ number
  integer :: number
contains
  subroutine work(rank, right)
    use iso_fortran_env
    integer, intent(in) :: rank
    logical, intent(out) :: right
    character(20) :: text
    calls = calls + 1
    table = table * rank
    number = rank
    mine = mine + rank
    write (text, '(f5.1)') table(3)
    write (error_unit, '(a,i0)') 'error of ', rank
    write (*, '(a,i0)') 'output of ', rank
    open (newunit=number, status='scratch')
    write (number, *) rank
    rewind (number)
    read (number, *) calls
    close (number)
    right = calls == rank .and. abs(table(2) - 2 * rank) < 1d-9 .and. mine == 3 + rank
  end subroutine
end module
END_OF_F
  cat >main.f90 <<'END_OF_F'
program main
  use mpi
  use part
  implicit none
  integer :: ierr, rank, nranks, total
  logical :: right
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nranks, ierr)
  call work(rank, right)
  total = rank
  call mpi_allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (right .and. total == nranks * (nranks - 1) / 2) print '(a,i0)', 'ok ', nranks
  call mpi_finalize(ierr)
end program
END_OF_F
  cat >CMakeLists.txt <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.16)
project(p Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
add_library(part STATIC part.f90)
target_compile_options(part PRIVATE -fopenmp)
add_executable(prog main.f90)
target_link_libraries(prog part MPI::MPI_Fortran gomp)
END_OF_CMAKE
  { cmake -S . -B b && cmake --build b; } >log 2>&1 || { cat log; fail build; }
  is_second_format b/prog || fail "first format"
  runs b/prog
  tells "output" out
  tells "error" err
  ;;
fortran_constants)
  # MPI_BOTTOM and its kin in code without -fPIC, as from projects that add MPI's include folders only.
  need gfortran
  cat >part.f90 <<'END_OF_F'
subroutine work(right)
  implicit none
  include 'mpif.h'
  logical, intent(out) :: right
  integer, volatile :: value  ! read where no argument names it
  integer :: ierr, block, rank, nranks, displacement(1), sources(1), request
  integer(MPI_ADDRESS_KIND) :: place(1)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nranks, ierr)
  value = rank + 1
  call mpi_allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  right = value == nranks * (nranks + 1) / 2
  call mpi_get_address(value, place(1), ierr)
  sources(1) = 1
  call mpi_type_create_hindexed(1, sources, place, MPI_INTEGER, block, ierr)
  call mpi_type_commit(block, ierr)
  value = 100 + rank
  call mpi_bcast(MPI_BOTTOM, 1, block, 0, MPI_COMM_WORLD, ierr)
  right = right .and. value == 100
  call mpi_irecv(value, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, request, ierr)
  call mpi_send(rank, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, ierr)
  call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
  right = right .and. value == rank
  call mpi_type_free(block, ierr)
end subroutine
END_OF_F
  cat >main.f90 <<'END_OF_F'
program main
  use mpi_f08
  implicit none
  integer :: n, total
  logical :: right
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call work(right)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (right .and. total == n) print '(a,i0)', 'ok ', n
  call MPI_Finalize()
end program
END_OF_F
  gfortran -O1 -fPIE -fallow-argument-mismatch -w -I"$build/include" -c part.f90 && mpifort main.f90 part.o -o prog || fail build
  is_second_format prog || fail "first format"
  runs ./prog
  ;;
plugin)
  # A library that the rank opens means the program's variables, too.
  [ -z "$sanitizer" ] || exit 77  # it takes dlopen() for itself
  gcc -shared -fPIC settings.c -o libsettings.so || fail settings
  cat >opened.c <<'END_OF_C'
#include <stdio.h>
#include <unistd.h>
#include "parts.h"
extern char** environ;
int look(char** names, int level) { return setting_level == level && environ == names && fprintf(stderr, "opened\n") == 7; }
END_OF_C
  gcc -shared -fPIC opened.c -L. -lsettings -o opened.so || fail opened
  plain <<'END_OF_C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include "parts.h"
extern char** environ;
int plain(int rank) {
  void* library = dlopen("./opened.so", RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 0;
  int (*look)(char**, int) = (int (*)(char**, int))dlsym(library, "look");
  setting_level = 10 + rank;
  return look(environ, 10 + rank) && dlsym(RTLD_DEFAULT, "environ") == &environ;
}
END_OF_C
  mpicc small.c plain.o -L. -lsettings -Wl,-rpath,"$dir" -o prog && is_second_format prog || fail link
  runs ./prog
  ;;
two_programs)
  # Their thread_locals cannot have the same place in one process; two that have none run, and so do processes.
  plain <<'END_OF_C'
static __thread int local = 4;
int plain(int rank) { return (local += rank) == 4 + rank; }
END_OF_C
  mpicc small.c plain.o -o prog && cp prog prog2 || fail link
  runs ./prog
  mpcrun -n 1 ./prog : -n 1 ./prog2 >out 2>&1 && fail "two programs"
  has "$(cat out)" "prog2: code that was compiled without -fPIC has thread_local variables"
  has "$(cat out)" "--ranks-per-process 1"
  for way in "mpcrun --ranks-per-process 1" mpirun; do
    timeout 60 $way -n 1 ./prog : -n 2 ./prog2 >out 2>&1 || fail "as processes: $(cat out)"
    is "$(grep -c 'ok 3' out)" 3
  done
  # One program twice is no such case.
  mpcrun -n 1 ./prog : -n 2 ./prog again >out 2>&1 || fail "one program twice: $(cat out)"
  is "$(grep -c 'ok 3' out)" 3
  plain <<'END_OF_C'
#include <stdio.h>
int plain(int rank) { return fprintf(stderr, "%d\n", rank) > 0; }
END_OF_C
  mpicc small.c plain.o -o prog && cp prog prog2 || fail link
  mpcrun -n 1 ./prog : -n 2 ./prog2 >out 2>&1 || fail "two programs without thread_locals: $(cat out)"
  is "$(grep -c 'ok 3' out)" 3
  ;;
refused_address)
  # Code for a fixed address. The message names object, symbol and way out.
  plain -fno-pie <<'END_OF_C'
#include <stdio.h>
static int table[10];
int plain(int rank) { return fprintf(stderr, "x\n") + table[rank]; }
END_OF_C
  ar rcs libplain.a plain.o && mpicc small.c libplain.a -o prog 2>err && fail links
  has "$(cat err)" "libplain.a(plain.o)"
  has "$(cat err)" "R_X86_64_32"
  is "$(grep -c 'mpcc: .*-fPIC' err)" 1
  ;;
refused_heap)
  plain <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
static char room[1000000];
static size_t used;
void* malloc(size_t bytes) { return room + ((used += (bytes + 15) / 16 * 16) - (bytes + 15) / 16 * 16); }
void free(void* p) { (void)p; }
int plain(int rank) { return fprintf(stderr, "%d\n", rank) > 0; }
END_OF_C
  mpicc small.c plain.o -o prog || fail link
  mpcrun -n 2 ./prog >out 2>&1 && fail runs
  has "$(cat out)" "brings its own '"
  has "$(cat out)" "-fPIC"
  ;;
refused_variable)
  # A variable that libc, which all ranks share, reads: the program's own would have no effect.
  plain <<'END_OF_C'
#include <regex.h>
extern unsigned long re_syntax_options;
int plain(int rank) { return (re_syntax_options = 1) + rank > 0; }
END_OF_C
  mpicc small.c plain.o -o prog || fail link
  mpcrun -n 2 ./prog >out 2>&1 && fail runs
  has "$(cat out)" "uses the variable 're_syntax_options'"
  has "$(cat out)" "-fPIC"
  has "$(timeout 60 mpcrun --ranks-per-process 1 -n 2 ./prog)" "ok 2"
  ;;
long_line)
  # More objects than fit into a command line, by a response file, with odd names.
  plain <<'END_OF_C'
#include <stdio.h>
int plain(int rank) { return fprintf(stderr, "%d\n", rank) > 0; }
END_OF_C
  mkdir "with space" && mv plain.o "with space/plain's.o"
  echo 'static int unused;' >empty.c && gcc -c -fPIC empty.c
  for i in $(seq 1500); do
    name=$dir/an_object_with_a_rather_long_name_so_that_the_line_becomes_longer_than_it_may_be_in_one_call_$i.o
    cp empty.o "$name" && echo "$name"
  done >objects
  echo "\"with space/plain's.o\"" >>objects
  mpicc small.c @objects -o prog || fail link
  is_second_format prog || fail "first format"
  runs ./prog
  ;;
clang)
  need cmake
  need make
  need clang++
  { cmake -S . -B b -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ && cmake --build b; } >log 2>&1 ||
    { cat log; fail build; }
  runs b/prog -v -n 42 rest
  ;;
openmp)
  # libgomp's thread_locals and those of code without -fPIC.
  plain -fopenmp <<'END_OF_C'
#include <omp.h>
#include <stdio.h>
static int local = 3;
#pragma omp threadprivate(local)
int plain(int rank) {
  int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
  {
    local += rank + omp_get_thread_num();
    sum += local;
  }
  fprintf(stderr, "sum of %d\n", rank);
  return sum == 12 + 4 * rank + 6;
}
END_OF_C
  mpicc -fopenmp small.c plain.o -o prog && is_second_format prog || fail link
  runs ./prog
  ;;
lto)
  plain -flto <<'END_OF_C'
#include <stdio.h>
static __thread int local = 4;
int plain(int rank) { return fprintf(stderr, "%d\n", rank) > 0 && (local += rank) == 4 + rank; }
END_OF_C
  mpicc -flto small.c plain.o -o prog || fail link
  runs ./prog
  mv plain.o lto.o
  plain <<'END_OF_C'
#include <stdio.h>
static __thread int local = 4;
int inner(int rank) { return fprintf(stderr, "%d\n", rank) > 0 && (local += rank) == 4 + rank; }
END_OF_C
  mv plain.o inner.o
  plain -flto <<'END_OF_C'
int inner(int rank);
int plain(int rank) { return inner(rank); }
END_OF_C
  mpicc -flto small.c plain.o inner.o -o prog && is_second_format prog || fail link
  runs ./prog
  ;;
*) fail "no such case" ;;
esac
exit 0

#!/bin/sh
# cases.sh BUILD CASE: one case of using the compiler wrappers of a build folder.
# Exit status 77: a tool that the case needs is not installed.
# Long: each case is some lines long, and all use what stands above the first.
build=$1 case=$2
PATH=$build/bin:$PATH
export PATH
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() { echo "FAILED: $*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || left_out "$1 is not installed"; }
# Where `./run` has installed all that it needs (./run fresh), nothing may be missing.
left_out() { echo "$1"; [ -z "${MPC_TEST_STRICT:-}" ] || exit 1; exit 77; }
has() { case $1 in *"$2"*) ;; *) fail "'$2' is missing in: $1" ;; esac; }
has_not() { case $1 in *"$2"*) fail "'$2' is in: $1" ;; esac; }
# Runs a program alone and with three ranks; both must succeed and print "ok" once per rank.
runs() {
  alone=$(timeout 20 "$@" 2>&1) || fail "$1 alone: $alone"
  has "$alone" "ok 1"
  three=$(timeout 30 mpcrun -n 3 "$@" 2>&1) || fail "mpcrun $1: $three"
  [ "$(printf '%s\n' "$three" | grep -c 'ok 3')" = 3 ] || fail "mpcrun $1: $three"
}

cat >main.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int counter;
int extra(void);
int main(int argc, char** argv) {
  int size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  counter += rank;
  int token = 1;
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 < size) MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  sum = counter == rank && extra() == 1;
  if (sum) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
END
cat >extra.c <<'END'
static int calls;
int extra(void) { return ++calls; }
END

# A project of programs and a library: how it finds MPI, and the targets for C and C++ that it
# gets.
cmake_project() {
  cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(p C CXX)
$1
add_executable(prog main.c extra.c)
target_link_libraries(prog $2)
add_library(part SHARED extra.c)
target_link_libraries(part $2)
add_executable(parts main.c)
target_link_libraries(parts part $2)
add_executable(cxx main.cpp)
target_link_libraries(cxx $3)
END
}

cxx_program() {
  cat >main.cpp <<'END'
#include <mpi.h>
#include <iostream>
#include <stdexcept>
#include <string>
static std::string text = "start";
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    throw std::runtime_error("ok " + std::to_string(size));
  } catch (const std::exception& e) {
    if (text == "start") std::cout << e.what() << std::endl;
    text = "changed";
  }
  MPI_Finalize();
}
END
}

case $case in
show)
  line=$(mpcc -show)
  has "$line" "gcc "
  has "$line" "-I$build/include"
  has "$line" "-lmpi_abi"
  line=$(mpcc -show main.c extra.c -o prog)
  has "$line" "main.c extra.c -o prog"
  [ ! -e prog ] || fail "-show compiled something"
  eval "$line" || fail "the shown command does not work"
  runs ./prog
  [ "$(mpcc -showme)" = "$(mpcc -show)" ] || fail "-showme differs"
  line=$(mpcc -show -c main.c)
  has_not "$line" "-lmpi_abi"
  has "$(mpcc -show '-DX="a b"' -c main.c)" "'-DX=\"a b\"'"
  ;;
options)
  has "$(mpcc -compile_info)" "-fPIC"
  has "$(mpcc -link_info)" "-lmpi_abi"
  has "$(mpcc -showme:compile)" "-I$build/include"
  has "$(mpcc -show -rdynamic main.c)" "mpc_exports_all"
  has "$(mpcc -showme:link)" "-lmpi_abi"
  has "$(mpcc -showme:incdirs)" "$build/include"
  has "$(mpcc -cc=other-cc -show)" "other-cc "
  has "$(MPC_CC=env-cc mpcc -show)" "env-cc "
  has "$(MPC_CXX=env-cxx mpcxx -show)" "env-cxx "
  has "$(MPC_FC=env-fc mpcfort -show)" "env-fc "
  has "$(mpcc --version)" "Free Software Foundation"
  [ -n "$(mpcc -dumpversion)" ] || fail -dumpversion
  has "$(mpcc -v 2>&1)" "gcc version"
  has "$(mpcc -help)" "Usage"
  out=$(mpcc -cc=no-such-compiler main.c 2>&1) && fail "a missing compiler succeeds"
  has "$out" "no-such-compiler"
  has "$out" "-cc="
  ;;
steps)
  mpcc -O2 -c main.c -o main.o && mpcc -c extra.c && mpcc main.o extra.o -o prog || fail build
  runs ./prog
  mpcc -E main.c | grep -q MPI_Init || fail "-E"
  mpcc -S extra.c -o extra.s && grep -q extra extra.s || fail "-S"
  mpcc -M main.c | grep -q mpi.h || fail "-M"
  mpcc main.c extra.c && runs ./a.out
  mpcc -MMD -MF dep -MT target -O0 -g main.c extra.c -oprog2 && runs ./prog2
  echo 'int main(void) { return 0; }' | mpcc -x c - -o prog3 && ./prog3 || fail "-x c -"
  ;;
shared_library)
  mpcc -shared extra.c -o libextra.so || fail build
  readelf -lW libextra.so | grep -q INTERP && fail "a library has an interpreter"
  mpcc main.c -L. -lextra -Wl,-rpath,"$dir" -o prog || fail link
  runs ./prog
  ;;
archive)
  mpcc -c extra.c && ar rcs libextra.a extra.o || fail build
  mpcc main.c libextra.a -o prog && runs ./prog
  mpcc main.c -L. -lextra -o prog && runs ./prog
  gcc -c -fPIC extra.c && ar rcs libextra.a extra.o && mpcc main.c libextra.a -o prog &&
    runs ./prog
  ;;
response_file)
  printf '%s\n' '-O2 "main.c"' "'extra.c' -o" 'a\ program' >args
  mpcc @args || fail build
  runs "./a program"
  printf -- '-static' >args
  mpcc main.c extra.c @args 2>/dev/null && fail "-static in a response file"
  ;;
static_refused)
  out=$(mpcc -static main.c extra.c -o prog 2>&1) && fail "-static succeeds"
  has "$out" "-static"
  has "$out" "private"
  mpcc -c -static main.c -o main.o 2>/dev/null && fail "-static succeeds when compiling"
  mpcc -static-libgcc main.c extra.c -o prog && runs ./prog
  ;;
gprof_note)
  out=$(mpcc -pg main.c extra.c -o prog 2>&1) || fail build
  has "$out" "gmon.out"
  has "$out" "perf"
  runs ./prog
  ;;
pie_dropped)
  mpcc -fPIE -pie main.c extra.c -o prog && runs ./prog
  mpcc -no-pie -fno-pie main.c extra.c -o prog && runs ./prog
  mpcc -fpie -c main.c && mpcc -c extra.c && mpcc -pie main.o extra.o -o prog && runs ./prog
  ;;
clang)
  need clang
  mpcc -cc=clang -O2 main.c extra.c -o prog && runs ./prog
  has "$(mpcxx -cc=clang -show)" "clang++ "
  has "$(mpcxx -cc=/usr/bin/clang-14 -show)" "/usr/bin/clang++-14 "
  has "$(mpcxx -cc=gcc -show)" "g++ "
  ;;
stack_clash)
  # Also for clang, unless the user says otherwise, and without a warning where it means nothing.
  has "$(mpcc -show -c main.c)" " -fstack-clash-protection "
  has "$(mpcc -show -fno-stack-clash-protection main.c)" \
    "-fstack-clash-protection -I$build/include"
  has "$(mpcc -compile_info)" "-fstack-clash-protection"
  echo 'void f(char*); void g(void) { char c[100000]; f(c); }' >frame.c
  for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    with=$(mpcc -cc=$compiler -O2 -S -o - frame.c | md5sum)
    without=$(mpcc -cc=$compiler -O2 -S -o - -fno-stack-clash-protection frame.c | md5sum)
    [ "$with" != "$without" ] || fail "$compiler: -fno-stack-clash-protection changes nothing"
    mpcc -cc=$compiler -S extra.c && warnings=$(mpcc -cc=$compiler -c extra.s 2>&1) || fail "$compiler"
    [ -z "$warnings" ] || fail "$warnings"
    warnings=$(mpcc -cc=$compiler main.c extra.s -o prog 2>&1) || fail "$compiler"
    [ -z "$warnings" ] || fail "$warnings"
    runs ./prog
  done
  ;;
openmp | openmp_clang)
  # Each rank has its own copy of the OpenMP runtime, and threads.
  [ "$case" = openmp ] || need clang
  cat >omp.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
static int added, local;
#pragma omp threadprivate(local)
int main(int argc, char** argv) {
  int level, rank, size, right = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma omp parallel num_threads(3) reduction(+ : right)
  {
    const int me = omp_get_thread_num(), to = (rank + 1) % size, from = (rank + size - 1) % size;
    int got = -1;
    local = 10 * rank + me;
    for (int i = 0; i < 20; ++i)
      MPI_Sendrecv(&me, 1, MPI_INT, to, me, &got, 1, MPI_INT, from, me, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
#pragma omp critical
    ++added;
    right += got == me && local == 10 * rank + me;
  }
  if (right == 3 && added == 3) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
END
  [ "$case" = openmp ] || set -- -cc=clang
  [ "$case" = openmp ] && set --
  mpcc "$@" -fopenmp omp.c -o prog 2>log || {
    grep -q -e "omp.h.*not found" -e lomp log && left_out "no OpenMP runtime"
    cat log; fail build; }
  runs ./prog
  ;;
lld)
  need ld.lld
  mpcc -fuse-ld=lld main.c extra.c -o prog && runs ./prog
  echo 'int missing(void); int main(void) { return missing(); }' >m.c
  mpcc -fuse-ld=lld m.c -o m 2>/dev/null && fail "lld accepts an undefined function"
  ;;
sanitizer)
  mpcc -fsanitize=address,undefined main.c extra.c -o prog || fail build
  alone=$(timeout 20 ./prog 2>&1) || fail "$alone"
  # Under mpcrun the sanitizer's library has to be there from the beginning.
  if ! ldd "$build/bin/mpcrun" "$build"/lib/libmpi_abi.so | grep -q 'libasan\|libubsan'; then
    three=$(LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
      timeout 30 mpcrun -n 3 ./prog 2>&1) || fail "$three"
    [ "$(printf '%s\n' "$three" | grep -c 'ok 3')" = 3 ] || fail "$three"
    cat >wrong.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile char* p = malloc(10);
  if (rank == 1) p[10] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
    mpcc -g -fsanitize=address wrong.c -o wrong || fail build
    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
      timeout 30 mpcrun -n 3 ./wrong >log 2>&1 && fail "an access out of bounds passes"
    has "$(cat log)" "heap-buffer-overflow"
  fi
  ;;
makefile)
  need make
  cat >Makefile <<'END'
CC = mpcc
CFLAGS = -O2 -Wall
prog: main.o extra.o
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
END
  make -s LDLIBS=-lm || fail make
  runs ./prog
  ;;
missing_function)
  for wrapper in mpcc mpcxx; do
    [ $wrapper = mpcc ] && file=m.c || file=m.cpp
    echo 'extern "C" int no_such_function(void); int main() { return no_such_function(); }' |
      if [ $wrapper = mpcc ]; then sed 's/extern "C" //'; else cat; fi >$file
    $wrapper $file -o m 2>/dev/null && fail "$wrapper links an undefined function"
    [ ! -e m ] || fail "$wrapper leaves a program"
  done
  ;;
autoconf)
  need autoconf
  cat >configure.ac <<'END'
AC_INIT([conftest], [1])
AC_PROG_CC([mpcc])
AC_CHECK_FUNC([no_such_function_anywhere], [AC_MSG_ERROR([found what is not there])])
AC_CHECK_FUNC([getpid], [], [AC_MSG_ERROR([getpid not found])])
AC_CHECK_FUNC([MPI_Init], [], [AC_MSG_ERROR([MPI_Init not found])])
AC_CHECK_LIB([m], [cos], [], [AC_MSG_ERROR([cos not found])])
AC_CHECK_HEADER([mpi.h], [], [AC_MSG_ERROR([mpi.h not found])])
AC_CHECK_SIZEOF([long])
AS_IF([test "$ac_cv_sizeof_long" != 8], [AC_MSG_ERROR([sizeof long is $ac_cv_sizeof_long])])
AC_RUN_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
  [[MPI_Init(0, 0); return MPI_Finalize();]])], [], [AC_MSG_ERROR([cannot run MPI])],
  [AC_MSG_ERROR([cross compiling?])])
AC_OUTPUT
END
  autoconf 2>/dev/null && ./configure CC=mpcc >log 2>&1 || { cat log; fail configure; }
  ;;
cmake | cmake_compiler | cmake_clang)
  need cmake
  need make  # what cmake generates for, unless told otherwise
  cmake_project "find_package(MPI REQUIRED COMPONENTS C CXX)" MPI::MPI_C MPI::MPI_CXX
  cxx_program
  [ "$case" = cmake_clang ] && need clang++
  if [ "$case" != cmake_compiler ]; then
    # FindMPI asks the wrapper; the project is built by the plain compiler.
    options="-DMPI_C_COMPILER=$build/bin/mpcc -DMPI_CXX_COMPILER=$build/bin/mpcxx
             -DCMAKE_C_FLAGS=-fPIC -DCMAKE_CXX_FLAGS=-fPIC"
    [ "$case" = cmake ] || options="$options -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++"
  else
    options="-DCMAKE_C_COMPILER=mpcc -DCMAKE_CXX_COMPILER=mpcxx"
  fi
  # shellcheck disable=SC2086
  cmake -S . -B b $options >log 2>&1 && cmake --build b >>log 2>&1 || { cat log; fail build; }
  runs b/prog && runs b/parts && runs b/cxx
  ;;
cmake_package)
  need cmake
  need make
  cmake --install "$build" --prefix "$dir/prefix" >log 2>&1 || { cat log; fail install; }
  cxx_program
  cmake_project "find_package(mpc REQUIRED)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)" mpc::mpi mpc::mpi
  cmake -S . -B b -DCMAKE_PREFIX_PATH="$dir/prefix" >log 2>&1 && cmake --build b >>log 2>&1 ||
    { cat log; fail build; }
  PATH=$dir/prefix/bin:$PATH
  runs b/prog && runs b/parts && runs b/cxx
  # The library alone: enough for a singleton.
  PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name mpi_abi.pc)")
  export PKG_CONFIG_PATH
  need pkg-config
  # shellcheck disable=SC2046
  gcc main.c extra.c $(pkg-config --cflags --libs mpi_abi) -o alone && has "$(./alone)" "ok 1"
  ;;
cxx)
  cxx_program
  mpcxx -O2 -Wall main.cpp -o prog && runs ./prog
  ;;
fortran)
  need gfortran
  cat >main.f90 <<'END'
program main
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, nranks, token, unit
  integer, save :: counter = 0
  character(20) :: name
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nranks, ierr)
  counter = counter + 1
  write (name, '(a,i0)') 'unit.', rank
  open (unit=10, file=name)
  write (10, *) rank
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  rewind (10)
  read (10, *) token
  close (10)
  if (counter == 1 .and. token == rank) print '(a,i0)', 'ok ', nranks
  call mpi_finalize(ierr)
end program
END
  mpcfort -O2 main.f90 -o prog && runs ./prog
  # A source in C gets no flag of Fortran's (CMake compiles one to know the compiler).
  echo 'int f(void) { return 1; }' >inc.c
  mpcfort -c inc.c 2>said
  has_not "$(cat said)" "-fallow-argument-mismatch"
  # Buffers of two types in one routine, as in many old programs.
  cat >types.f <<'END'
      program types
      include 'mpif.h'
      integer ierr, n, one
      double precision x
      call mpi_init(ierr)
      call mpi_comm_size(MPI_COMM_WORLD, n, ierr)
      one = 1
      x = 1d0
      call mpi_allreduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call mpi_bcast(x, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD,
     &               ierr)
      call mpi_allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION,
     &                   MPI_SUM, MPI_COMM_WORLD, ierr)
      if (one .eq. n .and. nint(x) .eq. n) print '(a,i0)', 'ok ', n
      call mpi_finalize(ierr)
      end
END
  mpcfort -O2 types.f -o types 2>/dev/null && runs ./types
  ;;
fortran_modules)
  need gfortran
  cat >main.f90 <<'END'
program main
  use mpi_f08
  implicit none
  integer :: n
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  print '(a,i0)', 'ok ', n
  call MPI_Finalize()
end program
END
  mpcfort -O2 main.f90 -o prog && runs ./prog
  # Another compiler: its modules are made in a folder of the user's ...
  cat >other-fortran <<'END'
#!/bin/sh
for a; do case $a in *mpi_f08*.mod) exit 9 ;; esac; done
exec gfortran "$@"
END
  chmod +x other-fortran
  mpcfort -fc="$dir/other-fortran" -build-modules "$dir/modules" >said || fail modules
  has "$(cat said)" "$dir/modules"
  for module in mpi_f08_types mpi mpi_f08; do
    [ -f "modules/$module.mod" ] && [ ! -f "modules/$module.o" ] || fail "$module"
  done
  mpcfort -fc="$dir/other-fortran" -Imodules main.f90 -o prog && runs ./prog
  # ... or below the prefix, where they are found by themselves.
  mkdir -p prefix/bin prefix/lib/mpc && cp "$build/bin/mpcc" prefix/bin/mpcfort
  cp -r "$build/include" prefix/include && cp "$build/lib/mpc/start.o" prefix/lib/mpc
  rm prefix/include/*.mod
  prefix/bin/mpcfort -fsyntax-only main.f90 2>/dev/null && fail "there are no modules yet"
  prefix/bin/mpcfort -build-modules >said || fail modules
  has "$(prefix/bin/mpcfort -show main.f90)" "modules/gfortran"
  prefix/bin/mpcfort -fsyntax-only main.f90 || fail "modules are not found"
  # A compiler that cannot.
  mpcfort -fc=false -build-modules broken >/dev/null 2>&1 && fail "no error of the compiler"
  ;;
fortran_cmake)
  need gfortran
  need cmake
  need make
  cat >main.f90 <<'END'
program main
  use mpi_f08
  implicit none
  integer :: n
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  print '(a,i0)', 'ok ', n
  call MPI_Finalize()
end program
END
  cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(p Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
foreach(what F77_HEADER F90_MODULE F08_MODULE)
  if(NOT MPI_Fortran_HAVE_${what})
    message(FATAL_ERROR "MPI_Fortran_HAVE_${what}: ${MPI_Fortran_HAVE_${what}}")
  endif()
endforeach()
add_executable(prog main.f90)
target_link_libraries(prog MPI::MPI_Fortran)
END
  for options in "-DCMAKE_Fortran_COMPILER=mpcfort" \
    "-DMPI_Fortran_COMPILER=$build/bin/mpcfort -DCMAKE_Fortran_FLAGS=-fPIC"; do
    rm -rf b
    # shellcheck disable=SC2086
    cmake -S . -B b $options >log 2>&1 && cmake --build b >>log 2>&1 || { cat log; fail build; }
    runs b/prog
  done
  ;;
profiling)
  cat >profile.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int inits;
int MPI_Init(int* argc, char*** argv) {
  ++inits;
  return PMPI_Init(argc, argv);
}
int MPI_Finalize(void) {
  int size;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (inits == 1) printf("profiled %d\n", size);
  return PMPI_Finalize();
}
END
  mpcc -shared profile.c -o libprofile.so || fail library
  mpcc main.c extra.c -L. -lprofile -Wl,-rpath,"$dir" -o prog || fail link
  runs ./prog
  has "$alone" "profiled 1"
  [ "$(printf '%s\n' "$three" | grep -c 'profiled 3')" = 3 ] || fail "$three"
  mpcc -c profile.c && mpcc main.c extra.c profile.o -o prog && runs ./prog
  [ "$(printf '%s\n' "$three" | grep -c 'profiled 3')" = 3 ] || fail "in the program: $three"
  ;;
moved_prefix)
  mkdir -p "moved here" && cp -a "$build/bin" "$build/include" "$build/lib" "moved here" || fail cp
  ln -s "$dir/moved here/bin/mpcc" linked-mpcc
  for wrapper in "moved here/bin/mpcc" ./linked-mpcc; do
    has "$("$wrapper" -showme:incdirs)" "$dir/moved here/include"
    "$wrapper" main.c extra.c -o prog || fail "$wrapper"
    readelf -dW prog | grep -q "moved here" || fail "rpath of the old place"
  done
  runs ./prog
  ;;
debug_entry)
  mpcc main.c extra.c -o prog && readelf -dW prog | grep -q '(DEBUG)' || fail "no DT_DEBUG"
  need gdb
  out=$(gdb -batch -ex 'break extra' -ex run -ex bt -ex 'info sharedlibrary' ./prog 2>&1)
  has "$out" "in main"
  has "$out" "libmpi_abi.so"
  ;;
gdb_copies)
  # Breakpoints, backtraces and variables of each rank's own copy.
  need gdb
  cat >debugged.c <<'END'
#include <mpi.h>
static int counter = 5;
__attribute__((noinline)) void marked(int rank) { counter += 10 + rank; }
__attribute__((noinline)) void after(void) { __asm__ volatile(""); }
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  marked(rank);
  after();
  MPI_Finalize();
  return 0;
}
END
  mpcc -g -O1 debugged.c -o debugged || fail build
  out=$(timeout 200 gdb -batch -ex 'set breakpoint pending on' -ex 'break after' -ex run \
        -ex bt -ex 'print counter' -ex continue -ex bt -ex 'print counter' \
        --args mpcrun -n 2 --cores 1 ./debugged 2>&1)
  has "$out" "in main (argc"
  has "$out" " = 15"
  has "$out" " = 16"
  ;;
flags_twice)
  # As build systems give them that have them from two places.
  # shellcheck disable=SC2046  # one word per flag
  gcc $(mpcc -showme:compile) main.c extra.c $(mpcc -showme:link) $(mpcc -showme:link) -o prog || fail "gcc, twice"
  runs ./prog
  [ "$(readelf -p .interp ./prog | grep -c 'ld-linux')" = 1 ] || fail "two interpreters"
  # shellcheck disable=SC2046
  mpcc main.c extra.c $(mpcc -showme:link) -o prog -Wl,--gc-sections || fail "mpcc with its own flags"
  runs ./prog
  ;;
flags_library)
  # As StarPU does: our link flags are also given to a shared library, which has no main().
  # shellcheck disable=SC2046  # one word per flag
  gcc $(mpcc -showme:compile) -shared extra.c $(mpcc -showme:link) -o libextra.so || fail "a library with our flags"
  # shellcheck disable=SC2046
  gcc $(mpcc -showme:compile) main.c -L. -lextra -Wl,-rpath,"$dir" $(mpcc -showme:link) -o prog || fail "its program"
  runs ./prog
  mpcc main.c -L. -lextra -Wl,-rpath,"$dir" -o prog || fail "its program, by mpcc"
  runs ./prog
  # shellcheck disable=SC2046
  gcc $(mpcc -showme:compile) extra.c $(mpcc -showme:link) -o prog 2>said && fail "a program without main"
  has "$(cat said)" "main"
  ;;
two_word_compiler)
  mpcc "-cc=env gcc" main.c extra.c -o prog && runs ./prog
  ;;
exit_status)
  echo 'this is no C' >bad.c
  mpcc -c bad.c 2>/dev/null && fail "compiling nonsense succeeds"
  mpcc bad.c -o bad 2>/dev/null && fail "linking nonsense succeeds"
  mpcc no-such-file.c 2>/dev/null && fail "a missing file succeeds"
  mpcc 2>/dev/null && fail "no input succeeds"
  true
  ;;
*) fail "no such case" ;;
esac
exit 0

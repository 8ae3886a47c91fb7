#!/bin/sh
# cases.sh BUILD CASE: one case of using this MPI by the names of others, with compat/bin in PATH
# and nothing else. Exit status 77: a tool that the case needs is not installed.
# Long: each case is some lines long, and all use what stands above the first.
build=$1 case=$2
names=$build/compat/bin
PATH=$names:$PATH
export PATH
# shellcheck source=tests/names/prepare.sh
. "$(dirname "$0")/prepare.sh"
cd "$dir" || exit 1

# mpirun -np 3 of a program: "ok 3" by each rank.
runs() {
  three=$(timeout 60 mpirun -np 3 "$@" 2>&1) || fail "mpirun $1: $three"
  is "$(printf '%s\n' "$three" | grep -c 'ok 3')" 3
}

# What position-dependent code cannot be for ranks: a thread_local, a variable of libc's, a global.
cat >main.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
static _Thread_local int local = 1;
int shared = 1;
int main(int argc, char** argv) {
  int size, rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  shared += rank;
  local += rank;
  MPI_Allreduce(&local, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (shared == rank + 1 && sum == size * (size + 1) / 2) fprintf(stdout, "ok %d\n", size);
  MPI_Finalize();
  return 0;
}
END_OF_C
cat >main.cpp <<'END_OF_CXX'
#include <mpi.h>
#include <iostream>
int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::cout << "ok " << size << std::endl;
  MPI_Finalize();
}
END_OF_CXX
cat >main.f90 <<'END_OF_F'
program main
  use mpi
  implicit none
  integer :: ierr, nranks
  call mpi_init(ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nranks, ierr)
  print '(a,i0)', 'ok ', nranks
  call mpi_finalize(ierr)
end program
END_OF_F

# A project with tests of its own, as CMake's documentation of FindMPI has it.
cmake_project() {
  cat >CMakeLists.txt <<END_OF_CMAKE
cmake_minimum_required(VERSION 3.16)
project(p C CXX)
$1
find_package(MPI REQUIRED)
enable_testing()
add_executable(c main.c)
target_link_libraries(c PRIVATE MPI::MPI_C)
add_executable(cxx main.cpp)
target_link_libraries(cxx MPI::MPI_CXX)
foreach(program c cxx)
  add_test(NAME \${program} COMMAND \${MPIEXEC_EXECUTABLE} \${MPIEXEC_NUMPROC_FLAG} 3 \${MPIEXEC_PREFLAGS}
                                   \$<TARGET_FILE:\${program}> \${MPIEXEC_POSTFLAGS})
  set_tests_properties(\${program} PROPERTIES PASS_REGULAR_EXPRESSION "ok 3\\nok 3\\nok 3")
endforeach()
END_OF_CMAKE
}

# part.c, a module of Python's: part.size() is the number of ranks.
extension_module() {
  cat >part.c <<'END_OF_C'
#include <Python.h>
#include <mpi.h>
static int value = -1;
static PyObject* size(PyObject* self, PyObject* nothing) {
  (void)self, (void)nothing;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  MPI_Finalize();
  return PyLong_FromLong(value);
}
static PyMethodDef methods[] = {{"size", size, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "part", "", -1, methods};
PyMODINIT_FUNC PyInit_part(void) { return PyModule_Create(&module); }
END_OF_C
}

cmake_builds() {
  need cmake
  need make  # what cmake generates for, unless told otherwise
  { cmake -S . -B b "$@" && cmake --build b; } >log 2>&1 || { cat log; fail build; }
  (cd b && timeout 100 ctest --output-on-failure) >log 2>&1 || { cat log; fail tests; }
}

case $case in
names)
  for name in mpicc:c mpicxx:cpp mpic++:cpp mpiCC:cpp mpifort:f90 mpif77:f90 mpif90:f90; do
    "${name%:*}" "main.${name#*:}" -o prog || fail "${name%:*}"
    runs ./prog
  done
  has "$(timeout 30 mpiexec -n 2 ./prog)" "ok 2"
  has "$(mpiexec --version)" "mpc"
  ;;
wrappers)
  has "$(mpicc -showme:version)" "mpc "
  has "$(mpicc --showme:help)" "Usage"
  is "$(mpicc --showme:command)" "$(mpicc -show | cut -d' ' -f1)"
  is "$(mpicc --showme:compile)" "$(mpicc -showme:compile)"
  # As MPICH's: the compiler comes first.
  is "$(mpicc -compile_info)" "$(mpicc -showme:command) $(mpicc -showme:compile)"
  is "$(mpicc -link_info)" "$(mpicc -showme:command) $(mpicc -showme:link)"
  has "$(OMPI_CC=a-cc mpicc -show)" "a-cc "
  has "$(MPICH_CC=b-cc mpicc -show)" "b-cc "
  has "$(MPC_CC=c-cc OMPI_CC=a-cc mpicc -show)" "c-cc "
  has "$(OMPI_CXX=a-cxx mpicxx -show)" "a-cxx "
  has "$(MPICH_FC=b-fc mpifort -show)" "b-fc "
  # Who names the wrapper itself means what is behind it.
  for own in mpicc "$names/mpicc" "$build/bin/mpcc"; do
    OMPI_CC=$own timeout 20 mpicc main.c -o prog || fail "OMPI_CC=$own"
  done
  runs ./prog
  ;;
libraries)
  # Makefiles say -lmpi: it is ours, also where another MPI is installed, by a wrapper and without one.
  for name in mpi mpich mpifort mpi_mpifh; do
    mpicc main.c -l$name -o prog && runs ./prog || fail "-l$name"
    is "$(readelf -d prog | grep -c 'NEEDED.*mpi')" 1
    has "$(readelf -d prog)" libmpi_abi.so
  done
  gcc main.c -I"$build/compat/include" -L"$build/compat/lib" -lmpi -Wl,-rpath,"$build/lib" -o plain &&
    runs --ranks-per-process 1 ./plain || fail "-lmpi without a wrapper"
  # mpirun starts whatever it is given, as those of others; mpcrun, and options for ranks that share a process, say
  # what to write.
  runs ./plain || fail "a process for each rank by itself"
  for command in "$build/bin/mpcrun -n 3" "mpirun -n 3 -p 1" "mpirun -n 3 --counters"; do
    $command ./plain >out 2>err && fail "$command: not refused"
    has "$(cat err)" "--ranks-per-process 1"
  done
  ;;
cmake)
  cmake_project
  cmake_builds
  is "$(sed -n 's/^MPIEXEC_EXECUTABLE:.*=//p' b/CMakeCache.txt)" "$names/mpiexec"
  ;;
cmake_home)
  PATH=$(printf '%s' "$PATH" | sed "s,^$names:,,")
  cmake_project
  cmake_builds -DMPI_HOME="$build/compat"
  is "$(sed -n 's/^MPI_C_COMPILER:.*=//p' b/CMakeCache.txt)" "$names/mpicc"
  is "$(sed -n 's/^MPIEXEC_EXECUTABLE:.*=//p' b/CMakeCache.txt)" "$names/mpiexec"
  ;;
cmake_environment)
  # MPI_HOME in the environment, as modules set it.
  PATH=$(printf '%s' "$PATH" | sed "s,^$names:,,")
  MPI_HOME=$build/compat
  export MPI_HOME
  cmake_project
  cmake_builds
  is "$(sed -n 's/^MPIEXEC_EXECUTABLE:.*=//p' b/CMakeCache.txt)" "$names/mpiexec"
  ;;
cmake_variables)
  # Older projects have variables in place of targets, try what MPI can, and look for its version.
  cat >part.c <<'END_OF_C'
#include <mpi.h>
static int calls;
int count(void) { int flag; return MPI_Initialized(&flag) == MPI_SUCCESS && flag ? ++calls : -1; }
END_OF_C
  cat >CMakeLists.txt <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.16)
project(p C)
enable_testing()
find_package(MPI 3.0 REQUIRED)
include_directories(SYSTEM ${MPI_C_INCLUDE_PATH} ${MPI_INCLUDE_PATH})
set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS} ${MPI_C_COMPILE_FLAGS}")
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} ${MPI_C_LINK_FLAGS}")
include(CheckFunctionExists)
include(CheckCSourceRuns)
set(CMAKE_REQUIRED_FLAGS "${MPI_C_COMPILE_FLAGS} ${MPI_C_LINK_FLAGS}")
set(CMAKE_REQUIRED_INCLUDES ${MPI_C_INCLUDE_PATH})
set(CMAKE_REQUIRED_LIBRARIES ${MPI_C_LIBRARIES})
check_function_exists(MPI_Comm_spawn HAVE_SPAWN)
check_c_source_runs("#include <mpi.h>
int main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }" MPI_RUNS)
if(NOT HAVE_SPAWN OR NOT MPI_RUNS OR MPI_C_VERSION_MAJOR LESS 4)
  message(FATAL_ERROR "${HAVE_SPAWN} ${MPI_RUNS} ${MPI_C_VERSION}")
endif()
add_library(part STATIC part.c)
add_executable(prog main.c)
target_link_libraries(prog part ${MPI_C_LIBRARIES} ${MPI_LIBRARIES})
add_test(prog ${MPIEXEC} ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG} 3 ${CMAKE_CURRENT_BINARY_DIR}/prog)
set_tests_properties(prog PROPERTIES PASS_REGULAR_EXPRESSION "ok 3\nok 3\nok 3")
END_OF_CMAKE
  sed -i 's/int shared = 1;/int shared = 1;\nint count(void);/; s/  if (shared ==/  if (count() == 1 \&\& shared ==/' main.c
  cmake_builds
  ;;
cmake_functions | cmake_ccache)
  # The second: CMake finds a link to ccache that has the compiler's name, as on many machines of continuous integration.
  if [ "$case" = cmake_ccache ]; then
    mkdir links && printf '#!/bin/sh\nexec "/usr/bin/${0##*/}" "$@"\n' >links/ccache && chmod +x links/ccache
    for name in cc gcc c++ g++; do ln -s ccache "links/$name"; done
    PATH=$PWD/links:$PATH
  fi
  # The plain compiler with FindMPI's flags: what is not there is not found, in a project's tests and in its programs; a
  # module may still leave symbols to the program that loads it.
  echo 'int only_in_the_program(void); int in_module(void) { return only_in_the_program(); }' >module.c
  cat >CMakeLists.txt <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.16)
project(p C)
enable_testing()
find_package(MPI REQUIRED)
include(CheckFunctionExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_function_exists(MPI_Comm_spawn THERE_BY_TARGET)
check_function_exists(MPI_No_such_thing ABSENT_BY_TARGET)
set(CMAKE_REQUIRED_FLAGS "${MPI_C_COMPILE_FLAGS} ${MPI_C_LINK_FLAGS}")
set(CMAKE_REQUIRED_LIBRARIES ${MPI_C_LIBRARIES})
check_function_exists(MPI_Comm_spawn THERE_BY_VARIABLES)
check_function_exists(MPI_No_such_thing ABSENT_BY_VARIABLES)
if(NOT THERE_BY_TARGET OR NOT THERE_BY_VARIABLES OR ABSENT_BY_TARGET OR ABSENT_BY_VARIABLES)
  message(FATAL_ERROR "found: ${THERE_BY_TARGET} ${THERE_BY_VARIABLES}; found by mistake: ${ABSENT_BY_TARGET} "
                      "${ABSENT_BY_VARIABLES}; flags: ${MPI_C_LINK_FLAGS}")
endif()
foreach(kind MODULE SHARED)
  add_library(part_${kind} ${kind} module.c)
  target_link_libraries(part_${kind} PRIVATE MPI::MPI_C)
endforeach()
add_executable(prog main.c)
target_link_libraries(prog PRIVATE MPI::MPI_C)
add_test(NAME prog COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 prog)
set_tests_properties(prog PROPERTIES PASS_REGULAR_EXPRESSION "ok 3\nok 3\nok 3")
END_OF_CMAKE
  cmake_builds
  ;;
cmake_pic)
  # Then CMake compiles programs with -fPIE.
  cmake_project "include(CheckPIESupported)
check_pie_supported()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)"
  cmake_builds
  ;;
cmake_fortran)
  need gfortran
  cat >CMakeLists.txt <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.16)
project(p Fortran)
find_package(MPI REQUIRED)
enable_testing()
add_executable(prog main.f90)
target_link_libraries(prog MPI::MPI_Fortran)
add_test(NAME prog COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 prog)
set_tests_properties(prog PROPERTIES PASS_REGULAR_EXPRESSION "ok 3\nok 3\nok 3")
END_OF_CMAKE
  cmake_builds
  ;;
autoconf)
  need autoconf
  archive=$(find /usr/share/aclocal -name ax_mpi.m4)
  [ -n "$archive" ] || left_out "autoconf-archive is not installed"
  cat "$archive" >aclocal.m4
  cat >configure.ac <<'END_OF_AC'
AC_INIT([conftest], [1])
AC_PROG_CC
AX_MPI([have_mpi=yes], [AC_MSG_ERROR([no MPI])])
CC="$MPICC"
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END_OF_AC
  cat >Makefile.in <<'END_OF_MAKE'
prog: main.o
	@CC@ @LDFLAGS@ -o $@ main.o @MPILIBS@ @LIBS@
main.o: main.c
	@CC@ @CFLAGS@ -c main.c
check: prog
	mpirun -np 3 ./prog >out
END_OF_MAKE
  need make
  { autoconf && ./configure && make check; } >log 2>&1 || { cat log; fail autoconf; }
  is "$(grep -c 'ok 3' out)" 3
  ;;
automake | libtool)
  # A program, a library, and tests of both with mpirun; by libtool what stands in the build folder is a script.
  need automake
  need autoconf
  need make
  [ "$case" = automake ] || need libtoolize
  [ "$case" = automake ] && kind='AC_PROG_RANLIB' library=LIBRARIES name=libpart.a source=libpart_a_SOURCES
  [ "$case" = libtool ] && kind='LT_INIT' library=LTLIBRARIES name=libpart.la source=libpart_la_SOURCES
  mkdir m4
  cat >configure.ac <<END_OF_AC
AC_INIT([p], [1])
AC_CONFIG_AUX_DIR([aux])
AC_CONFIG_MACRO_DIR([m4])
AM_INIT_AUTOMAKE([foreign serial-tests])
AC_PROG_CC
m4_ifdef([AM_PROG_AR], [AM_PROG_AR])
$kind
AC_CHECK_HEADERS([mpi.h], [], [AC_MSG_ERROR([no mpi.h])])
AC_SEARCH_LIBS([MPI_Init], [mpi mpich], [], [AC_MSG_ERROR([no MPI_Init])])
AC_CHECK_FUNCS([MPI_Comm_spawn MPI_No_such_thing])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END_OF_AC
  cat >Makefile.am <<END_OF_AM
ACLOCAL_AMFLAGS = -I m4
lib_$library = $name
$source = part.c
check_PROGRAMS = prog
prog_SOURCES = main.c
prog_LDADD = $name
TESTS = prog
LOG_COMPILER = mpirun
AM_LOG_FLAGS = -np 3
TESTS_ENVIRONMENT = mpirun -np 3
END_OF_AM
  echo 'int part(void) { return 1; }' >part.c
  sed -i 's/^int shared = 1;/int shared = 1;\nint part(void);/; s/  if (shared ==/  if (part() == 1 \&\& shared ==/' main.c
  mkdir aux
  { autoreconf -fi && ./configure CC=mpicc --prefix="$dir/installed" && make check && make install; } >log 2>&1 ||
    { cat log; fail "$case"; }
  grep -q 'PASS: prog' log || { cat log; fail "no test was run"; }
  grep -q 'for MPI_No_such_thing... no' log || fail "configure finds what is not there"
  runs ./prog
  [ "$case" = automake ] || has "$(readelf -dW installed/lib/libpart.so)" SONAME
  ;;
meson)
  need meson
  need ninja
  cat >meson.build <<'END_OF_MESON'
project('p', 'c', 'cpp')
mpiexec = find_program('mpiexec')
c = executable('c', 'main.c', dependencies: dependency('mpi', language: 'c'))
cxx = executable('cxx', 'main.cpp', dependencies: dependency('mpi', language: 'cpp'))
test('c', mpiexec, args: ['-n', '3', c])
test('cxx', mpiexec, args: ['-n', '3', cxx])
END_OF_MESON
  { meson setup b && meson compile -C b && meson test -C b; } >log 2>&1 || { cat log; fail meson; }
  runs b/c
  runs b/cxx
  ;;
python)
  # An extension module, as a package builds it that is given MPICC or CC.
  python3 -c 'import setuptools' 2>/dev/null || left_out "python3-setuptools is not installed"
  extension_module
  cat >setup.py <<'END_OF_PYTHON'
from setuptools import Extension, setup
setup(name="part", version="1", ext_modules=[Extension("part", ["part.c"])])
END_OF_PYTHON
  CC=mpicc LDSHARED="mpicc -shared" python3 setup.py -q build_ext --inplace >log 2>&1 ||
    { grep -q Python.h log && left_out "no Python.h"; cat log; fail build; }
  is "$(timeout 60 python3 -c 'import part; print(part.size())')" 1
  ;;
pip)
  # As mpi4py's: MPICC names the compiler, and pip builds a wheel of it.
  /usr/bin/python3 -m pip --version >/dev/null 2>&1 || left_out "python3-pip is not installed"
  /usr/bin/python3 -c 'import setuptools, wheel' 2>/dev/null || left_out "python3-setuptools, python3-wheel are not installed"
  extension_module
  cat >setup.py <<'END_OF_PYTHON'
import os
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

class Build(build_ext):
    def build_extensions(self):
        mpicc = os.environ.get("MPICC", "mpicc")
        self.compiler.set_executables(compiler_so=[mpicc, "-O1", "-fPIC"], linker_so=[mpicc, "-shared"])
        super().build_extensions()

setup(name="part", version="1", ext_modules=[Extension("part", ["part.c"])], cmdclass={"build_ext": Build})
END_OF_PYTHON
  MPICC=mpicc /usr/bin/python3 -m pip install --no-index --no-deps --no-build-isolation --target packages . >log 2>&1 ||
    { grep -q Python.h log && left_out "no Python.h"; cat log; fail build; }
  PYTHONPATH=$dir/packages
  export PYTHONPATH
  runs /usr/bin/python3 -c 'import part; print("ok", part.size())'
  ;;
installed)
  need pkg-config
  cmake --install "$build" --prefix "$dir/first place" >log 2>&1 || { cat log; fail install; }
  mv "first place" prefix  # an installation may be moved
  PATH=$dir/prefix/compat/bin:$PATH
  PKG_CONFIG_LIBDIR=$dir/prefix/compat/lib/pkgconfig
  for name in mpi mpi-c mpi-cxx mpi-fort ompi-c ompi mpich; do
    is "$(pkg-config --modversion "$name")" "$(mpicc -showme:version | cut -d' ' -f2)"
  done
  # shellcheck disable=SC2046  # one word per flag
  gcc $(pkg-config --cflags mpi-c) main.c -o c $(pkg-config --libs mpi-c) && runs ./c
  # shellcheck disable=SC2046
  g++ $(pkg-config --cflags mpi-cxx) main.cpp -o cxx $(pkg-config --libs mpi-cxx) && runs ./cxx
  is "$(pkg-config --cflags mpi-c | sed "s,$dir/prefix/compat/lib/pkgconfig/../../..,$dir/prefix,g; s, *$,,")" \
     "$(mpicc -showme:compile)"
  [ -e prefix/compat/include/mpi.h ] || fail "no compat/include"
  [ -e "$(pkg-config --variable=includedir mpich)/mpi.h" ] || fail "no includedir"
  [ -e "$(pkg-config --variable=libdir ompi)/libmpi.so" ] || fail "no libdir"
  mpif90 main.f90 -o f && runs ./f
  ;;
*) fail "no such case" ;;
esac
exit 0

# The generated half of the MPI interface: mpi.h, entry points, declarations of the bodies.
#
#   mpc_mpi_headers     interface library: mpi.h and "mpi/impl/CHAPTER.h"; link to it to
#                       have them generated first
#   mpc_mpi_constants   the same for "base/mpi_constants.h", which every layer may include

set(api "${CMAKE_CURRENT_LIST_DIR}")
set(out "${PROJECT_BINARY_DIR}")  # include/mpi.h, include/mpif.h, generated/...
set(stamp "${CMAKE_CURRENT_BINARY_DIR}/generated.stamp")
file(GLOB lists CONFIGURE_DEPENDS "${api}/*.json"
     "${api}/functions/*.json")
file(GLOB scripts CONFIGURE_DEPENDS "${api}/*.py"
     "${api}/generator/*.py")

# Asks the generator which files it will write.
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -B "${api}/generate.py" --list
  OUTPUT_VARIABLE generated OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" generated "${generated}")
list(TRANSFORM generated PREPEND "${out}/")

# The generator leaves files alone that do not change; Ninja sees that (restat).
add_custom_command(
  OUTPUT "${stamp}"
  BYPRODUCTS ${generated}
  COMMAND "${Python3_EXECUTABLE}" -B "${api}/generate.py" "${out}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
  DEPENDS ${lists} ${scripts}
  COMMENT "Generating the MPI interface")
add_custom_target(mpc_mpi_generate DEPENDS "${stamp}")

# Our own header, installed beside mpi.h.
configure_file("${PROJECT_SOURCE_DIR}/mpi/ext/include/mpc/schedule.h"
               "${out}/include/mpc/schedule.h" COPYONLY)

add_library(mpc_mpi_constants INTERFACE)
target_include_directories(mpc_mpi_constants INTERFACE "${out}/generated")
add_dependencies(mpc_mpi_constants mpc_mpi_generate)

add_library(mpc_mpi_headers INTERFACE)
target_include_directories(mpc_mpi_headers INTERFACE "${out}/include")
target_link_libraries(mpc_mpi_headers INTERFACE mpc_mpi_constants)

# Run by hand after bodies were added; a test compares the page with the list.
add_custom_target(coverage_page
  COMMAND "${Python3_EXECUTABLE}" -B "${api}/generate.py"
          --coverage)

# The modules mpi and mpi_f08, for the Fortran compiler that mpcfort calls. They have no code of
# their own: a program needs only the .mod files. Other compilers make theirs from the sources:
# mpcfort -build-modules.
find_program(MPC_GFORTRAN gfortran)
if(MPC_GFORTRAN)
  add_custom_command(
    OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/mpi_module.stamp"
    BYPRODUCTS "${out}/include/mpi_f08_types.mod" "${out}/include/mpi.mod"
               "${out}/include/mpi_f08.mod"
    COMMAND "${MPC_GFORTRAN}" -fsyntax-only -J "${out}/include"
            "${out}/include/mpi_f08_types.f90" "${out}/include/mpi.f90" "${out}/include/mpi_f08.f90"
    COMMAND "${CMAKE_COMMAND}" -E touch "${CMAKE_CURRENT_BINARY_DIR}/mpi_module.stamp"
    DEPENDS "${stamp}"
    COMMENT "Compiling the Fortran modules")
  add_custom_target(mpc_mpi_module ALL
                    DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/mpi_module.stamp")
endif()

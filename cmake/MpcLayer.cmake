# One CMake target per layer: mpc_layer(NAME SOURCES a.cpp ... [LINK lib ...]).
#
# Reads the layer's directory and allowed dependencies from cmake/layers.txt, so that the build
# and the `layers` test can never disagree. Each layer is a static, position-independent
# library `mpc_NAME`; all of them together become libmpi_abi.so, but those marked TOOLS_ONLY.
# SMALL_OBJECTS: its calls make objects of up to 256 bytes and take less than 100 ns.
function(mpc_layer name)
  cmake_parse_arguments(arg "TOOLS_ONLY;SMALL_OBJECTS" "" "SOURCES;LINK" ${ARGN})
  file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/layers.txt" lines REGEX "^${name}[ \t]")
  if(NOT lines)
    message(FATAL_ERROR "mpc_layer(${name}): no such layer in cmake/layers.txt")
  endif()
  string(REGEX REPLACE "^[^:]*:" "" deps "${lines}")
  string(REGEX MATCHALL "[a-z0-9_]+" deps "${deps}")
  add_library(mpc_${name} STATIC ${arg_SOURCES})
  target_compile_features(mpc_${name} PUBLIC cxx_std_20)
  target_include_directories(mpc_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(mpc_${name} PRIVATE ${MPC_WARNINGS} -ftls-model=initial-exec
                         -fvisibility=hidden -fvisibility-inlines-hidden)
  if(arg_SMALL_OBJECTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # "rep stos", which gcc clears objects of more than 128 bytes with, takes as long as a small call. And a load of two
    # neighbours that were stored one by one waits until both stores have reached the cache.
    target_compile_options(mpc_${name} PRIVATE
      -mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign -fno-tree-slp-vectorize)
  endif()
  foreach(dep IN LISTS deps)
    if(TARGET mpc_${dep})  # a layer without a CMakeLists.txt is not there yet
      target_link_libraries(mpc_${name} PUBLIC mpc_${dep})
    endif()
  endforeach()
  target_link_libraries(mpc_${name} PUBLIC ${arg_LINK})
  if(NOT arg_TOOLS_ONLY)
    set_property(GLOBAL APPEND PROPERTY MPC_LAYERS mpc_${name})
  endif()
endfunction()

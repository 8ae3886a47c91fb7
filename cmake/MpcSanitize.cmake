# What each sanitizer needs of the build: docs/scheduler.md, section "Sanitizers".

# mpc_launcher(TARGET LIBRARY): TARGET starts ranks, LIBRARY is libmpi_abi.
#
# ThreadSanitizer's runtime replaces pthread_create and functions of libc, as libmpi_abi does.
# Ours must be found first and theirs second, or a thread of a rank begins in instrumented code
# before the sanitizer knows the thread. The compiler puts its runtime before everything else,
# so it must not be told to link with it.
function(mpc_launcher target library)
  if(NOT MPC_SANITIZE STREQUAL "thread")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libtsan_preinit.o
                  OUTPUT_VARIABLE preinit OUTPUT_STRIP_TRAILING_WHITESPACE)
  target_link_options(${target} PRIVATE -fno-sanitize=thread)
  target_link_libraries(${target} PRIVATE ${library} "${preinit}" tsan)
endfunction()

# For tests that run programs: the job's own limit, and what CTest grants to it. A unit test has
# the first one.
set(MPC_RUN_SECONDS 60)
if(MPC_SANITIZE STREQUAL "thread")
  set(MPC_RUN_SECONDS 300)  # 5 to 20 times slower
elseif(MPC_SANITIZE)
  set(MPC_RUN_SECONDS 150)
endif()
math(EXPR MPC_TEST_SECONDS "${MPC_RUN_SECONDS} + 30")

# For tests that also run programs without mpcrun: such a program is not linked with the
# sanitizer's runtime, the library behind it is. AddressSanitizer wants to be told.
set(MPC_PROGRAM_ENVIRONMENT "")
if(MPC_SANITIZE MATCHES "address")
  set(MPC_PROGRAM_ENVIRONMENT "ASAN_OPTIONS=verify_asan_link_order=0")
endif()

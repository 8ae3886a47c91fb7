/* RIGHT, WRONG: how a test program of this folder calls functions of MPI.
 *
 * Role:      each of MPI's functions is called with right and with wrong arguments by some program here;
 *            complete.py compares what the programs have called with the list of mpi/api.
 * Users:     tests/every/NAME.c
 * Threads:   the main thread of a rank.
 * See also:  MPI-4.1 section 9.4 (classes of errors); docs/how-to-add.md. */
#ifndef EVERY_H
#define EVERY_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int every_failures, every_lists;
static int every_rank, every_size;

/* Files that are compiled a second time with EVERY_LARGE call the variants with large counts: N(MPI_Send) is
   MPI_Send or MPI_Send_c, count_t and disp_t are the types of counts and displacements in arrays. */
#ifdef EVERY_LARGE
#define N(name) name##_c
typedef MPI_Count count_t;
typedef MPI_Aint disp_t;
#else
#define N(name) name
typedef int count_t;
typedef int disp_t;
#endif

/* The text of a call after its macros have been replaced begins with the function's name. */
#define EVERY_TEXT_(...) #__VA_ARGS__
#define EVERY_TEXT(...) EVERY_TEXT_(__VA_ARGS__)

static inline void every_note(const char* kind, const char* text) {
  if (every_lists) printf("%s %.*s\n", kind, (int)strcspn(text, " ("), text);
}

static inline void every_fault(int line, const char* text, const char* what) {
  printf("rank %d: line %d: %.120s: %s\n", every_rank, line, text, what);
  ++every_failures;
}

static inline void every_expect(int line, const char* text, int code, int wanted) {
  char what[MPI_MAX_ERROR_STRING + 80], words[MPI_MAX_ERROR_STRING];
  int class_of_code = MPI_SUCCESS, length;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class_of_code);
  if (class_of_code == wanted) return;
  MPI_Error_string(code, words, &length);
  snprintf(what, sizeof what, "class %d in place of %d: %s", class_of_code, wanted,
           words);
  every_fault(line, text, what);
}

static inline void every_expect_code(int line, const char* text, int code, int wanted) {
  char what[80];
  if (code == wanted) return;
  snprintf(what, sizeof what, "code %d in place of %d", code, wanted);
  every_fault(line, text, what);
}

/* A call that must succeed; one that must fail with this class, and do nothing else. Only for functions that
   return an error code. Arguments that have not been prepared by RIGHT calls are prepared by CHECKed ones. */
#define RIGHT(...)                                                               \
  do {                                                                           \
    every_note("RIGHT", EVERY_TEXT(__VA_ARGS__));                                \
    every_expect(__LINE__, EVERY_TEXT(__VA_ARGS__), (__VA_ARGS__), MPI_SUCCESS); \
  } while (0)
#define WRONG(class_of_error, ...)                                                  \
  do {                                                                              \
    every_note("WRONG", EVERY_TEXT(__VA_ARGS__));                                   \
    every_expect(__LINE__, EVERY_TEXT(__VA_ARGS__), (__VA_ARGS__), class_of_error); \
  } while (0)
/* A function that returns a value: the call begins the condition, as in VALUE(MPI_Wtime() >= 0). */
#define VALUE(...)                                                                     \
  do {                                                                                 \
    every_note("RIGHT", EVERY_TEXT(__VA_ARGS__));                                      \
    if (!(__VA_ARGS__)) every_fault(__LINE__, EVERY_TEXT(__VA_ARGS__), "is not true"); \
  } while (0)
/* A wrong call of such a function: what it returns instead. */
#define WRONG_VALUE(...)                                                               \
  do {                                                                                 \
    every_note("WRONG", EVERY_TEXT(__VA_ARGS__));                                      \
    if (!(__VA_ARGS__)) every_fault(__LINE__, EVERY_TEXT(__VA_ARGS__), "is not true"); \
  } while (0)
/* As WRONG, for functions of the tool interface, whose codes are their own classes. */
#define WRONG_CODE(wanted, ...)                                                  \
  do {                                                                           \
    every_note("WRONG", EVERY_TEXT(__VA_ARGS__));                                \
    every_expect_code(__LINE__, EVERY_TEXT(__VA_ARGS__), (__VA_ARGS__), wanted); \
  } while (0)
/* What calls have done. */
#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) every_fault(__LINE__, #condition, "is not true"); \
  } while (0)
/* This function cannot be called wrongly, because ... */
#define NO_WRONG(function, reason) every_note("NO_WRONG", EVERY_TEXT(function))

/* This function cannot succeed here, because ... */
#define NO_RIGHT(function, reason) every_note("NO_RIGHT", EVERY_TEXT(function))

/* Errors return; what has no object of its own is MPI_COMM_SELF's. */
static inline void every_begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  every_lists = *argc > 1 && strcmp((*argv)[1], "--list") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &every_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &every_size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static inline int every_end(void) {
  int all = 0;
  MPI_Allreduce(&every_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (every_rank == 0 && all == 0) printf("No Errors\n");
  MPI_Finalize();
  return all != 0;
}

#endif

// Ranks that are refused to copy from each other's memory, after they have done so.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size;

static void refuse_copies(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
              &program) != 0)
    perror("seccomp");
}

static void exchange(int n) {
  char *out = malloc(n), *in = malloc(n);
  MPI_Request both[2];
  memset(out, rank + 1, n);
  memset(in, 0, n);
  MPI_Irecv(in, n, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, both);
  MPI_Isend(out, n, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, both + 1);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i)
    if (in[i] != (char)((rank + size - 1) % size + 1)) {
      puts("wrong");
      exit(1);
    }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange(100000);
  exchange(3000000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "undumpable") == 0) prctl(PR_SET_DUMPABLE, 0);
  if (strcmp(argv[1], "filter") == 0) refuse_copies();
  if (strcmp(argv[1], "one") == 0 && rank == size - 1) refuse_copies();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i) {
    exchange(100000);
    exchange(3000000);
  }
  if (rank == 0) puts("good");
  MPI_Finalize();
  return 0;
}

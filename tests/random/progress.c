/* Ranks and threads of theirs that wait, compute, test and sleep in random order while messages, collectives,
   and operations on windows are under way: whoever waits has to hear of what it waits for.
   usage: progress [SEED [ROUNDS [SCENE]]]; the seed is printed when something is wrong. With
   RANDOM_WAITS=1 in the environment it says how many waits were late. */
#include "progress.h"

#include "progress_collectives.h"
#include "progress_messages.h"
#include "progress_threads.h"
#include "progress_windows.h"

static const struct {
  const char* name;
  void (*play)(scene*);
} scenes[] = {{"exchange", exchange},
              {"ring", ring},
              {"server", server},
              {"cancel", cancel},
              {"persistent", persistent},
              {"partitioned", partitioned},
              {"pipeline", pipeline},
              {"collectives", collectives},
              {"communicators", communicators},
              {"windows", windows},
              {"servants", servants},
              {"two scenes", two_scenes}};
enum { kScenes = sizeof scenes / sizeof scenes[0] };

static void play_one(scene* s, int which) {
  s->name = scenes[which].name;
  scenes[which].play(s);
}

/* All, all in reverse, the two halves, the even and the odd ones. */
enum { kCasts = 4 };
static MPI_Comm casts[kCasts], others[kCasts];

static void make_casts(int size) {
  MPI_Comm_dup(MPI_COMM_WORLD, &casts[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &casts[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < size / 2, 0, &casts[2]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &casts[3]);
  for (int i = 0; i < kCasts; ++i) MPI_Comm_dup(casts[i], &others[i]);
}

static void report_waits(void) {
  long all[kKinds], late[kKinds];
  MPI_Reduce(waits, all, kKinds, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(late_waits, late, kKinds, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world_rank != 0 || getenv("RANDOM_WAITS") == NULL) return;
  for (int i = 0; i < kKinds; ++i)
    fprintf(stderr, "waits: %-14s %7ld, late %5ld\n", kinds[i], all[i], late[i]);
}

int main(int argc, char** argv) {
  int size, provided, all = 0;
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (unsigned long long)time(NULL);
  const int rounds = argc > 2 ? atoi(argv[2]) : 10,
            only = argc > 3 ? atoi(argv[3]) : -1;
  source plan = seeded(seed, 5, 5);
  const int has_threads = one_in(&plan, 2) || only >= kPlainScenes;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                  &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 4);
  make_casts(size);
  for (int round = 0; round < rounds; ++round) {
    source common = seeded(seed, (unsigned long long)round, 1);
    const int cast = one_in(&common, 2) ? 0 : (int)draw(&common, 0, kCasts - 1);
    scene s = {.comm = casts[cast],
               .other = others[cast],
               .round = round,
               .tag = round % 300 * 100};
    s.own =
        seeded(seed, (unsigned long long)round, 1000 + (unsigned long long)world_rank);
    s.key = next_number(&common);
    if (cast >= 2) s.key += cast == 2 ? world_rank < size / 2 : world_rank % 2;
    const int drawn =
        (int)draw(&common, 0, has_threads ? kScenes + 1 : kPlainScenes - 1);
    s.common = common;
    MPI_Comm_rank(s.comm, &s.rank);
    MPI_Comm_size(s.comm, &s.size);
    if (getenv("RANDOM_ROUNDS") != NULL)
      fprintf(stderr, "rank %d begins round %d\n", world_rank, round);
    play_one(&s, only >= 0 ? only : drawn < kScenes ? drawn : kScenes - 1 - drawn % 2);
  }
  for (int i = 0; i < kCasts; ++i) {
    MPI_Comm_free(&casts[i]);
    MPI_Comm_free(&others[i]);
  }
  report_waits();
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0 && all == 0) printf("No Errors\n");
  MPI_Finalize();
  return all != 0;
}

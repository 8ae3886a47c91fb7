#include "tools/mpcrun/peers.h"

namespace mpc::tools {
namespace {

constexpr char kHosts[] = "write --hosts a,b or --hostfile FILE";
constexpr char kAgent[] =
    "other hosts are reached by ssh; write --agent COMMAND for another way";
constexpr char kPerHost[] = "write --ranks-per-host K, beside --hosts or --hostfile";
constexpr char kBind[] = "write --bind core or --bind none, and --cores for which";
constexpr char kPlacement[] = "write --placement compact, scatter or a list of workers";
constexpr char kExport[] = "write -x NAME=VALUE for each variable";
constexpr char kWholeEnvironment[] =
    "the ranks have the whole environment: leave it out";
constexpr char kLabel[] = "write --label";
constexpr char kFiles[] = "write --label; there are no files for each rank";
constexpr char kShow[] = "write --show";
constexpr char kDebugger[] =
    "put the debugger before mpcrun: 'gdb --args mpcrun -n 4 ./prog' stops in each "
    "rank";
constexpr char kSettings[] =
    "settings of another MPI mean nothing here: leave it out; 'mpcinfo settings' "
    "lists those "
    "for --set NAME=VALUE";
constexpr char kNoMeaning[] = "it means nothing to this mpcrun: leave it out";

struct Row {
  const char* names;  // with a blank before and after each
  const char* advice;
};

// Of mpirun and mpiexec of Open MPI 4 and 5, of MPICH's Hydra and its descendants, and of srun.
constexpr Row kRows[] = {
    {" add-host hostlist nodelist w nolocal no-local nodes nnodes default-hostfile "
     "add-hostfile ",
     kHosts},
    {" launcher launcher-exec bootstrap bootstrap-exec rmk rsh-agent launch-agent plm ",
     kAgent},
    {" iface disable-hostname-propagation prefix noprefix leave-session-attached novm ",
     kNoMeaning},
    {" N ppn ppr perhost npernode map-by-node tasks-per-node ntasks-per-node rr grr ",
     kPerHost},
    {" npersocket pernode ", "write --ranks-per-process or --processes-per-host"},
    {" ntasks nprocs ", "write -n N"},
    {" soft ", "a job has as many ranks as -n says: write -n N"},
    {" arch ", kNoMeaning},
    {" mem-bind membind ",
     "a rank's memory is on the NUMA node where it runs: write --bind core"},
    {" configfile app appfile file ",
     "write the programs on the command line, a ':' between them: mpcrun -n 1 ./a : -n "
     "7 ./b"},
    {" cpus-per-proc cpus-per-rank cpus-per-task ",
     "each rank's threads have a share of the cores: --cores says how many there are, "
     "--bind none lets all threads run on all of them"},
    {" oversubscribe nooversubscribe no-oversubscribe overload-allowed ",
     "ranks may outnumber cores here: leave it out"},
    {" allow-run-as-root ", "root needs no leave here: leave it out"},
    {" bind-to bind-to-core bind-to-none bind-to-socket bind-to-board binding "
     "bind-targets cpu-bind "
     "use-hwthread-cpus use-hwthreads-as-cpus ",
     kBind},
    {" cpu-set cpu-list cpuset slot-list rankfile rf ",
     "write --cores LIST, as in --cores 0,2,5-7"},
    {" map-by rank-by ranks-by bycore byslot bysocket bynode byboard distribution "
     "topolib "
     "rankmap ",
     kPlacement},
    {" env genv E ", kExport},
    {" envall genvall envlist genvlist genvuser impersonate ", kWholeEnvironment},
    {" envnone genvnone ", "write env -i NAME=VALUE ... mpcrun ..."},
    {" tag-output prepend-rank prepend-pattern timestamp-output rank-output output "
     "ordered-output ",
     kLabel},
    {" output-filename output-proctable outfile outfile-pattern errfile-pattern "
     "merge-stderr-to-stdout xml ",
     kFiles},
    {" report-bindings display display-map display-devel-map display-allocation "
     "display-topo "
     "display-diffable-map do-not-launch do-not-resolve print-rank-map dry-run info ",
     kShow},
    {" debug debugger gdb tv totalview debug-daemons debug-devel d xterm attach "
     "stop-on-exec "
     "stop-in-init ",
     kDebugger},
    {" mca gmca omca pmca prtemca opmca pmixmca am amca tune gtune ", kSettings},
    {" v verbose vv ", "write --set log.level=info"},
    {" q quiet ", "this mpcrun prints only what went wrong: leave it out"},
    {" stdin s i ", "standard input goes to rank 0: leave it out"},
    {" path ", "write the path of the program, or set PATH"},
    {" chdir D cwd workdir ", "write --wdir DIR"},
    {" maxtime timelimit time ", "write --timeout SECONDS"},
    {" disable-auto-cleanup enable-recovery disable-recovery max-restarts continuous "
     "preload-binary preload-files preload-files-dest-dir set-cwd-to-session-dir usize "
     "print-all-exitcodes profile demux pmi-port port report-pid report-uri "
     "ompi-server "
     "server-wait-time wait-for-server report-state-on-timeout get-stack-traces "
     "show-progress tmpdir personality ckpoint ckpointlib hydra-timeout mpi part pty ",
     kNoMeaning},
};

}  // namespace

const char* advice_for_peer_option(std::string_view name) {
  // What has a blank may be a part of the rows; it is nobody's option.
  if (name.empty() || name.find(' ') != std::string_view::npos) return nullptr;
  for (const Row& row : kRows) {
    const std::string_view names = row.names;
    for (size_t at = names.find(name); at != std::string_view::npos;
         at = names.find(name, at + 1)) {
      if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return row.advice;
    }
  }
  return nullptr;
}

}  // namespace mpc::tools

#include "tools/mpclaunch/pmix_server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <future>

namespace mpc::launch {
namespace {

pmix_nspace_t g_job;  // its name

Error failed(const char* what, pmix_status_t status) {
  return {Errc::kSystem, std::string(what) + ": " + PMIx_Error_string(status)};
}

// --- what clients ask, on the library's thread --------------------------------------------------

pmix_status_t agree(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t abort_is_reported_otherwise(const pmix_proc_t*, void*, int, const char*,
                                          pmix_proc_t*, size_t, pmix_op_cbfunc_t,
                                          void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

// All are here, so all have contributed: what they gave is what they get.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data,
                    size_t bytes, pmix_modex_cbfunc_t done, void* context) {
  char* copy = nullptr;
  if (bytes != 0) {
    copy = static_cast<char*>(std::malloc(bytes));
    if (copy == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(copy, data, bytes);
  }
  done(PMIX_SUCCESS, copy, bytes, context, &std::free, copy);
  return PMIX_SUCCESS;
}

// What is not there has not been put: all others are on this host.
pmix_status_t nothing_elsewhere(const pmix_proc_t*, const pmix_info_t*, size_t,
                                pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

// --- a call that ends on the library's thread ---------------------------------------------------

using Ending = std::promise<pmix_status_t>;
void end(pmix_status_t status, void* ending) {
  static_cast<Ending*>(ending)->set_value(status);
}
template <class Call>
Result<> wait_for(const char* what, Call&& call) {
  Ending ending;
  pmix_status_t status = call(&end, &ending);
  if (status == PMIX_SUCCESS) status = ending.get_future().get();
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return {};
  return failed(what, status);
}

void set_default(const char* name, const char* value) { ::setenv(name, value, 0); }

// Memory of the processes themselves, where the library would use files; only this host; nobody but
// the processes that we start.
void choose_components() {
  set_default("PMIX_MCA_gds", "hash");
  set_default("PMIX_MCA_psec", "native");
  set_default("PMIX_MCA_ptl_base_if_include", "lo");
  set_default("PMIX_MCA_pcompress_base_silence_warning", "1");
}

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string all_processes(int processes) {
  std::string out;
  for (int p = 0; p < processes; ++p) out += (p == 0 ? "" : ",") + std::to_string(p);
  return out;
}

Result<> register_job(int processes) {
  const std::string list = all_processes(processes);
  char* hosts = nullptr;
  char* ranks = nullptr;
  PMIx_generate_regex(host_name().c_str(), &hosts);
  PMIx_generate_ppn(list.c_str(), &ranks);
  const auto count = static_cast<uint32_t>(processes);
  const uint32_t one = 1;
  std::vector<pmix_info_t> about(8);
  PMIX_INFO_LOAD(&about[0], PMIX_UNIV_SIZE, &count, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[1], PMIX_JOB_SIZE, &count, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[2], PMIX_MAX_PROCS, &count, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[3], PMIX_LOCAL_SIZE, &count, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[4], PMIX_NUM_NODES, &one, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[5], PMIX_LOCAL_PEERS, list.c_str(), PMIX_STRING);
  PMIX_INFO_LOAD(&about[6], PMIX_NODE_MAP, hosts, PMIX_REGEX);
  PMIX_INFO_LOAD(&about[7], PMIX_PROC_MAP, ranks, PMIX_REGEX);
  return wait_for("PMIx_server_register_nspace", [&](auto done, void* context) {
    return PMIx_server_register_nspace(g_job, processes, about.data(), about.size(),
                                       done, context);
  });
}

}  // namespace

Result<> PmixServer::start(int processes) {
  choose_components();
  static pmix_server_module_t answers{};
  answers.client_finalized = &agree;
  answers.abort = &abort_is_reported_otherwise;
  answers.fence_nb = &fence;
  answers.direct_modex = &nothing_elsewhere;
  const pmix_status_t status = PMIx_server_init(&answers, nullptr, 0);
  if (status != PMIX_SUCCESS) return failed("PMIx_server_init", status);
  PMIX_LOAD_NSPACE(g_job, ("mpcrun." + std::to_string(::getpid())).c_str());
  MPC_TRY(register_job(processes));
  for (int p = 0; p < processes; ++p) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, g_job, static_cast<pmix_rank_t>(p));
    MPC_TRY(wait_for("PMIx_server_register_client", [&](auto done, void* context) {
      return PMIx_server_register_client(&process, ::getuid(), ::getgid(), nullptr,
                                         done, context);
    }));
  }
  return {};
}

Result<std::vector<std::string>> PmixServer::environment_of(int process) {
  pmix_proc_t which;
  PMIX_LOAD_PROCID(&which, g_job, static_cast<pmix_rank_t>(process));
  char** words = nullptr;
  const pmix_status_t status = PMIx_server_setup_fork(&which, &words);
  if (status != PMIX_SUCCESS) return failed("PMIx_server_setup_fork", status);
  std::vector<std::string> out;
  for (char** word = words; word != nullptr && *word != nullptr; ++word)
    out.emplace_back(*word);
  return out;
}

}  // namespace mpc::launch

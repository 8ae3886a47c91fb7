#include "tools/mpclaunch/pmix_server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>

namespace mpc::launch {
namespace {

pmix_nspace_t g_job;       // its name
Relay* g_relay = nullptr;  // to other hosts

// A call of the library that waits until the other hosts have answered.
struct Waiting {
  pmix_modex_cbfunc_t done = nullptr;
  void* context = nullptr;
};
std::mutex g_mutex;
std::deque<Waiting> g_fences;            // guarded by g_mutex
std::map<int64_t, Waiting> g_questions;  // likewise
int64_t g_last_question = 0;             // likewise

Error failed(const char* what, pmix_status_t status) {
  return {Errc::kSystem, std::string(what) + ": " + PMIx_Error_string(status)};
}

// Ownership: the library frees the copy.
void give(const Waiting& waiting, pmix_status_t status, std::string_view put) {
  char* const copy =
      put.empty() ? nullptr : static_cast<char*>(std::malloc(put.size()));
  if (copy != nullptr) std::memcpy(copy, put.data(), put.size());
  waiting.done(put.empty() || copy != nullptr ? status : PMIX_ERR_NOMEM, copy,
               copy != nullptr ? put.size() : 0, waiting.context, &std::free, copy);
}

// --- questions of clients, on the library's thread ----------------------------------------------

pmix_status_t agree(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t abort_is_reported_otherwise(const pmix_proc_t*, void*, int, const char*,
                                          pmix_proc_t*, size_t, pmix_op_cbfunc_t,
                                          void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

// All processes of this host are here. If there is no other host, they get what they gave.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data,
                    size_t bytes, pmix_modex_cbfunc_t done, void* context) {
  if (g_relay == nullptr) {
    give({done, context}, PMIX_SUCCESS, {data, bytes});
    return PMIX_SUCCESS;
  }
  {
    const std::lock_guard lock(g_mutex);
    g_fences.push_back({done, context});
  }
  g_relay->fence({data, bytes});
  return PMIX_SUCCESS;
}

pmix_status_t ask_others(const pmix_proc_t* process, const pmix_info_t*, size_t,
                         pmix_modex_cbfunc_t done, void* context) {
  // Data that are not there have not been put, because all other processes are on this host.
  if (g_relay == nullptr) return PMIX_ERR_NOT_FOUND;
  int64_t number = 0;
  {
    const std::lock_guard lock(g_mutex);
    number = ++g_last_question;
    g_questions[number] = {done, context};
  }
  g_relay->ask(number, static_cast<int>(process->rank));
  return PMIX_SUCCESS;
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

// Chooses memory of the processes themselves where the library would use files; serves this host
// only, and only
// the processes that we start.
void choose_components() {
  set_default("PMIX_MCA_gds", "hash");
  set_default("PMIX_MCA_psec", "native");
  set_default("PMIX_MCA_ptl_base_if_include", "lo");
  set_default("PMIX_MCA_pcompress_base_silence_warning", "1");
}

// "0,1,2;3,4": the processes of each host.
std::string processes_of(const Plan& plan, int host) {
  std::string out;
  for (int p = plan.first_process(host); p < plan.first_process(host + 1); ++p)
    out += (out.empty() ? "" : ",") + std::to_string(p);
  return out;
}

// Not the names that hosts give themselves: two of them may have the same name.
std::string name_of(const Plan& plan, int host) {
  if (plan.hosts.size() == 1) {
    char name[256] = "localhost";
    ::gethostname(name, sizeof name - 1);
    return name;
  }
  return "host" + std::to_string(host);
}

Result<> register_job(const Plan& plan, int host) {
  std::string names, lists;
  const int count = static_cast<int>(plan.hosts.size());
  for (int h = 0; h < count; ++h) {
    names += (h == 0 ? "" : ",") + name_of(plan, h);
    lists += (h == 0 ? "" : ";") + processes_of(plan, h);
  }
  char* hosts = nullptr;
  char* ranks = nullptr;
  PMIx_generate_regex(names.c_str(), &hosts);
  PMIx_generate_ppn(lists.c_str(), &ranks);
  const auto all = static_cast<uint32_t>(plan.processes());
  const int here = plan.first_process(host + 1) - plan.first_process(host);
  const auto local = static_cast<uint32_t>(here), nodes = static_cast<uint32_t>(count);
  const std::string peers = processes_of(plan, host);
  std::vector<pmix_info_t> about(8);
  PMIX_INFO_LOAD(&about[0], PMIX_UNIV_SIZE, &all, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[1], PMIX_JOB_SIZE, &all, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[2], PMIX_MAX_PROCS, &all, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[3], PMIX_LOCAL_SIZE, &local, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[4], PMIX_NUM_NODES, &nodes, PMIX_UINT32);
  PMIX_INFO_LOAD(&about[5], PMIX_LOCAL_PEERS, peers.c_str(), PMIX_STRING);
  PMIX_INFO_LOAD(&about[6], PMIX_NODE_MAP, hosts, PMIX_REGEX);
  PMIX_INFO_LOAD(&about[7], PMIX_PROC_MAP, ranks, PMIX_REGEX);
  return wait_for("PMIx_server_register_nspace", [&](auto done, void* context) {
    return PMIx_server_register_nspace(g_job, here, about.data(), about.size(), done,
                                       context);
  });
}

Result<> register_process(int process) {
  pmix_proc_t name;
  PMIX_LOAD_PROCID(&name, g_job, static_cast<pmix_rank_t>(process));
  return wait_for("PMIx_server_register_client", [&](auto done, void* context) {
    return PMIx_server_register_client(&name, ::getuid(), ::getgid(), nullptr, done,
                                       context);
  });
}

struct LookUp {
  PmixServer::Answered done;
  void* context;
};

void looked_up(pmix_status_t status, char* data, size_t bytes, void* arg) {
  const std::unique_ptr<LookUp> look_up(static_cast<LookUp*>(arg));
  look_up->done(look_up->context, status, {data, bytes});
}

}  // namespace

Result<> PmixServer::start(const Plan& plan, int host, const std::string& job,
                           Relay* relay) {
  choose_components();
  g_relay = relay;
  static pmix_server_module_t answers{};
  answers.client_finalized = &agree;
  answers.abort = &abort_is_reported_otherwise;
  answers.fence_nb = &fence;
  answers.direct_modex = &ask_others;
  const std::string name = name_of(plan, host);
  pmix_info_t own_name;
  PMIX_INFO_LOAD(&own_name, PMIX_HOSTNAME, name.c_str(), PMIX_STRING);
  const pmix_status_t status = PMIx_server_init(&answers, &own_name, 1);
  if (status != PMIX_SUCCESS) return failed("PMIx_server_init", status);
  PMIX_LOAD_NSPACE(g_job, job.c_str());
  MPC_TRY(register_job(plan, host));
  for (int p = plan.first_process(host); p < plan.first_process(host + 1); ++p)
    MPC_TRY(register_process(p));
  return {};
}

void PmixServer::fence_done(std::string_view put) {
  Waiting waiting;
  {
    const std::lock_guard lock(g_mutex);
    if (g_fences.empty()) return;
    waiting = g_fences.front();
    g_fences.pop_front();
  }
  give(waiting, PMIX_SUCCESS, put);
}

void PmixServer::answer(int64_t number, int status, std::string_view put) {
  Waiting waiting;
  {
    const std::lock_guard lock(g_mutex);
    const auto found = g_questions.find(number);
    if (found == g_questions.end()) return;
    waiting = found->second;
    g_questions.erase(found);
  }
  give(waiting, status, put);
}

void PmixServer::look_up(int process, Answered done, void* context) {
  pmix_proc_t name;
  PMIX_LOAD_PROCID(&name, g_job, static_cast<pmix_rank_t>(process));
  auto* const look_up = new LookUp{done, context};
  const pmix_status_t status = PMIx_server_dmodex_request(&name, &looked_up, look_up);
  if (status != PMIX_SUCCESS) looked_up(status, nullptr, 0, look_up);
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

// libmpc-wireup-pmix.so: a PMIx client as a Modex. The one file of the runtime that knows PMIx.
#include <pmix.h>

#include <climits>
#include <memory>

#include "base/index_list.h"
#include "runtime/wireup/modex.h"

namespace mpc::wireup {
namespace {

std::string text_of(pmix_status_t status) { return PMIx_Error_string(status); }

class PmixModex final : public Modex {
 public:
  Result<> open() {
    const pmix_status_t status = PMIx_Init(&self_, nullptr, 0);
    if (status == PMIX_ERR_UNREACH)
      return {
          Errc::kSystem,
          "PMIx finds no server, though there are variables of one: start the job by "
          "'mpcrun -n RANKS -p PROCESSES', 'srun --mpi=pmix' or Open MPI's mpirun"};
    if (status != PMIX_SUCCESS) return {Errc::kSystem, "PMIx_Init: " + text_of(status)};
    MPC_TRY(read(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size_));
    MPC_TRY(read(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &local_size_));
    return read(self_.rank, PMIX_LOCAL_RANK, &local_index_);
  }

  int index() const noexcept override { return static_cast<int>(self_.rank); }
  int size() const noexcept override { return size_; }
  int local_index() const noexcept override { return local_index_; }
  int local_size() const noexcept override { return local_size_; }

  // "0,1,2", on whatever hosts: not all process managers provide more.
  Result<std::vector<int>> local_peers() override {
    pmix_proc_t whom = self_;
    whom.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&whom, PMIX_LOCAL_PEERS, nullptr, 0, &value);
    if (status != PMIX_SUCCESS)
      return {Errc::kSystem,
              std::string("PMIx_Get: " PMIX_LOCAL_PEERS ": ") + text_of(status)};
    std::string list;
    if (value->type == PMIX_STRING && value->data.string != nullptr)
      list = value->data.string;
    PMIX_VALUE_RELEASE(value);
    return parse_index_list(list);
  }

  Result<> put(std::string_view key, const Bytes& bytes) override {
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
    value.data.bo.size = bytes.size();
    const pmix_status_t status =
        PMIx_Put(PMIX_GLOBAL, std::string(key).c_str(), &value);  // makes a copy
    if (status == PMIX_SUCCESS) return {};
    return {Errc::kSystem, "PMIx_Put: " + text_of(status)};
  }

  Result<> exchange() override {
    if (const pmix_status_t status = PMIx_Commit(); status != PMIX_SUCCESS)
      return {Errc::kSystem, "PMIx_Commit: " + text_of(status)};
    return fence(true);
  }

  Result<Bytes> get(int process, std::string_view key) override {
    pmix_proc_t whom = self_;
    whom.rank = static_cast<pmix_rank_t>(process);
    pmix_value_t* value = nullptr;
    const pmix_status_t status =
        PMIx_Get(&whom, std::string(key).c_str(), nullptr, 0, &value);
    if (status != PMIX_SUCCESS || value->type != PMIX_BYTE_OBJECT)
      return {Errc::kSystem, "PMIx_Get: " + std::string(key) + " of process " +
                                 std::to_string(process) + ": " + text_of(status)};
    const auto* first = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    Bytes bytes(first, first + value->data.bo.size);
    PMIX_VALUE_RELEASE(value);
    return bytes;
  }

  Result<> barrier() override { return fence(false); }
  void finalize() noexcept override { PMIx_Finalize(nullptr, 0); }
  void abort(int status, std::string_view why) noexcept override {
    PMIx_Abort(status, std::string(why).c_str(), nullptr, 0);
  }

 private:
  // Process managers differ in the type of a number.
  Result<> read(pmix_rank_t rank, const char* key, int* out) {
    pmix_proc_t whom = self_;
    whom.rank = rank;
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&whom, key, nullptr, 0, &value);
    if (status != PMIX_SUCCESS)
      return {Errc::kSystem, std::string("PMIx_Get: ") + key + ": " + text_of(status)};
    const auto type = value->type;
    *out = type == PMIX_UINT32   ? static_cast<int>(value->data.uint32)
           : type == PMIX_UINT16 ? static_cast<int>(value->data.uint16)
           : type == PMIX_INT    ? value->data.integer
                                 : INT_MIN;
    PMIX_VALUE_RELEASE(value);
    if (*out >= 0) return {};
    return {Errc::kSystem, std::string("PMIx_Get: ") + key + " is no number"};
  }

  Result<> fence(bool collects) {
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
    const pmix_status_t status = PMIx_Fence(&all, 1, &info, 1);
    if (status == PMIX_SUCCESS) return {};
    return {Errc::kSystem, "PMIx_Fence: " + text_of(status)};
  }

  pmix_proc_t self_{};
  int size_ = 1, local_size_ = 1, local_index_ = 0;
};

}  // namespace
}  // namespace mpc::wireup

extern "C" __attribute__((visibility("default"))) mpc::wireup::Modex* mpc_open_modex(
    std::string* problem) {
  auto modex = std::make_unique<mpc::wireup::PmixModex>();
  if (const auto opened = modex->open(); !opened) {
    *problem = opened.error().message;
    return nullptr;
  }
  return modex.release();
}

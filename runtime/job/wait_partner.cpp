#include "runtime/job/wait_partner.h"

#include <array>

#include "base/check.h"

namespace mpc::job {
namespace {

constexpr size_t kMostSources = 8;
constinit std::array<PartnerSource, kMostSources> sources{};
constinit size_t source_count = 0;

}  // namespace

void add_partner_source(PartnerSource source) noexcept {
  CHECK(source_count < kMostSources, "more sources than kMostSources");
  sources[source_count++] = source;
}

WaitPartner partner_of(const sched::WaitReason& reason) {
  WaitPartner partner;
  for (size_t i = 0; i < source_count; ++i)
    if (sources[i](reason, partner)) break;
  return partner;
}

}  // namespace mpc::job

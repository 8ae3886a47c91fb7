#include "mpi/objects/block_claims.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "mpi/objects/fault.h"

namespace mpc::mpi {
namespace {

using dt::Count;
using nbc::Layout;

const BlockClaim* find(const std::vector<BlockClaim>& list, int peer, int channel) {
  const auto key = [](const BlockClaim& one) {
    return std::tuple(one.peer, one.channel);
  };
  const auto at = std::ranges::lower_bound(list, std::tuple(peer, channel), {}, key);
  return at != list.end() && key(*at) == std::tuple(peer, channel) ? &*at : nullptr;
}

void sort(std::vector<BlockClaim>& list) {
  std::ranges::sort(list, {}, [](const BlockClaim& one) {
    return std::tuple(one.peer, one.channel);
  });
}

// Puts the blocks of one call together.
class Blocks {
 public:
  Blocks(const nbc::Shape& shape, std::span<const dt::Datatype* const> pair,
         std::span<const dt::Datatype* const> many_types)
      : shape_(shape),
        traits_(nbc::traits_of(shape.coll)),
        pair_(pair),
        many_types_(many_types) {}

  BlockClaims take() {
    if (traits_.is_neighborhood)
      add_neighbours();
    else if (!traits_.has_blocks() || traits_.is_reduction)
      return {};
    else if (!traits_.is_irregular())
      add_own();
    else if (traits_.is_rooted())
      add_rooted();
    else
      add_all();
    sort(claims_.in);
    sort(claims_.out);
    return std::move(claims_);
  }

 private:
  bool is_root() const noexcept { return shape_.rank == shape_.root; }
  size_t first_recv_type() const noexcept {
    return traits_.is_neighborhood ? shape_.destinations.size()
                                   : static_cast<size_t>(shape_.size);
  }

  BlockClaim block(int peer, Count count, const dt::Datatype* type) const {
    BlockClaim out;
    out.peer = peer;
    if (type == nullptr) return out;
    out.count = count;
    out.hash = dt::hash_repeat(type->signature_hash(), count);
    out.type_elements = type->elements();
    out.type_code = type->abi_code();
    out.uniform_code = type->uniform_code();
    return out;
  }
  BlockClaim sent(size_t i, int peer) const {
    if (traits_.send == Layout::kTyped)
      return block(peer, shape_.send_counts[i], many_types_[i]);
    const bool is_counted = traits_.send == Layout::kCounted;
    return block(peer, is_counted ? shape_.send_counts[i] : shape_.send_count,
                 pair_[0]);
  }
  BlockClaim received(size_t i, int peer) const {
    if (traits_.recv == Layout::kTyped)
      return block(peer, shape_.recv_counts[i], many_types_[first_recv_type() + i]);
    const bool is_counted = traits_.recv == Layout::kCounted;
    return block(peer, is_counted ? shape_.recv_counts[i] : shape_.recv_count,
                 pair_[1]);
  }

  // All members have the same blocks, which is compared elsewhere. Only the member's block to
  // itself is added.
  void add_own() {
    if (shape_.is_in_place || (traits_.is_rooted() && !is_root())) return;
    claims_.out.push_back(sent(0, shape_.rank));
    claims_.in.push_back(received(0, shape_.rank));
  }

  void add_rooted() {
    const bool has_all = is_root(), skips_own = has_all && shape_.is_in_place;
    const bool root_sends = traits_.root == nbc::RootRole::kSends;
    std::vector<BlockClaim>& of_root = root_sends ? claims_.out : claims_.in;
    std::vector<BlockClaim>& of_member = root_sends ? claims_.in : claims_.out;
    for (int i = 0; has_all && i < shape_.size; ++i) {
      if (skips_own && i == shape_.rank) continue;
      const auto at = static_cast<size_t>(i);
      of_root.push_back(root_sends ? sent(at, i) : received(at, i));
    }
    if (!skips_own)
      of_member.push_back(root_sends ? received(0, shape_.root) : sent(0, shape_.root));
  }

  void add_all() {
    const bool sends_one = traits_.send == Layout::kWhole;
    for (int i = 0; i < shape_.size; ++i) {
      const auto at = static_cast<size_t>(i);
      claims_.in.push_back(received(at, i));
      if (!sends_one)
        claims_.out.push_back(shape_.is_in_place ? claims_.in.back() : sent(at, i));
    }
    if (sends_one)
      claims_.out_to_all = shape_.is_in_place
                               ? claims_.in[static_cast<size_t>(shape_.rank)]
                               : sent(0, shape_.rank);
  }

  // Outgoing and incoming edges are paired as in nbc/algorithms/neighbor.cpp.
  void add_neighbours() {
    std::map<int, int> seen[2];
    for (size_t i = 0; i < shape_.destinations.size(); ++i) {
      const int peer = shape_.destinations[i], index = static_cast<int>(i);
      if (peer < 0) continue;
      claims_.out.push_back(sent(i, peer));
      claims_.out.back().channel = shape_.is_cartesian ? index : seen[0][peer]++;
    }
    for (size_t i = 0; i < shape_.sources.size(); ++i) {
      const int peer = shape_.sources[i], index = static_cast<int>(i);
      if (peer < 0) continue;
      claims_.in.push_back(received(i, peer));
      claims_.in.back().channel = shape_.is_cartesian ? index ^ 1 : seen[1][peer]++;
    }
  }

  const nbc::Shape& shape_;
  const nbc::CollTraits& traits_;
  std::span<const dt::Datatype*const> pair_, many_types_;
  BlockClaims claims_;
};

}  // namespace

std::string BlockClaim::text() const {
  return elements_text(count, type_code, uniform_code, type_elements);
}

bool fits(const BlockClaim& sent, const BlockClaim& received) noexcept {
  if (sent.is_empty() || received.is_empty())
    return sent.is_empty() && received.is_empty();
  if (sent.uniform_code == dt::abi::kPacked ||
      received.uniform_code == dt::abi::kPacked)
    return true;
  return sent.hash == received.hash;
}

std::span<const BlockClaim> BlockClaims::all_from(int peer) const noexcept {
  // Not a std::ranges::subrange: clang 14 does not accept that of the standard library.
  const auto first = std::ranges::lower_bound(in, peer, {}, &BlockClaim::peer);
  const auto last = std::ranges::upper_bound(in, peer, {}, &BlockClaim::peer);
  return {first, last};
}

const BlockClaim* BlockClaims::to(int peer, int channel) const noexcept {
  return out_to_all.has_value() ? &*out_to_all : find(out, peer, channel);
}

BlockClaims blocks_of(const nbc::Shape& shape,
                      std::span<const dt::Datatype* const> pair,
                      std::span<const dt::Datatype* const> many_types) {
  return Blocks(shape, pair, many_types).take();
}

void put_blocks(ByteWriter& out, const BlockClaims& blocks) {
  out.put_all(std::span<const BlockClaim>(blocks.in));
  out.put_all(std::span<const BlockClaim>(blocks.out));
  out.put(blocks.out_to_all.has_value());
  if (blocks.out_to_all.has_value()) out.put(*blocks.out_to_all);
}

BlockClaims get_blocks(ByteReader& in) {
  BlockClaims blocks;
  blocks.in = in.get_all<BlockClaim>();
  blocks.out = in.get_all<BlockClaim>();
  if (in.get<bool>()) blocks.out_to_all = in.get<BlockClaim>();
  return blocks;
}

}  // namespace mpc::mpi

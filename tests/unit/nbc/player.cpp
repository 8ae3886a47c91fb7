#include "tests/unit/nbc/player.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mpc::nbc::test {

namespace {

dt::TypeRef make_real(int index) {
  const dt::Datatype& byte = *dt::predefined(dt::abi::kByte);
  const CaseType& type = case_type(index);
  std::vector<Count> lengths, offsets;
  for (const auto& [offset, bytes] : type.verify.blocks) {
    offsets.push_back(offset);
    lengths.push_back(bytes);
  }
  auto blocks = dt::make_hindexed(lengths, offsets, byte).value();
  auto resized = dt::make_resized(*blocks, 0, type.verify.extent).value();
  resized->commit();
  return resized;
}

}  // namespace

const dt::Datatype* real_type(int index) {
  static const dt::TypeRef types[kCaseTypes] = {make_real(0), make_real(1),
                                                make_real(2), make_real(3)};
  return types[index].get();
}

unsigned char sum(unsigned char a, unsigned char b) {
  return static_cast<unsigned char>(a + b);
}

unsigned char compose(unsigned char a, unsigned char b) {
  const int a1 = a >> 4, b1 = a & 15, a2 = b >> 4, b2 = b & 15;
  return static_cast<unsigned char>((a1 * a2 & 15) << 4 | ((a1 * b2 + b1) & 15));
}

Player::Player(Case c, const Algorithm& algorithm, bool is_user_operation,
               const std::vector<int>& world_ranks, int tag_base)
    : case_(std::move(c)),
      algorithm_(algorithm),
      is_user_operation_(is_user_operation),
      world_ranks_(world_ranks),
      tag_base_(tag_base) {
  for (const RankCase& r : case_.ranks) {
    PerRank& p = ranks_.emplace_back();
    p.player = this;
    p.is_user = is_user_operation;
    p.world_rank = world_ranks_[static_cast<size_t>(r.shape.rank)];
    auto place = [](const std::vector<Block>& blocks, Memory& memory) {
      const auto [low, high] = bounds(blocks);
      memory.low = low;
      memory.bytes.resize(static_cast<size_t>(high - low));
      memory.base = memory.bytes.data() - low;
    };
    place(r.send, p.send);
    place(r.recv, p.recv);
    p.buffers[kSendBuffer] = p.send.base;
    p.buffers[kRecvBuffer] = p.recv.base;
    for (int index : r.type_indices) p.types.push_back(real_type(index));
    p.type = r.type_indices.size() > 1 ? r.type_indices[1] : 0;
    p.schedule = build(r.shape, algorithm).value();
  }
}

std::shared_ptr<const Schedule> Player::schedule(int rank) const {
  return ranks_[static_cast<size_t>(rank)].schedule;
}

void Player::apply(void* context, const void* in, void* inout, Count n) {
  const PerRank& p = *static_cast<PerRank*>(context);
  if (p.is_user) {
    const job::Rank* rank = job::current_rank();
    if (rank == nullptr || rank->world_rank != p.world_rank) {
      std::fprintf(stderr, "a user operation of rank %d ran elsewhere\n", p.world_rank);
      std::abort();
    }
    if (!p.player->may_run_in_background_ && rank->progress != nullptr &&
        rank->progress->is_running_here()) {
      std::fprintf(stderr, "a user operation of rank %d ran in the background\n",
                   p.world_rank);
      std::abort();
    }
  }
  const VerifyType& type = case_type(p.type).verify;
  const auto* a = static_cast<const unsigned char*>(in);
  auto* b = static_cast<unsigned char*>(inout);
  const bool is_commutative = p.player->case_.is_commutative;
  for (Count i = 0; i < n; ++i)
    for (const auto& [offset, bytes] : type.blocks)
      for (int64_t k = 0; k < bytes; ++k) {
        const int64_t at = i * type.extent + offset + k;
        b[at] = is_commutative ? sum(a[at], b[at]) : compose(a[at], b[at]);
      }
}

void Player::apply3(void* context, const void* a, const void* b, void* out, Count n) {
  const PerRank& p = *static_cast<PerRank*>(context);
  const auto bytes = static_cast<size_t>(n * case_type(p.type).verify.size());
  std::memcpy(out, b, bytes);  // contiguous types only
  apply(context, a, out, n);
}

Binding Player::binding(int rank) const {
  const PerRank& p = ranks_[static_cast<size_t>(rank)];
  Binding b;
  b.buffers = p.buffers;
  b.types = p.types;
  b.reduction = {
      apply,   const_cast<PerRank*>(&p), is_user_operation_, case_.is_commutative,
      nullptr, may_run_in_background_};
  if (p.type == 0 && !is_user_operation_ && tag_base_ / kTagsPerCollective % 2 != 0)
    b.reduction.apply3 = apply3;
  b.world_ranks = world_ranks_;
  b.my_rank = rank;
  b.context = 7;
  b.tag_base = tag_base_;
  return b;
}

unsigned char Player::input(int rank, int64_t index, unsigned round) const {
  const auto x = static_cast<uint64_t>(rank) * 1000003 +
                 static_cast<uint64_t>(index) * 8191 + round * 77773u +
                 static_cast<uint64_t>(tag_base_);
  return static_cast<unsigned char>((x * 0x9e3779b97f4a7c15ull) >> 40);
}

unsigned char Player::guard(int64_t offset, unsigned round) {
  return static_cast<unsigned char>(static_cast<uint64_t>(offset) * 37 + round + 11);
}

void Player::fill(int rank, unsigned round) {
  const RankCase& r = case_.ranks[static_cast<size_t>(rank)];
  PerRank& p = ranks_[static_cast<size_t>(rank)];
  for (Memory* memory : {&p.send, &p.recv})
    for (size_t i = 0; i < memory->bytes.size(); ++i)
      memory->bytes[i] = guard(memory->low + static_cast<int64_t>(i), round);
  const auto offsets = packed_offsets(r.input_in_recv ? r.recv : r.send);
  Memory& memory = r.input_in_recv ? p.recv : p.send;
  for (int64_t k = 0; k < r.input_bytes; ++k)
    memory.at(offsets[static_cast<size_t>(r.input_offset + k)]) = input(rank, k, round);
}

std::string Player::check(int rank, unsigned round) const {
  const RankCase& r = case_.ranks[static_cast<size_t>(rank)];
  const Memory& recv = ranks_[static_cast<size_t>(rank)].recv;
  const auto offsets = packed_offsets(r.recv);
  std::vector<bool> is_data(recv.bytes.size());
  for (size_t k = 0; k < offsets.size(); ++k)
    is_data[static_cast<size_t>(offsets[k] - recv.low)] = true;
  for (size_t k = 0; k < r.want.size(); ++k) {
    const Want& want = r.want[k];
    if (want.ranks.empty()) continue;
    unsigned char value = input(want.ranks[0], want.index, round);
    for (size_t i = 1; i < want.ranks.size(); ++i) {
      const unsigned char next = input(want.ranks[i], want.index, round);
      value = case_.is_commutative ? sum(value, next) : compose(value, next);
    }
    if (recv.at(offsets[k]) != value)
      return fmt::format("{} by {}: rank {} byte {} is {}, not {}", case_.text(),
                         algorithm_.name, rank, k, recv.at(offsets[k]), value);
  }
  for (size_t i = 0; i < recv.bytes.size(); ++i)
    if (!is_data[i] &&
        recv.bytes[i] != guard(recv.low + static_cast<int64_t>(i), round))
      return fmt::format("{} by {}: rank {} wrote into a gap", case_.text(),
                         algorithm_.name, rank);
  return "";
}

}  // namespace mpc::nbc::test

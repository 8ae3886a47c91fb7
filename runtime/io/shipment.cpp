#include "runtime/io/shipment.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mpc::io {
namespace {

// Calls take(part, from, to) for the bytes of each part's stream that lie in [begin, end) of the file.
template <class Take>
void for_each_piece(std::span<const Part> parts, Count begin, Count end, Take take) {
  for (const Part& part : parts) {
    if (part.bytes == 0 || part.first >= end || part.last <= begin) continue;
    const Count from = std::max(part.view->stream_before(begin), part.begin);
    const Count to = std::min(part.view->stream_before(end), part.begin + part.bytes);
    if (from < to) take(part, from, to);
  }
}

// Calls take(offset, data, bytes) for each run.
template <class Take>
void for_each_run(const Shipment& shipment, Take take) {
  char* at = shipment.data();
  for (const RunGroup& group : shipment.groups) {
    Count offset = group.offset;
    for (Count i = 0; i < group.count; ++i) {
      take(offset, at, group.bytes);
      offset += group.stride;
      at += group.bytes;
    }
  }
}

// The part of the file from the first to the last byte of all data, and the number of these.
struct Span {
  Count first = kNotStopped, last = 0, bytes = 0;
  Count length() const noexcept { return last - first; }
};

Span span_of(std::span<const Shipment> all) {
  Span span;
  for (const Shipment& shipment : all) {
    if (shipment.data() == nullptr) continue;
    for (const RunGroup& group : shipment.groups) {
      span.first = std::min(span.first, group.offset);
      span.last = std::max(
          span.last, group.offset + (group.count - 1) * group.stride + group.bytes);
      span.bytes += group.count * group.bytes;
    }
  }
  return span;
}

void fill(std::span<const Shipment> all, Count first, char* image, char* marks) {
  for (const Shipment& shipment : all) {
    if (shipment.data() == nullptr) continue;
    for_each_run(shipment, [&](Count offset, const char* data, Count bytes) {
      std::memcpy(image + (offset - first), data, static_cast<size_t>(bytes));
      if (marks != nullptr)
        std::memset(marks + (offset - first), 1, static_cast<size_t>(bytes));
    });
  }
}

// The data in the gaps are read first and written back.
WindowOutcome rewrite(const Target& target, std::span<const Shipment> all,
                      const Span& span, char* image) {
  const FileLocked lock(target.lock, false);
  const RangeLocked range(target, span.first, span.last);
  const Outcome got = target.file.read_at(image, span.length(), span.first);
  if (got.error != 0) return {got.error, span.first};
  std::memset(image + got.bytes, 0, static_cast<size_t>(span.length() - got.bytes));
  fill(all, span.first, image, nullptr);
  const Outcome done = target.file.write_at(image, span.length(), span.first);
  if (done.error == 0) return {};
  return {done.error, span.first + done.bytes};
}

}  // namespace

bool Shipment::make_room(Count wanted) noexcept {
  bytes = wanted;
  memory =
      wanted > 0 ? std::make_unique<Scratch>(static_cast<size_t>(wanted)) : nullptr;
  return wanted == 0 || memory->data() != nullptr;
}

void Shipment::add_run(Count offset, Count run_bytes) {
  bytes += run_bytes;
  if (!groups.empty() && groups.back().bytes == run_bytes) {
    RunGroup& last = groups.back();
    const Count step = offset - (last.offset + (last.count - 1) * last.stride);
    if (step > 0 && (last.count == 1 || step == last.stride)) {
      last.stride = step;
      ++last.count;
      return;
    }
  }
  groups.push_back({offset, run_bytes, 0, 1});
}

Shipment describe(std::span<const Part> parts, Count begin, Count end) {
  Shipment out;
  for_each_piece(parts, begin, end, [&](const Part& part, Count from, Count to) {
    FileRuns runs(*part.view, from, to);
    for (FileRuns::Run run{}; runs.next(&run);) out.add_run(run.offset, run.bytes);
  });
  return out;
}

void load(std::span<const Part> parts, Count begin, Count end, Shipment& shipment) {
  char* at = shipment.data();
  for_each_piece(parts, begin, end, [&](const Part& part, Count from, Count to) {
    const Buffer& b = part.buffer;
    const auto bytes = static_cast<size_t>(to - from);
    const auto skipped = static_cast<size_t>(from - part.begin);
    if (b.is_contiguous())
      std::memcpy(at, b.data() + skipped, bytes);
    else
      dt::pack(b.base, *b.type, b.count, skipped, at, bytes);
    at += bytes;
  });
}

void unload(std::span<const Part> parts, Count begin, Count end,
            const Shipment& shipment, Count stop) {
  const char* at = shipment.data();
  for_each_piece(parts, begin, end, [&](const Part& part, Count from, Count to) {
    const Buffer& b = part.buffer;
    const Count there =
        stop == kNotStopped ? to : std::clamp(part.view->stream_before(stop), from, to);
    const auto bytes = static_cast<size_t>(there - from);
    const auto skipped = static_cast<size_t>(from - part.begin);
    if (b.is_contiguous() && bytes > 0)
      std::memcpy(b.data() + skipped, at, bytes);
    else if (bytes > 0)
      dt::unpack(b.base, *b.type, b.count, skipped, at, bytes);
    at += to - from;
  });
}

WindowOutcome write_shipments(const Target& target, std::span<const Shipment> all) {
  const Span span = span_of(all);
  if (span.bytes == 0) return {};
  const auto length = static_cast<size_t>(span.length());
  const Scratch image(length);
  if (image.data() == nullptr) return {ENOMEM, span.first};
  if (span.bytes < span.length() && target.may_rewrite &&
      target.tuning.sieve_writes != Switch::kDisable)
    return rewrite(target, all, span, image.data());
  // Runs may overlap, so the sum of their lengths does not tell whether there are gaps.
  const Scratch marks(length);
  if (marks.data() == nullptr) return {ENOMEM, span.first};
  std::memset(marks.data(), 0, length);
  fill(all, span.first, image.data(), marks.data());
  return write_marked(target, image.data(), marks.data(), span.length(), span.first);
}

WindowOutcome read_shipments(const Target& target, std::span<Shipment> all) {
  const Span span = span_of(all);
  if (span.bytes == 0) return {};
  const Scratch image(static_cast<size_t>(span.length()));
  if (image.data() == nullptr) return {ENOMEM, span.first};
  const Outcome got = target.file.read_at(image.data(), span.length(), span.first);
  const Count stop = span.first + got.bytes;
  for (const Shipment& shipment : all) {
    if (shipment.data() == nullptr) continue;
    for_each_run(shipment, [&](Count offset, char* data, Count bytes) {
      const Count there = std::clamp<Count>(stop - offset, 0, bytes);
      if (there > 0)
        std::memcpy(data, image.data() + (offset - span.first),
                    static_cast<size_t>(there));
    });
  }
  if (got.error != 0) return {got.error, stop};
  return {0, got.bytes < span.length() ? stop : kNotStopped};
}

}  // namespace mpc::io

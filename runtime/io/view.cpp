#include "runtime/io/view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/io/layout_search.h"

namespace mpc::io {
namespace {

Count integer(const void* address) noexcept {
  return static_cast<Count>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

View::View(Count displacement, Count etype_bytes, dt::TypeRef filetype)
    : displacement_(displacement),
      etype_bytes_(etype_bytes),
      filetype_(std::move(filetype)),
      size_(filetype_->size()),
      extent_(filetype_->extent()),
      is_contiguous_(filetype_->is_contiguous() || size_ == 0) {
  if (size_ == 0) return;
  const dt::Layout& layout = filetype_->layout();
  mean_run_ = std::max<Count>(size_ / block_count(layout), 1);
  if (is_contiguous_) return;
  first_ = first_offset(layout);
  has_ordered_tiles_ = only_goes_up(layout);
  is_ordered_ = has_ordered_tiles_ && end_offset(layout) - first_ <= extent_;
}

Count View::offset_of(Count byte) const noexcept {
  if (is_contiguous_) return displacement_ + byte;
  const Tile tile = tile_of(byte);
  const dt::Cursor at(nullptr, filetype_->layout(), 1, extent_, byte - tile.first);
  return tile.at + integer(at.position());
}

Count View::stream_before(Count offset) const noexcept {
  if (is_contiguous_) return std::max<Count>(offset - displacement_, 0);
  const Count beyond = offset - displacement_ - first_;
  if (beyond <= 0) return 0;
  const Count tile = beyond / extent_;
  return tile * size_ +
         bytes_before(filetype_->layout(), offset - displacement_ - tile * extent_);
}

void View::to_image(const char* data, Count begin, Count end, char* image,
                    Count image_at) const noexcept {
  const auto bytes = static_cast<size_t>(end - begin);
  if (is_contiguous_) {
    std::memcpy(image + (displacement_ + begin - image_at), data, bytes);
    return;
  }
  const Tile tile = tile_of(begin);
  const Count tiles = (end - tile.first + size_ - 1) / size_;
  dt::unpack(dt::address(image, tile.at - image_at), *filetype_, tiles,
             static_cast<size_t>(begin - tile.first), data, bytes);
}

void View::from_image(char* data, Count begin, Count end, const char* image,
                      Count image_at) const noexcept {
  const auto bytes = static_cast<size_t>(end - begin);
  if (is_contiguous_) {
    std::memcpy(data, image + (displacement_ + begin - image_at), bytes);
    return;
  }
  const Tile tile = tile_of(begin);
  const Count tiles = (end - tile.first + size_ - 1) / size_;
  dt::pack(dt::address(image, tile.at - image_at), *filetype_, tiles,
           static_cast<size_t>(begin - tile.first), data, bytes);
}

FileRuns::FileRuns(const View& view, Count begin, Count end) : left_(end - begin) {
  if (left_ <= 0) return;
  if (view.is_contiguous()) {
    ahead_ = {view.offset_of(begin), std::exchange(left_, 0)};
    return;
  }
  const View::Tile tile = view.tile_of(begin);
  const Count tiles = (end - tile.first + view.size_ - 1) / view.size_;
  cursor_.emplace(dt::address(nullptr, tile.at), view.filetype_->layout(), tiles,
                  view.extent_, begin - tile.first);
  ahead_ = piece();
}

FileRuns::Run FileRuns::piece() {
  if (left_ <= 0) return {0, 0};
  const Count bytes = std::min(cursor_->contiguous_bytes(), left_);
  const Run run{integer(cursor_->position()), bytes};
  cursor_->pass_bytes(bytes);
  left_ -= bytes;
  return run;
}

bool FileRuns::next(Run* run) {
  if (ahead_.bytes == 0) return false;
  *run = std::exchange(ahead_, {0, 0});
  while (left_ > 0) {
    ahead_ = piece();
    if (ahead_.offset != run->offset + run->bytes) return true;
    run->bytes += ahead_.bytes;
    ahead_ = {0, 0};
  }
  return true;
}

}  // namespace mpc::io

// Bodies of MPI-4.1 section 15.3.9: categories, one for each layer that has variables.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mpi/impl/tool.h"
#include "mpi/tool/tool_state.h"
#include "mpi/tool/variables.h"

namespace mpc::mpi::impl {
namespace {

Err find_category(int index, const Category** out) {
  const auto& all = categories();
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return bad_index("category", index, all.size());
  *out = &all[static_cast<size_t>(index)];
  return kSuccess;
}

// Copies as many indices as there is room for.
void give_indices(const std::vector<int>& from, int length, int* out) {
  const size_t room = std::min(from.size(), static_cast<size_t>(std::max(length, 0)));
  std::copy_n(from.begin(), room, out);
}

// The contents of a category: `which` chooses the kind; null: no category has contents of that
// kind.
Err get_members(int index, int length, int* out, std::vector<int> Category::*which) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const Category* category = nullptr;
  MPC_MPI_TRY(find_category(index, &category));
  if (out == nullptr && length > 0)
    return fail(MPI_T_ERR_INVALID, "indices is a null pointer");
  if (which != nullptr)
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): found
    give_indices(category->*which, length, out);
  return kSuccess;
}

}  // namespace

Err t_category_get_num(int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *num = static_cast<int>(categories().size());
  return kSuccess;
}

Err t_category_get_index(const char* name, int* index) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const auto& all = categories();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    *index = static_cast<int>(i);
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_NAME, fmt::format("there is no category \"{}\"", name));
}

Err t_category_get_info(int index, char* name, int* name_len, char* desc, int* desc_len,
                        int* cvars, int* pvars, int* subcategories) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const Category* category = nullptr;
  MPC_MPI_TRY(find_category(index, &category));
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found
  give_text(category->name.c_str(), name, name_len);
  give_text(category->help, desc, desc_len);
  give(cvars, category->cvars.size());
  give(pvars, category->pvars.size());
  give(subcategories, 0);
  return kSuccess;
}

Err t_category_get_num_events(int index, int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const Category* category = nullptr;
  MPC_MPI_TRY(find_category(index, &category));
  give(num, 0);
  return kSuccess;
}

Err t_category_get_cvars(int index, int length, int* out) {
  return get_members(index, length, out, &Category::cvars);
}
Err t_category_get_pvars(int index, int length, int* out) {
  return get_members(index, length, out, &Category::pvars);
}
Err t_category_get_events(int index, int length, int* out) {
  return get_members(index, length, out, nullptr);
}
Err t_category_get_categories(int index, int length, int* out) {
  return get_members(index, length, out, nullptr);
}

Err t_category_changed(int* update_number) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *update_number = 0;  // nothing is ever added
  return kSuccess;
}

}  // namespace mpc::mpi::impl

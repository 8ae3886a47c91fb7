#pragma once
// Variables: settings and counters in the order in which tools see them, by layer.
//
// Role:      indices of control variables, performance variables, categories, enumerations. All are
//            constant: settings, counters and layers are known before main().
// Users:     mpi/tool.
// Threads:   any.
// See also:  base/settings.h, base/counter.h, docs/tools-interface.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/settings.h"
#include "mpi.h"

namespace mpc::mpi {

// The words of a setting that accepts one of a few words: its value is the index.
struct SettingWords {
  const SettingBase* setting;
  std::vector<std::string> words;
};

struct Category {
  std::string name;  // "message": the part before the dot
  const char* help;
  std::vector<int> cvars, pvars;
};

const std::vector<SettingBase*>& control_variables();        // sorted by name
const std::vector<const Counter*>& performance_variables();  // likewise
const std::vector<Category>& categories();                   // likewise
// Null: the setting has no words.
const SettingWords* words_of(const SettingBase& setting);
// Null: the handle is none of ours.
const SettingWords* words_of(MPI_T_enum handle);
MPI_T_enum handle_of(const SettingWords* words) noexcept;

// May it be set while ranks run? Such settings are read anew each time, and every value is right
// at any time.
bool is_writable(const SettingBase& setting);
// The type as which a tool reads it: MPI_INT (yes or no, words), MPI_COUNT (numbers) or MPI_CHAR
// (texts).
MPI_Datatype type_of(const SettingBase& setting) noexcept;
// Elements of that type.
int count_of(const SettingBase& setting) noexcept;

}  // namespace mpc::mpi

#pragma once
// Rank locale: gives the choice of a rank's setlocale() to its threads.
//
// Role:      a thread that a rank starts begins with the rank's locale.
// Users:     runtime/interpose/threads.cpp.
// Threads:   the thread that begins.

#include "runtime/job/rank.h"

namespace mpc::interpose {

void use_rank_locale_here(const job::Rank& rank) noexcept;

}  // namespace mpc::interpose

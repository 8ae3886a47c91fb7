#pragma once
// BorrowedEnvironment: lets libc's own reads of the environment see that of the caller's rank.
//
// Role:      libc reads variables by itself (TZ, LANG, PATH); while such an object lives it reads
//            the rank's.
// Users:     runtime/interpose, around short calls of libc.
// Threads:   one at a time, the others wait.

namespace mpc::interpose {

class BorrowedEnvironment {
 public:
  BorrowedEnvironment() noexcept;
  ~BorrowedEnvironment();
  BorrowedEnvironment(const BorrowedEnvironment&) = delete;
  BorrowedEnvironment& operator=(const BorrowedEnvironment&) = delete;

 private:
  char** before_;
};

// `environ` of the caller's rank, or of the process outside a job.
char** present_environment() noexcept;

}  // namespace mpc::interpose

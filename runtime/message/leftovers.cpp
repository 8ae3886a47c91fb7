#include "runtime/message/leftovers.h"

#include "runtime/message/mailbox.h"
#include "runtime/message/work.h"

namespace mpc::msg {

std::vector<Leftover> leftovers(job::Rank& self, bool (*wants)(ContextId context)) {
  Mailbox& mine = mailbox_of(self);
  std::vector<Leftover> out;
  out.reserve(mine.unexpected.size());
  Work work;
  mine.lock_now();
  mine.drain(work);
  for (const Entry* entry = mine.unexpected.first(); entry != nullptr;
       entry = entry->next[0]) {
    if (wants(entry->key.context)) out.push_back({entry->key, entry->bytes});
  }
  mine.unlock();
  work.run();
  return out;
}

}  // namespace mpc::msg

#include "nbc/engine/user_code.h"

#include "nbc/engine/completion.h"
#include "nbc/engine/local_work.h"

namespace mpc::nbc {

bool run_user_nodes(RankEngine& engine, ReadyList& ready) {
  NodeState *done = nullptr, *next = nullptr;
  do {
    if (!engine.enter_user_code()) break;
    for (NodeState* node = engine.take_user_nodes(); node != nullptr; node = next) {
      next = node->next_ready;
      do_work(*node->owner, node->owner->nodes[node->id]);
      node->next_ready = done;
      done = node;
    }
    engine.leave_user_code();
  } while (engine.has_user_nodes());
  const bool has_run = done != nullptr;
  for (; done != nullptr; done = next) {
    next = done->next_ready;
    complete_node(*done->owner, done->id, ready);
  }
  return has_run;
}

void run_user_node(NodeState& node, ReadyList& ready) {
  RankEngine& engine = *node.owner->engine;
  engine.keep_user_node(
      node);  // the collective may be complete and reused from here on
  run_user_nodes(engine, ready);
}

}  // namespace mpc::nbc

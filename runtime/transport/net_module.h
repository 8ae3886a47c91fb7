#pragma once
// NetModule: a network between real processes, in a library that is loaded when there are several.
//
// Role:      what such a library returns: a net, a source of events, an address. A job of one
//            process loads none of them, and no library behind them.
// Users:     runtime/transport/load_net.h opens one; runtime/transport/ucx is one.
// Threads:   see each function.
// See also:  runtime/transport/net.h, scheduler/poll/event_source.h.

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/transport/net.h"
#include "scheduler/poll/event_source.h"

namespace mpc::transport {

// How a process is reached: bytes that only the module understands.
using NetAddress = std::vector<std::byte>;

struct NetPeer {
  NetAddress address;
  bool is_same_host = false;
};

// Something of the network is broken, and messages to or from process `peer` may be lost (-1: not
// known whose). `problem`: one line. What follows from it is decided by whoever opened the network.
// Caller: who polls, without locks. Must not wait for the net.
using NetReport = void (*)(void* context, int peer, const char* problem) noexcept;

struct NetConfig {
  int process = 0;  // this one
  int processes = 1;
  size_t eager_bytes = 0;      // the longest message that should be posted
  NetReport report = nullptr;  // null: nobody wants to know
  void* report_context = nullptr;
  std::string interfaces;  // "eth0,eth1", that lead to other hosts; empty: not known
};

class NetModule {
 public:
  // Ends the connections. Caller: no other call runs, no operation is under way.
  virtual ~NetModule() = default;
  // To be told all other processes.
  virtual const NetAddress& address() const noexcept = 0;
  // All processes by their index, this one too (its address is not used). Connections may be
  // made lazily. Caller: once, before ranks run; both receiver and module outlive each other's
  // calls. Errors: kSystem.
  virtual Result<> connect(std::vector<NetPeer> peers, Receiver& receiver) = 0;
  // Makes the connections with all other processes now: done() when each stands, in both directions, and nothing is
  // left to be said for it. All processes do so, and poll until all are through. Caller: any, once, after
  // connect(). Ownership: the completion is the module's until done(). Order: what is sent meanwhile goes as ever.
  virtual void make_connections(Completion& completion) noexcept = 0;
  // This process has ended, and the network may not notice for long: offers to it and fetches from it end
  // with kGone, and nothing of it comes any more. Caller: any, after connect(); no other lock held.
  virtual void lose(int peer) noexcept = 0;
  virtual Net& net() noexcept = 0;
  virtual sched::EventSource& events() noexcept = 0;
};

// What the library exports under this name. Null: *problem says why, in one line. It prints nothing,
// installs no signal handler and leaves no thread that takes signals.
// Caller: the main thread, before a program is loaded. Ownership: the caller's, to delete.
inline constexpr char kOpenNet[] = "mpc_open_net";
using OpenNet = NetModule* (*)(const NetConfig& config, std::string* problem);

}  // namespace mpc::transport

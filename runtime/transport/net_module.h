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

// The address of a process: bytes that only the module understands.
using NetAddress = std::vector<std::byte>;

struct NetPeer {
  NetAddress address;
  bool is_same_host = false;
  // It can map memory of this process, and this one its.
  bool shares_memory = false;
};

// Part of the network is broken, and messages to or from process `peer` may be lost (-1: unknown
// peer). `problem`: one line. The code that opened the network decides what follows from it.
// Caller: the thread that polls, without locks. Must not wait for the net.
using NetReport = void (*)(void* context, int peer, const char* problem) noexcept;

struct NetConfig {
  int process = 0;  // the own process
  int processes = 1;
  size_t eager_bytes = 0;      // the longest message that should be posted
  NetReport report = nullptr;  // null: failures are not reported
  void* report_context = nullptr;
  // "eth0,eth1", those that lead to other hosts; empty: not known.
  std::string interfaces;
  int neighbours = 0;  // number of processes of this host; 0: not known
};

class NetModule {
 public:
  // Ends the connections. Caller: no other call runs, no operation is under way.
  virtual ~NetModule() = default;
  // Must be sent to all other processes.
  virtual const NetAddress& address() const noexcept = 0;
  // All processes by their index, including this one (whose address is not used). Connections may
  // be established lazily. Caller: once, before ranks run; both receiver and module outlive each
  // other's calls. Errors: kSystem.
  virtual Result<> connect(std::vector<NetPeer> peers, Receiver& receiver) = 0;
  // Establishes the connections with all other processes now: done() when each
  // is complete, in both directions, and no message about it remains to be
  // sent. All processes call this, and poll until all have finished.
  // Caller: any, once, after connect(). Ownership: the completion is the module's until done().
  // Order: messages sent meanwhile are not affected.
  virtual void make_connections(Completion& completion) noexcept = 0;
  // This process has ended, which the network may not notice for long: offers
  // to it and fetches from it end with kGone, and its messages are ignored
  // from now on. Caller: any, after connect(); no other lock held.
  virtual void lose(int peer) noexcept = 0;
  // Of a process that has ended: has a message come from it that still waits to be taken, by
  // poll()? Nothing is stored for it from now on. Caller: any, after connect(); no other lock held.
  virtual bool has_left(int) noexcept { return false; }
  virtual Net& net() noexcept = 0;
  virtual sched::EventSource& events() noexcept = 0;
};

// The library exports its function under this name. Null: *problem says why, in one line. It prints
// nothing, installs no signal handler and leaves no thread that takes signals.
// Caller: the main thread, before a program is loaded. Ownership: the caller must delete it.
inline constexpr char kOpenNet[] = "mpc_open_net";
using OpenNet = NetModule* (*)(const NetConfig& config, std::string* problem);

}  // namespace mpc::transport

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "account.h"
#include "caller.h"
#include "muster/client.h"
#include "websocket.h"

namespace muster {

/// Keeps a WebSocket open, and asks for changes while there is none. It is used in the network
/// thread only.
class Push {
 public:
  struct Handler {
    std::function<void(const Ticket&)> ticket;
    std::function<void(const Placement&)> placement;
    std::function<void(const Party&)> party;
    std::function<void()> party_left;
    std::function<void(PushState)> changed;
    std::function<std::string()> party_id;  ///< of the party that polls ask for; "" for none
  };

  Push(Caller& caller, Account& account, Handler handler);

  void start();
  void stop();
  PushState state() const { return state_; }

 private:
  void become(PushState state);
  void connect(const std::string& stale);
  void open(const std::string& token);
  void received(const std::string& text);
  void hear(const Json& message);
  void authenticate(const std::string& token, bool resume);
  void send(const char* type);
  void ended(int code);
  void again(std::chrono::milliseconds time, const std::string& stale);
  void poll();
  void later(Loop::Timer& timer, std::chrono::milliseconds time, std::function<void()> run);
  void cancel(Loop::Timer& timer);

  Caller& caller_;
  Account& account_;
  const Handler handler_;
  PushState state_ = PushState::closed;
  std::uint64_t run_ = 0;  // of start to stop; answers to an earlier one do not count
  bool wanted_ = false, entered_ = false, retry_ = false;
  int failures_ = 0;
  std::string cursor_, token_;
  std::unique_ptr<WebSocket> socket_;
  Loop::Timer silence_ = 0, ping_ = 0, pause_ = 0, polling_ = 0;
  CancelPtr polls_ = std::make_shared<Cancel>();
};

}  // namespace muster

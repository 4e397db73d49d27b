#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "loop.h"
#include "muster/game_server.h"
#include "websocket.h"

namespace muster {

/// The connection of a game server process: requests with answers, and what is pushed. A connection
/// that breaks is opened again; requests that were not answered are sent again with their ids, so
/// that nothing is done twice.
class ServerLink {
 public:
  /// pushed receives messages, in the network thread.
  ServerLink(GameServerOptions options, std::function<void(const Json&)> pushed);
  ~ServerLink();

  /// Connects. It blocks until that has succeeded, or failed for good.
  Error open();
  /// Makes a request, and blocks until it is answered.
  Result<Json> ask(const char* action, Json members);
  /// Makes a request whose answer does not matter. In the network thread.
  void tell(const char* action, Json members);
  /// Connects no more.
  void close();

  Loop loop;

 private:
  using Done = std::function<void(Result<Json>)>;
  // A request that has no answer yet.
  struct Pending {
    std::string id, text;
    Done done;
    Loop::Timer timer;
  };

  void begin(const std::string& id, const std::string& text, Done done);
  void finish(const std::string& id, Result<Json> result);
  void connect();
  void opened();
  void received(const std::string& text);
  void ended(int code);
  void drop();
  void refresh(const Json& message);
  void settle(Error error);
  std::string address() const;

  GameServerOptions options_;
  const std::function<void(const Json&)> pushed_;
  std::unique_ptr<WebSocket> socket_;
  std::vector<Pending> pending_;  // in the order in which they were made
  bool wanted_ = false, open_ = false;
  int failures_ = 0;
  Loop::Timer again_ = 0, deadline_ = 0;
  std::function<void(Error)> opening_;  // of open, while it waits
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace muster

#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "account.h"
#include "caller.h"
#include "muster/client.h"
#include "push.h"

namespace muster {

/// Rows of one kind as the push reports them, and who waits for newer ones.
template <typename T>
class Rows {
 public:
  using Done = std::function<void(const T*)>;  // nullptr: there is no news

  Rows(std::string T::*id, Loop& loop) : id_(id), loop_(loop) {}

  /// Records a row, and reports whether it is newer than the one before.
  bool see(const T& row) {
    const auto at = newest_.find(row.*id_);
    if (at != newest_.end() && at->second.seq >= row.seq) return false;
    if (at == newest_.end()) {
      order_.push_back(row.*id_);
      if (order_.size() > most) {
        newest_.erase(order_.front());
        order_.pop_front();
      }
    }
    newest_[row.*id_] = row;
    wake(row.*id_);
    return true;
  }

  /// Ends all waits without news: the state of the push has changed.
  void interrupt() {
    const auto waiting = std::move(waiting_);
    waiting_.clear();
    for (const auto& one : waiting) one.second(nullptr);
  }

  /// Yields a row newer than seq, or nullptr after a while.
  void next(const std::string& id, std::int64_t seq, std::chrono::milliseconds patience, CancelPtr cancel, Done done) {
    const auto at = newest_.find(id);
    if (at != newest_.end() && at->second.seq > seq) return done(&at->second);
    const auto over = std::make_shared<bool>(false);
    const auto finish = [cancel, over, done](const T* row) {
      if (*over) return;
      *over = true;
      cancel->on = nullptr;
      done(row);
    };
    waiting_.emplace_back(id, finish);
    loop_.after(patience, [finish] { finish(nullptr); });
    cancel->on = [finish] { finish(nullptr); };
  }

 private:
  static constexpr std::size_t most = 256;  // rows that are remembered

  void wake(const std::string& id) {
    std::list<std::pair<std::string, Done>> ready;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto here = at++;
      if (here->first == id) ready.splice(ready.end(), waiting_, here);
    }
    const T row = newest_[id];
    for (const auto& one : ready) one.second(&row);
  }

  std::string T::*const id_;
  Loop& loop_;
  std::map<std::string, T> newest_;
  std::list<std::string> order_;
  std::list<std::pair<std::string, Done>> waiting_;
};

/// What a Client is made of. All but the constructor, the destructor and the methods of Client is
/// used in the network thread.
class Client::Core {
 public:
  Core(const std::string& url, Options options, Events events);
  ~Core();

  void find_match(const TicketRequest& request, const MatchOptions& options, CancelPtr cancel, Callback<Connection> done);
  void follow(const Ticket& ticket, std::function<void(const Ticket&, std::function<void(Error)>)> changed, CancelPtr cancel, Callback<Ticket> done);
  void follow_placement(const Placement& placement, CancelPtr cancel, Callback<Placement> done);
  void measure(const LatencyOptions& options, CancelPtr cancel, Callback<std::vector<LatencySample>> done);
  void start_push();

  // Calls done with the player's id, as the result of a login.
  Account::Done logged_in(Callback<std::string> done);
  // Reads a party, and remembers it as the one that polls ask for.
  Party joined(const Answer& answer);

  Loop loop;  // the first, so that it outlives what uses it
  Caller caller;
  Account account;
  Api api;
  Push push;
  std::atomic<PushState> push_state{PushState::closed};

 private:
  struct Following;
  struct Measuring;

  template <typename T>
  void next(Rows<T>& rows, const std::string& path, const std::string& id, std::int64_t seq, int failures, CancelPtr cancel, Callback<T> done);
  void step(std::shared_ptr<Following> following, const Ticket& ticket);
  void answer(const Ticket& ticket, bool accept, CancelPtr cancel, std::function<void(Error)> done);
  void by_datagrams(std::shared_ptr<Measuring> measuring);
  void by_http(std::shared_ptr<Measuring> measuring, std::vector<bool> measured);
  void request_beacon(std::shared_ptr<Measuring> measuring, const Location& location, std::shared_ptr<std::vector<double>> trips, int number);
  void request_receipt(std::shared_ptr<Measuring> measuring, const std::string& location, const std::string& url, const std::string& stamp);
  void see(const Ticket& ticket);
  void see(const Placement& placement);
  void see(const Party& party);
  void see_party_left();

  const Events events_;
  const bool without_push_;
  Rows<Ticket> tickets_;
  Rows<Placement> placements_;
  std::string party_id_, last_party_;
  std::atomic<bool> stopping_{false};
  std::list<std::thread> datagrams_;  // that measure latency
};

}  // namespace muster

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "loop.h"
#include "muster/result.h"

namespace muster {

/// Who may make a request.
enum class Access { open, player };

/// Makes a text a segment of a path, or a value of a query.
std::string escape(const std::string& text);

/// A request of the player API.
struct Request {
  Request(const char* method, std::string path, Access access, bool repeatable)
      : method(method), path(std::move(path)), access(access), repeatable(repeatable) {}
  void query(const char* name, const std::string& value);
  void header(const char* name, const std::string& value);

  std::string method, path;
  Access access;
  bool repeatable;  ///< it may be made twice
  std::vector<std::string> headers;
  std::optional<Json> body;
};

/// What cancels an operation. on is what it is at now, and ends it.
struct Cancel {
  bool cancelled = false;
  std::function<void()> on;
  void now();
};
using CancelPtr = std::shared_ptr<Cancel>;

Error error_of(Error::Kind kind, const std::string& detail);
/// Reports whether an error may go away by itself: no answer, or a refusal for now.
bool is_passing(const Error& error);

class Account;

/// Makes the requests of a client, in its network thread, and hands results over to the game.
class Caller {
 public:
  using Done = std::function<void(Error, Answer)>;

  Caller(Loop& loop, const std::string& url, bool in_network_thread);

  template <typename T>
  Call call(Request request, std::function<T(const Answer&)> convert, Callback<T> done) {
    return begin<T>(
        [this, request = std::move(request), convert = std::move(convert)](CancelPtr cancel, Callback<T> done) {
          send(request, cancel, [convert, done](Error error, Answer answer) {
            Result<T> result;
            result.error = std::move(error);
            if (result.ok()) result.value = convert(answer);
            done(std::move(result));
          });
        },
        std::move(done));
  }

  /// Runs an operation in the network thread, which calls its callback once, and hands the result
  /// over. It may be called from any thread, as may cancel.
  template <typename T>
  Call begin(std::function<void(CancelPtr, Callback<T>)> run, Callback<T> done) {
    const Call id = ++last_call_;
    loop.post([this, id, run = std::move(run), done = std::move(done)] {
      const CancelPtr cancel = std::make_shared<Cancel>();
      calls_[id] = cancel;
      const Callback<T> ended = [this, id, done](Result<T> result) {
        if (calls_.erase(id) == 0) return;
        deliver([done, result = std::move(result)] {
          if (done) done(result);
        });
      };
      if (!usable) {
        Result<T> result;
        result.error = error_of(Error::Kind::usage, "the client's URL is neither http nor https");
        return ended(std::move(result));
      }
      run(cancel, ended);
    });
    return id;
  }
  void cancel(Call id);

  /// Makes a request, with the player's token if it needs one. A token that is refused is renewed
  /// once.
  void send(const Request& request, CancelPtr cancel, Done done);

  /// Waits; done is called with whether the operation was cancelled.
  void wait(std::chrono::milliseconds time, CancelPtr cancel, std::function<void(bool cancelled)> done);
  /// A random time up to a bound that doubles with each failure.
  std::chrono::milliseconds pause(int failures, std::chrono::milliseconds first, std::chrono::milliseconds longest);

  /// Hands a function over to the thread of the game.
  void deliver(std::function<void()> run);
  /// Runs what was handed over.
  void update();

  Loop& loop;
  const std::string url;
  const bool usable;
  Account* account = nullptr;

 private:
  void repeat(const Request& request, const std::string& token, CancelPtr cancel, int tries, Done done);
  void once(const Request& request, const std::string& token, CancelPtr cancel, Done done);

  const bool in_network_thread_;
  std::atomic<Call> last_call_{0};
  std::map<Call, CancelPtr> calls_;
  std::mt19937 random_{std::random_device{}()};
  std::mutex mutex_;
  std::vector<std::function<void()>> delivered_;  // guarded by mutex_
};

}  // namespace muster

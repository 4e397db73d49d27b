#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace muster {

/// A request by HTTP.
struct HttpCall {
  std::string method, url, body;
  std::vector<std::string> headers;
  bool has_body = false;
};

/// An answer by HTTP. status 0: there is none, failure says why.
struct HttpReply {
  int status = 0;
  bool timed_out = false;
  std::string failure, body, etag, retry_after;
};

/// The network thread of a client. All that a client knows is used in it alone, so that there are
/// no locks elsewhere; other threads post to it.
class Loop {
 public:
  /// ca_file may be empty. proxies: those of the environment are used.
  explicit Loop(std::string ca_file, bool proxies = true);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs a function in the thread. It may be called from any thread.
  void post(std::function<void()> run);
  /// Ends the thread when what it runs has returned. It may be called from any other thread.
  void stop();

  // The rest may be called in the thread only.

  using Timer = std::uint64_t;
  Timer after(std::chrono::milliseconds time, std::function<void()> run);
  void cancel(Timer timer);

  using Transfer = std::uint64_t;
  /// Makes a request; done is called once, unless abort is.
  Transfer request(const HttpCall& call, std::function<void(HttpReply)> done);
  void abort(Transfer transfer);

  /// Opens a connection to the host of a URL, with TLS if it is https. done is called with the
  /// handle, which then belongs to the caller, or with nullptr and why.
  Transfer connect(const std::string& url, std::function<void(CURL*, std::string)> done);

  /// Calls ready whenever there is something to read on a connection's socket.
  void watch(CURL* connection, std::function<void()> ready);
  /// Closes a connection.
  void release(CURL* connection);

 private:
  struct Running;
  struct Watched {
    curl_socket_t socket;
    std::function<void()> ready;
  };

  void run();
  void run_posted();
  void run_timers();
  void finish_transfers();
  void wait();
  CURL* handle();
  static std::size_t read_body(char* data, std::size_t size, std::size_t count, void* running);
  static std::size_t read_header(char* data, std::size_t size, std::size_t count, void* running);

  const std::string ca_file_;
  const bool proxies_;
  CURLM* multi_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;  // guarded by mutex_
  std::atomic<bool> stopping_{false};
  std::uint64_t last_id_ = 0;
  std::map<Timer, std::pair<std::chrono::steady_clock::time_point, std::function<void()>>> timers_;
  std::map<Transfer, std::unique_ptr<Running>> transfers_;
  std::map<CURL*, Watched> watched_;
  std::thread thread_;
};

}  // namespace muster

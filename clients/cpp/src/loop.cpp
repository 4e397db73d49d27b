#include "loop.h"

#include <algorithm>
#include <cstring>

namespace muster {

namespace {

constexpr long answer_within = 40;   // seconds; a long poll takes up to 25
constexpr long connect_within = 10;  // seconds
constexpr std::size_t most_body = 4 << 20;

// libcurl has to be set up once in a process.
struct Setup {
  Setup() { curl_global_init(CURL_GLOBAL_DEFAULT); }
};

// The value of a header, if line is that header.
bool header_value(const std::string& line, const char* name, std::string& out) {
  const std::size_t length = std::strlen(name);
  if (line.size() <= length || line[length] != ':') return false;
  for (std::size_t i = 0; i < length; i++) {
    const char c = line[i] >= 'A' && line[i] <= 'Z' ? static_cast<char>(line[i] + 32) : line[i];
    if (c != name[i]) return false;
  }
  const std::size_t from = line.find_first_not_of(" \t", length + 1);
  const std::size_t to = line.find_last_not_of(" \t\r\n");
  out = from == std::string::npos || to < from ? "" : line.substr(from, to - from + 1);
  return true;
}

}  // namespace

// Running is a transfer under way: a request, or the opening of a connection.
struct Loop::Running {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::string body;
  HttpReply reply;
  std::function<void(HttpReply)> done;
  std::function<void(CURL*, std::string)> connected;
  char failure[CURL_ERROR_SIZE] = "";

  ~Running() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

Loop::Loop(std::string ca_file, bool proxies) : ca_file_(std::move(ca_file)), proxies_(proxies) {
  static const Setup setup;
  multi_ = curl_multi_init();
  thread_ = std::thread([this] { run(); });
}

Loop::~Loop() {
  stop();
  for (auto& one : transfers_) curl_multi_remove_handle(multi_, one.second->easy);
  transfers_.clear();
  curl_multi_cleanup(multi_);
}

void Loop::post(std::function<void()> run) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    posted_.push_back(std::move(run));
  }
  curl_multi_wakeup(multi_);
}

void Loop::stop() {
  stopping_ = true;
  curl_multi_wakeup(multi_);
  if (thread_.joinable()) thread_.join();
}

void Loop::run() {
  while (!stopping_) {
    run_posted();
    run_timers();
    int running;
    curl_multi_perform(multi_, &running);
    finish_transfers();
    wait();
  }
}

void Loop::run_posted() {
  std::deque<std::function<void()>> now;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    now.swap(posted_);
  }
  for (auto& one : now) one();
}

void Loop::run_timers() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::pair<std::chrono::steady_clock::time_point, Timer>> due;
  for (const auto& one : timers_) {
    if (one.second.first <= now) due.emplace_back(one.second.first, one.first);
  }
  std::sort(due.begin(), due.end());
  for (const auto& one : due) {
    const auto at = timers_.find(one.second);
    if (at == timers_.end()) continue;  // an earlier one has cancelled it
    auto run = std::move(at->second.second);
    timers_.erase(at);
    run();
  }
}

void Loop::finish_transfers() {
  int left;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* easy = message->easy_handle;
    const auto at = std::find_if(transfers_.begin(), transfers_.end(), [&](const auto& one) { return one.second->easy == easy; });
    if (at == transfers_.end()) continue;
    std::unique_ptr<Running> running = std::move(at->second);
    transfers_.erase(at);
    std::string why;
    if (code != CURLE_OK) why = running->failure[0] != 0 ? running->failure : curl_easy_strerror(code);
    if (running->connected && code == CURLE_OK) {
      running->easy = nullptr;  // its connection works only while it belongs to multi_
      running->connected(easy, "");
      continue;
    }
    curl_multi_remove_handle(multi_, easy);
    if (running->connected) {
      running->connected(nullptr, why);
      continue;
    }
    long status = 0;
    if (code == CURLE_OK) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    running->reply.status = static_cast<int>(status);
    running->reply.failure = why;
    running->reply.timed_out = code == CURLE_OPERATION_TIMEDOUT;
    running->done(std::move(running->reply));
  }
}

void Loop::wait() {
  auto time = std::chrono::milliseconds(1000);
  const auto now = std::chrono::steady_clock::now();
  for (const auto& one : timers_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(one.second.first - now) + std::chrono::milliseconds(1);
    time = std::max(std::chrono::milliseconds(0), std::min(time, left));
  }
  std::vector<curl_waitfd> sockets;
  std::vector<CURL*> owners;
  for (const auto& one : watched_) {
    curl_waitfd socket{};
    socket.fd = one.second.socket;
    socket.events = CURL_WAIT_POLLIN;
    sockets.push_back(socket);
    owners.push_back(one.first);
  }
  int ready;
  curl_multi_poll(multi_, sockets.data(), static_cast<unsigned>(sockets.size()), static_cast<int>(time.count()), &ready);
  for (std::size_t i = 0; i < sockets.size(); i++) {
    const auto at = watched_.find(owners[i]);
    if (sockets[i].revents == 0 || at == watched_.end()) continue;
    const auto run = at->second.ready;  // which may end the watch
    run();
  }
}

Loop::Timer Loop::after(std::chrono::milliseconds time, std::function<void()> run) {
  timers_[++last_id_] = {std::chrono::steady_clock::now() + time, std::move(run)};
  return last_id_;
}

void Loop::cancel(Timer timer) { timers_.erase(timer); }

CURL* Loop::handle() {
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect_within);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  if (!proxies_) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  if (!ca_file_.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file_.c_str());
  return easy;
}

Loop::Transfer Loop::request(const HttpCall& call, std::function<void(HttpReply)> done) {
  auto running = std::make_unique<Running>();
  CURL* easy = running->easy = handle();
  running->done = std::move(done);
  running->body = call.body;
  bool typed = false;
  for (const std::string& header : call.headers) {
    running->headers = curl_slist_append(running->headers, header.c_str());
    typed = typed || header.compare(0, 13, "Content-Type:") == 0;
  }
  if (call.has_body && !typed) running->headers = curl_slist_append(running->headers, "Content-Type: application/json");
  curl_easy_setopt(easy, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (call.has_body || call.method == "POST" || call.method == "PUT") {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(running->body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, running->body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, running->headers);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, answer_within);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, running->failure);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, read_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, running.get());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, running.get());
  curl_multi_add_handle(multi_, easy);
  transfers_[++last_id_] = std::move(running);
  return last_id_;
}

void Loop::abort(Transfer transfer) {
  const auto at = transfers_.find(transfer);
  if (at == transfers_.end()) return;
  curl_multi_remove_handle(multi_, at->second->easy);
  transfers_.erase(at);
}

Loop::Transfer Loop::connect(const std::string& url, std::function<void(CURL*, std::string)> done) {
  auto running = std::make_unique<Running>();
  CURL* easy = running->easy = handle();
  running->connected = std::move(done);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_multi_add_handle(multi_, easy);
  transfers_[++last_id_] = std::move(running);
  return last_id_;
}

void Loop::watch(CURL* connection, std::function<void()> ready) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(connection, CURLINFO_ACTIVESOCKET, &socket);
  watched_[connection] = {socket, std::move(ready)};
}

void Loop::release(CURL* connection) {
  watched_.erase(connection);
  curl_multi_remove_handle(multi_, connection);
  curl_easy_cleanup(connection);
}

std::size_t Loop::read_body(char* data, std::size_t size, std::size_t count, void* running) {
  std::string& body = static_cast<Running*>(running)->reply.body;
  if (body.size() + size * count > most_body) return 0;
  body.append(data, size * count);
  return size * count;
}

std::size_t Loop::read_header(char* data, std::size_t size, std::size_t count, void* running) {
  const std::string line(data, size * count);
  HttpReply& reply = static_cast<Running*>(running)->reply;
  if (!header_value(line, "etag", reply.etag)) header_value(line, "retry-after", reply.retry_after);
  return size * count;
}

}  // namespace muster

#include "server_link.h"

#include <algorithm>
#include <cstdlib>

#include "caller.h"
#include "uuid.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds answer_within{30000}, open_within{60000};
constexpr milliseconds first_pause{250}, longest_pause{8000};
constexpr const char* sdk_version = "5.4.0";  // whose protocol this is
constexpr const char* refresh_connection = "RefreshConnection";

// A value that may be waited for in another thread.
template <typename T>
class Slot {
 public:
  void set(T value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  T wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return value_.has_value(); });
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

void fill(std::string& value, const char* name) {
  const char* known = std::getenv(name);
  if (value.empty() && known != nullptr) value = known;
}

GameServerOptions filled(GameServerOptions options) {
  fill(options.websocket_url, "GAMELIFT_SDK_WEBSOCKET_URL");
  fill(options.auth_token, "GAMELIFT_SDK_AUTH_TOKEN");
  fill(options.fleet_id, "GAMELIFT_SDK_FLEET_ID");
  fill(options.host_id, "GAMELIFT_SDK_HOST_ID");
  fill(options.process_id, "GAMELIFT_SDK_PROCESS_ID");
  if (options.process_id.empty() || options.process_id == "ManagedResource") options.process_id = new_uuid();
  return options;
}

const char* code_of(int status) {
  switch (status) {
    case 400: return "bad-request";
    case 401: return "unauthorized";
    case 403: return "forbidden";
    case 404: return "not-found";
    case 409: return "conflict";
    case 429: return "too-many-requests";
    default: return status < 500 ? "bad-request" : "internal";
  }
}

Result<Json> failure(Error error) {
  Result<Json> result;
  result.error = std::move(error);
  return result;
}

Result<Json> answer_of(const Json& message) {
  Result<Json> result;
  const int status = static_cast<int>(message["StatusCode"].integer());
  if (status == 200) {
    result.value = message;
    return result;
  }
  result.error = error_of(Error::Kind::problem, message["ErrorMessage"].text());
  result.error.status = status;
  result.error.code = code_of(status);
  result.error.data = message;
  return result;
}

}  // namespace

ServerLink::ServerLink(GameServerOptions options, std::function<void(const Json&)> pushed)
    : loop(options.ca_file, false), options_(filled(std::move(options))), pushed_(std::move(pushed)) {}

ServerLink::~ServerLink() {
  loop.stop();
  socket_.reset();  // while there is a loop
}

Error ServerLink::open() {
  struct Needed {
    const char *name, *variable;
    const std::string& value;
  };
  for (const Needed& one : {Needed{"websocket_url", "GAMELIFT_SDK_WEBSOCKET_URL", options_.websocket_url}, Needed{"fleet_id", "GAMELIFT_SDK_FLEET_ID", options_.fleet_id},
                            Needed{"host_id", "GAMELIFT_SDK_HOST_ID", options_.host_id}, Needed{"auth_token", "GAMELIFT_SDK_AUTH_TOKEN", options_.auth_token}}) {
    if (one.value.empty()) return error_of(Error::Kind::usage, std::string(one.name) + ": is required, or " + one.variable + " in the environment");
  }
  const auto slot = std::make_shared<Slot<Error>>();
  loop.post([this, slot] {
    if (wanted_) return slot->set(error_of(Error::Kind::usage, "init: the process is connected already"));
    wanted_ = true;
    opening_ = [slot](Error error) { slot->set(std::move(error)); };
    deadline_ = loop.after(open_within, [this] { settle(error_of(Error::Kind::timeout, "no connection to " + options_.websocket_url + " within 60 s")); });
    connect();
  });
  return slot->wait();
}

// settle ends open, if it waits.
void ServerLink::settle(Error error) {
  loop.cancel(deadline_);
  const auto done = std::move(opening_);
  opening_ = nullptr;
  if (!done) return;
  if (error) {
    wanted_ = false;
    drop();
  }
  done(std::move(error));
}

std::string ServerLink::address() const {
  std::string url = options_.websocket_url.substr(0, options_.websocket_url.find('?'));
  if (url.compare(0, 2, "ws") == 0) url = "http" + url.substr(2);
  if (url.find('/', url.find("://") + 3) == std::string::npos) url += '/';
  return url + "?pID=" + escape(options_.process_id) + "&sdkVersion=" + sdk_version + "&sdkLanguage=Cpp&Authorization=" + escape(options_.auth_token) +
         "&ComputeId=" + escape(options_.host_id) + "&FleetId=" + escape(options_.fleet_id) + "&IdempotencyToken=" + new_uuid();
}

void ServerLink::connect() {
  again_ = 0;
  socket_ = std::make_unique<WebSocket>(
      loop, address(), "", WebSocket::Handler{[this] { opened(); }, [this](std::string text) { received(text); }, [this](int code) { ended(code); }});
}

void ServerLink::opened() {
  open_ = true;
  failures_ = 0;
  for (const Pending& one : pending_) socket_->send(one.text);
  settle({});
}

// drop closes the WebSocket. It may be what calls this, so that it is gone only when it has returned.
void ServerLink::drop() {
  open_ = false;
  loop.cancel(again_);
  const std::shared_ptr<WebSocket> old(socket_.release());
  if (!old) return;
  old->close();
  loop.post([old] {});
}

void ServerLink::ended(int code) {
  drop();
  if (!wanted_) return;
  if (code >= 400 && code < 500 && code != 429 && opening_) {
    Error error = error_of(Error::Kind::problem, "the server refuses the process: check fleet, compute and auth token");
    error.status = code;
    error.code = code_of(code);
    return settle(std::move(error));
  }
  const std::int64_t bound = std::min<std::int64_t>(longest_pause.count(), first_pause.count() << std::min(failures_++, 10));
  again_ = loop.after(milliseconds(std::uniform_int_distribution<std::int64_t>(1, bound)(random_)), [this] { connect(); });
}

void ServerLink::refresh(const Json& message) {
  if (!message["RefreshConnectionEndpoint"].text().empty()) options_.websocket_url = message["RefreshConnectionEndpoint"].text();
  if (!message["AuthToken"].text().empty()) options_.auth_token = message["AuthToken"].text();
  drop();
  again_ = loop.after(milliseconds(0), [this] { connect(); });
}

void ServerLink::received(const std::string& text) {
  Json message;
  if (!Json::parse(text, message)) return;
  const std::string id = message["RequestId"].text();
  if (!id.empty()) return finish(id, answer_of(message));
  if (message["Action"].text() == refresh_connection) return refresh(message);
  pushed_(message);
}

void ServerLink::begin(const std::string& id, const std::string& text, Done done) {
  if (!wanted_) return done(failure(error_of(Error::Kind::usage, "the process is not connected: call init first")));
  const Loop::Timer timer = loop.after(answer_within, [this, id] { finish(id, failure(error_of(Error::Kind::timeout, "no answer came within 30 s"))); });
  pending_.push_back({id, text, std::move(done), timer});
  if (open_) socket_->send(text);
}

void ServerLink::finish(const std::string& id, Result<Json> result) {
  const auto at = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& one) { return one.id == id; });
  if (at == pending_.end()) return;  // answered already, before it was sent again
  const Pending ended = std::move(*at);
  pending_.erase(at);
  loop.cancel(ended.timer);
  ended.done(std::move(result));
}

Result<Json> ServerLink::ask(const char* action, Json members) {
  const auto slot = std::make_shared<Slot<Result<Json>>>();
  const std::string id = new_uuid(), text = members.set("Action", Json(action)).set("RequestId", Json(id)).write();
  loop.post([this, id, text, slot] { begin(id, text, [slot](Result<Json> result) { slot->set(std::move(result)); }); });
  return slot->wait();
}

void ServerLink::tell(const char* action, Json members) {
  const std::string id = new_uuid();
  begin(id, members.set("Action", Json(action)).set("RequestId", Json(id)).write(), [](Result<Json>) {});
}

void ServerLink::close() {
  loop.post([this] {
    wanted_ = false;
    drop();
    const std::vector<Pending> left = std::move(pending_);
    pending_.clear();
    for (const Pending& one : left) {
      loop.cancel(one.timer);
      one.done(failure(error_of(Error::Kind::closed, "the process has ended")));
    }
  });
}

}  // namespace muster

#include "caller.h"

#include <algorithm>
#include <cstdlib>

#include "account.h"

namespace muster {

namespace {

constexpr int most_tries = 4;
constexpr double most_patience = 10;  // seconds
constexpr auto first_pause = std::chrono::milliseconds(250), longest_pause = std::chrono::milliseconds(10000);
constexpr char invalid = '\x01';  // what escape makes of what would lead elsewhere

bool is_http(const std::string& url) { return url.compare(0, 7, "http://") == 0 || url.compare(0, 8, "https://") == 0; }

std::string without_slash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

// The version in an ETag, which proxies that compress make weak.
std::int64_t version_of(const std::string& etag) {
  const std::size_t at = etag.find('"');
  return at == std::string::npos ? 0 : std::strtoll(etag.c_str() + at + 1, nullptr, 10);
}

Error problem_of(const HttpReply& reply) {
  Error error;
  error.kind = Error::Kind::problem;
  error.status = reply.status;
  if (Json::parse(reply.body, error.data) && error.data.is_object()) {
    error.code = error.data["code"].text();
    error.detail = error.data["detail"].text();
    error.retry_after_seconds = error.data["retry_after_seconds"].number();
    if (error.code.empty()) {  // a service of AWS's kind answered
      const std::string type = error.data["__type"].text();
      error.code = type.substr(type.rfind('#') + 1);
      error.detail = error.data[error.data["message"].is_null() ? "Message" : "message"].text();
    }
  }
  if (error.code.empty()) {  // a proxy answered
    error.code = "http-" + std::to_string(reply.status);
    error.data = Json();
  }
  if (!reply.retry_after.empty() && reply.retry_after.find_first_not_of("0123456789") == std::string::npos) {
    error.retry_after_seconds = std::strtod(reply.retry_after.c_str(), nullptr);
  }
  return error;
}

}  // namespace

std::string escape(const std::string& text) {
  if (text.empty() || text == "." || text == "..") return std::string(1, invalid);
  static const char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += {'%', digits[static_cast<unsigned char>(c) >> 4], digits[static_cast<unsigned char>(c) & 15]};
    }
  }
  return out;
}

void Request::query(const char* name, const std::string& value) {
  if (value.empty()) return;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += std::string(name) + '=' + escape(value);
}

void Request::header(const char* name, const std::string& value) {
  if (!value.empty()) headers.push_back(std::string(name) + ": " + value);
}

void Cancel::now() {
  if (cancelled) return;
  cancelled = true;
  const auto run = std::move(on);
  on = nullptr;
  if (run) run();
}

Error error_of(Error::Kind kind, const std::string& detail) {
  Error error;
  error.kind = kind;
  error.detail = detail;
  return error;
}

bool is_passing(const Error& error) {
  switch (error.kind) {
    case Error::Kind::network:
    case Error::Kind::timeout: return true;
    case Error::Kind::problem: return error.status == 429 || error.status >= 500;
    default: return false;
  }
}

Caller::Caller(Loop& loop, const std::string& url, bool in_network_thread)
    : loop(loop), url(without_slash(url)), usable(is_http(url)), in_network_thread_(in_network_thread) {}

void Caller::cancel(Call id) {
  loop.post([this, id] {
    const auto at = calls_.find(id);
    if (at == calls_.end()) return;
    const CancelPtr cancel = at->second;
    cancel->now();
  });
}

void Caller::send(const Request& request, CancelPtr cancel, Done done) {
  if (request.path.find(invalid) != std::string::npos) return done(error_of(Error::Kind::usage, "a text that names something must not be empty, \".\" or \"..\""), {});
  if (request.access == Access::open) return repeat(request, "", cancel, 1, std::move(done));
  account->access("", [this, request, cancel, done](Error error, std::string token) {
    if (error) return done(std::move(error), {});
    repeat(request, token, cancel, 1, [this, request, cancel, token, done](Error error, Answer answer) {
      if (!error.is("token-invalid") && !error.is("token-expired")) return done(std::move(error), std::move(answer));
      account->access(token, [this, request, cancel, done](Error error, std::string fresh) {
        if (error) return done(std::move(error), {});
        repeat(request, fresh, cancel, 1, done);
      });
    });
  });
}

// repeat makes a request, and repeats one that reads or replaces after lost answers, and after
// refusals that end soon.
void Caller::repeat(const Request& request, const std::string& token, CancelPtr cancel, int tries, Done done) {
  once(request, token, cancel, [=](Error error, Answer answer) {
    const bool refused_for_now = error.status == 429 || (error.status >= 502 && error.status <= 504);
    const bool again = error.kind == Error::Kind::network || error.kind == Error::Kind::timeout || (error.kind == Error::Kind::problem && refused_for_now);
    if (!again || !request.repeatable || tries == most_tries || error.retry_after_seconds > most_patience || error.is("locked-out") || error.is("no-capacity")) {
      return done(std::move(error), std::move(answer));
    }
    const auto asked = std::chrono::milliseconds(static_cast<std::int64_t>(error.retry_after_seconds * 1000));
    wait(asked + pause(tries, first_pause, longest_pause), cancel, [=](bool cancelled) {
      if (cancelled) return done(error_of(Error::Kind::cancelled, "the call was cancelled"), {});
      repeat(request, token, cancel, tries + 1, done);
    });
  });
}

void Caller::once(const Request& request, const std::string& token, CancelPtr cancel, Done done) {
  if (cancel->cancelled) return done(error_of(Error::Kind::cancelled, "the call was cancelled"), {});
  HttpCall call;
  call.method = request.method;
  call.url = url + request.path;
  call.headers = request.headers;
  if (!token.empty()) call.headers.push_back("Authorization: Bearer " + token);
  if (request.body) {
    call.has_body = true;
    call.body = request.body->write();
  }
  const Loop::Transfer transfer = loop.request(call, [cancel, done](HttpReply reply) {
    cancel->on = nullptr;
    if (reply.status == 0) {
      return done(error_of(reply.timed_out ? Error::Kind::timeout : Error::Kind::network, "the server was not reached: " + reply.failure), {});
    }
    if (reply.status >= 400) return done(problem_of(reply), {});
    Answer answer;
    answer.status = reply.status;
    answer.version = version_of(reply.etag);
    if (reply.status != 304 && !reply.body.empty() && !Json::parse(reply.body, answer.body)) {
      return done(error_of(Error::Kind::network, "the answer is not of the described form"), {});
    }
    done({}, std::move(answer));
  });
  cancel->on = [this, transfer, done] {
    loop.abort(transfer);
    done(error_of(Error::Kind::cancelled, "the call was cancelled"), {});
  };
}

void Caller::wait(std::chrono::milliseconds time, CancelPtr cancel, std::function<void(bool)> done) {
  if (cancel->cancelled) return done(true);
  const Loop::Timer timer = loop.after(time, [cancel, done] {
    cancel->on = nullptr;
    done(false);
  });
  cancel->on = [this, timer, done] {
    loop.cancel(timer);
    done(true);
  };
}

std::chrono::milliseconds Caller::pause(int failures, std::chrono::milliseconds first, std::chrono::milliseconds longest) {
  std::int64_t bound = longest.count();
  if (failures < 20) bound = std::min(bound, first.count() << std::max(0, failures - 1));
  return std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(1, std::max<std::int64_t>(1, bound))(random_));
}

void Caller::deliver(std::function<void()> run) {
  if (in_network_thread_) return run();
  std::lock_guard<std::mutex> lock(mutex_);
  delivered_.push_back(std::move(run));
}

void Caller::update() {
  std::vector<std::function<void()>> now;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    now.swap(delivered_);
  }
  for (auto& one : now) one();
}

}  // namespace muster

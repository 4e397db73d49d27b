#include "account.h"

namespace muster {

namespace {

constexpr double renew_after = 0.8;  // the share of an access token's life

std::string v1(const char* path) { return std::string("/player/v1") + path; }

}  // namespace

bool Login::parse(const std::string& text, Login& out) {
  out = Login();
  if (text.empty()) return true;
  Json json;
  if (!Json::parse(text, json) || !json.is_object()) return false;
  out.player_id = json["player_id"].text();
  out.scope = json["scope"].text();
  out.access = json["access_token"].text();
  out.refresh = json["refresh_token"].text();
  out.guest_secret = json["guest_secret"].text();
  out.access_expires = json["access_expires"].time();
  out.renew_at = json["renew_at"].time();
  return true;
}

std::string Login::write() const {
  Json json = Json::object();
  const auto set = [&json](const char* name, const std::string& value) {
    if (!value.empty()) json.set(name, Json(value));
  };
  set("player_id", player_id);
  set("scope", scope);
  set("access_token", access);
  set("refresh_token", refresh);
  set("guest_secret", guest_secret);
  json.set("access_expires", Json(access_expires)).set("renew_at", Json(renew_at));
  return json.write();
}

bool Login::is_usable(const std::string& stale) const { return !access.empty() && access != stale && std::chrono::system_clock::now() < renew_at; }

Account::Account(Caller& caller, std::shared_ptr<TokenStore> store, std::function<void()> changed)
    : caller_(caller), store_(std::move(store)), changed_(std::move(changed)) {}

std::string Account::current_player() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return player_;
}

bool Account::current_logged_in() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return logged_in_;
}

void Account::alone(std::function<void(std::function<void()>)> job) {
  jobs_.push_back(std::move(job));
  if (!busy_) next();
}

void Account::next() {
  busy_ = !jobs_.empty();
  if (!busy_) return;
  const auto job = std::move(jobs_.front());
  jobs_.pop_front();
  job([this] { next(); });
}

bool Account::load(Error& error) {
  if (loaded_) return true;
  std::string text;
  if (!store_->load(text)) {
    error = error_of(Error::Kind::usage, "the token store could not be read");
    return false;
  }
  Login stored;
  if (!Login::parse(text, stored)) {
    error = error_of(Error::Kind::usage, "the stored login is damaged; clear the token store to begin anew");
    return false;
  }
  login_ = stored;
  loaded_ = true;
  std::lock_guard<std::mutex> lock(mutex_);
  player_ = login_.player_id;
  logged_in_ = !login_.access.empty();
  return true;
}

void Account::come_back(bool create, Done done) {
  alone([this, create, done](std::function<void()> over) {
    const Done end = [done, over](Error error) {
      done(std::move(error));
      over();
    };
    Error failed;
    if (!load(failed)) return end(failed);
    renew([this, create, end](Error error, bool back) {
      if (error && !(create && error.kind == Error::Kind::logged_out)) return end(std::move(error));
      if (back) return end({});
      if (!create) return end(error_of(Error::Kind::logged_out, "nobody is logged in: log in first"));
      const Request guest("POST", v1("/auth/guest"), Access::open, false);
      caller_.send(guest, std::make_shared<Cancel>(), [this, end](Error error, Answer answer) { end(error ? error : keep(answer)); });
    });
  });
}

void Account::enter(const Request& request, Done done) {
  alone([this, request, done](std::function<void()> over) {
    const Done end = [done, over](Error error) {
      done(std::move(error));
      over();
    };
    Error failed;
    if (!load(failed)) return end(failed);
    const Caller::Done keeps = [this, end](Error error, Answer answer) { end(error ? error : keep(answer)); };
    if (request.access == Access::open) return caller_.send(request, std::make_shared<Cancel>(), keeps);
    access_alone("", [this, request, end, keeps](Error error, std::string token) {
      if (error) return end(std::move(error));
      Request with = request;
      with.access = Access::open;
      with.header("Authorization", "Bearer " + token);
      caller_.send(with, std::make_shared<Cancel>(), [this, request, token, end, keeps](Error error, Answer answer) {
        if (!error.is("token-invalid") && !error.is("token-expired")) return keeps(std::move(error), std::move(answer));
        access_alone(token, [this, request, end, keeps](Error error, std::string fresh) {
          if (error) return end(std::move(error));
          Request again = request;
          again.access = Access::open;
          again.header("Authorization", "Bearer " + fresh);
          caller_.send(again, std::make_shared<Cancel>(), keeps);
        });
      });
    });
  });
}

void Account::forget(bool keep_guest, Done done) {
  alone([this, keep_guest, done](std::function<void()> over) {
    Login left;
    if (keep_guest && !login_.guest_secret.empty()) {
      left.player_id = login_.player_id;
      left.guest_secret = login_.guest_secret;
    }
    done(save(left));
    over();
  });
}

void Account::access(const std::string& stale, Token done) {
  if (login_.is_usable(stale)) return done({}, login_.access);
  alone([this, stale, done](std::function<void()> over) {
    const Token end = [done, over](Error error, std::string token) {
      over();
      done(std::move(error), std::move(token));
    };
    Error failed;
    if (!load(failed)) return end(failed, "");
    access_alone(stale, end);
  });
}

void Account::access_alone(const std::string& stale, Token done) {
  if (login_.is_usable(stale)) return done({}, login_.access);  // somebody else has renewed it
  renew([this, stale, done](Error error, bool back) {
    const bool is_valid = !login_.access.empty() && login_.access != stale && std::chrono::system_clock::now() < login_.access_expires;
    if (error && is_passing(error) && is_valid) return done({}, login_.access);  // the renewal can wait
    if (error) return done(std::move(error), "");
    if (!back) return done(error_of(Error::Kind::logged_out, "nobody is logged in: log in first"), "");
    done({}, login_.access);
  });
}

void Account::renew(std::function<void(Error, bool)> done) {
  if (login_.refresh.empty()) return log_guest_in(std::move(done));
  refresh(1, [this, done](Error error, Answer answer) {
    if (!error) return done(keep(answer), true);
    if (error.kind != Error::Kind::problem || error.status != 401) return done(std::move(error), false);
    if (!login_.guest_secret.empty()) return log_guest_in(done);
    save(Login());
    Error out = error_of(Error::Kind::logged_out, "nobody is logged in: log in first");
    out.code = error.code;
    done(std::move(out), false);
  });
}

// A lost answer is asked for again at once: for a short time the server answers the same.
void Account::refresh(int tries, Caller::Done done) {
  Request request("POST", v1("/auth/refresh"), Access::open, false);
  request.body = Json::object().set("refresh_token", Json(login_.refresh));
  caller_.send(request, std::make_shared<Cancel>(), [this, tries, done](Error error, Answer answer) {
    if (error.kind == Error::Kind::network && tries < 2) return refresh(tries + 1, done);
    done(std::move(error), std::move(answer));
  });
}

void Account::log_guest_in(std::function<void(Error, bool)> done) {
  if (login_.guest_secret.empty()) return done({}, false);
  Request request("POST", v1("/auth/guest/login"), Access::open, false);
  request.body = Json::object().set("player_id", Json(login_.player_id)).set("guest_secret", Json(login_.guest_secret));
  caller_.send(request, std::make_shared<Cancel>(), [this, done](Error error, Answer answer) {
    if (error) return done(std::move(error), false);
    done(keep(answer), true);
  });
}

// A refresh token works once, so that its successor is saved before it is used.
Error Account::keep(const Answer& answer) {
  const Session session = Session::from_json(answer.body);
  const auto now = std::chrono::system_clock::now();
  Login next;
  next.player_id = session.player_id;
  next.scope = text_of(session.scope);
  next.access = session.access_token;
  next.refresh = session.refresh_token;
  next.guest_secret = session.guest_secret.empty() && login_.player_id == session.player_id ? login_.guest_secret : session.guest_secret;
  next.access_expires = now + std::chrono::seconds(session.access_token_expires_in);
  next.renew_at = now + std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(session.access_token_expires_in) * 1000 * renew_after));
  return save(next);
}

Error Account::save(const Login& next) {
  const bool is_change = login_.player_id != next.player_id || login_.access.empty() != next.access.empty();
  login_ = next;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    player_ = login_.player_id;
    logged_in_ = !login_.access.empty();
  }
  if (!store_->save(login_.write())) return error_of(Error::Kind::usage, "the token store could not be written");
  if (is_change) changed_();
  return {};
}

}  // namespace muster

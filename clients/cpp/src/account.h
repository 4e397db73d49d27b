#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "caller.h"
#include "muster/api.h"
#include "muster/token_store.h"

namespace muster {

/// What a token store keeps.
struct Login {
  std::string player_id, scope, access, refresh, guest_secret;
  Time access_expires{}, renew_at{};

  static bool parse(const std::string& text, Login& out);
  std::string write() const;
  bool is_usable(const std::string& stale) const;
};

/// The login that requests are made with, renewed in time. One login or renewal is under way at a
/// time; others wait for it. It is used in the network thread only, except current_*.
class Account {
 public:
  using Done = std::function<void(Error)>;
  using Token = std::function<void(Error, std::string token)>;

  Account(Caller& caller, std::shared_ptr<TokenStore> store, std::function<void()> changed);

  /// Logs in with what is stored, else as a new guest if create says so.
  void come_back(bool create, Done done);
  /// Makes a request that answers with a login, and keeps that. No renewal runs beside it, since
  /// one of the two answers would invalidate the other.
  void enter(const Request& request, Done done);
  /// Ends the login. The secret of a guest is kept, if keep_guest says so.
  void forget(bool keep_guest, Done done);
  /// Yields an access token that does not expire soon. stale is one that was refused; it is not
  /// returned again.
  void access(const std::string& stale, Token done);

  const Login& login() const { return login_; }

  std::string current_player() const;
  bool current_logged_in() const;

 private:
  // Runs a job when no other is under way. The job calls its argument when it has ended.
  void alone(std::function<void(std::function<void()> over)> job);
  void next();
  bool load(Error& error);
  void access_alone(const std::string& stale, Token done);
  // Uses the refresh token, or logs the guest in; back is false if there is neither.
  void renew(std::function<void(Error, bool back)> done);
  void refresh(int tries, Caller::Done done);
  void log_guest_in(std::function<void(Error, bool back)> done);
  Error keep(const Answer& answer);
  Error save(const Login& next);

  Caller& caller_;
  const std::shared_ptr<TokenStore> store_;
  const std::function<void()> changed_;
  bool loaded_ = false, busy_ = false;
  std::deque<std::function<void(std::function<void()>)>> jobs_;
  Login login_;
  mutable std::mutex mutex_;
  std::string player_;      // guarded by mutex_
  bool logged_in_ = false;  // guarded by mutex_
};

}  // namespace muster

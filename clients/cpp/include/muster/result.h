#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "muster/json.h"

namespace muster {

/// Why a call did not do what was asked.
struct Error {
  enum class Kind {
    none,
    problem,     ///< the server refused: status, code and detail say why (docs/players.md)
    network,     ///< it was not reached, or the answer was lost: what was asked for may have happened
    timeout,     ///< no answer came in time; as network
    logged_out,  ///< log in first
    match,       ///< the ticket ended without a match; data is the ticket
    placement,   ///< the placement ended without a game session; data is the placement
    cancelled,   ///< Client::cancel was called
    closed,      ///< the client is gone
    usage,       ///< an argument cannot be sent; detail names it
  };

  Kind kind = Kind::none;
  int status = 0;                  ///< HTTP status of a problem
  std::string code;                ///< the kind of problem, such as ticket-active
  std::string detail;              ///< for people
  double retry_after_seconds = 0;  ///< how long to wait; 0 if the server did not say
  Json data;                       ///< all that the server said. conflict_token is a secret: do not log it

  explicit operator bool() const { return kind != Kind::none; }
  /// Reports whether it is a problem of a kind.
  bool is(const char* problem) const { return kind == Kind::problem && code == problem; }
};

/// A value, or why there is none.
template <typename T>
struct Result {
  Error error;
  T value{};

  bool ok() const { return !error; }
};

/// The result of what answers nothing.
struct Nothing {};

/// An answer as it came.
struct Answer {
  int status = 0;            ///< 304 if nothing changed
  Json body;                 ///< null for none
  std::int64_t version = 0;  ///< of a value of the player's data, from the ETag
};

/// Is called once with the result of a call.
template <typename T>
using Callback = std::function<void(Result<T>)>;

/// A call under way, for Client::cancel.
using Call = std::uint64_t;

}  // namespace muster

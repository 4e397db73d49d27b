#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/result.h"

/// The API of Amazon GameLift, for callers with keys: backends, tools and builds for development,
/// on Muster or on AWS. Do not ship keys in a game: its players use muster::Client.
namespace muster::gamelift {

/// Which service to call, and how.
struct Options {
  std::string region;                      ///< such as us-east-1; signatures name it
  std::string endpoint;                    ///< such as http://127.0.0.1:9080; default: that of AWS in the region
  std::string access_key, secret_key;      ///< without them requests are not signed, which muster local accepts
  std::string session_token;               ///< of temporary keys
  std::string ca_file;                     ///< PEM certificates to trust in place of the system's
  std::chrono::milliseconds poll{10000};   ///< the longest between reads of a ticket, 100 at least; the first ones are 1, 2, 4 and 8 s apart
  /// Callbacks are called in the client's network thread, in place of Client::update. They must
  /// not block.
  bool callbacks_in_network_thread = false;

  /// Reads AWS_ENDPOINT_URL_GAMELIFT or AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
  /// AWS_SESSION_TOKEN and, where region is empty, AWS_REGION or AWS_DEFAULT_REGION.
  static Options from_environment(const std::string& region = "");
};

/// Where game sessions are: the first of queue, alias and fleet that is not empty.
struct Target {
  std::string queue, alias, fleet;
  std::string location;  ///< of an alias or fleet; empty: any
};

/// What to search for.
struct Search {
  Target target;
  std::string filter, sort;  ///< expressions of SearchGameSessions
  std::size_t most = 0;      ///< 0: all
};

/// How a ticket is followed.
struct TicketEvents {
  std::function<void(const Json& ticket)> seen;   ///< with each read
  std::function<void(const Error& error)> missed;  ///< a read failed, and is repeated
};

/// A client of the API. It may be used by several threads. No call blocks; each callback is called
/// once, from update. Inputs and outputs have the members of the API reference. Where the service
/// refuses, Error::code is the name of the exception, such as NotFoundException.
class Client {
 public:
  /// Creates a client. It sends nothing. Without a region and an endpoint every call ends with
  /// Error::Kind::usage.
  explicit Client(Options options);
  /// Calls under way end without a callback.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Calls the callbacks that are due. Call it in each frame.
  void update();
  /// Cancels a call, which then ends with Error::Kind::cancelled unless it has ended.
  void cancel(Call call);

  /// Calls an operation, such as CreateGameSession. Operations that read are repeated up to three
  /// times after a lost answer, 429 and 5xx.
  Call call(const std::string& operation, const Json& input, Callback<Json> done);

  /// Searches all pages, and of a queue all destinations in their order; each game session is found
  /// once.
  Call search(const Search& what, Callback<std::vector<Json>> done);
  /// Reserves a slot (CreatePlayerSession). While the game session is ACTIVATING it waits, for 52 s
  /// at most.
  Call reserve(const std::string& session_id, const std::string& player_id, const std::string& player_data, Callback<Json> done);
  /// Yields a placement when it is FULFILLED, or ends with Error::Kind::placement.
  Call follow_placement(const std::string& placement_id, Callback<Json> done);
  /// Yields a ticket when it has ended.
  Call follow_ticket(const std::string& ticket_id, TicketEvents events, Callback<Json> done);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::gamelift

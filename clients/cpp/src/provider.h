#pragma once

#include <functional>
#include <memory>
#include <string>

#include "made.h"
#include "muster/o3de.h"

namespace muster::o3de {

/// A game session, and the slot in it that the caller has already; "" for none.
struct Place {
  SessionConfig session;
  std::string player_session_id;

  SessionConnectionConfig connection() const;
};

/// How a ticket is followed.
struct TicketWatch {
  std::function<void()> proposed;
  std::function<void(const Error&)> missed;
};

/// A service of game sessions and matchmaking, as the gems use it. Callbacks are called from update.
/// Ids of game sessions and of placements differ in colons, which only the former have.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual void update() = 0;
  virtual void cancel(Call call) = 0;
  /// The player that counts where a request names none; "" if there is none.
  virtual std::string player() const = 0;

  virtual Call create(const AWSGameLiftCreateSessionRequest& request, Callback<std::string> done) = 0;
  virtual Call create(const AWSGameLiftCreateSessionOnQueueRequest& request, Callback<std::string> done) = 0;
  /// Yields the game session of an id, waiting for a placement.
  virtual Call locate(const std::string& id, const std::string& player_id, Callback<Place> done) = 0;
  virtual Call withdraw(const std::string& placement_id, Callback<Nothing> done) = 0;
  virtual Call search(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done) = 0;
  /// Reserves a slot. It waits for a placement, and for a game session that is starting.
  virtual Call join(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done) = 0;

  virtual Call start(const StartMatchmakingRequest& request, Callback<std::string> done) = 0;
  virtual Call stop(const std::string& ticket_id, Callback<Nothing> done) = 0;
  virtual Call accept(const AcceptMatchRequest& request, Callback<Nothing> done) = 0;
  /// Yields where a player plays, or ends with Error::Kind::match.
  virtual Call follow(const std::string& ticket_id, const std::string& player_id, TicketWatch watch, Callback<Place> done) = 0;
};

std::shared_ptr<Provider> player_provider(Client& client);
std::shared_ptr<Provider> gamelift_provider(const gamelift::Options& options);

Error usage(const std::string& detail);
bool is_session(const std::string& id);
/// Why a player does not play in a match that is complete.
Error no_place();

}  // namespace muster::o3de

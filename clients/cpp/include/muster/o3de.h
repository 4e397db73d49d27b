#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/client.h"
#include "muster/gamelift.h"

/// The calls of O3DE's session and matchmaking interfaces and of its AWSGameLift client gem by
/// their names (ISessionRequests, ISessionAsyncRequests, IMatchmakingRequests,
/// IMatchmakingAsyncRequests, AWSGameLiftRequests, AWSGameLiftMatchmakingEventRequests). A gem
/// forwards to it; nothing of O3DE is included here. The game server's side is o3de_server.h.
/// docs/o3de.md lists each call of the gems with its counterpart.
namespace muster::o3de {

struct SessionConfig {
  std::uint64_t m_creationTime = 0, m_terminationTime = 0;  ///< Unix milliseconds
  std::string m_creatorId;
  std::map<std::string, std::string> m_sessionProperties;
  std::string m_matchmakingData, m_sessionId, m_sessionName, m_dnsName, m_ipAddress;
  std::uint16_t m_port = 0;
  std::uint64_t m_maxPlayer = 0, m_currentPlayer = 0;
  std::string m_status, m_statusReason;
};

struct CreateSessionRequest {
  std::string m_creatorId;  ///< with the player API it is not sent: the creator is the player
  std::map<std::string, std::string> m_sessionProperties;
  std::string m_sessionName;
  std::uint64_t m_maxPlayer = 0;  ///< with the player API, 0 is the pool's most
};

/// On an alias or, if that is empty, a fleet. With the player API it fails: players have pools.
struct AWSGameLiftCreateSessionRequest : CreateSessionRequest {
  std::string m_aliasId, m_fleetId;
  std::string m_idempotencyToken;
  std::string m_location;  ///< of the fleet, which O3DE's gem cannot name; empty: the home region
};

struct AWSGameLiftCreateSessionOnQueueRequest : CreateSessionRequest {
  std::string m_queueName;    ///< with the player API, the pool
  std::string m_placementId;  ///< empty: a new one; with the player API it is not sent: the server names placements
};

struct SearchSessionsRequest {
  std::string m_filterExpression;  ///< of SearchGameSessions; empty: all that are ACTIVE
  std::string m_sortExpression;
  std::uint8_t m_maxResult = 0;  ///< 1 to 20 for a page; 0: all
  std::string m_nextToken;       ///< of the page before; needs m_maxResult
};

/// In a queue, else an alias, else a fleet, by the first that is not empty. A queue, which O3DE's
/// gem cannot search, is searched in all its destinations, without pages. With the player API,
/// m_queueName is a pool, the fleet and alias must be empty, expressions are about what players see,
/// and at most 20 are found, without addresses, which come with joining.
struct AWSGameLiftSearchSessionsRequest : SearchSessionsRequest {
  std::string m_aliasId, m_fleetId, m_queueName, m_location;
};

struct SearchSessionsResponse {
  std::vector<SessionConfig> m_sessionConfigs;
  std::string m_nextToken;
};

struct JoinSessionRequest {
  std::string m_sessionId;  ///< also what CreateSession has returned for a queue, a placement: it is waited for
  std::string m_playerId;   ///< with the player API: empty, or the player who is logged in
  std::string m_playerData;
};
using AWSGameLiftJoinSessionRequest = JoinSessionRequest;

struct AcceptMatchRequest {
  bool m_acceptMatch = false;
  std::vector<std::string> m_playerIds;  ///< not sent with the player API
  std::string m_ticketId;
};
using AWSGameLiftAcceptMatchRequest = AcceptMatchRequest;

struct AWSGameLiftPlayer {
  std::string m_playerId, m_team;
  std::map<std::string, int> m_latencyInMs;                ///< by location
  std::map<std::string, std::string> m_playerAttributes;   ///< each the text {"N":23}, {"S":"x"}, {"SL":["x"]} or {"SDM":{"x":1}}
};

struct StartMatchmakingRequest {
  std::string m_ticketId;                    ///< empty: the service names it; not sent with the player API
  std::string m_configurationName;           ///< with the player API, the matchmaker
  std::vector<AWSGameLiftPlayer> m_players;  ///< with the player API at most one, the player who is logged in
};
using AWSGameLiftStartMatchmakingRequest = StartMatchmakingRequest;

struct StopMatchmakingRequest {
  std::string m_ticketId;
};
using AWSGameLiftStopMatchmakingRequest = StopMatchmakingRequest;

struct SessionConnectionConfig {
  std::string m_playerSessionId, m_dnsName, m_ipAddress;
  std::uint16_t m_port = 0;
};

/// The netcode (ISessionHandlingClientRequests).
class ISessionHandlingClientRequests {
 public:
  virtual ~ISessionHandlingClientRequests() = default;
  /// Starts to connect, with m_playerSessionId in the first message. It reports whether it could.
  virtual bool RequestPlayerJoinSession(const SessionConnectionConfig& config) = 0;
  virtual void RequestPlayerLeaveSession() = 0;
};

/// What is reported when an Async call has ended, once for each call, and of matches. Each may be
/// empty.
struct Notifications {
  std::function<void(const std::string&)> OnCreateSessionAsyncComplete;
  std::function<void(const SearchSessionsResponse&)> OnSearchSessionsAsyncComplete;
  std::function<void(bool)> OnJoinSessionAsyncComplete;
  std::function<void()> OnLeaveSessionAsyncComplete;
  std::function<void()> OnAcceptMatchAsyncComplete;
  std::function<void(const std::string&)> OnStartMatchmakingAsyncComplete;
  std::function<void()> OnStopMatchmakingAsyncComplete;
  /// A match is proposed: call AcceptMatch. With keys it is reported with each read of the ticket,
  /// as by the gem; with the player API, once for each match.
  std::function<void()> OnMatchAcceptance;
  std::function<void()> OnMatchError;     ///< the ticket could not be read just now, which is repeated
  std::function<void()> OnMatchComplete;  ///< the last of a ticket: the netcode has been asked to join
  std::function<void()> OnMatchFailure;   ///< or this: there is no match, no place in it, or no ticket
};

class Provider;

/// Game sessions and matchmaking, by one of two services: the player API for a player who is logged
/// in, without keys; or the API of GameLift, with keys. What fails returns what O3DE's gem returns,
/// an empty id or response, or false, and last_error says why. The calls that return a value block
/// until the service has answered: use the Async ones in a game's main thread.
class SessionSystem {
 public:
  /// With the player API. The client and the netcode must outlive it.
  SessionSystem(Client& client, ISessionHandlingClientRequests& netcode, Notifications notifications = {});
  /// With the API of GameLift, after ConfigureGameLiftClient. The netcode must outlive it.
  explicit SessionSystem(ISessionHandlingClientRequests& netcode, Notifications notifications = {});
  /// Stops polling. Calls under way end without a notification.
  ~SessionSystem();
  SessionSystem(const SessionSystem&) = delete;
  SessionSystem& operator=(const SessionSystem&) = delete;

  /// Calls the notifications that are due. Call it in each frame.
  void update();

  // AWSGameLiftRequests

  /// Takes keys and endpoint from the environment (gamelift::Options::from_environment). It reports
  /// whether there is a region or an endpoint. Over the player API it does nothing, and reports true.
  /// While calls are under way, or a ticket is polled, it fails.
  bool ConfigureGameLiftClient(const std::string& region);
  bool ConfigureGameLiftClient(const gamelift::Options& options);
  /// Returns a random UUID.
  static std::string CreatePlayerId(bool includeBrackets, bool includeDashes);

  // ISessionRequests. CreateSession does not join: pass what it returns to JoinSession.

  /// Returns the game session's id.
  std::string CreateSession(const AWSGameLiftCreateSessionRequest& request);
  /// Returns the placement's id at once.
  std::string CreateSession(const AWSGameLiftCreateSessionOnQueueRequest& request);
  SearchSessionsResponse SearchSessions(const AWSGameLiftSearchSessionsRequest& request) const;
  /// Reserves a slot and has the netcode connect. A game session that is starting is waited for,
  /// for 52 s at most.
  bool JoinSession(const JoinSessionRequest& request);
  void LeaveSession();

  // ISessionAsyncRequests

  void CreateSessionAsync(const AWSGameLiftCreateSessionRequest& request);
  void CreateSessionAsync(const AWSGameLiftCreateSessionOnQueueRequest& request);
  void SearchSessionsAsync(const AWSGameLiftSearchSessionsRequest& request) const;
  void JoinSessionAsync(const JoinSessionRequest& request);
  void LeaveSessionAsync();

  // IMatchmakingRequests. StartMatchmaking returns the ticket's id, for StartPolling.

  void AcceptMatch(const AcceptMatchRequest& request);
  std::string StartMatchmaking(const StartMatchmakingRequest& request);
  void StopMatchmaking(const StopMatchmakingRequest& request);

  // IMatchmakingAsyncRequests

  void AcceptMatchAsync(const AcceptMatchRequest& request);
  void StartMatchmakingAsync(const StartMatchmakingRequest& request);
  void StopMatchmakingAsync(const StopMatchmakingRequest& request);

  // AWSGameLiftMatchmakingEventRequests

  /// Follows a ticket until it has ended, and has the netcode connect its player. While a ticket is
  /// followed, another one is not.
  void StartPolling(const std::string& ticketId, const std::string& playerId);
  /// Follows it no longer. No notification about it comes after that; the ticket stays.
  void StopPolling();

  /// Why the last call failed; of no kind if it did not.
  Error last_error() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::o3de

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/o3de.h"

/// The calls of Lumberyard's GameLift gem (GridMate) for game clients by their names:
/// GameLiftClientService with its searches and sessions. Nothing of GridMate is included here: the
/// netcode stands in for its carrier. The game server's side is gridmate_server.h. docs/o3de.md
/// lists each call with its counterpart.
namespace muster::gridmate {

using Netcode = o3de::ISessionHandlingClientRequests;

/// How the API of GameLift is reached. What is empty is taken from the environment
/// (gamelift::Options::from_environment).
struct GameLiftClientServiceDesc {
  std::string m_region, m_endpoint, m_accessKey, m_secretKey;
  std::string m_playerId;                ///< empty: a random one
  bool m_useGameLiftLocalServer = false;  ///< requests are not signed; m_endpoint is that of muster local
  gamelift::Options m_more;              ///< the rest, such as ca_file and poll
};

struct GridSessionParam {
  std::string m_id, m_value;
};

/// The first of m_queueName, m_aliasId and m_fleetId that is not empty counts.
struct GameLiftSessionRequestParams {
  std::string m_queueName, m_aliasId, m_fleetId;
  std::string m_location;  ///< of the alias or fleet, which GridMate cannot name; empty: the home region
  std::string m_instanceName;
  unsigned m_numPublicSlots = 0, m_numPrivateSlots = 0;  ///< together the most players
  std::vector<GridSessionParam> m_params;                ///< the properties of the game session
};

enum class GridSessionSearchOperators { SSO_OPERATOR_EQUAL, SSO_OPERATOR_NOT_EQUAL };

/// A property that is looked for.
struct GridSessionSearchParam : GridSessionParam {
  GridSessionSearchOperators m_op = GridSessionSearchOperators::SSO_OPERATOR_EQUAL;
};

/// The first of m_queueName, m_aliasId and m_fleetId that is not empty counts. All pages are read,
/// and of a queue all destinations.
struct GameLiftSearchParams {
  std::string m_queueName, m_aliasId, m_fleetId;
  std::string m_location;                        ///< of the alias or fleet; empty: any
  std::string m_gameInstanceId;                  ///< only this game session
  unsigned m_maxSessions = 0;                    ///< 0: all
  std::vector<GridSessionSearchParam> m_params;  ///< all must hold
  std::string m_filterExpression, m_sortExpression;  ///< more conditions, and the order, of SearchGameSessions
};

struct GameLiftSearchInfo {
  std::string m_sessionId, m_fleetId, m_queueName, m_ipAddress, m_dnsName;
  std::string m_playerSessionId;  ///< the slot that is reserved already; "" for none
  unsigned m_numFreePublicSlots = 0, m_numUsedPublicSlots = 0, m_numPlayers = 0;
  unsigned m_port = 0;
  std::vector<GridSessionParam> m_params;
};

/// A search, a requested game session, or matchmaking under way. It is used where
/// GameLiftClientService::Update is called.
class GameLiftSearch {
 public:
  bool IsDone() const { return done_; }
  std::size_t GetNumResults() const { return found_.size(); }
  /// n must be less than GetNumResults.
  const GameLiftSearchInfo& GetResult(std::size_t n) const { return found_[n]; }
  /// Why there is no result; of no kind if nothing failed.
  const Error& GetError() const { return error_; }
  /// The matchmaking ticket, once it is known.
  const std::string& GetTicketId() const { return ticket_; }

 private:
  friend class GameLiftClientService;
  bool done_ = false, matchmaking_ = false;
  std::vector<GameLiftSearchInfo> found_;
  Error error_;
  std::string ticket_, placement_;
  Call call_ = 0;
};
using GridSearchPtr = std::shared_ptr<GameLiftSearch>;

/// A game session that the player is in, or joins. It is used where GameLiftClientService::Update
/// is called.
class GameLiftClientSession {
 public:
  enum class State { joining, joined, failed, left };

  State GetState() const { return state_; }
  const std::string& GetId() const { return id_; }
  const std::string& GetPlayerSessionId() const { return player_session_id_; }
  /// Why it could not be joined.
  const Error& GetError() const { return error_; }

 private:
  friend class GameLiftClientService;
  State state_ = State::joining;
  std::string id_, player_session_id_;
  Error error_;
};
using GridSessionPtr = std::shared_ptr<GameLiftClientSession>;

/// What is reported by Update. Each may be empty.
struct GameLiftClientEvents {
  std::function<void()> OnGameLiftSessionServiceReady;
  std::function<void(const std::string& message)> OnGameLiftSessionServiceFailed;
  std::function<void(const GridSearchPtr&)> OnGridSearchComplete;
  std::function<void(const GridSessionPtr&)> OnSessionJoined, OnSessionError;
  /// A match is proposed, for AcceptMatch. Empty accepts: GridMate cannot, and its matches that ask
  /// for acceptance fail.
  std::function<void(const GridSearchPtr&)> OnMatchAcceptance;
};

/// The service of a player. Its calls return nullptr until it is ready; after that, results come
/// with OnGridSearchComplete and OnSessionJoined.
class GameLiftClientService {
 public:
  /// With keys. It calls the API once, to learn whether it answers and takes the keys. The netcode
  /// must outlive the service.
  GameLiftClientService(const GameLiftClientServiceDesc& desc, Netcode& netcode, GameLiftClientEvents events = {});
  /// With the player API, for the player who is logged in; queues are pools, there are no fleets and
  /// aliases, and a search finds at most 20 game sessions, without addresses. It is ready at once. The client and the netcode must outlive the service.
  GameLiftClientService(Client& client, Netcode& netcode, GameLiftClientEvents events = {});
  /// Calls under way end without an event.
  ~GameLiftClientService();
  GameLiftClientService(const GameLiftClientService&) = delete;
  GameLiftClientService& operator=(const GameLiftClientService&) = delete;

  /// Calls the events that are due. Call it in each frame.
  void Update();
  bool IsReady() const;
  const std::string& GetPlayerId() const;

  /// Creates a game session. Its one result has a slot, or JoinSessionBySearchInfo reserves one.
  GridSearchPtr RequestSession(const GameLiftSessionRequestParams& params);
  GridSearchPtr StartSearch(const GameLiftSearchParams& params);
  /// Takes the player to a match. Its one result has a slot.
  GridSearchPtr StartMatchmaking(const std::string& matchmakingConfig);
  /// As StartMatchmaking, with attributes, latency and team; GridMate's sends the id alone.
  GridSearchPtr StartMatchmaking(const o3de::StartMatchmakingRequest& request);
  void AcceptMatch(const GridSearchPtr& search, bool accept);
  /// Ends a search without a result and without an event; a ticket or placement is stopped.
  void AbortSearch(const GridSearchPtr& search);

  /// Reserves a slot, unless there is one, and has the netcode connect. A game session that is
  /// starting is waited for, for 52 s at most.
  GridSessionPtr JoinSessionBySearchInfo(const GameLiftSearchInfo& info);
  void LeaveSession(const GridSessionPtr& session);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::gridmate

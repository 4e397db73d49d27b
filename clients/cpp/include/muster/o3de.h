#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/client.h"

/// The calls of O3DE's session and matchmaking interfaces by their names (Multiplayer/Session:
/// ISessionRequests, ISessionAsyncRequests, IMatchmakingRequests, IMatchmakingAsyncRequests), over
/// a Client. A gem forwards to it; nothing of O3DE is included here. The calls that return a
/// value block until the server has answered: use the Async ones in a game's main thread, and
/// call Client::update in each frame.
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
  std::string m_creatorId;  ///< not sent: the player is the one who is logged in
  std::map<std::string, std::string> m_sessionProperties;
  std::string m_sessionName;
  std::uint64_t m_maxPlayer = 0;
  std::string m_queueName;  ///< the pool
};

struct SearchSessionsRequest {
  std::string m_filterExpression;  ///< must be empty: the player API lists by pool and location
  std::string m_sortExpression;    ///< must be empty
  std::uint8_t m_maxResult = 0;
  std::string m_nextToken;  ///< must be empty
  std::string m_queueName;  ///< the pool
  std::string m_location;
};

struct SearchSessionsResponse {
  std::vector<SessionConfig> m_sessionConfigs;
  std::string m_nextToken;
};

struct JoinSessionRequest {
  std::string m_sessionId, m_playerId, m_playerData;
};

struct AcceptMatchRequest {
  bool m_acceptMatch = false;
  std::vector<std::string> m_playerIds;
  std::string m_ticketId;
};

struct StartMatchmakingRequest {
  std::string m_ticketId;           ///< not sent: the server names tickets
  std::string m_configurationName;  ///< the matchmaker
  std::map<std::string, Json> m_playerAttributes;
};

struct StopMatchmakingRequest {
  std::string m_ticketId;
};

struct SessionConnectionConfig {
  std::string m_playerSessionId, m_dnsName, m_ipAddress;
  std::uint16_t m_port = 0;
};

/// The netcode (ISessionHandlingClientRequests).
class ISessionHandlingClientRequests {
 public:
  virtual ~ISessionHandlingClientRequests() = default;
  virtual bool RequestPlayerJoinSession(const SessionConnectionConfig& config) = 0;
  virtual void RequestPlayerLeaveSession() = 0;
};

/// What is reported when an Async call has ended, and of matches. Each may be empty.
struct Notifications {
  std::function<void(const std::string&)> OnCreateSessionAsyncComplete;
  std::function<void(const SearchSessionsResponse&)> OnSearchSessionsAsyncComplete;
  std::function<void(bool)> OnJoinSessionAsyncComplete;
  std::function<void()> OnLeaveSessionAsyncComplete;
  std::function<void()> OnAcceptMatchAsyncComplete;
  std::function<void(const std::string&)> OnStartMatchmakingAsyncComplete;
  std::function<void()> OnStopMatchmakingAsyncComplete;
  std::function<void()> OnMatchAcceptance;  ///< a match is proposed: call AcceptMatch
  std::function<void()> OnMatchComplete;    ///< the netcode has been asked to join
  std::function<void()> OnMatchError;
  std::function<void()> OnMatchFailure;
};

/// Sessions and matchmaking of a player who is logged in. What fails returns what O3DE's gems
/// return: an empty id or response, or false; last_error says why.
class SessionSystem {
 public:
  /// The client and the netcode must outlive it.
  SessionSystem(Client& client, ISessionHandlingClientRequests& netcode, Notifications notifications = {});
  ~SessionSystem();

  // ISessionRequests
  std::string CreateSession(const CreateSessionRequest& request);
  SearchSessionsResponse SearchSessions(const SearchSessionsRequest& request);
  bool JoinSession(const JoinSessionRequest& request);
  void LeaveSession();

  // ISessionAsyncRequests
  void CreateSessionAsync(const CreateSessionRequest& request);
  void SearchSessionsAsync(const SearchSessionsRequest& request);
  void JoinSessionAsync(const JoinSessionRequest& request);
  void LeaveSessionAsync();

  // IMatchmakingRequests
  void AcceptMatch(const AcceptMatchRequest& request);
  std::string StartMatchmaking(const StartMatchmakingRequest& request);
  void StopMatchmaking(const StopMatchmakingRequest& request);

  // IMatchmakingAsyncRequests
  void AcceptMatchAsync(const AcceptMatchRequest& request);
  void StartMatchmakingAsync(const StartMatchmakingRequest& request);
  void StopMatchmakingAsync(const StopMatchmakingRequest& request);

  /// Why the last call failed.
  Error last_error() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::o3de

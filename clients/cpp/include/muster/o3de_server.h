#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muster/game_server.h"
#include "muster/o3de.h"

/// The calls of O3DE's AWSGameLift server gem by their names: SessionNotifications,
/// AWSGameLiftServerRequests and ISessionHandlingProviderRequests, over a GameServer. A gem forwards
/// to it; nothing of O3DE is included here. docs/o3de.md lists each call with its counterpart.
namespace muster::o3de {

struct PlayerConnectionConfig {
  std::uint32_t m_playerConnectionId = 0;
  std::string m_playerSessionId;
};

/// What a game server does when its game session comes and goes. Of several handlers, all are asked,
/// and a result is true if it is true for each.
class SessionNotifications {
 public:
  virtual ~SessionNotifications() = default;
  /// Asked once a minute.
  virtual bool OnSessionHealthCheck() { return true; }
  /// Prepares the game and lets the netcode listen. Where it is false the process ends.
  virtual bool OnCreateSessionBegin(const SessionConfig& sessionConfig) = 0;
  /// The game session is ACTIVE.
  virtual void OnCreateSessionEnd() {}
  /// Disconnects the players and saves what has to be. The process ends whatever it returns.
  virtual bool OnDestroySessionBegin() { return true; }
  /// The service knows that the process ends: exit.
  virtual void OnDestroySessionEnd() {}
  /// The game session has changed: updateReason is MATCHMAKING_DATA_UPDATED, BACKFILL_FAILED,
  /// BACKFILL_TIMED_OUT or BACKFILL_CANCELLED.
  virtual void OnUpdateSessionBegin(const SessionConfig& /*sessionConfig*/, const std::string& /*updateReason*/) {}
  virtual void OnUpdateSessionEnd() {}
};

/// What O3DE's gem reads from console variables.
struct AWSGameLiftServerDesc {
  GameServerOptions m_anywhere;  ///< sv_gameliftAnywhere…; what is empty comes from the environment
  std::uint16_t m_port = 0;      ///< sv_port
  std::vector<std::string> m_logPaths;
  bool m_terminateOnPlayerExit = true;  ///< sv_terminateOnPlayerExit: the last player who leaves ends the process
};

/// A game server process with one game session. Its calls may be made in any thread; the handlers
/// are called from update, and from HandleDestroySession.
class AWSGameLiftServer {
 public:
  explicit AWSGameLiftServer(AWSGameLiftServerDesc desc);
  /// Ends the process, as HandleDestroySession does.
  ~AWSGameLiftServer();
  AWSGameLiftServer(const AWSGameLiftServer&) = delete;
  AWSGameLiftServer& operator=(const AWSGameLiftServer&) = delete;

  /// Adds a handler (SessionNotificationBus::Handler::BusConnect), before NotifyGameLiftProcessReady.
  /// It must outlive the server.
  void AddHandler(SessionNotifications& handler);
  /// Calls the handlers. Call it in each frame.
  void update();

  // AWSGameLiftServerRequests

  /// Connects, and reports that the process can host a game session. Unlike the gem's, it waits for
  /// the answer; where it is false the process is of no use.
  bool NotifyGameLiftProcessReady();
  /// Searches for more players for the match. ticketId may be empty. Without players it is for those
  /// who are in the game session, by its matchmaker data.
  bool StartMatchBackfill(const std::string& ticketId = "", const std::vector<AWSGameLiftPlayer>& players = {});
  /// Stops a search; "" for the latest, or that of automatic backfill.
  bool StopMatchBackfill(const std::string& ticketId = "");

  // ISessionHandlingProviderRequests

  /// Ends the game session and the process: asks the handlers, reports it, and lets the caller exit.
  /// Once it has begun, calling it again does nothing.
  void HandleDestroySession();
  /// Accepts the player who has connected. It may block until the service has answered. Where it is
  /// false, disconnect that connection, and no other.
  bool ValidatePlayerJoinSession(const PlayerConnectionConfig& config);
  /// Reports that a connection has ended. A connection that was not accepted is none.
  void HandlePlayerLeaveSession(const PlayerConnectionConfig& config);
  /// The path of the TLS certificate; "" if there is none.
  std::string GetExternalSessionCertificate();
  /// "": connections among servers have none.
  std::string GetInternalSessionCertificate();

  // What the gem does not have.

  /// Lets more players reserve slots, or not.
  bool SetAcceptingPlayers(bool accepting);
  std::string GetBackfillTicket() const;
  /// Reports whether the process has to exit.
  bool IsEnded() const;
  /// Why the last call failed; of no kind if it did not.
  Error last_error() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::o3de

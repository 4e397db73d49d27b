#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/game_server.h"

/// The calls of Lumberyard's GameLift gem (GridMate) for game servers by their names, over a
/// GameServer. Nothing of GridMate is included here. docs/o3de.md lists each call with its
/// counterpart.
namespace muster::gridmate {

struct GameLiftServerServiceDesc {
  std::vector<std::string> m_logPaths;
  std::uint16_t m_port = 0;
  GameServerOptions m_options;  ///< how Muster is reached; what is empty comes from the environment
};

/// A game session that is to be hosted.
struct GameLiftSessionParams {
  HostedSession m_gameSession;      ///< as OnGameLiftGameSessionStarted has it
  unsigned m_numPrivateSlots = 0;   ///< slots besides those of players, such as the host's own
};

class GameLiftServerService;

/// A game session that the process hosts. Its members may be called in any thread.
class GameLiftServerSession {
 public:
  const std::string& GetId() const { return id_; }
  unsigned GetNumPublicSlots() const { return public_slots_; }
  unsigned GetNumPrivateSlots() const { return private_slots_; }
  /// The slots of players that nobody has. A player who is expected counts after joining.
  unsigned GetNumFreePublicSlots() const;

  /// Accepts the player who has connected with a player session. It may block until the service has
  /// answered. Where it is false, disconnect that connection, and no other.
  bool OnPlayerJoined(std::uint32_t connection, const std::string& playerSessionId);
  /// Reports that a connection has ended.
  void OnPlayerLeft(std::uint32_t connection);

 private:
  friend class GameLiftServerService;
  struct State;
  GameLiftServerSession() = default;
  std::string id_;
  unsigned public_slots_ = 0, private_slots_ = 0;
  std::shared_ptr<State> state_;
};
using GridServerSessionPtr = std::shared_ptr<GameLiftServerSession>;

/// What is reported by Update. Each may be empty.
struct GameLiftServerEvents {
  std::function<void()> OnGameLiftSessionServiceReady;
  std::function<void(const std::string& message)> OnGameLiftSessionServiceFailed;
  std::function<void(const HostedSession&)> OnGameLiftGameSessionStarted;  ///< call HostSession
  /// reason: MATCHMAKING_DATA_UPDATED, BACKFILL_FAILED, BACKFILL_TIMED_OUT or BACKFILL_CANCELLED
  std::function<void(const HostedSession&, const std::string& reason, const std::string& ticketId)> OnGameLiftGameSessionUpdated;
  std::function<void()> OnGameLiftServerWillTerminate;  ///< call ShutdownSession and exit
};

/// The service of a game server process.
class GameLiftServerService {
 public:
  GameLiftServerService(GameLiftServerServiceDesc desc, GameLiftServerEvents events = {});
  ~GameLiftServerService();
  GameLiftServerService(const GameLiftServerService&) = delete;
  GameLiftServerService& operator=(const GameLiftServerService&) = delete;

  /// Connects, and reports that the process can host a game session. It reports whether that
  /// succeeded, as the events do.
  bool Start();
  /// Calls the events that are due. Call it in each frame.
  void Update();
  bool IsReady() const;

  /// Hosts a game session and lets players in (ActivateGameSession). Where it fails it is nullptr.
  GridServerSessionPtr HostSession(const GameLiftSessionParams& params);
  /// Ends the game session and the process: exit afterwards. Where it fails, the session stays. A
  /// process without a session is ended by nullptr.
  bool ShutdownSession(const GridServerSessionPtr& session);

  /// Searches for more players for the players in the game session, and returns the ticket in
  /// matchmakingTicketId, which may be empty before. It refuses where checkForAutoBackfill is true
  /// and automatic backfill is at work.
  bool StartMatchmakingBackfill(const GridServerSessionPtr& session, std::string& matchmakingTicketId, bool checkForAutoBackfill = true);
  /// Stops a search; "" for the latest.
  bool StopMatchmakingBackfill(const GridServerSessionPtr& session, const std::string& matchmakingTicketId);

  /// Why the last call failed; of no kind if it did not.
  Error last_error() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::gridmate

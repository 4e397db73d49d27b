#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/result.h"

namespace muster {

/// How a game server process reaches Muster, or GameLift. What is empty is taken from the
/// environment (GAMELIFT_SDK_WEBSOCKET_URL, …_AUTH_TOKEN, …_FLEET_ID, …_HOST_ID, …_PROCESS_ID), which
/// is set where muster local --exec, an agent or a managed fleet has started the process.
struct GameServerOptions {
  std::string websocket_url;  ///< GameLiftServiceSdkEndpoint of RegisterCompute
  std::string auth_token;     ///< of GetComputeAuthToken
  std::string fleet_id;
  std::string host_id;        ///< the compute's name
  std::string process_id;     ///< empty: a random one
  std::string ca_file;        ///< PEM certificates to trust in place of the system's
};

/// A game session as its game server knows it.
struct HostedSession {
  std::string id;  ///< the ARN; "" for none
  std::string name, data, matchmaker_data, ip_address, dns_name;
  std::uint16_t port = 0;
  std::int64_t max_players = 0;
  std::map<std::string, std::string> properties;
};

/// A player session: a player who is expected, here, or gone.
struct HostedPlayer {
  std::string player_session_id, player_id, player_data;
  std::string status;  ///< RESERVED, ACTIVE, COMPLETED or TIMEDOUT
};

/// A player for whose match more players are searched.
struct BackfillPlayer {
  std::string player_id, team;
  std::map<std::string, std::string> attributes;    ///< each the text {"N":23}, {"S":"x"}, {"SL":["x"]} or {"SDM":{"x":1}}
  std::map<std::string, std::int64_t> latency_ms;   ///< by location
};

/// Who is in a match: the matchmaker data of a game session.
struct MatchData {
  std::string match_id, configuration;  ///< configuration is an ARN
  std::string auto_backfill_ticket;     ///< of automatic backfill; "" for none
  std::vector<BackfillPlayer> players;

  /// Reads matchmaker data. An empty text is no match. It reports whether the text is of the form.
  static bool parse(const std::string& text, MatchData& out);
};

/// What happens to a process. Each may be empty; all are called from GameServer::update.
struct GameServerEvents {
  std::function<void(const HostedSession&)> started;  ///< prepare the game, then call activate
  /// reason: MATCHMAKING_DATA_UPDATED, BACKFILL_FAILED, BACKFILL_TIMED_OUT or BACKFILL_CANCELLED
  std::function<void(const HostedSession&, const std::string& reason, const std::string& backfill_ticket)> updated;
  std::function<void(Time by)> terminate;  ///< call ending and exit, before that time
  std::function<bool()> healthy;           ///< asked once a minute; empty: healthy while update is called
};

/// A game server process: it speaks the protocol of AWS's Server SDK 5 with Muster or GameLift, and
/// hosts one game session. A connection that breaks is opened again, and what was not answered is
/// sent again. The calls block until they are answered, for 30 s at most, and may be made in any
/// thread; do not make them while another thread destroys it.
class GameServer {
 public:
  explicit GameServer(GameServerOptions options = {}, GameServerEvents events = {});
  ~GameServer();
  GameServer(const GameServer&) = delete;
  GameServer& operator=(const GameServer&) = delete;

  /// Connects (InitSDK), within 60 s.
  Error init();
  /// Reports that the process can host a game session (ProcessReady): at a port, with the paths of
  /// its logs.
  Error ready(std::uint16_t port, const std::vector<std::string>& log_paths);
  /// Calls the events that are due. Call it in each frame: a process that does not for some minutes
  /// counts as unhealthy, and is ended.
  void update();

  /// Lets players in (ActivateGameSession).
  Error activate();
  /// Lets more players reserve slots, or not.
  Error set_accepting_players(bool accepting);
  /// Accepts a player session, once. Where it fails, disconnect that player, and no other.
  Error accept_player(const std::string& player_session_id);
  /// Reports that a player has left.
  Error remove_player(const std::string& player_session_id);
  /// Returns the player sessions of the game session with a status; "" for all.
  Result<std::vector<HostedPlayer>> players(const std::string& status = "ACTIVE");

  /// Searches for more players, and returns the ticket's id. It takes the place of an earlier search.
  /// ticket_id may be empty. Without players it is for the ACTIVE ones, with the team and attributes
  /// that the matchmaker data has of them.
  Result<std::string> start_backfill(const std::string& ticket_id, std::vector<BackfillPlayer> players = {});
  /// Stops a search; "" for the latest.
  Error stop_backfill(const std::string& ticket_id = "");
  /// The latest search, else that of automatic backfill; "" for none.
  std::string backfill_ticket() const;

  /// Returns the path of the process's TLS certificate.
  Result<std::string> certificate();
  /// Reports that the process ends (ProcessEnding): exit afterwards.
  Error ending();

  /// The game session; one without an id if there is none.
  HostedSession session() const;
  /// By when the process has to end; the zero time if it need not.
  Time termination_time() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster

// A game server by the names of GridMate's gem, which does what the sample for O3DE's does.

#include <cstdio>
#include <set>
#include <string>

#include "muster/gridmate_server.h"
#include "netcode.h"

namespace {

using namespace muster::gridmate;

struct Game {
  void say(const std::string& line) {
    for (const int player : players) net.send(player, line);
  }

  void heard(GameLiftServerService& service, int connection, const std::string& line) {
    if (players.count(connection) == 0) {
      if (!session || !session->OnPlayerJoined(static_cast<std::uint32_t>(connection), line)) return net.drop(connection);
      players.insert(connection);
      return say("players " + std::to_string(players.size()));
    }
    if (line == "backfill") return say(service.StartMatchmakingBackfill(session, ticket) ? "searching " + ticket : service.last_error().detail);
    if (line == "enough") return say(service.StopMatchmakingBackfill(session, ticket) ? "stopped" : service.last_error().detail);
    say(line);
  }

  netcode::Server net;
  std::set<int> players;
  GridServerSessionPtr session;
  std::string ticket;
  bool over = false;
};

}  // namespace

int main() {
  Game game;
  GameLiftServerServiceDesc desc;
  desc.m_port = game.net.listen(0);
  GameLiftServerEvents events;
  GameLiftServerService* running = nullptr;
  events.OnGameLiftGameSessionStarted = [&](const muster::HostedSession& started) {
    game.session = running->HostSession({started, 0});
    game.over = !game.session;
  };
  events.OnGameLiftGameSessionUpdated = [&](const muster::HostedSession&, const std::string& reason, const std::string&) { game.say("update " + reason); };
  events.OnGameLiftServerWillTerminate = [&] { game.over = true; };
  events.OnGameLiftSessionServiceFailed = [](const std::string& why) { std::fprintf(stderr, "not ready: %s\n", why.c_str()); };
  GameLiftServerService service(desc, events);
  running = &service;
  if (!service.Start()) return 1;
  while (!game.over) {
    service.Update();
    game.net.update(
        10, [&](int connection, const std::string& line) { game.heard(service, connection, line); },
        [&](int connection) {
          if (game.players.erase(connection) == 0) return;
          game.session->OnPlayerLeft(static_cast<std::uint32_t>(connection));
          game.over = game.players.empty();
        });
  }
  return service.ShutdownSession(game.session) ? 0 : 1;
}

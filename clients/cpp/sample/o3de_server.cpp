// A game server by the names of O3DE's gem: players say lines, and everybody hears them. Where
// "backfill" is said, more players are searched for the match. With Muster's library:
//
//   g++ -std=c++17 -Iclients/cpp/include -o server clients/cpp/src/*.cpp clients/cpp/sample/o3de_server.cpp -lcurl -pthread
//   bin/muster local --exec ./server

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "muster/o3de_server.h"
#include "netcode.h"

namespace {

using muster::o3de::AWSGameLiftServer;

struct Game : muster::o3de::SessionNotifications {
  bool OnCreateSessionBegin(const muster::o3de::SessionConfig& session) override {
    std::printf("game session %s for %llu players\n", session.m_sessionId.c_str(), static_cast<unsigned long long>(session.m_maxPlayer));
    const auto level = session.m_sessionProperties.find("level");
    return level == session.m_sessionProperties.end() || level->second != "missing";  // as if it were loaded
  }
  void OnCreateSessionEnd() override { std::puts("active"); }
  bool OnDestroySessionBegin() override {
    net.stop();
    return true;
  }
  void OnDestroySessionEnd() override { std::puts("ended"); }
  void OnUpdateSessionBegin(const muster::o3de::SessionConfig&, const std::string& reason) override { say("update " + reason); }

  void say(const std::string& line) {
    for (const int player : players) net.send(player, line);
  }

  // The first line of a connection is the player session that the client was given.
  void heard(AWSGameLiftServer& server, int connection, const std::string& line) {
    if (players.count(connection) == 0) {
      if (!server.ValidatePlayerJoinSession({static_cast<std::uint32_t>(connection), line})) return net.drop(connection);
      players.insert(connection);
      return say("players " + std::to_string(players.size()));
    }
    if (line == "backfill") {
      const bool started = server.StartMatchBackfill();
      return say(started ? "searching " + server.GetBackfillTicket() : server.last_error().detail);
    }
    if (line == "enough") return say(server.StopMatchBackfill() ? "stopped" : server.last_error().detail);
    say(line);
  }

  netcode::Server net;
  std::set<int> players;  // who were accepted
};

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Game game;
  const char* port = std::getenv("GAME_PORT");
  muster::o3de::AWSGameLiftServerDesc desc;
  desc.m_port = game.net.listen(static_cast<std::uint16_t>(port ? std::atoi(port) : 0));
  AWSGameLiftServer server(desc);
  server.AddHandler(game);
  if (desc.m_port == 0 || !server.NotifyGameLiftProcessReady()) {
    std::fprintf(stderr, "not ready: %s\n", server.last_error().detail.c_str());
    return 1;
  }
  while (!server.IsEnded()) {  // the frames of a game
    server.update();
    game.net.update(
        10, [&](int connection, const std::string& line) { game.heard(server, connection, line); },
        [&](int connection) {
          if (game.players.erase(connection) > 0) server.HandlePlayerLeaveSession({static_cast<std::uint32_t>(connection), ""});
        });
  }
}

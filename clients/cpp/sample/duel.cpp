// A guest finds a match and prints where to play. With bin/muster local in one terminal, run this
// in two others, for two players:
//
//   g++ -std=c++17 -Iclients/cpp/include -o duel clients/cpp/src/*.cpp clients/cpp/sample/duel.cpp -lcurl -pthread
//   ./duel
//
// Arguments: the server's URL, the matchmaker, a file that keeps the login.

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "muster/client.h"

namespace {

struct Game {
  explicit Game(const std::string& url, muster::Options options) : client(url, std::move(options)) {}

  muster::Client client;
  std::string matchmaker;
  bool over = false;
  int status = 1;

  void fail(const muster::Error& error) {
    std::fprintf(stderr, "%s %s\n", error.code.c_str(), error.detail.c_str());
    over = true;
  }

  void log_in() {
    client.login_guest([this](muster::Result<std::string> player) {
      if (!player.ok()) return fail(player.error);
      std::printf("player: %s\n", player.value.c_str());
      come_back();
    });
  }

  // After a crash, the player goes back to the game.
  void come_back() {
    client.api().reservations([this](muster::Result<muster::Reservations> games) {
      if (!games.ok()) return fail(games.error);
      if (!games.value.items.empty()) return play(games.value.items[0].connection);
      choose();
    });
  }

  void choose() {
    client.api().config([this](muster::Result<muster::ClientConfig> config) {
      if (!config.ok()) return fail(config.error);
      for (const muster::MatchmakerInfo& one : config.value.matchmakers) {
        if (matchmaker.empty()) matchmaker = one.name;
      }
      std::printf("matchmaker: %s\n", matchmaker.c_str());
      measure();
    });
  }

  // So that the match is near.
  void measure() {
    client.report_latency({}, [this](muster::Result<muster::LatencyResult> latency) {
      if (!latency.ok()) return fail(latency.error);
      for (const auto& one : latency.value.accepted) std::printf("latency: %s %lld ms\n", one.first.c_str(), static_cast<long long>(one.second));
      find();
    });
  }

  void find() {
    muster::TicketRequest request;
    request.matchmaker = matchmaker;
    muster::MatchOptions options;
    options.changed = [](const muster::Ticket& ticket) { std::printf("ticket: %s\n", text_of(ticket.state)); };
    client.find_match(request, options, [this](muster::Result<muster::Connection> place) {
      if (!place.ok()) return fail(place.error);
      play(place.value);
    });
  }

  void play(const muster::Connection& place) {
    std::printf("play: %s:%lld as %s\n", place.host.c_str(), static_cast<long long>(place.port), place.player_session_id.c_str());
    status = 0;
    over = true;
  }
};

}  // namespace

int main(int count, char** arguments) {
  muster::Options options;
  if (count > 3) options.tokens = std::make_shared<muster::FileTokenStore>(arguments[3]);
  Game game(count > 1 ? arguments[1] : "http://127.0.0.1:9080", options);
  if (count > 2) game.matchmaker = arguments[2];
  game.log_in();
  while (!game.over) {  // as the frames of a game
    game.client.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return game.status;
}

// A player by the names of O3DE's gem: joins a game session that has room, else a new one, says
// hello and leaves. bin/muster local --exec ./server (o3de_server.cpp) in one terminal, this in
// another. Keys and endpoint come from the environment, as for AWS's tools:
//
//   g++ -std=c++17 -Iclients/cpp/include -o client clients/cpp/src/*.cpp clients/cpp/sample/o3de_client.cpp -lcurl -pthread
//   AWS_ENDPOINT_URL=http://127.0.0.1:9080 ./client exec
//
// Arguments: a queue; a matchmaker, to be matched in place of searching.

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "muster/o3de.h"
#include "netcode.h"

namespace {

using namespace muster::o3de;

struct Netcode : ISessionHandlingClientRequests {
  bool RequestPlayerJoinSession(const SessionConnectionConfig& to) override {
    std::printf("connecting to %s:%u as %s\n", to.m_ipAddress.c_str(), to.m_port, to.m_playerSessionId.c_str());
    return net.connect(to.m_ipAddress, to.m_port, to.m_playerSessionId);
  }
  void RequestPlayerLeaveSession() override { net.leave(); }

  netcode::Client net;
};

int fail(const SessionSystem& sessions) {
  std::fprintf(stderr, "%s %s\n", sessions.last_error().code.c_str(), sessions.last_error().detail.c_str());
  return 1;
}

// Joins a game session that has room, or creates one. It does not join by itself.
bool join(SessionSystem& sessions, const std::string& queue, const std::string& player) {
  AWSGameLiftSearchSessionsRequest search;
  search.m_queueName = queue;
  search.m_filterExpression = "hasAvailablePlayerSessions=true";
  const SearchSessionsResponse found = sessions.SearchSessions(search);
  std::printf("found %zu\n", found.m_sessionConfigs.size());
  std::string id;
  if (!found.m_sessionConfigs.empty()) {
    id = found.m_sessionConfigs[0].m_sessionId;
  } else {
    AWSGameLiftCreateSessionOnQueueRequest request;
    request.m_queueName = queue;
    request.m_maxPlayer = 4;
    request.m_sessionProperties["level"] = "winter";
    id = sessions.CreateSession(request);
  }
  JoinSessionRequest request;
  request.m_sessionId = id;
  request.m_playerId = player;
  return !id.empty() && sessions.JoinSession(request);
}

// Is matched, and accepts what is proposed.
bool match(SessionSystem& sessions, const std::string& matchmaker, const std::string& player, std::string& ticket, const bool& over) {
  StartMatchmakingRequest request;
  request.m_configurationName = matchmaker;
  request.m_players.push_back({player, "", {}, {}});
  ticket = sessions.StartMatchmaking(request);
  if (ticket.empty()) return false;
  sessions.StartPolling(ticket, player);
  while (!over) {  // the frames of a game
    sessions.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !sessions.last_error();
}

// Waits for the other players, says hello, and hears it.
bool play(netcode::Client& net, int players) {
  std::string line;
  do {
    line = net.receive();
    std::printf("server: %s\n", line.c_str());
  } while (!line.empty() && line < "players " + std::to_string(players));
  net.send("hello");
  while (!line.empty() && line != "hello") line = net.receive();
  std::printf("server: %s\n", line.c_str());
  return !line.empty();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string queue = count > 1 ? arguments[1] : "exec", matchmaker = count > 2 ? arguments[2] : "";
  const std::string player = SessionSystem::CreatePlayerId(false, true);
  Netcode netcode;
  std::string ticket;
  bool over = false;
  SessionSystem* system = nullptr;
  Notifications notify;
  notify.OnMatchAcceptance = [&] { system->AcceptMatchAsync({true, {player}, ticket}); };
  notify.OnMatchComplete = notify.OnMatchFailure = [&] { over = true; };
  SessionSystem sessions(netcode, notify);
  system = &sessions;
  if (!sessions.ConfigureGameLiftClient("us-east-1")) return fail(sessions);
  const bool joined = matchmaker.empty() ? join(sessions, queue, player) : match(sessions, matchmaker, player, ticket, over);
  if (!joined) return fail(sessions);
  if (!play(netcode.net, matchmaker.empty() ? 1 : 2)) return 1;
  sessions.LeaveSession();
}

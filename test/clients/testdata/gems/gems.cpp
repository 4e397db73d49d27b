// Players by the names of O3DE's and GridMate's gems, against game servers by these names. It
// prints a line for each thing that holds, or does not. Arguments: keys FLEET ALIAS LOCATION QUEUE
// MATCHMAKER, gridmate with the same, or player URL POOL MATCHMAKER. Keys and endpoint come from the
// environment.

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "muster/gridmate.h"
#include "muster/o3de.h"
#include "netcode.h"

namespace {

using namespace muster::o3de;
namespace gridmate = muster::gridmate;

int failed = 0;

bool check(bool holds, const std::string& what, const std::string& seen = "") {
  std::printf("%s - %s%s%s\n", holds ? "ok" : "not ok", what.c_str(), holds ? "" : ": ", holds ? "" : seen.c_str());
  if (!holds) failed++;
  return holds;
}

// Reports whether something comes to hold while frames pass.
bool soon(const std::function<void()>& frame, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  while (!holds() && std::chrono::steady_clock::now() < end) {
    frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return holds();
}

struct Netcode : ISessionHandlingClientRequests {
  bool RequestPlayerJoinSession(const SessionConnectionConfig& to) override {
    joined++;
    last = to.m_playerSessionId;
    return net.connect(to.m_ipAddress, to.m_port, to.m_playerSessionId);
  }
  void RequestPlayerLeaveSession() override {
    left++;
    net.leave();
  }
  // Waits until the game server has said something, and returns it; "" where it is gone.
  std::string hear(const std::string& start) {
    std::string line;
    do {
      line = net.receive();
    } while (!line.empty() && line.rfind(start, 0) != 0);
    return line;
  }

  netcode::Client net;
  int joined = 0, left = 0;
  std::string last;
};

// A player with all notifications counted.
struct Player {
  explicit Player(std::string id) : id(std::move(id)), sessions(std::make_unique<SessionSystem>(net, notifications())) {}
  Player(muster::Client& client, std::string id) : id(std::move(id)), sessions(std::make_unique<SessionSystem>(client, net, notifications())) {}

  Notifications notifications() {
    Notifications on;
    on.OnCreateSessionAsyncComplete = [this](const std::string& id) { created = id, async++; };
    on.OnSearchSessionsAsyncComplete = [this](const SearchSessionsResponse& response) { found = response, async++; };
    on.OnJoinSessionAsyncComplete = [this](bool joined) { in = joined, async++; };
    on.OnStartMatchmakingAsyncComplete = [this](const std::string& id) { ticket = id, async++; };
    on.OnLeaveSessionAsyncComplete = on.OnAcceptMatchAsyncComplete = on.OnStopMatchmakingAsyncComplete = [this] { async++; };
    on.OnMatchAcceptance = [this] {
      if (proposed++ == 0) sessions->AcceptMatchAsync({true, {id}, ticket});
    };
    on.OnMatchComplete = [this] { complete++; };
    on.OnMatchFailure = [this] { failures++; };
    return on;
  }

  // Waits until calls have ended.
  bool ended(int calls) {
    return soon([this] { sessions->update(); }, [&] { return async == calls; });
  }

  std::string why() const { return sessions->last_error().code + " " + sessions->last_error().detail; }

  // Asks to be matched.
  void seek(const std::string& matchmaker) {
    StartMatchmakingRequest request;
    request.m_configurationName = matchmaker;
    request.m_players.push_back({id, "", {}, {{"skill", "{\"N\":50}"}}});
    proposed = complete = failures = 0;
    ticket = sessions->StartMatchmaking(request);
    check(!ticket.empty(), id + " has a ticket", ticket.empty() ? why() : "");
    sessions->StartPolling(ticket, id);
  }

  const std::string id;
  Netcode net;
  int async = 0, proposed = 0, complete = 0, failures = 0;
  bool in = false;
  std::string created, ticket;
  SearchSessionsResponse found;
  std::unique_ptr<SessionSystem> sessions;
};

// The last error is read after the call.
bool check(bool holds, const std::string& what, const Player& player) { return check(holds, what, player.why()); }

// Repeats what fails while no game server is ready.
template <typename F>
std::string patiently(Player& player, F create) {
  std::string id;
  soon([&] { id = create(); }, [&] { return !id.empty() || (player.sessions->last_error() && !player.sessions->last_error().is("FleetCapacityExceededException")); });
  return id;
}

AWSGameLiftCreateSessionRequest on_alias(const std::string& alias, const std::string& location, const char* name, const char* level) {
  AWSGameLiftCreateSessionRequest request;
  request.m_aliasId = alias;
  request.m_location = location;
  request.m_creatorId = "creator";
  request.m_sessionName = name;
  request.m_maxPlayer = 4;
  request.m_sessionProperties["level"] = level;
  return request;
}

AWSGameLiftCreateSessionOnQueueRequest on_queue(const std::string& queue, const char* name) {
  AWSGameLiftCreateSessionOnQueueRequest request;
  request.m_queueName = queue;
  request.m_sessionName = name;
  request.m_maxPlayer = 4;
  return request;
}

std::size_t count(Player& player, AWSGameLiftSearchSessionsRequest request, const char* filter) {
  request.m_filterExpression = filter;
  return player.sessions->SearchSessions(request).m_sessionConfigs.size();
}

void searches(Player& player, const std::string& fleet, const std::string& alias, const std::string& queue, const std::string& first) {
  AWSGameLiftSearchSessionsRequest in_fleet, in_queue, in_alias;
  in_fleet.m_fleetId = fleet;
  in_alias.m_aliasId = alias;
  in_queue.m_queueName = queue;
  check(count(player, in_fleet, "gameSessionProperties.level = 'winter' AND hasAvailablePlayerSessions=true") == 1, "a filter by property", player);
  check(count(player, in_alias, "gameSessionName = 'first'") == 1, "a filter by name, in an alias", player);
  check(count(player, in_queue, "playerSessionCount>3") == 0 && !player.sessions->last_error(), "a filter that fits nothing is no error", player);
  check(count(player, in_fleet, "nonsense") == 0 && player.sessions->last_error().is("InvalidRequestException"), "a filter that is none is an error", player);
  check(count(player, in_queue, "") == 2, "a queue is searched as a whole", player);

  in_fleet.m_filterExpression = "gameSessionName = 'first'";
  const SearchSessionsResponse found = player.sessions->SearchSessions(in_fleet);
  if (check(found.m_sessionConfigs.size() == 1, "the first game session is found", player)) {
    const SessionConfig& one = found.m_sessionConfigs[0];
    const bool whole = one.m_sessionId == first && one.m_sessionName == "first" && one.m_creatorId == "creator" && one.m_ipAddress == "127.0.0.1" && one.m_port > 0 && one.m_maxPlayer == 4 &&
                       one.m_currentPlayer == 1 && one.m_status == "ACTIVE" && one.m_creationTime > 1500000000000 && one.m_sessionProperties.count("level") == 1 && !one.m_dnsName.empty();
    check(whole, "what is found is complete", one.m_creatorId + " " + one.m_ipAddress + " " + one.m_dnsName + " " + one.m_status + " " + std::to_string(one.m_creationTime));
  }

  AWSGameLiftSearchSessionsRequest pages;
  pages.m_fleetId = fleet;
  pages.m_sortExpression = "creationTimeMillis ASC";
  pages.m_maxResult = 1;
  const SearchSessionsResponse one = player.sessions->SearchSessions(pages);
  pages.m_nextToken = one.m_nextToken;
  const SearchSessionsResponse two = player.sessions->SearchSessions(pages);
  check(one.m_sessionConfigs.size() == 1 && two.m_sessionConfigs.size() == 1 && one.m_sessionConfigs[0].m_sessionId == first && two.m_sessionConfigs[0].m_sessionId != first, "pages, in their order", player);
}

// Two players are matched, and a third one is found for the game by backfill.
void matches(Player& a, Player& b, Player& c, const std::string& matchmaker) {
  for (Player* one : {&a, &b}) one->seek(matchmaker);
  const auto frame = [&] {
    for (Player* one : {&a, &b, &c}) one->sessions->update();
  };
  soon(frame, [&] { return a.complete + a.failures > 0 && b.complete + b.failures > 0; });
  check(a.proposed > 0 && a.complete == 1 && b.complete == 1 && a.failures + b.failures == 0, "a match is accepted and joined", a);
  check(a.net.hear("players 2") == "players 2", "both are in the game");
  a.net.net.send("backfill");
  check(a.net.hear("searching ").size() > 10, "a backfill has a ticket");
  c.seek(matchmaker);
  soon(frame, [&] { return c.complete + c.failures > 0; });
  check(c.complete == 1 && c.net.hear("players 3") == "players 3", "the backfill brings a third player", c);
  check(a.net.hear("update ") == "update MATCHMAKING_DATA_UPDATED", "the game server hears of it");
  a.net.net.send("backfill");
  check(a.net.hear("searching ").size() > 10, "the next backfill");
  a.net.net.send("enough");
  check(a.net.hear("stopped") == "stopped", "a backfill is stopped");
}

// The tracker: a ticket that is stopped, and one that is not followed any more.
void tracks(Player& player, const std::string& matchmaker) {
  player.seek(matchmaker);
  player.sessions->StopPolling();
  player.sessions->StopMatchmaking({player.ticket});
  player.seek(matchmaker);
  const std::string ticket = player.ticket;
  player.sessions->StartPolling("another", player.id);
  player.sessions->StopMatchmaking({ticket});
  check(!player.sessions->last_error(), "a ticket is stopped", player);
  soon([&] { player.sessions->update(); }, [&] { return player.failures > 0; });
  check(player.failures == 1 && player.complete == 0, "the ticket that is followed has failed, and no other", std::to_string(player.failures));
}

void terminates(Player& player, const std::string& id) {
  muster::gamelift::Client client(muster::gamelift::Options::from_environment());
  muster::Json in = muster::Json::object();
  in.set("GameSessionId", muster::Json(id)).set("TerminationMode", muster::Json("TRIGGER_ON_PROCESS_TERMINATE"));
  bool done = false;
  client.call("TerminateGameSession", in, [&](muster::Result<muster::Json> result) {
    check(result.ok(), "a game session is terminated", result.error.detail);
    done = true;
  });
  soon([&] { client.update(); }, [&] { return done; });
  check(player.net.hear("nothing").empty(), "its game server lets the players go and ends");
}

void keys(const std::string& fleet, const std::string& alias, const std::string& location, const std::string& queue, const std::string& matchmaker) {
  Player a(SessionSystem::CreatePlayerId(false, true)), b(SessionSystem::CreatePlayerId(false, false)), c("third");
  for (Player* one : {&a, &b, &c}) check(one->sessions->ConfigureGameLiftClient(""), "the client is configured", *one);
  const std::string first = patiently(a, [&] { return a.sessions->CreateSession(on_alias(alias, location, "first", "winter")); });
  check(!first.empty() && a.net.joined == 0, "CreateSession on an alias creates, and does not join", a);
  check(a.sessions->JoinSession({first, a.id, "data"}) && a.net.joined == 1, "JoinSession waits for a game session that is starting", a);
  check(a.net.hear("players") == "players 1", "the game server accepts the player");
  check(!a.sessions->JoinSession({"arn:aws:gamelift:us-east-1::gamesession/" + fleet + "/none", a.id, ""}) && a.net.joined == 1, "a game session that is none is not joined", a);

  AWSGameLiftCreateSessionOnQueueRequest second = on_queue(queue, "second");
  second.m_placementId = SessionSystem::CreatePlayerId(false, true);
  b.sessions->CreateSessionAsync(second);
  check(b.ended(1) && b.created == second.m_placementId && b.net.joined == 0, "CreateSessionAsync on a queue returns the placement", b.created);
  b.sessions->JoinSessionAsync({b.created, b.id, ""});
  check(b.ended(2) && b.in && b.net.hear("players") == "players 1", "JoinSessionAsync waits for the placement", b);
  searches(a, fleet, alias, queue, first);
  AWSGameLiftSearchSessionsRequest all;
  all.m_fleetId = fleet;
  b.sessions->SearchSessionsAsync(all);
  check(b.ended(3) && b.found.m_sessionConfigs.size() == 2, "SearchSessionsAsync", b);
  b.sessions->LeaveSessionAsync();
  check(b.async == 4 && b.net.left == 1, "LeaveSessionAsync");
  terminates(a, first);

  const std::string missing = patiently(a, [&] { return a.sessions->CreateSession(on_alias(alias, location, "third", "missing")); });
  check(!missing.empty() && !a.sessions->JoinSession({missing, a.id, ""}), "a game session whose OnCreateSessionBegin is false is not joined", a);
  matches(a, b, c, matchmaker);
  for (Player* one : {&a, &b, &c}) one->sessions->LeaveSession();
  tracks(c, matchmaker);
}

// The same over the player API: a player without keys.
void player(const std::string& url, const std::string& pool, const std::string& matchmaker) {
  muster::Client first(url), second(url), third(url);
  int in = 0;
  for (muster::Client* one : {&first, &second, &third}) one->login_guest([&](muster::Result<std::string> id) { in += id.ok(); });
  soon([&] { first.update(), second.update(), third.update(); }, [&] { return in == 3; });
  if (!check(in == 3, "guests")) return;
  Player a(first, first.player_id()), b(second, second.player_id()), c(third, third.player_id());
  const std::string id = a.sessions->CreateSession(on_queue(pool, "mine"));
  check(!id.empty() && a.net.joined == 0, "CreateSession in a pool creates, and does not join", a);
  check(a.sessions->JoinSession({id, "", ""}) && a.net.joined == 1 && a.net.hear("players") == "players 1", "JoinSession waits for the placement", a);
  AWSGameLiftSearchSessionsRequest search;
  search.m_queueName = pool;
  const SearchSessionsResponse found = b.sessions->SearchSessions(search);
  if (!check(found.m_sessionConfigs.size() == 1 && found.m_sessionConfigs[0].m_sessionName == "mine", "the game session is found", b)) return;
  check(count(b, search, "gameSessionName = 'mine' AND maximumSessions<5") == 1 && count(b, search, "gameSessionName = 'yours'") == 0 && !b.sessions->last_error(), "a filter over the player API", b);
  check(count(b, search, "nonsense") == 0 && b.sessions->last_error().is("invalid-parameter"), "a filter that is none, over the player API", b);
  check(b.sessions->JoinSession({found.m_sessionConfigs[0].m_sessionId, b.id, ""}) && b.net.hear("players 2") == "players 2", "another player joins it", b);
  for (Player* one : {&a, &b}) one->sessions->LeaveSession();
  matches(a, b, c, matchmaker);
  for (Player* one : {&a, &b, &c}) one->sessions->LeaveSession();
  tracks(c, matchmaker);
}

// A player by GridMate's names.
struct Grid {
  explicit Grid(const std::string& id) {
    gridmate::GameLiftClientServiceDesc desc;
    desc.m_playerId = id;
    gridmate::GameLiftClientEvents events;
    events.OnGameLiftSessionServiceReady = [this] { ready = true; };
    events.OnGameLiftSessionServiceFailed = [this](const std::string& why) { failure = why; };
    events.OnGridSearchComplete = [this](const gridmate::GridSearchPtr&) { complete++; };
    events.OnSessionJoined = [this](const gridmate::GridSessionPtr&) { joined++; };
    service = std::make_unique<gridmate::GameLiftClientService>(desc, net, events);
    check(service->StartSearch({}) == nullptr, "nothing is searched before the service is ready");
    soon([this] { service->Update(); }, [this] { return ready || !failure.empty(); });
    check(ready && service->IsReady(), id + "'s service is ready", failure);
  }

  bool finish(const gridmate::GridSearchPtr& search) {
    if (search) asked++;
    return search && soon([this] { service->Update(); }, [&] { return search->IsDone(); });
  }

  // Requests a game session, joins it, and leaves.
  void host(const char* what, const gridmate::GameLiftSessionRequestParams& params) {
    gridmate::GridSearchPtr search;
    soon([&] { finish(search = service->RequestSession(params)); }, [&] { return search && !search->GetError().is("FleetCapacityExceededException"); });
    if (!check(search && search->GetNumResults() == 1, what, search ? search->GetError().detail : "")) return;
    const gridmate::GridSessionPtr session = service->JoinSessionBySearchInfo(search->GetResult(0));
    soon([this] { service->Update(); }, [&] { return session->GetState() != gridmate::GameLiftClientSession::State::joining; });
    check(session->GetState() == gridmate::GameLiftClientSession::State::joined && net.hear("players") == "players 1", std::string(what) + ", and is joined", session->GetError().detail);
    find(params, search->GetResult(0).m_sessionId);
    service->LeaveSession(session);
  }

  // Searches where a game session was requested.
  void find(const gridmate::GameLiftSessionRequestParams& where, const std::string& id) {
    gridmate::GameLiftSearchParams params;
    params.m_queueName = where.m_queueName;
    params.m_aliasId = where.m_aliasId;
    params.m_fleetId = where.m_fleetId;
    params.m_gameInstanceId = id;
    params.m_params.resize(1);
    params.m_params[0].m_id = "sv_map";
    params.m_params[0].m_value = "it's";
    const gridmate::GridSearchPtr found = service->StartSearch(params);
    finish(found);
    if (check(found->GetNumResults() == 1, "it is found by its id and property", found->GetError().detail)) {
      const gridmate::GameLiftSearchInfo& info = found->GetResult(0);
      check(info.m_sessionId == id && info.m_ipAddress == "127.0.0.1" && info.m_port > 0 && info.m_numFreePublicSlots == 3 && info.m_numPlayers == 1 && info.m_fleetId.rfind("fleet-", 0) == 0, "what is found is complete", info.m_ipAddress + " " + info.m_fleetId);
    }
    params.m_params[0].m_op = gridmate::GridSessionSearchOperators::SSO_OPERATOR_NOT_EQUAL;
    const gridmate::GridSearchPtr none = service->StartSearch(params);
    finish(none);
    check(none->GetNumResults() == 0 && !none->GetError(), "a property that differs", none->GetError().detail);
  }

  Netcode net;
  bool ready = false;
  int asked = 0, complete = 0, joined = 0;
  std::string failure;
  std::unique_ptr<gridmate::GameLiftClientService> service;
};

void grid(const std::string& fleet, const std::string& alias, const std::string& location, const std::string& queue, const std::string& matchmaker) {
  Grid a("grid-a"), b("grid-b"), c("grid-c");
  gridmate::GameLiftSessionRequestParams params;
  params.m_instanceName = "grid";
  params.m_numPublicSlots = 3;
  params.m_numPrivateSlots = 1;
  params.m_params.push_back({"sv_map", "it's"});
  params.m_location = location;
  params.m_queueName = queue;
  params.m_aliasId = "alias-none";
  params.m_fleetId = "fleet-none";
  a.host("a queue comes before an alias and a fleet", params);
  params.m_queueName.clear();
  params.m_aliasId = alias;
  a.host("an alias comes before a fleet", params);
  params.m_aliasId.clear();
  params.m_fleetId = fleet;
  a.host("a fleet", params);

  const gridmate::GridSearchPtr given_up = c.service->StartMatchmaking(matchmaker);
  c.service->AbortSearch(given_up);
  check(given_up->IsDone() && given_up->GetNumResults() == 0, "a search is aborted");
  const gridmate::GridSearchPtr one = a.service->StartMatchmaking(matchmaker), two = b.service->StartMatchmaking(matchmaker);
  soon([&] { a.service->Update(), b.service->Update(), c.service->Update(); }, [&] { return one->IsDone() && two->IsDone(); });
  if (!check(one->GetNumResults() == 1 && two->GetNumResults() == 1, "two players are matched", one->GetError().detail)) return;
  check(one->GetResult(0).m_sessionId == two->GetResult(0).m_sessionId && !one->GetResult(0).m_playerSessionId.empty(), "in one game session, with a slot each");
  const int before = a.joined;
  a.service->JoinSessionBySearchInfo(one->GetResult(0));
  b.service->JoinSessionBySearchInfo(two->GetResult(0));
  soon([&] { a.service->Update(), b.service->Update(); }, [&] { return a.joined > before && b.joined > 0; });
  check(a.net.hear("players 2") == "players 2", "both are in the game");
  a.net.net.send("backfill");
  check(a.net.hear("searching ").size() > 10, "a backfill has a ticket");
  a.net.net.send("enough");
  check(a.net.hear("stopped") == "stopped", "a backfill is stopped");
  check(a.finish(one) && a.complete == a.asked, "each search has ended with one event", std::to_string(a.complete));
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "keys" && count == 7) {
    keys(arguments[2], arguments[3], arguments[4], arguments[5], arguments[6]);
  } else if (what == "gridmate" && count == 7) {
    grid(arguments[2], arguments[3], arguments[4], arguments[5], arguments[6]);
  } else if (what == "player" && count == 5) {
    player(arguments[2], arguments[3], arguments[4]);
  } else {
    check(false, "arguments");
  }
  return failed == 0 ? 0 : 1;
}

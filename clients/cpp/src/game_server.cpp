#include "muster/game_server.h"

#include <deque>
#include <mutex>
#include <random>

#include "attribute.h"
#include "caller.h"
#include "made.h"
#include "server_link.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds health_within{50000};  // a process that is silent for longer is not healthy
constexpr int heartbeat_from = 50000, heartbeat_to = 70000;  // ms
constexpr std::int64_t page = 100;

Time unix_ms(const Json& time) { return Time(std::chrono::duration_cast<Time::duration>(milliseconds(time.integer()))); }

HostedSession session_of(const Json& json, const char* name) {
  HostedSession session;
  session.id = json["GameSessionId"].text();
  session.name = json[name].text();
  session.data = json["GameSessionData"].text();
  session.matchmaker_data = json["MatchmakerData"].text();
  session.ip_address = json["IpAddress"].text();
  session.dns_name = json["DnsName"].text();
  session.port = static_cast<std::uint16_t>(json["Port"].integer());
  session.max_players = json["MaximumPlayerSessionCount"].integer();
  session.properties = json["GameProperties"].map<std::string>([](const Json& value) { return value.text(); });
  return session;
}

Error usage(const std::string& detail) { return error_of(Error::Kind::usage, detail); }

Result<Json> json_of(const BackfillPlayer& player) {
  Result<Json> result = attributes(player.attributes, &Attribute::for_server);
  if (!result.ok()) return result;
  Json out = Json::object();
  out.set("PlayerId", Json(player.player_id)).set("Team", Json(player.team)).set("PlayerAttributes", std::move(result.value));
  out.set("LatencyInMs", Json::map(player.latency_ms, [](std::int64_t ms) { return Json(ms); }));
  result.value = std::move(out);
  return result;
}

}  // namespace

/// What a GameServer is made of.
class GameServer::Core {
 public:
  Core(GameServerOptions options, GameServerEvents all) : events(std::move(all)), link(std::move(options), [this](const Json& message) { pushed(message); }) {}

  void update();
  // Makes a request about the game session.
  Result<Json> about_session(const char* action, Json members);
  Result<std::string> start_backfill(const std::string& ticket_id, std::vector<BackfillPlayer> players);
  Error stop_backfill(const std::string& ticket_id);
  std::string backfill_ticket() const;
  Result<std::vector<HostedPlayer>> players(const std::string& status);

  void beat();
  HostedSession session() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return session_;
  }
  Time termination_time() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return termination_;
  }

  const GameServerEvents events;

 private:
  void pushed(const Json& message);
  void start(const HostedSession& session);
  void change(const Json& message);
  void deliver(std::function<void()> run) {
    const std::lock_guard<std::mutex> lock(mutex_);
    due_.push_back(std::move(run));
  }
  Result<std::vector<BackfillPlayer>> present(const MatchData& match);

  mutable std::mutex mutex_;
  std::deque<std::function<void()>> due_;  // guarded by mutex_, as the members below
  HostedSession session_;
  Time termination_{};
  std::string ticket_;  // of the latest backfill
  std::mt19937 random_{std::random_device{}()};  // used in the network thread only

 public:
  ServerLink link;  // the last, so that its thread ends before what it uses
};

void GameServer::Core::update() {
  std::deque<std::function<void()>> due;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    due.swap(due_);
  }
  for (const auto& one : due) one();
}

// pushed handles a message that is no answer, in the network thread.
void GameServer::Core::pushed(const Json& message) {
  const std::string action = message["Action"].text();
  if (action == "CreateGameSession") {
    start(session_of(message, "GameSessionName"));
  } else if (action == "UpdateGameSession") {
    deliver([this, message] { change(message); });
  } else if (action == "TerminateProcess") {
    const Time by = unix_ms(message["TerminationTime"]);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      termination_ = by;
    }
    deliver([this, by] {
      if (events.terminate) events.terminate(by);
    });
  }
}

void GameServer::Core::start(const HostedSession& session) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (session_.id == session.id) return;  // it came again over a new connection
    session_ = session;
  }
  deliver([this, session] {
    if (events.started) events.started(session);
  });
}

// change handles what has become of a backfill.
void GameServer::Core::change(const Json& message) {
  const std::string reason = message["UpdateReason"].text(), ticket = message["BackfillTicketId"].text();
  const HostedSession session = session_of(message["GameSession"], "Name");
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reason == "MATCHMAKING_DATA_UPDATED") session_ = session;
    if (ticket_ == ticket) ticket_.clear();
  }
  if (events.updated) events.updated(session, reason, ticket);
}

// beat asks the game whether it is healthy, reports that, and does so again in a minute.
void GameServer::Core::beat() {
  const auto reported = std::make_shared<bool>(false);
  const auto report = [this, reported](bool healthy) {
    if (*reported) return;
    *reported = true;
    link.tell("HeartbeatServerProcess", Json::object().set("HealthStatus", Json(healthy)));
  };
  deliver([this, report] {
    const bool healthy = !events.healthy || events.healthy();
    link.loop.post([report, healthy] { report(healthy); });
  });
  link.loop.after(health_within, [report] { report(false); });
  link.loop.after(milliseconds(std::uniform_int_distribution<int>(heartbeat_from, heartbeat_to)(random_)), [this] { beat(); });
}

Result<Json> GameServer::Core::about_session(const char* action, Json members) {
  const std::string id = session().id;
  if (id.empty()) return failed<Json>(usage(std::string(action) + ": the process has no game session"));
  return link.ask(action, members.set("GameSessionId", Json(id)));
}

Result<std::vector<HostedPlayer>> GameServer::Core::players(const std::string& status) {
  Result<std::vector<HostedPlayer>> out;
  std::string token;
  do {
    Json in = Json::object();
    in.set("Limit", Json(page));
    if (!status.empty()) in.set("PlayerSessionStatusFilter", Json(status));
    if (!token.empty()) in.set("NextToken", Json(token));
    const Result<Json> result = about_session("DescribePlayerSessions", std::move(in));
    if (!result.ok()) return failed<std::vector<HostedPlayer>>(result.error);
    for (const Json& one : result.value["PlayerSessions"].items()) {
      out.value.push_back({one["PlayerSessionId"].text(), one["PlayerId"].text(), one["PlayerData"].text(), one["Status"].text()});
    }
    token = result.value["NextToken"].text();
  } while (!token.empty());
  return out;
}

// present returns the players of a match who are in the game session.
Result<std::vector<BackfillPlayer>> GameServer::Core::present(const MatchData& match) {
  Result<std::vector<BackfillPlayer>> out;
  const Result<std::vector<HostedPlayer>> here = players("ACTIVE");
  if (!here.ok()) return failed<std::vector<BackfillPlayer>>(here.error);
  for (const HostedPlayer& player : here.value) {
    for (const BackfillPlayer& one : match.players) {
      if (one.player_id == player.player_id) out.value.push_back(one);
    }
  }
  if (out.value.empty()) out.error = usage("backfill: no player of the match is ACTIVE");
  return out;
}

Result<std::string> GameServer::Core::start_backfill(const std::string& ticket_id, std::vector<BackfillPlayer> players) {
  const HostedSession now = session();
  MatchData match;
  if (!MatchData::parse(now.matchmaker_data, match) || match.configuration.empty()) return failed<std::string>(usage("backfill: the game session has no matchmaker data"));
  if (players.empty()) {
    Result<std::vector<BackfillPlayer>> found = present(match);
    if (!found.ok()) return failed<std::string>(std::move(found.error));
    players = std::move(found.value);
  }
  Json list = Json::list(), in = Json::object();
  for (const BackfillPlayer& player : players) {
    Result<Json> one = json_of(player);
    if (!one.ok()) return failed<std::string>(std::move(one.error));
    list.add(std::move(one.value));
  }
  in.set("GameSessionArn", Json(now.id)).set("MatchmakingConfigurationArn", Json(match.configuration)).set("TicketId", Json(ticket_id)).set("Players", std::move(list));
  Result<Json> result = link.ask("StartMatchBackfill", std::move(in));
  if (!result.ok()) return failed<std::string>(std::move(result.error));
  Result<std::string> out;
  out.value = result.value["TicketId"].text();
  const std::lock_guard<std::mutex> lock(mutex_);
  ticket_ = out.value;
  return out;
}

std::string GameServer::Core::backfill_ticket() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  MatchData match;
  if (!ticket_.empty() || !MatchData::parse(session_.matchmaker_data, match)) return ticket_;
  return match.auto_backfill_ticket;
}

Error GameServer::Core::stop_backfill(const std::string& ticket_id) {
  const HostedSession now = session();
  const std::string ticket = ticket_id.empty() ? backfill_ticket() : ticket_id;
  MatchData match;
  if (!MatchData::parse(now.matchmaker_data, match) || match.configuration.empty()) return usage("backfill: the game session has no matchmaker data");
  if (ticket.empty()) return usage("ticket_id: there is no backfill to stop");
  Json in = Json::object();
  in.set("GameSessionArn", Json(now.id)).set("MatchmakingConfigurationArn", Json(match.configuration)).set("TicketId", Json(ticket));
  const Error error = link.ask("StopMatchBackfill", std::move(in)).error;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!error && ticket_ == ticket) ticket_.clear();
  return error;
}

GameServer::GameServer(GameServerOptions options, GameServerEvents events) : core_(std::make_shared<Core>(std::move(options), std::move(events))) {}

GameServer::~GameServer() = default;

Error GameServer::init() { return core_->link.open(); }

Error GameServer::ready(std::uint16_t port, const std::vector<std::string>& log_paths) {
  Json in = Json::object();
  in.set("SdkVersion", Json("5.4.0")).set("SdkLanguage", Json("Cpp")).set("Port", Json(static_cast<std::int64_t>(port)));
  if (!log_paths.empty()) in.set("LogPaths", Json::list(log_paths, [](const std::string& path) { return Json(path); }));
  const Error error = core_->link.ask("ActivateServerProcess", std::move(in)).error;
  if (!error) core_->link.loop.post([core = core_.get()] { core->beat(); });
  return error;
}

void GameServer::update() {
  const std::shared_ptr<Core> core = core_;  // an event may end the server
  core->update();
}

Error GameServer::activate() { return core_->about_session("ActivateGameSession", Json::object()).error; }

Error GameServer::set_accepting_players(bool accepting) {
  return core_->about_session("UpdatePlayerSessionCreationPolicy", Json::object().set("PlayerSessionPolicy", Json(accepting ? "ACCEPT_ALL" : "DENY_ALL"))).error;
}

Error GameServer::accept_player(const std::string& player_session_id) {
  return core_->about_session("AcceptPlayerSession", Json::object().set("PlayerSessionId", Json(player_session_id))).error;
}

Error GameServer::remove_player(const std::string& player_session_id) {
  return core_->about_session("RemovePlayerSession", Json::object().set("PlayerSessionId", Json(player_session_id))).error;
}

Result<std::vector<HostedPlayer>> GameServer::players(const std::string& status) { return core_->players(status); }

Result<std::string> GameServer::start_backfill(const std::string& ticket_id, std::vector<BackfillPlayer> players) {
  return core_->start_backfill(ticket_id, std::move(players));
}

Error GameServer::stop_backfill(const std::string& ticket_id) { return core_->stop_backfill(ticket_id); }

std::string GameServer::backfill_ticket() const { return core_->backfill_ticket(); }

Result<std::string> GameServer::certificate() {
  Result<Json> answer = core_->link.ask("GetComputeCertificate", Json::object());
  Result<std::string> out;
  out.error = std::move(answer.error);
  out.value = answer.value["CertificatePath"].text();
  return out;
}

Error GameServer::ending() {
  const Error error = core_->link.ask("TerminateServerProcess", Json::object()).error;
  if (!error) core_->link.close();
  return error;
}

HostedSession GameServer::session() const { return core_->session(); }

Time GameServer::termination_time() const { return core_->termination_time(); }

}  // namespace muster

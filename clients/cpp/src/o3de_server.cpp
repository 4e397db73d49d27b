#include "muster/o3de_server.h"

#include <atomic>
#include <map>
#include <mutex>

#include "caller.h"

namespace muster::o3de {

namespace {

SessionConfig config_of(const HostedSession& session) {
  SessionConfig config;
  config.m_sessionProperties = session.properties;
  config.m_matchmakingData = session.matchmaker_data;
  config.m_sessionId = session.id;
  config.m_sessionName = session.name;
  config.m_dnsName = session.dns_name;
  config.m_ipAddress = session.ip_address;
  config.m_port = session.port;
  config.m_maxPlayer = static_cast<std::uint64_t>(session.max_players);
  return config;
}

}  // namespace

struct AWSGameLiftServer::State {
  explicit State(AWSGameLiftServerDesc all) : desc(std::move(all)), server(desc.m_anywhere, events()) {}

  GameServerEvents events() {
    GameServerEvents events;
    events.started = [this](const HostedSession& session) { start(session); };
    events.updated = [this](const HostedSession& session, const std::string& reason, const std::string&) {
      for (SessionNotifications* one : handlers) one->OnUpdateSessionBegin(config_of(session), reason);
      for (SessionNotifications* one : handlers) one->OnUpdateSessionEnd();
    };
    events.terminate = [this](Time) { destroy(); };
    events.healthy = [this] {
      bool healthy = true;
      for (SessionNotifications* one : handlers) healthy = one->OnSessionHealthCheck() && healthy;
      return healthy;
    };
    return events;
  }

  void start(const HostedSession& session) {
    bool begun = true;
    for (SessionNotifications* one : handlers) begun = one->OnCreateSessionBegin(config_of(session)) && begun;
    if (!begun || !finish(server.activate())) return destroy();
    for (SessionNotifications* one : handlers) one->OnCreateSessionEnd();
  }

  void destroy() {
    if (destroying.exchange(true)) return;
    for (SessionNotifications* one : handlers) one->OnDestroySessionBegin();
    if (connected && finish(server.ending())) {
      for (SessionNotifications* one : handlers) one->OnDestroySessionEnd();
    }
    ended = true;
  }

  // Records why a call has failed, or that it has not, and reports which.
  bool finish(Error why) {
    const std::lock_guard<std::mutex> lock(mutex);
    error = std::move(why);
    return !error;
  }

  bool join(const PlayerConnectionConfig& config) {
    if (config.m_playerSessionId.empty()) return finish(error_of(Error::Kind::usage, "m_playerSessionId: is required"));
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!players.emplace(config.m_playerConnectionId, config.m_playerSessionId).second) {
        error = error_of(Error::Kind::usage, "m_playerConnectionId: the connection has a player already");
        return false;
      }
    }
    if (finish(server.accept_player(config.m_playerSessionId))) return joined = true;
    const std::lock_guard<std::mutex> lock(mutex);
    players.erase(config.m_playerConnectionId);
    return false;
  }

  void leave(const PlayerConnectionConfig& config) {
    std::string player;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto at = players.find(config.m_playerConnectionId);
      if (at == players.end()) return;
      player = at->second;
      players.erase(at);
      if (players.empty() && joined) deserted = true;
    }
    finish(server.remove_player(player));
  }

  // The last player has left, and no other one has come since.
  bool is_over() {
    const std::lock_guard<std::mutex> lock(mutex);
    return desc.m_terminateOnPlayerExit && deserted && players.empty();
  }

  const AWSGameLiftServerDesc desc;
  std::vector<SessionNotifications*> handlers;
  std::atomic<bool> connected{false}, destroying{false}, ended{false}, joined{false};
  std::mutex mutex;
  Error error;                                   // guarded by mutex, as the members below
  std::map<std::uint32_t, std::string> players;  // the player session of each connection
  bool deserted = false;
  GameServer server;  // the last, so that it ends before what its events use
};

AWSGameLiftServer::AWSGameLiftServer(AWSGameLiftServerDesc desc) : state_(std::make_shared<State>(std::move(desc))) {}

AWSGameLiftServer::~AWSGameLiftServer() { state_->destroy(); }

void AWSGameLiftServer::AddHandler(SessionNotifications& handler) { state_->handlers.push_back(&handler); }

void AWSGameLiftServer::update() {
  const std::shared_ptr<State> state = state_;  // a handler may end the server
  state->server.update();
  if (state->is_over()) state->destroy();
}

bool AWSGameLiftServer::NotifyGameLiftProcessReady() {
  if (!state_->connected && !state_->finish(state_->server.init())) return false;
  state_->connected = true;
  return state_->finish(state_->server.ready(state_->desc.m_port, state_->desc.m_logPaths));
}

bool AWSGameLiftServer::StartMatchBackfill(const std::string& ticketId, const std::vector<AWSGameLiftPlayer>& players) {
  std::vector<BackfillPlayer> all;
  for (const AWSGameLiftPlayer& one : players) {
    BackfillPlayer player{one.m_playerId, one.m_team, one.m_playerAttributes, {}};
    for (const auto& latency : one.m_latencyInMs) player.latency_ms[latency.first] = latency.second;
    all.push_back(std::move(player));
  }
  return state_->finish(state_->server.start_backfill(ticketId, std::move(all)).error);
}

bool AWSGameLiftServer::StopMatchBackfill(const std::string& ticketId) { return state_->finish(state_->server.stop_backfill(ticketId)); }

void AWSGameLiftServer::HandleDestroySession() { state_->destroy(); }

bool AWSGameLiftServer::ValidatePlayerJoinSession(const PlayerConnectionConfig& config) { return state_->join(config); }

void AWSGameLiftServer::HandlePlayerLeaveSession(const PlayerConnectionConfig& config) { state_->leave(config); }

std::string AWSGameLiftServer::GetExternalSessionCertificate() {
  Result<std::string> path = state_->server.certificate();
  return state_->finish(std::move(path.error)) ? path.value : "";
}

std::string AWSGameLiftServer::GetInternalSessionCertificate() { return ""; }

bool AWSGameLiftServer::SetAcceptingPlayers(bool accepting) { return state_->finish(state_->server.set_accepting_players(accepting)); }

std::string AWSGameLiftServer::GetBackfillTicket() const { return state_->server.backfill_ticket(); }

bool AWSGameLiftServer::IsEnded() const { return state_->ended; }

Error AWSGameLiftServer::last_error() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->error;
}

}  // namespace muster::o3de

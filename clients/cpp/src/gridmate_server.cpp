#include "muster/gridmate_server.h"

#include <atomic>
#include <mutex>

#include "caller.h"

namespace muster::gridmate {

namespace {

Error usage(const std::string& detail) { return error_of(Error::Kind::usage, detail); }

}  // namespace

/// The connections of a game session, and the process that hosts it.
struct GameLiftServerSession::State {
  explicit State(std::shared_ptr<GameServer> server) : server(std::move(server)) {}

  const std::shared_ptr<GameServer> server;
  mutable std::mutex mutex;
  std::map<std::uint32_t, std::string> players;  // guarded by mutex; the player session of each connection
};

unsigned GameLiftServerSession::GetNumFreePublicSlots() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto used = static_cast<unsigned>(state_->players.size());
  return used < public_slots_ ? public_slots_ - used : 0;
}

bool GameLiftServerSession::OnPlayerJoined(std::uint32_t connection, const std::string& playerSessionId) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (playerSessionId.empty() || !state_->players.emplace(connection, playerSessionId).second) return false;
  }
  if (!state_->server->accept_player(playerSessionId)) return true;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->players.erase(connection);
  return false;
}

void GameLiftServerSession::OnPlayerLeft(std::uint32_t connection) {
  std::string player;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto at = state_->players.find(connection);
    if (at == state_->players.end()) return;
    player = at->second;
    state_->players.erase(at);
  }
  state_->server->remove_player(player);
}

struct GameLiftServerService::State {
  State(GameLiftServerServiceDesc all, GameLiftServerEvents reported) : desc(std::move(all)), events(std::move(reported)), server(std::make_shared<GameServer>(desc.m_options, server_events())) {}

  GameServerEvents server_events() {
    GameServerEvents out;
    out.started = [this](const HostedSession& session) {
      if (!terminating && events.OnGameLiftGameSessionStarted) events.OnGameLiftGameSessionStarted(session);
    };
    out.updated = [this](const HostedSession& session, const std::string& reason, const std::string& ticket) {
      if (!terminating && events.OnGameLiftGameSessionUpdated) events.OnGameLiftGameSessionUpdated(session, reason, ticket);
    };
    out.terminate = [this](Time) {
      terminating = true;
      if (events.OnGameLiftServerWillTerminate) events.OnGameLiftServerWillTerminate();
    };
    return out;
  }

  // Records why a call has failed, or that it has not, and reports which.
  bool finish(Error why) {
    const std::lock_guard<std::mutex> lock(mutex);
    error = std::move(why);
    return !error;
  }

  // Reports whether a game session is the one that is hosted.
  bool hosts(const GridServerSessionPtr& session) {
    return session && session == hosted ? true : finish(usage("session: the process does not host it"));
  }

  const GameLiftServerServiceDesc desc;
  const GameLiftServerEvents events;
  std::atomic<bool> ready{false}, terminating{false};
  GridServerSessionPtr hosted;
  std::mutex mutex;
  Error error;        // guarded by mutex
  std::shared_ptr<GameServer> server;  // its events are called from Update only
};

GameLiftServerService::GameLiftServerService(GameLiftServerServiceDesc desc, GameLiftServerEvents events)
    : state_(std::make_shared<State>(std::move(desc), std::move(events))) {}

GameLiftServerService::~GameLiftServerService() = default;

bool GameLiftServerService::Start() {
  const GameLiftServerEvents& events = state_->events;
  Error error = state_->server->init();
  if (!error) error = state_->server->ready(state_->desc.m_port, state_->desc.m_logPaths);
  state_->ready = !error;
  if (error && events.OnGameLiftSessionServiceFailed) events.OnGameLiftSessionServiceFailed(error.detail);
  if (!error && events.OnGameLiftSessionServiceReady) events.OnGameLiftSessionServiceReady();
  return state_->finish(std::move(error));
}

void GameLiftServerService::Update() {
  const std::shared_ptr<State> state = state_;  // an event may end the service
  state->server->update();
}

bool GameLiftServerService::IsReady() const { return state_->ready; }

GridServerSessionPtr GameLiftServerService::HostSession(const GameLiftSessionParams& params) {
  if (!state_->ready || state_->hosted || params.m_gameSession.id.empty()) {
    state_->finish(usage("HostSession: the process must be ready, have no session, and m_gameSession must be the one that was started"));
    return nullptr;
  }
  if (!state_->finish(state_->server->activate())) return nullptr;
  const GridServerSessionPtr session(new GameLiftServerSession);
  session->id_ = params.m_gameSession.id;
  session->public_slots_ = static_cast<unsigned>(params.m_gameSession.max_players);
  session->private_slots_ = params.m_numPrivateSlots;
  session->state_ = std::make_shared<GameLiftServerSession::State>(state_->server);
  return state_->hosted = session;
}

bool GameLiftServerService::ShutdownSession(const GridServerSessionPtr& session) {
  const bool is_idle = !session && !state_->hosted;
  if ((!is_idle && !state_->hosts(session)) || !state_->finish(state_->server->ending())) return false;
  state_->hosted = nullptr;
  state_->ready = false;
  return true;
}

bool GameLiftServerService::StartMatchmakingBackfill(const GridServerSessionPtr& session, std::string& matchmakingTicketId, bool checkForAutoBackfill) {
  if (!state_->hosts(session)) return false;
  MatchData match;
  if (checkForAutoBackfill && MatchData::parse(state_->server->session().matchmaker_data, match) && !match.auto_backfill_ticket.empty()) {
    return state_->finish(usage("StartMatchmakingBackfill: automatic backfill is at work"));
  }
  Result<std::string> ticket = state_->server->start_backfill(matchmakingTicketId);
  if (!state_->finish(std::move(ticket.error))) return false;
  matchmakingTicketId = ticket.value;
  return true;
}

bool GameLiftServerService::StopMatchmakingBackfill(const GridServerSessionPtr& session, const std::string& matchmakingTicketId) {
  return state_->hosts(session) && state_->finish(state_->server->stop_backfill(matchmakingTicketId));
}

Error GameLiftServerService::last_error() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->error;
}

}  // namespace muster::gridmate

#include "muster/o3de.h"

#include <chrono>
#include <atomic>
#include <mutex>
#include <thread>

namespace muster::o3de {

namespace {

std::uint64_t unix_ms(Time time) { return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count()); }

SessionConfig config_of(const GameSession& session) {
  SessionConfig config;
  config.m_creationTime = unix_ms(session.created_at);
  if (session.ended_at) config.m_terminationTime = unix_ms(*session.ended_at);
  config.m_sessionProperties = session.properties;
  config.m_sessionId = session.session_id;
  config.m_sessionName = session.name;
  config.m_maxPlayer = static_cast<std::uint64_t>(session.max_players);
  config.m_currentPlayer = static_cast<std::uint64_t>(session.players);
  config.m_status = text_of(session.status);
  config.m_statusReason = session.status_reason;
  return config;
}

Error usage(const char* detail) {
  Error error;
  error.kind = Error::Kind::usage;
  error.detail = detail;
  return error;
}

}  // namespace

struct SessionSystem::State : std::enable_shared_from_this<State> {
  State(Client& client, ISessionHandlingClientRequests& netcode, Notifications notifications)
      : client(client), netcode(netcode), notify(std::move(notifications)) {}

  Client& client;
  ISessionHandlingClientRequests& netcode;
  const Notifications notify;
  mutable std::mutex mutex;
  Error error;         // guarded by mutex
  Call following = 0;  // the ticket that is followed

  void fail(Error why) {
    const std::lock_guard<std::mutex> lock(mutex);
    error = std::move(why);
  }

  // join has the netcode connect to a place.
  bool join(const std::optional<Connection>& place) {
    if (!place) return false;
    SessionConnectionConfig config;
    config.m_playerSessionId = place->player_session_id;
    config.m_dnsName = place->dns_name;
    config.m_ipAddress = place->ip;
    config.m_port = static_cast<std::uint16_t>(place->port);
    return netcode.RequestPlayerJoinSession(config);
  }

  void create(const CreateSessionRequest& in, std::function<void(std::string)> done) {
    SessionRequest request;
    request.pool = in.m_queueName;
    request.name = in.m_sessionName;
    if (in.m_maxPlayer > 0) request.max_players = static_cast<std::int64_t>(in.m_maxPlayer);
    request.properties = in.m_sessionProperties;
    client.create_session(request, [self = shared_from_this(), done](Result<Connection> result) {
      if (!result.ok()) {
        self->fail(result.error);
        return done("");
      }
      self->join(result.value);
      done(result.value.session_id);
    });
  }

  void search(const SearchSessionsRequest& in, std::function<void(SearchSessionsResponse)> done) {
    if (!in.m_filterExpression.empty() || !in.m_sortExpression.empty() || !in.m_nextToken.empty()) {
      fail(usage("m_filterExpression, m_sortExpression and m_nextToken: the player API lists by pool and location, at most 20 sessions"));
      return done({});
    }
    client.api().list_sessions(
        [self = shared_from_this(), done](Result<GameSessions> result) {
          SearchSessionsResponse out;
          if (!result.ok()) self->fail(result.error);
          for (const GameSession& one : result.value.items) out.m_sessionConfigs.push_back(config_of(one));
          done(std::move(out));
        },
        in.m_queueName, in.m_maxResult > 0 ? std::to_string(in.m_maxResult) : "", in.m_location);
  }

  void enter(const JoinSessionRequest& in, std::function<void(bool)> done) {
    if (!in.m_playerId.empty() && in.m_playerId != client.player_id()) {
      fail(usage("m_playerId: must be the player who is logged in"));
      return done(false);
    }
    JoinRequest request;
    request.player_data = in.m_playerData;
    client.api().join_session(in.m_sessionId, request, [self = shared_from_this(), done](Result<Reservation> result) {
      if (!result.ok()) self->fail(result.error);
      done(result.ok() && self->join(result.value.connection));
    });
  }

  void accept(const AcceptMatchRequest& in, std::function<void()> done) {
    AcceptRequest request;
    request.accept = in.m_acceptMatch;
    client.api().accept_match(in.m_ticketId, request, [self = shared_from_this(), done](Result<Ticket> result) {
      if (!result.ok()) self->fail(result.error);
      done();
    });
  }

  void start(const StartMatchmakingRequest& in, std::function<void(std::string)> done) {
    TicketRequest request;
    request.matchmaker = in.m_configurationName;
    request.attributes = in.m_playerAttributes;
    client.api().start_matchmaking(request, [self = shared_from_this(), done](Result<Ticket> result) {
      if (!result.ok()) {
        self->fail(result.error);
        return done("");
      }
      self->follow(result.value.ticket_id);
      done(result.value.ticket_id);
    });
  }

  void follow(const std::string& ticket_id) {
    const auto proposed = std::make_shared<std::string>();
    const auto changed = [self = shared_from_this(), proposed](const Ticket& ticket) {
      if (ticket.state != TicketState::requires_acceptance || *proposed == ticket.match_id) return;
      *proposed = ticket.match_id;
      if (self->notify.OnMatchAcceptance) self->notify.OnMatchAcceptance();
    };
    following = client.follow_ticket(ticket_id, changed, [self = shared_from_this()](Result<Ticket> end) {
      const Notifications& notify = self->notify;
      if (!end.ok()) {
        self->fail(end.error);
        if (end.error.kind != Error::Kind::cancelled && notify.OnMatchError) notify.OnMatchError();
      } else if (end.value.state == TicketState::completed && self->join(end.value.connection)) {
        if (notify.OnMatchComplete) notify.OnMatchComplete();
      } else if (notify.OnMatchFailure) {
        notify.OnMatchFailure();
      }
    });
  }

  void stop(const StopMatchmakingRequest& in, std::function<void()> done) {
    client.stop_matchmaking(in.m_ticketId, [self = shared_from_this(), done](Result<Nothing> result) {
      if (!result.ok()) self->fail(result.error);
      done();
    });
  }

  // wait blocks until a call has ended, and delivers its callback meanwhile.
  template <typename T, typename F>
  T wait(F begin) {
    const auto out = std::make_shared<std::pair<std::atomic<bool>, T>>();
    begin([out](T value) {
      out->second = std::move(value);
      out->first = true;
    });
    while (!out->first) {
      client.update();
      if (!out->first) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return out->second;
  }
};

SessionSystem::SessionSystem(Client& client, ISessionHandlingClientRequests& netcode, Notifications notifications)
    : state_(std::make_shared<State>(client, netcode, std::move(notifications))) {}

SessionSystem::~SessionSystem() {
  if (state_->following != 0) state_->client.cancel(state_->following);
}

std::string SessionSystem::CreateSession(const CreateSessionRequest& request) {
  return state_->wait<std::string>([&](std::function<void(std::string)> done) { state_->create(request, done); });
}

SearchSessionsResponse SessionSystem::SearchSessions(const SearchSessionsRequest& request) {
  return state_->wait<SearchSessionsResponse>([&](std::function<void(SearchSessionsResponse)> done) { state_->search(request, done); });
}

bool SessionSystem::JoinSession(const JoinSessionRequest& request) {
  return state_->wait<bool>([&](std::function<void(bool)> done) { state_->enter(request, done); });
}

void SessionSystem::LeaveSession() { state_->netcode.RequestPlayerLeaveSession(); }

void SessionSystem::CreateSessionAsync(const CreateSessionRequest& request) {
  state_->create(request, [state = state_](std::string id) {
    if (state->notify.OnCreateSessionAsyncComplete) state->notify.OnCreateSessionAsyncComplete(id);
  });
}

void SessionSystem::SearchSessionsAsync(const SearchSessionsRequest& request) {
  state_->search(request, [state = state_](SearchSessionsResponse found) {
    if (state->notify.OnSearchSessionsAsyncComplete) state->notify.OnSearchSessionsAsyncComplete(found);
  });
}

void SessionSystem::JoinSessionAsync(const JoinSessionRequest& request) {
  state_->enter(request, [state = state_](bool joined) {
    if (state->notify.OnJoinSessionAsyncComplete) state->notify.OnJoinSessionAsyncComplete(joined);
  });
}

void SessionSystem::LeaveSessionAsync() {
  LeaveSession();
  if (state_->notify.OnLeaveSessionAsyncComplete) state_->notify.OnLeaveSessionAsyncComplete();
}

void SessionSystem::AcceptMatch(const AcceptMatchRequest& request) {
  state_->wait<bool>([&](std::function<void(bool)> done) {
    state_->accept(request, [done] { done(true); });
  });
}

std::string SessionSystem::StartMatchmaking(const StartMatchmakingRequest& request) {
  return state_->wait<std::string>([&](std::function<void(std::string)> done) { state_->start(request, done); });
}

void SessionSystem::StopMatchmaking(const StopMatchmakingRequest& request) {
  state_->wait<bool>([&](std::function<void(bool)> done) {
    state_->stop(request, [done] { done(true); });
  });
}

void SessionSystem::AcceptMatchAsync(const AcceptMatchRequest& request) {
  state_->accept(request, [state = state_] {
    if (state->notify.OnAcceptMatchAsyncComplete) state->notify.OnAcceptMatchAsyncComplete();
  });
}

void SessionSystem::StartMatchmakingAsync(const StartMatchmakingRequest& request) {
  state_->start(request, [state = state_](std::string id) {
    if (state->notify.OnStartMatchmakingAsyncComplete) state->notify.OnStartMatchmakingAsyncComplete(id);
  });
}

void SessionSystem::StopMatchmakingAsync(const StopMatchmakingRequest& request) {
  state_->stop(request, [state = state_] {
    if (state->notify.OnStopMatchmakingAsyncComplete) state->notify.OnStopMatchmakingAsyncComplete();
  });
}

Error SessionSystem::last_error() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->error;
}

}  // namespace muster::o3de

#include "muster/gridmate.h"

#include <atomic>

#include "provider.h"
#include "uuid.h"

namespace muster::gridmate {

using o3de::AWSGameLiftCreateSessionOnQueueRequest;
using o3de::AWSGameLiftCreateSessionRequest;
using o3de::AWSGameLiftSearchSessionsRequest;
using o3de::Place;
using o3de::Provider;
using o3de::SessionConfig;
using o3de::SessionConnectionConfig;
using o3de::usage;

namespace {

gamelift::Options options_of(const GameLiftClientServiceDesc& desc) {
  gamelift::Options options = desc.m_more;
  const gamelift::Options known = gamelift::Options::from_environment(desc.m_region);
  options.region = known.region;
  options.endpoint = desc.m_endpoint.empty() ? known.endpoint : desc.m_endpoint;
  if (!options.endpoint.empty() && options.endpoint.find("://") == std::string::npos) {
    options.endpoint = (desc.m_useGameLiftLocalServer ? "http://" : "https://") + options.endpoint;
  }
  if (desc.m_useGameLiftLocalServer) {
    options.access_key.clear();
  } else if (!desc.m_accessKey.empty()) {
    options.access_key = desc.m_accessKey;
    options.secret_key = desc.m_secretKey;
  } else {
    options.access_key = known.access_key;
    options.secret_key = known.secret_key;
    options.session_token = known.session_token;
  }
  return options;
}

GameLiftSearchInfo info_of(const SessionConfig& session, const std::string& queue, const std::string& player_session_id) {
  GameLiftSearchInfo info;
  info.m_sessionId = session.m_sessionId;
  const std::size_t fleet = session.m_sessionId.find("fleet-");
  if (fleet != std::string::npos) info.m_fleetId = session.m_sessionId.substr(fleet, session.m_sessionId.find_first_of("/:", fleet) - fleet);
  info.m_queueName = queue;
  info.m_ipAddress = session.m_ipAddress;
  info.m_dnsName = session.m_dnsName;
  info.m_port = session.m_port;
  info.m_playerSessionId = player_session_id;
  info.m_numPlayers = info.m_numUsedPublicSlots = static_cast<unsigned>(session.m_currentPlayer);
  if (session.m_maxPlayer > session.m_currentPlayer) info.m_numFreePublicSlots = static_cast<unsigned>(session.m_maxPlayer - session.m_currentPlayer);
  for (const auto& one : session.m_sessionProperties) info.m_params.push_back({one.first, one.second});
  return info;
}

// A string of a filter expression.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

std::string filter_of(const GameLiftSearchParams& params) {
  std::string all;
  const auto add = [&all](const std::string& condition) { all += (all.empty() ? "" : " AND ") + condition; };
  if (!params.m_gameInstanceId.empty()) add("gameSessionId = " + quoted(params.m_gameInstanceId));
  for (const GridSessionSearchParam& one : params.m_params) {
    add("gameSessionProperties." + one.m_id + (one.m_op == GridSessionSearchOperators::SSO_OPERATOR_EQUAL ? " = " : " <> ") + quoted(one.m_value));
  }
  if (!params.m_filterExpression.empty()) add("(" + params.m_filterExpression + ")");
  return all;
}

void create_in(o3de::CreateSessionRequest& request, const GameLiftSessionRequestParams& params) {
  request.m_sessionName = params.m_instanceName;
  request.m_maxPlayer = params.m_numPublicSlots + params.m_numPrivateSlots;
  for (const GridSessionParam& one : params.m_params) request.m_sessionProperties[one.m_id] = one.m_value;
}

}  // namespace

struct GameLiftClientService::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Provider> provider, Netcode& netcode, GameLiftClientEvents events, std::string player)
      : provider(std::move(provider)), netcode(netcode), events(std::move(events)), player(std::move(player)) {}

  // Asks for a fleet that does not exist, as GridMate does: the answer is that it has no sessions.
  void probe() {
    AWSGameLiftSearchSessionsRequest nothing;
    nothing.m_fleetId = "fleet-00000000-0000-0000-0000-000000000000";
    provider->search(nothing, [self = shared_from_this()](Result<o3de::SearchSessionsResponse> result) {
      if (self->closed) return;
      self->ready = result.ok() || result.error.is("NotFoundException");
      if (self->ready) {
        if (self->events.OnGameLiftSessionServiceReady) self->events.OnGameLiftSessionServiceReady();
      } else if (self->events.OnGameLiftSessionServiceFailed) {
        self->events.OnGameLiftSessionServiceFailed(result.error.code + " " + result.error.detail);
      }
    });
  }

  // Makes an empty search, which a function starts. What the function calls may end before it has
  // returned; events come with Update all the same.
  GridSearchPtr open(std::function<void(const GridSearchPtr&)> start) {
    if (!ready) return nullptr;
    const GridSearchPtr search(new GameLiftSearch);
    start(search);
    return search;
  }

  void end(const GridSearchPtr& search, Error error, std::vector<GameLiftSearchInfo> found) {
    if (search->done_ || closed) return;
    search->error_ = std::move(error);
    search->found_ = std::move(found);
    search->done_ = true;
    due.push_back([this, search] {
      if (events.OnGridSearchComplete) events.OnGridSearchComplete(search);
    });
  }

  // Continues a search with the value of a call, unless the search has ended.
  template <typename T>
  Callback<T> then(const GridSearchPtr& search, std::function<void(T)> go_on) {
    return [self = shared_from_this(), search, go_on](Result<T> result) {
      if (self->closed) return;
      if (!result.ok()) return self->end(search, std::move(result.error), {});
      go_on(std::move(result.value));
    };
  }

  void locate(const GridSearchPtr& search, const std::string& id, const std::string& queue) {
    search->call_ = provider->locate(id, player, then<Place>(search, [this, search, queue](Place place) { end(search, {}, {info_of(place.session, queue, place.player_session_id)}); }));
  }

  void create(const GridSearchPtr& search, const GameLiftSessionRequestParams& params) {
    const auto made = then<std::string>(search, [this, search, queue = params.m_queueName](std::string id) {
      if (!o3de::is_session(id)) search->placement_ = id;
      if (search->done_) return withdraw(search);
      locate(search, id, queue);
    });
    if (params.m_queueName.empty()) {
      AWSGameLiftCreateSessionRequest request;
      create_in(request, params);
      request.m_aliasId = params.m_aliasId;
      request.m_fleetId = params.m_fleetId;
      request.m_location = params.m_location;
      provider->create(request, made);
      return;
    }
    AWSGameLiftCreateSessionOnQueueRequest request;
    create_in(request, params);
    request.m_queueName = params.m_queueName;
    provider->create(request, made);
  }

  void match(const GridSearchPtr& search, const o3de::StartMatchmakingRequest& request) {
    search->matchmaking_ = true;
    provider->start(request, then<std::string>(search, [this, search](std::string ticket) {
      search->ticket_ = ticket;
      if (search->done_) return withdraw(search);
      o3de::TicketWatch watch;
      watch.proposed = [self = shared_from_this(), search] {
        if (search->done_ || self->closed) return;
        if (self->events.OnMatchAcceptance) return self->events.OnMatchAcceptance(search);
        self->accept(search, true);
      };
      const auto matched = [this, search](Place place) { end(search, {}, {info_of(place.session, "", place.player_session_id)}); };
      search->call_ = provider->follow(ticket, player, watch, then<Place>(search, matched));
    }));
  }

  void accept(const GridSearchPtr& search, bool accept) {
    o3de::AcceptMatchRequest request;
    request.m_ticketId = search->ticket_;
    request.m_playerIds = {player};
    request.m_acceptMatch = accept;
    provider->accept(request, [](Result<Nothing>) {});  // a proposal that is still open is reported again
  }

  void withdraw(const GridSearchPtr& search) {
    if (search->call_ != 0) provider->cancel(search->call_);
    if (!search->ticket_.empty()) provider->stop(search->ticket_, [](Result<Nothing>) {});
    if (!search->placement_.empty()) provider->withdraw(search->placement_, [](Result<Nothing>) {});
  }

  void connect(const GridSessionPtr& session, Result<SessionConnectionConfig> slot) {
    if (closed || session->state_ != GameLiftClientSession::State::joining) return;
    session->error_ = std::move(slot.error);
    session->player_session_id_ = slot.value.m_playerSessionId;
    if (!session->error_ && !netcode.RequestPlayerJoinSession(slot.value)) session->error_ = usage("RequestPlayerJoinSession has refused");
    const bool joined = !session->error_;
    session->state_ = joined ? GameLiftClientSession::State::joined : GameLiftClientSession::State::failed;
    due.push_back([this, session, joined] {
      const auto& event = joined ? events.OnSessionJoined : events.OnSessionError;
      if (event) event(session);
    });
  }

  std::shared_ptr<Provider> provider;
  Netcode& netcode;
  const GameLiftClientEvents events;
  const std::string player;
  bool ready = false, closed = false;
  std::vector<std::function<void()>> due;  // events for the next Update, or the rest of this one
};

GameLiftClientService::GameLiftClientService(const GameLiftClientServiceDesc& desc, Netcode& netcode, GameLiftClientEvents events) {
  const gamelift::Options options = options_of(desc);
  state_ = std::make_shared<State>(o3de::gamelift_provider(options), netcode, std::move(events), desc.m_playerId.empty() ? new_uuid() : desc.m_playerId);
  if (!desc.m_useGameLiftLocalServer && (options.access_key.empty() || options.secret_key.empty())) {
    state_->due.push_back([state = state_.get()] {
      if (state->events.OnGameLiftSessionServiceFailed) state->events.OnGameLiftSessionServiceFailed("m_accessKey, m_secretKey: both are required (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)");
    });
    return;
  }
  state_->probe();
}

GameLiftClientService::GameLiftClientService(Client& client, Netcode& netcode, GameLiftClientEvents events)
    : state_(std::make_shared<State>(o3de::player_provider(client), netcode, std::move(events), client.player_id())) {
  state_->ready = true;
  state_->due.push_back([state = state_.get()] {
    if (state->events.OnGameLiftSessionServiceReady) state->events.OnGameLiftSessionServiceReady();
  });
}

GameLiftClientService::~GameLiftClientService() {
  state_->closed = true;
  state_->due.clear();
  const std::shared_ptr<Provider> provider = std::move(state_->provider);  // what is under way holds the state
}

void GameLiftClientService::Update() {
  const std::shared_ptr<State> state = state_;  // an event may end the service
  const std::shared_ptr<Provider> provider = state->provider;
  provider->update();
  std::vector<std::function<void()>> due;
  due.swap(state->due);
  for (const auto& one : due) {
    if (!state->closed) one();
  }
}

bool GameLiftClientService::IsReady() const { return state_->ready; }

const std::string& GameLiftClientService::GetPlayerId() const { return state_->player; }

GridSearchPtr GameLiftClientService::RequestSession(const GameLiftSessionRequestParams& params) {
  return state_->open([&](const GridSearchPtr& search) { state_->create(search, params); });
}

GridSearchPtr GameLiftClientService::StartSearch(const GameLiftSearchParams& params) {
  return state_->open([&](const GridSearchPtr& search) {
    AWSGameLiftSearchSessionsRequest request;
    request.m_queueName = params.m_queueName;
    request.m_aliasId = params.m_aliasId;
    request.m_fleetId = params.m_fleetId;
    request.m_location = params.m_location;
    request.m_filterExpression = filter_of(params);
    request.m_sortExpression = params.m_sortExpression;
    const auto listed = [state = state_.get(), search, queue = params.m_queueName, most = params.m_maxSessions](o3de::SearchSessionsResponse response) {
      std::vector<GameLiftSearchInfo> found;
      for (const SessionConfig& one : response.m_sessionConfigs) {
        if (most == 0 || found.size() < most) found.push_back(info_of(one, queue, ""));
      }
      state->end(search, {}, std::move(found));
    };
    search->call_ = state_->provider->search(request, state_->then<o3de::SearchSessionsResponse>(search, listed));
  });
}

GridSearchPtr GameLiftClientService::StartMatchmaking(const std::string& matchmakingConfig) {
  o3de::StartMatchmakingRequest request;
  request.m_configurationName = matchmakingConfig;
  request.m_players.resize(1);
  request.m_players[0].m_playerId = state_->player;
  return StartMatchmaking(request);
}

GridSearchPtr GameLiftClientService::StartMatchmaking(const o3de::StartMatchmakingRequest& request) {
  return state_->open([&](const GridSearchPtr& search) { state_->match(search, request); });
}

void GameLiftClientService::AcceptMatch(const GridSearchPtr& search, bool accept) { state_->accept(search, accept); }

void GameLiftClientService::AbortSearch(const GridSearchPtr& search) {
  if (search->done_) return;
  search->error_ = usage("the search was aborted");
  search->error_.kind = Error::Kind::cancelled;
  search->done_ = true;
  state_->withdraw(search);
}

GridSessionPtr GameLiftClientService::JoinSessionBySearchInfo(const GameLiftSearchInfo& info) {
  if (!state_->ready) return nullptr;
  const GridSessionPtr session(new GameLiftClientSession);
  session->id_ = info.m_sessionId;
  if (!info.m_playerSessionId.empty()) {
    Result<SessionConnectionConfig> slot;
    slot.value = {info.m_playerSessionId, info.m_dnsName, info.m_ipAddress, static_cast<std::uint16_t>(info.m_port)};
    state_->connect(session, std::move(slot));
    return session;
  }
  o3de::JoinSessionRequest request;
  request.m_sessionId = info.m_sessionId;
  request.m_playerId = state_->player;
  state_->provider->join(request, [state = state_, session](Result<SessionConnectionConfig> slot) { state->connect(session, std::move(slot)); });
  return session;
}

void GameLiftClientService::LeaveSession(const GridSessionPtr& session) {
  const bool was_in = session->state_ == GameLiftClientSession::State::joined;
  session->state_ = GameLiftClientSession::State::left;
  if (was_in) state_->netcode.RequestPlayerLeaveSession();
}

}  // namespace muster::gridmate

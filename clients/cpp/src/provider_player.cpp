#include "attribute.h"
#include "provider.h"

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

Place place_of(const Connection& connection) {
  Place place;
  place.session.m_sessionId = connection.session_id;
  place.session.m_dnsName = connection.dns_name;
  place.session.m_ipAddress = connection.ip;
  place.session.m_port = static_cast<std::uint16_t>(connection.port);
  place.player_session_id = connection.player_session_id;
  return place;
}

// The player API, for the player who is logged in.
class PlayerProvider : public Provider {
 public:
  explicit PlayerProvider(Client& client) : client_(client) {}

  void update() override { client_.update(); }
  void cancel(Call call) override { client_.cancel(call); }
  std::string player() const override { return client_.player_id(); }

  Call create(const AWSGameLiftCreateSessionRequest& request, Callback<std::string> done) override;
  Call create(const AWSGameLiftCreateSessionOnQueueRequest& request, Callback<std::string> done) override;
  Call locate(const std::string& id, const std::string& player_id, Callback<Place> done) override;
  Call withdraw(const std::string& placement_id, Callback<Nothing> done) override;
  Call search(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done) override;
  Call join(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done) override;
  Call start(const StartMatchmakingRequest& request, Callback<std::string> done) override;
  Call stop(const std::string& ticket_id, Callback<Nothing> done) override;
  Call accept(const AcceptMatchRequest& request, Callback<Nothing> done) override;
  Call follow(const std::string& ticket_id, const std::string& player_id, TicketWatch watch, Callback<Place> done) override;

 private:
  bool is_me(const std::string& player_id) const { return player_id.empty() || player_id == client_.player_id(); }
  // Ends a call before it has begun.
  template <typename T>
  Call refuse(const char* why, Callback<T> done) {
    done(failed<T>(usage(why)));
    return 0;
  }

  Client& client_;
};

constexpr const char* another = "the player API acts for the player who is logged in";
constexpr const char* no_fleets = "m_aliasId, m_fleetId: players have pools; set m_queueName to one";

Call PlayerProvider::create(const AWSGameLiftCreateSessionRequest&, Callback<std::string> done) { return refuse(no_fleets, std::move(done)); }

Call PlayerProvider::create(const AWSGameLiftCreateSessionOnQueueRequest& request, Callback<std::string> done) {
  SessionRequest in;
  in.pool = request.m_queueName;
  in.name = request.m_sessionName;
  if (request.m_maxPlayer > 0) in.max_players = static_cast<std::int64_t>(request.m_maxPlayer);
  in.properties = request.m_sessionProperties;
  return client_.api().create_session(in, [done](Result<muster::Placement> result) { done(result.ok() ? value_of(result.value.placement_id) : failed<std::string>(std::move(result.error))); });
}

Call PlayerProvider::locate(const std::string& id, const std::string&, Callback<Place> done) {
  if (is_session(id)) {
    return client_.api().get_session(id, [done](Result<GameSession> result) { done(result.ok() ? value_of(Place{config_of(result.value), ""}) : failed<Place>(std::move(result.error))); });
  }
  return client_.follow_placement(id, [done](Result<Placement> result) {
    if (!result.ok()) return done(failed<Place>(std::move(result.error)));
    done(value_of(place_of(result.value.connection.value_or(Connection()))));
  });
}

Call PlayerProvider::withdraw(const std::string& placement_id, Callback<Nothing> done) {
  return client_.api().stop_placement(placement_id, [done](Result<Placement> result) { done(failed<Nothing>(std::move(result.error))); });
}

Call PlayerProvider::search(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done) {
  if (!request.m_aliasId.empty() || !request.m_fleetId.empty()) return refuse(no_fleets, std::move(done));
  if (!request.m_nextToken.empty()) return refuse("m_nextToken: the player API lists at most 20 game sessions, without pages", std::move(done));
  const auto convert = [done](Result<GameSessions> result) {
    if (!result.ok()) return done(failed<SearchSessionsResponse>(std::move(result.error)));
    SearchSessionsResponse out;
    for (const GameSession& one : result.value.items) out.m_sessionConfigs.push_back(config_of(one));
    done(value_of(std::move(out)));
  };
  return client_.api().list_sessions(convert, request.m_queueName, request.m_maxResult > 0 ? std::to_string(request.m_maxResult) : "", request.m_location, request.m_filterExpression, request.m_sortExpression);
}

Call PlayerProvider::join(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done) {
  if (!is_me(request.m_playerId)) return refuse(another, std::move(done));
  if (request.m_sessionId.empty()) return refuse("m_sessionId: is required", std::move(done));
  if (!is_session(request.m_sessionId)) {
    return locate(request.m_sessionId, request.m_playerId, [done](Result<Place> place) { done(place.ok() ? value_of(place.value.connection()) : failed<SessionConnectionConfig>(std::move(place.error))); });
  }
  JoinRequest in;
  in.player_data = request.m_playerData;
  return client_.api().join_session(request.m_sessionId, in, [done](Result<Reservation> result) {
    done(result.ok() ? value_of(place_of(result.value.connection).connection()) : failed<SessionConnectionConfig>(std::move(result.error)));
  });
}

Call PlayerProvider::start(const StartMatchmakingRequest& request, Callback<std::string> done) {
  if (request.m_players.size() > 1) return refuse("m_players: the player API matches parties where several play together", std::move(done));
  TicketRequest in;
  in.matchmaker = request.m_configurationName;
  for (const AWSGameLiftPlayer& player : request.m_players) {
    if (!is_me(player.m_playerId)) return refuse(another, std::move(done));
    in.team = player.m_team;
    for (const auto& one : player.m_latencyInMs) in.latency_ms[one.first] = one.second;
    Result<Json> attributes = muster::attributes(player.m_playerAttributes, &Attribute::for_player);
    if (!attributes.ok()) return refuse(attributes.error.detail.c_str(), std::move(done));
    for (const Json::Member& one : attributes.value.members()) in.attributes[one.first] = one.second;
  }
  return client_.api().start_matchmaking(in, [done](Result<Ticket> result) { done(result.ok() ? value_of(result.value.ticket_id) : failed<std::string>(std::move(result.error))); });
}

Call PlayerProvider::stop(const std::string& ticket_id, Callback<Nothing> done) { return client_.stop_matchmaking(ticket_id, std::move(done)); }

Call PlayerProvider::accept(const AcceptMatchRequest& request, Callback<Nothing> done) {
  AcceptRequest in;
  in.accept = request.m_acceptMatch;
  return client_.api().accept_match(request.m_ticketId, in, [done](Result<Ticket> result) { done(failed<Nothing>(std::move(result.error))); });
}

Call PlayerProvider::follow(const std::string& ticket_id, const std::string& player_id, TicketWatch watch, Callback<Place> done) {
  if (!is_me(player_id)) return refuse(another, std::move(done));
  const auto proposed = std::make_shared<std::string>();
  const auto changed = [watch, proposed](const Ticket& ticket) {
    if (ticket.state != TicketState::requires_acceptance || *proposed == ticket.match_id) return;
    *proposed = ticket.match_id;
    if (watch.proposed) watch.proposed();
  };
  return client_.follow_ticket(ticket_id, changed, [done](Result<Ticket> end) {
    if (!end.ok()) return done(failed<Place>(std::move(end.error)));
    if (end.value.state == TicketState::completed) {
      return done(end.value.connection ? value_of(place_of(*end.value.connection)) : failed<Place>(no_place()));
    }
    Error error;
    error.kind = Error::Kind::match;
    error.detail = std::string("the ticket ended without a match: ") + text_of(end.value.state) + " " + end.value.reason;
    error.data = end.value.to_json();
    done(failed<Place>(std::move(error)));
  });
}

}  // namespace

std::shared_ptr<Provider> player_provider(Client& client) { return std::make_shared<PlayerProvider>(client); }

}  // namespace muster::o3de

#include "attribute.h"
#include "provider.h"
#include "uuid.h"

namespace muster::o3de {

namespace {

// A time of the API, in seconds, as the gems have it.
std::uint64_t unix_ms(const Json& time) { return static_cast<std::uint64_t>(time.number() * 1000 + 0.5); }

SessionConfig config_of(const Json& session) {
  SessionConfig config;
  config.m_creationTime = unix_ms(session["CreationTime"]);
  config.m_terminationTime = unix_ms(session["TerminationTime"]);
  config.m_creatorId = session["CreatorId"].text();
  for (const Json& one : session["GameProperties"].items()) config.m_sessionProperties[one["Key"].text()] = one["Value"].text();
  config.m_matchmakingData = session["MatchmakerData"].text();
  config.m_sessionId = session["GameSessionId"].text();
  config.m_sessionName = session["Name"].text();
  config.m_dnsName = session["DnsName"].text();
  config.m_ipAddress = session["IpAddress"].text();
  config.m_port = static_cast<std::uint16_t>(session["Port"].integer());
  config.m_maxPlayer = static_cast<std::uint64_t>(session["MaximumPlayerSessionCount"].integer());
  config.m_currentPlayer = static_cast<std::uint64_t>(session["CurrentPlayerSessionCount"].integer());
  config.m_status = session["Status"].text();
  config.m_statusReason = session["StatusReason"].text();
  return config;
}

// A place in a game session that a placement, a match or a player session names.
Place place_of(const Json& at, const char* id, const std::string& player_session_id) {
  Place place;
  place.session.m_sessionId = at[id].text();
  place.session.m_dnsName = at["DnsName"].text();
  place.session.m_ipAddress = at["IpAddress"].text();
  place.session.m_port = static_cast<std::uint16_t>(at["Port"].integer());
  place.player_session_id = player_session_id;
  return place;
}

// The player session of a player in a list of a match or a placement; "" if there is none.
std::string slot_of(const Json& slots, const std::string& player_id) {
  for (const Json& slot : slots.items()) {
    if (slot["PlayerId"].text() == player_id) return slot["PlayerSessionId"].text();
  }
  return "";
}

void set(Json& json, const char* name, const std::string& value) {
  if (!value.empty()) json.set(name, Json(value));
}

Json created(const CreateSessionRequest& request, const char* name) {
  Json in = Json::object();
  in.set("MaximumPlayerSessionCount", Json(static_cast<std::int64_t>(request.m_maxPlayer)));
  set(in, name, request.m_sessionName);
  Json properties = Json::list();
  for (const auto& one : request.m_sessionProperties) properties.add(Json::object().set("Key", Json(one.first)).set("Value", Json(one.second)));
  if (!request.m_sessionProperties.empty()) in.set("GameProperties", std::move(properties));
  return in;
}

Result<Json> player_of(const AWSGameLiftPlayer& player) {
  Result<Json> attributes = muster::attributes(player.m_playerAttributes, &Attribute::for_api);
  if (!attributes.ok()) return attributes;
  Json out = Json::object();
  out.set("PlayerId", Json(player.m_playerId));
  set(out, "Team", player.m_team);
  if (!player.m_latencyInMs.empty()) out.set("LatencyInMs", Json::map(player.m_latencyInMs, [](int ms) { return Json(static_cast<std::int64_t>(ms)); }));
  if (!player.m_playerAttributes.empty()) out.set("PlayerAttributes", std::move(attributes.value));
  return value_of(std::move(out));
}

// The API of GameLift.
class GameLiftProvider : public Provider {
 public:
  explicit GameLiftProvider(const gamelift::Options& options) : client_(options) {}

  void update() override { client_.update(); }
  void cancel(Call call) override { client_.cancel(call); }
  std::string player() const override { return ""; }

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
  Call search_page(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done);
  Call reserve(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done);
  // Ends a call before it has begun.
  template <typename T>
  Call refuse(Error error, Callback<T> done) {
    done(failed<T>(std::move(error)));
    return 0;
  }
  Call plain(const char* operation, const Json& in, Callback<Nothing> done) {
    return client_.call(operation, in, [done](Result<Json> result) { done(failed<Nothing>(std::move(result.error))); });
  }

  gamelift::Client client_;
};

Call GameLiftProvider::create(const AWSGameLiftCreateSessionRequest& request, Callback<std::string> done) {
  if (request.m_aliasId.empty() && request.m_fleetId.empty()) return refuse(usage("m_aliasId, m_fleetId: one of them is required"), done);
  Json in = created(request, "Name");
  set(in, "CreatorId", request.m_creatorId);
  set(in, "IdempotencyToken", request.m_idempotencyToken);
  set(in, "Location", request.m_location);
  set(in, request.m_aliasId.empty() ? "FleetId" : "AliasId", request.m_aliasId.empty() ? request.m_fleetId : request.m_aliasId);
  return client_.call("CreateGameSession", in, [done](Result<Json> result) {
    done(result.ok() ? value_of(result.value["GameSession"]["GameSessionId"].text()) : failed<std::string>(std::move(result.error)));
  });
}

Call GameLiftProvider::create(const AWSGameLiftCreateSessionOnQueueRequest& request, Callback<std::string> done) {
  if (request.m_queueName.empty()) return refuse(usage("m_queueName: is required"), done);
  Json in = created(request, "GameSessionName");
  in.set("GameSessionQueueName", Json(request.m_queueName));
  in.set("PlacementId", Json(request.m_placementId.empty() ? new_uuid() : request.m_placementId));
  return client_.call("StartGameSessionPlacement", in, [done](Result<Json> result) {
    done(result.ok() ? value_of(result.value["GameSessionPlacement"]["PlacementId"].text()) : failed<std::string>(std::move(result.error)));
  });
}

Call GameLiftProvider::locate(const std::string& id, const std::string& player_id, Callback<Place> done) {
  if (!is_session(id)) {
    return client_.follow_placement(id, [this, player_id, done](Result<Json> result) {
      if (!result.ok()) return done(failed<Place>(std::move(result.error)));
      const std::string slot = slot_of(result.value["PlacedPlayerSessions"], player_id);
      locate(result.value["GameSessionArn"].text(), player_id, [slot, done](Result<Place> place) {
        place.value.player_session_id = slot;
        done(std::move(place));
      });
    });
  }
  Json in = Json::object();
  in.set("GameSessionId", Json(id));
  return client_.call("DescribeGameSessions", in, [id, done](Result<Json> result) {
    if (!result.ok()) return done(failed<Place>(std::move(result.error)));
    const auto& found = result.value["GameSessions"].items();
    if (found.empty()) return done(failed<Place>(usage("game session " + id + " is not found")));
    done(value_of(Place{config_of(found[0]), ""}));
  });
}

Call GameLiftProvider::withdraw(const std::string& placement_id, Callback<Nothing> done) {
  Json in = Json::object();
  in.set("PlacementId", Json(placement_id));
  return plain("StopGameSessionPlacement", in, std::move(done));
}

Call GameLiftProvider::search(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done) {
  if (request.m_queueName.empty() && request.m_aliasId.empty() && request.m_fleetId.empty()) {
    return refuse(usage("m_queueName, m_aliasId, m_fleetId: one of them is required"), done);
  }
  if (!request.m_nextToken.empty() && (!request.m_queueName.empty() || request.m_maxResult == 0)) {
    return refuse(usage("m_nextToken: a queue, or a search without m_maxResult, has no pages"), done);
  }
  if (request.m_queueName.empty() && request.m_maxResult > 0) return search_page(request, std::move(done));
  gamelift::Search what;
  what.target = {request.m_queueName, request.m_aliasId, request.m_fleetId, request.m_location};
  what.filter = request.m_filterExpression;
  what.sort = request.m_sortExpression;
  what.most = request.m_maxResult;
  return client_.search(what, [done](Result<std::vector<Json>> result) {
    if (!result.ok()) return done(failed<SearchSessionsResponse>(std::move(result.error)));
    SearchSessionsResponse out;
    for (const Json& one : result.value) out.m_sessionConfigs.push_back(config_of(one));
    done(value_of(std::move(out)));
  });
}

Call GameLiftProvider::search_page(const AWSGameLiftSearchSessionsRequest& request, Callback<SearchSessionsResponse> done) {
  Json in = Json::object();
  in.set("Limit", Json(static_cast<std::int64_t>(request.m_maxResult)));
  set(in, request.m_aliasId.empty() ? "FleetId" : "AliasId", request.m_aliasId.empty() ? request.m_fleetId : request.m_aliasId);
  set(in, "FilterExpression", request.m_filterExpression);
  set(in, "SortExpression", request.m_sortExpression);
  set(in, "NextToken", request.m_nextToken);
  set(in, "Location", request.m_location);
  return client_.call("SearchGameSessions", in, [done](Result<Json> result) {
    if (!result.ok()) return done(failed<SearchSessionsResponse>(std::move(result.error)));
    SearchSessionsResponse out;
    for (const Json& one : result.value["GameSessions"].items()) out.m_sessionConfigs.push_back(config_of(one));
    out.m_nextToken = result.value["NextToken"].text();
    done(value_of(std::move(out)));
  });
}

Call GameLiftProvider::join(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done) {
  if (request.m_sessionId.empty() || request.m_playerId.empty()) return refuse(usage("m_sessionId, m_playerId: both are required"), done);
  if (is_session(request.m_sessionId)) return reserve(request, std::move(done));
  return locate(request.m_sessionId, request.m_playerId, [this, request, done](Result<Place> place) {
    if (!place.ok()) return done(failed<SessionConnectionConfig>(std::move(place.error)));
    if (!place.value.player_session_id.empty()) return done(value_of(place.value.connection()));
    JoinSessionRequest placed = request;
    placed.m_sessionId = place.value.session.m_sessionId;
    reserve(placed, done);
  });
}

Call GameLiftProvider::reserve(const JoinSessionRequest& request, Callback<SessionConnectionConfig> done) {
  return client_.reserve(request.m_sessionId, request.m_playerId, request.m_playerData, [done](Result<Json> result) {
    if (!result.ok()) return done(failed<SessionConnectionConfig>(std::move(result.error)));
    done(value_of(place_of(result.value, "GameSessionId", result.value["PlayerSessionId"].text()).connection()));
  });
}

Call GameLiftProvider::start(const StartMatchmakingRequest& request, Callback<std::string> done) {
  if (request.m_configurationName.empty() || request.m_players.empty()) return refuse(usage("m_configurationName, m_players: both are required"), done);
  Json in = Json::object(), players = Json::list();
  for (const AWSGameLiftPlayer& player : request.m_players) {
    if (player.m_playerId.empty()) return refuse(usage("m_players: each needs a m_playerId"), done);
    Result<Json> one = player_of(player);
    if (!one.ok()) return refuse(std::move(one.error), done);
    players.add(std::move(one.value));
  }
  in.set("ConfigurationName", Json(request.m_configurationName)).set("Players", std::move(players));
  set(in, "TicketId", request.m_ticketId);
  return client_.call("StartMatchmaking", in, [done](Result<Json> result) {
    done(result.ok() ? value_of(result.value["MatchmakingTicket"]["TicketId"].text()) : failed<std::string>(std::move(result.error)));
  });
}

Call GameLiftProvider::stop(const std::string& ticket_id, Callback<Nothing> done) {
  if (ticket_id.empty()) return refuse(usage("m_ticketId: is required"), done);
  Json in = Json::object();
  in.set("TicketId", Json(ticket_id));
  return plain("StopMatchmaking", in, std::move(done));
}

Call GameLiftProvider::accept(const AcceptMatchRequest& request, Callback<Nothing> done) {
  if (request.m_ticketId.empty() || request.m_playerIds.empty()) return refuse(usage("m_ticketId, m_playerIds: both are required"), done);
  Json in = Json::object();
  in.set("TicketId", Json(request.m_ticketId)).set("AcceptanceType", Json(request.m_acceptMatch ? "ACCEPT" : "REJECT"));
  in.set("PlayerIds", Json::list(request.m_playerIds, [](const std::string& id) { return Json(id); }));
  return plain("AcceptMatch", in, std::move(done));
}

Call GameLiftProvider::follow(const std::string& ticket_id, const std::string& player_id, TicketWatch watch, Callback<Place> done) {
  gamelift::TicketEvents events;
  events.missed = watch.missed;
  events.seen = [proposed = watch.proposed](const Json& ticket) {
    if (ticket["Status"].text() == "REQUIRES_ACCEPTANCE" && proposed) proposed();
  };
  return client_.follow_ticket(ticket_id, events, [player_id, done](Result<Json> ended) {
    if (!ended.ok()) return done(failed<Place>(std::move(ended.error)));
    if (ended.value["Status"].text() != "COMPLETED") {
      Error error;
      error.kind = Error::Kind::match;
      error.detail = "the ticket ended without a match: " + ended.value["Status"].text() + " " + ended.value["StatusReason"].text();
      error.data = ended.value;
      return done(failed<Place>(std::move(error)));
    }
    const Json& at = ended.value["GameSessionConnectionInfo"];
    const std::string slot = slot_of(at["MatchedPlayerSessions"], player_id);
    if (slot.empty()) return done(failed<Place>(no_place()));
    done(value_of(place_of(at, "GameSessionArn", slot)));
  });
}

}  // namespace

std::shared_ptr<Provider> gamelift_provider(const gamelift::Options& options) { return std::make_shared<GameLiftProvider>(options); }

}  // namespace muster::o3de

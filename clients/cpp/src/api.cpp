// Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.

#include "muster/api.h"

#include "caller.h"

namespace muster {

Problem Problem::from_json(const Json& json) {
  Problem out;
  out.type = json["type"].text();
  out.title = json["title"].text();
  out.status = json["status"].integer();
  out.detail = json["detail"].text();
  out.instance = json["instance"].text();
  out.code = json["code"].text();
  if (!json["retry_after_seconds"].is_null()) out.retry_after_seconds = json["retry_after_seconds"].integer();
  if (!json["until"].is_null()) out.until = json["until"].time();
  out.ticket_id = json["ticket_id"].text();
  out.conflict_token = json["conflict_token"].text();
  return out;
}

Json Problem::to_json() const {
  Json json = Json::object();
  json.set("type", Json(type));
  json.set("title", Json(title));
  json.set("status", Json(status));
  if (!detail.empty()) json.set("detail", Json(detail));
  json.set("instance", Json(instance));
  json.set("code", Json(code));
  if (retry_after_seconds) json.set("retry_after_seconds", Json(*retry_after_seconds));
  if (until) json.set("until", Json(*until));
  if (!ticket_id.empty()) json.set("ticket_id", Json(ticket_id));
  if (!conflict_token.empty()) json.set("conflict_token", Json(conflict_token));
  return json;
}

GuestLogin GuestLogin::from_json(const Json& json) {
  GuestLogin out;
  out.player_id = json["player_id"].text();
  out.guest_secret = json["guest_secret"].text();
  return out;
}

Json GuestLogin::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  json.set("guest_secret", Json(guest_secret));
  return json;
}

ProviderLogin ProviderLogin::from_json(const Json& json) {
  ProviderLogin out;
  out.token = json["token"].text();
  out.nonce = json["nonce"].text();
  out.identity = json["identity"].text();
  if (!json["create"].is_null()) out.create = json["create"].boolean();
  return out;
}

Json ProviderLogin::to_json() const {
  Json json = Json::object();
  json.set("token", Json(token));
  if (!nonce.empty()) json.set("nonce", Json(nonce));
  if (!identity.empty()) json.set("identity", Json(identity));
  if (create) json.set("create", Json(*create));
  return json;
}

const char* text_of(MergeRequestKeep value) {
  switch (value) {
    case MergeRequestKeep::mine: return "mine";
    case MergeRequestKeep::theirs: return "theirs";
    default: return "unknown";
  }
}

static MergeRequestKeep read_MergeRequestKeep(const std::string& text) {
  if (text == "mine") return MergeRequestKeep::mine;
  if (text == "theirs") return MergeRequestKeep::theirs;
  return MergeRequestKeep::unknown;
}

MergeRequest MergeRequest::from_json(const Json& json) {
  MergeRequest out;
  out.conflict_token = json["conflict_token"].text();
  out.keep = read_MergeRequestKeep(json["keep"].text());
  return out;
}

Json MergeRequest::to_json() const {
  Json json = Json::object();
  json.set("conflict_token", Json(conflict_token));
  json.set("keep", Json(text_of(keep)));
  return json;
}

RefreshRequest RefreshRequest::from_json(const Json& json) {
  RefreshRequest out;
  out.refresh_token = json["refresh_token"].text();
  return out;
}

Json RefreshRequest::to_json() const {
  Json json = Json::object();
  json.set("refresh_token", Json(refresh_token));
  return json;
}

LogoutRequest LogoutRequest::from_json(const Json& json) {
  LogoutRequest out;
  out.refresh_token = json["refresh_token"].text();
  if (!json["all"].is_null()) out.all = json["all"].boolean();
  return out;
}

Json LogoutRequest::to_json() const {
  Json json = Json::object();
  if (!refresh_token.empty()) json.set("refresh_token", Json(refresh_token));
  if (all) json.set("all", Json(*all));
  return json;
}

LinkedIdentity LinkedIdentity::from_json(const Json& json) {
  LinkedIdentity out;
  out.provider = json["provider"].text();
  out.subject_hint = json["subject_hint"].text();
  out.linked_at = json["linked_at"].time();
  return out;
}

Json LinkedIdentity::to_json() const {
  Json json = Json::object();
  json.set("provider", Json(provider));
  json.set("subject_hint", Json(subject_hint));
  json.set("linked_at", Json(linked_at));
  return json;
}

const char* text_of(SessionScope value) {
  switch (value) {
    case SessionScope::guest: return "guest";
    case SessionScope::authenticated: return "authenticated";
    default: return "unknown";
  }
}

static SessionScope read_SessionScope(const std::string& text) {
  if (text == "guest") return SessionScope::guest;
  if (text == "authenticated") return SessionScope::authenticated;
  return SessionScope::unknown;
}

Session Session::from_json(const Json& json) {
  Session out;
  out.player_id = json["player_id"].text();
  out.scope = read_SessionScope(json["scope"].text());
  out.access_token = json["access_token"].text();
  out.access_token_expires_in = json["access_token_expires_in"].integer();
  out.refresh_token = json["refresh_token"].text();
  out.refresh_token_expires_in = json["refresh_token_expires_in"].integer();
  out.created = json["created"].boolean();
  out.identities = json["identities"].list<LinkedIdentity>([](const Json& v) { return LinkedIdentity::from_json(v); });
  out.guest_secret = json["guest_secret"].text();
  return out;
}

Json Session::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  json.set("scope", Json(text_of(scope)));
  json.set("access_token", Json(access_token));
  json.set("access_token_expires_in", Json(access_token_expires_in));
  json.set("refresh_token", Json(refresh_token));
  json.set("refresh_token_expires_in", Json(refresh_token_expires_in));
  json.set("created", Json(created));
  json.set("identities", Json::list(identities, [](const LinkedIdentity& v) { return v.to_json(); }));
  if (!guest_secret.empty()) json.set("guest_secret", Json(guest_secret));
  return json;
}

SocketTicket SocketTicket::from_json(const Json& json) {
  SocketTicket out;
  out.ticket = json["ticket"].text();
  out.expires_in = json["expires_in"].integer();
  return out;
}

Json SocketTicket::to_json() const {
  Json json = Json::object();
  json.set("ticket", Json(ticket));
  json.set("expires_in", Json(expires_in));
  return json;
}

const char* text_of(PlayerScope value) {
  switch (value) {
    case PlayerScope::guest: return "guest";
    case PlayerScope::authenticated: return "authenticated";
    default: return "unknown";
  }
}

static PlayerScope read_PlayerScope(const std::string& text) {
  if (text == "guest") return PlayerScope::guest;
  if (text == "authenticated") return PlayerScope::authenticated;
  return PlayerScope::unknown;
}

Player Player::from_json(const Json& json) {
  Player out;
  out.player_id = json["player_id"].text();
  out.display_name = json["display_name"].text();
  out.created_at = json["created_at"].time();
  out.scope = read_PlayerScope(json["scope"].text());
  out.identities = json["identities"].list<LinkedIdentity>([](const Json& v) { return LinkedIdentity::from_json(v); });
  return out;
}

Json Player::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  if (!display_name.empty()) json.set("display_name", Json(display_name));
  json.set("created_at", Json(created_at));
  json.set("scope", Json(text_of(scope)));
  json.set("identities", Json::list(identities, [](const LinkedIdentity& v) { return v.to_json(); }));
  return json;
}

PlayerChange PlayerChange::from_json(const Json& json) {
  PlayerChange out;
  out.display_name = json["display_name"].text();
  return out;
}

Json PlayerChange::to_json() const {
  Json json = Json::object();
  json.set("display_name", Json(display_name));
  return json;
}

DataItem DataItem::from_json(const Json& json) {
  DataItem out;
  out.value = json["value"];
  out.version = json["version"].integer();
  out.updated_at = json["updated_at"].time();
  return out;
}

Json DataItem::to_json() const {
  Json json = Json::object();
  json.set("value", value);
  json.set("version", Json(version));
  json.set("updated_at", Json(updated_at));
  return json;
}

PublicPlayer PublicPlayer::from_json(const Json& json) {
  PublicPlayer out;
  out.player_id = json["player_id"].text();
  out.display_name = json["display_name"].text();
  out.data = json["data"].map<DataItem>([](const Json& v) { return DataItem::from_json(v); });
  return out;
}

Json PublicPlayer::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  if (!display_name.empty()) json.set("display_name", Json(display_name));
  json.set("data", Json::map(data, [](const DataItem& v) { return v.to_json(); }));
  return json;
}

PlayerLookup PlayerLookup::from_json(const Json& json) {
  PlayerLookup out;
  out.ids = json["ids"].list<std::string>([](const Json& v) { return v.text(); });
  return out;
}

Json PlayerLookup::to_json() const {
  Json json = Json::object();
  json.set("ids", Json::list(ids, [](const std::string& v) { return Json(v); }));
  return json;
}

PublicPlayers PublicPlayers::from_json(const Json& json) {
  PublicPlayers out;
  out.items = json["items"].list<PublicPlayer>([](const Json& v) { return PublicPlayer::from_json(v); });
  return out;
}

Json PublicPlayers::to_json() const {
  Json json = Json::object();
  json.set("items", Json::list(items, [](const PublicPlayer& v) { return v.to_json(); }));
  return json;
}

DataItems DataItems::from_json(const Json& json) {
  DataItems out;
  out.items = json["items"].map<DataItem>([](const Json& v) { return DataItem::from_json(v); });
  return out;
}

Json DataItems::to_json() const {
  Json json = Json::object();
  json.set("items", Json::map(items, [](const DataItem& v) { return v.to_json(); }));
  return json;
}

const char* text_of(LatencySampleMethod value) {
  switch (value) {
    case LatencySampleMethod::udp: return "udp";
    case LatencySampleMethod::tcp: return "tcp";
    case LatencySampleMethod::https: return "https";
    default: return "unknown";
  }
}

static LatencySampleMethod read_LatencySampleMethod(const std::string& text) {
  if (text == "udp") return LatencySampleMethod::udp;
  if (text == "tcp") return LatencySampleMethod::tcp;
  if (text == "https") return LatencySampleMethod::https;
  return LatencySampleMethod::unknown;
}

LatencySample LatencySample::from_json(const Json& json) {
  LatencySample out;
  out.location = json["location"].text();
  out.rtt_ms = json["rtt_ms"].number();
  if (!json["method"].is_null()) out.method = read_LatencySampleMethod(json["method"].text());
  out.receipt = json["receipt"].text();
  return out;
}

Json LatencySample::to_json() const {
  Json json = Json::object();
  json.set("location", Json(location));
  json.set("rtt_ms", Json(rtt_ms));
  if (method) json.set("method", Json(text_of(*method)));
  if (!receipt.empty()) json.set("receipt", Json(receipt));
  return json;
}

LatencyReport LatencyReport::from_json(const Json& json) {
  LatencyReport out;
  out.samples = json["samples"].list<LatencySample>([](const Json& v) { return LatencySample::from_json(v); });
  return out;
}

Json LatencyReport::to_json() const {
  Json json = Json::object();
  json.set("samples", Json::list(samples, [](const LatencySample& v) { return v.to_json(); }));
  return json;
}

const char* text_of(RejectedSampleReason value) {
  switch (value) {
    case RejectedSampleReason::unknown_location: return "unknown-location";
    case RejectedSampleReason::too_far: return "too-far";
    case RejectedSampleReason::not_a_number: return "not-a-number";
    case RejectedSampleReason::repeated: return "repeated";
    case RejectedSampleReason::receipt_invalid: return "receipt-invalid";
    default: return "unknown";
  }
}

static RejectedSampleReason read_RejectedSampleReason(const std::string& text) {
  if (text == "unknown-location") return RejectedSampleReason::unknown_location;
  if (text == "too-far") return RejectedSampleReason::too_far;
  if (text == "not-a-number") return RejectedSampleReason::not_a_number;
  if (text == "repeated") return RejectedSampleReason::repeated;
  if (text == "receipt-invalid") return RejectedSampleReason::receipt_invalid;
  return RejectedSampleReason::unknown;
}

RejectedSample RejectedSample::from_json(const Json& json) {
  RejectedSample out;
  out.location = json["location"].text();
  out.reason = read_RejectedSampleReason(json["reason"].text());
  return out;
}

Json RejectedSample::to_json() const {
  Json json = Json::object();
  json.set("location", Json(location));
  json.set("reason", Json(text_of(reason)));
  return json;
}

LatencyResult LatencyResult::from_json(const Json& json) {
  LatencyResult out;
  out.accepted = json["accepted"].map<std::int64_t>([](const Json& v) { return v.integer(); });
  out.rejected = json["rejected"].list<RejectedSample>([](const Json& v) { return RejectedSample::from_json(v); });
  return out;
}

Json LatencyResult::to_json() const {
  Json json = Json::object();
  json.set("accepted", Json::map(accepted, [](const std::int64_t& v) { return Json(v); }));
  json.set("rejected", Json::list(rejected, [](const RejectedSample& v) { return v.to_json(); }));
  return json;
}

Location Location::from_json(const Json& json) {
  Location out;
  out.name = json["name"].text();
  out.udp = json["udp"].text();
  out.tcp = json["tcp"].text();
  out.https = json["https"].text();
  return out;
}

Json Location::to_json() const {
  Json json = Json::object();
  json.set("name", Json(name));
  if (!udp.empty()) json.set("udp", Json(udp));
  if (!tcp.empty()) json.set("tcp", Json(tcp));
  if (!https.empty()) json.set("https", Json(https));
  return json;
}

Locations Locations::from_json(const Json& json) {
  Locations out;
  out.locations = json["locations"].list<Location>([](const Json& v) { return Location::from_json(v); });
  out.ttl_seconds = json["ttl_seconds"].integer();
  return out;
}

Json Locations::to_json() const {
  Json json = Json::object();
  json.set("locations", Json::list(locations, [](const Location& v) { return v.to_json(); }));
  json.set("ttl_seconds", Json(ttl_seconds));
  return json;
}

ProviderInfo ProviderInfo::from_json(const Json& json) {
  ProviderInfo out;
  out.name = json["name"].text();
  return out;
}

Json ProviderInfo::to_json() const {
  Json json = Json::object();
  json.set("name", Json(name));
  return json;
}

MatchmakerInfo MatchmakerInfo::from_json(const Json& json) {
  MatchmakerInfo out;
  out.name = json["name"].text();
  out.min_party = json["min_party"].integer();
  out.max_party = json["max_party"].integer();
  out.acceptance = json["acceptance"].boolean();
  return out;
}

Json MatchmakerInfo::to_json() const {
  Json json = Json::object();
  json.set("name", Json(name));
  json.set("min_party", Json(min_party));
  json.set("max_party", Json(max_party));
  json.set("acceptance", Json(acceptance));
  return json;
}

PoolInfo PoolInfo::from_json(const Json& json) {
  PoolInfo out;
  out.name = json["name"].text();
  out.can_create = json["can_create"].boolean();
  out.can_list = json["can_list"].boolean();
  return out;
}

Json PoolInfo::to_json() const {
  Json json = Json::object();
  json.set("name", Json(name));
  json.set("can_create", Json(can_create));
  json.set("can_list", Json(can_list));
  return json;
}

ClientConfig ClientConfig::from_json(const Json& json) {
  ClientConfig out;
  out.api_version = json["api_version"].text();
  out.server_time = json["server_time"].time();
  out.providers = json["providers"].list<ProviderInfo>([](const Json& v) { return ProviderInfo::from_json(v); });
  out.websocket_url = json["websocket_url"].text();
  out.poll_interval_ms = json["poll_interval_ms"].integer();
  out.max_wait_seconds = json["max_wait_seconds"].integer();
  out.matchmakers = json["matchmakers"].list<MatchmakerInfo>([](const Json& v) { return MatchmakerInfo::from_json(v); });
  out.pools = json["pools"].list<PoolInfo>([](const Json& v) { return PoolInfo::from_json(v); });
  return out;
}

Json ClientConfig::to_json() const {
  Json json = Json::object();
  json.set("api_version", Json(api_version));
  json.set("server_time", Json(server_time));
  json.set("providers", Json::list(providers, [](const ProviderInfo& v) { return v.to_json(); }));
  json.set("websocket_url", Json(websocket_url));
  json.set("poll_interval_ms", Json(poll_interval_ms));
  json.set("max_wait_seconds", Json(max_wait_seconds));
  json.set("matchmakers", Json::list(matchmakers, [](const MatchmakerInfo& v) { return v.to_json(); }));
  json.set("pools", Json::list(pools, [](const PoolInfo& v) { return v.to_json(); }));
  return json;
}

TicketRequest TicketRequest::from_json(const Json& json) {
  TicketRequest out;
  out.matchmaker = json["matchmaker"].text();
  out.party_id = json["party_id"].text();
  out.attributes = json["attributes"].map<Json>([](const Json& v) { return v; });
  out.latency_ms = json["latency_ms"].map<double>([](const Json& v) { return v.number(); });
  out.team = json["team"].text();
  return out;
}

Json TicketRequest::to_json() const {
  Json json = Json::object();
  json.set("matchmaker", Json(matchmaker));
  if (!party_id.empty()) json.set("party_id", Json(party_id));
  if (!attributes.empty()) json.set("attributes", Json::map(attributes, [](const Json& v) { return v; }));
  if (!latency_ms.empty()) json.set("latency_ms", Json::map(latency_ms, [](const double& v) { return Json(v); }));
  if (!team.empty()) json.set("team", Json(team));
  return json;
}

TicketPlayer TicketPlayer::from_json(const Json& json) {
  TicketPlayer out;
  out.player_id = json["player_id"].text();
  out.team = json["team"].text();
  if (!json["accepted"].is_null()) out.accepted = json["accepted"].boolean();
  return out;
}

Json TicketPlayer::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  if (!team.empty()) json.set("team", Json(team));
  if (accepted) json.set("accepted", Json(*accepted));
  return json;
}

Acceptance Acceptance::from_json(const Json& json) {
  Acceptance out;
  if (!json["deadline"].is_null()) out.deadline = json["deadline"].time();
  if (!json["mine"].is_null()) out.mine = json["mine"].boolean();
  return out;
}

Json Acceptance::to_json() const {
  Json json = Json::object();
  if (deadline) json.set("deadline", Json(*deadline));
  if (mine) json.set("mine", Json(*mine));
  return json;
}

Connection Connection::from_json(const Json& json) {
  Connection out;
  out.session_id = json["session_id"].text();
  out.ip = json["ip"].text();
  out.addresses = json["addresses"].list<std::string>([](const Json& v) { return v.text(); });
  out.dns_name = json["dns_name"].text();
  out.host = json["host"].text();
  out.port = json["port"].integer();
  out.player_session_id = json["player_session_id"].text();
  return out;
}

Json Connection::to_json() const {
  Json json = Json::object();
  json.set("session_id", Json(session_id));
  if (!ip.empty()) json.set("ip", Json(ip));
  if (!addresses.empty()) json.set("addresses", Json::list(addresses, [](const std::string& v) { return Json(v); }));
  if (!dns_name.empty()) json.set("dns_name", Json(dns_name));
  json.set("host", Json(host));
  json.set("port", Json(port));
  json.set("player_session_id", Json(player_session_id));
  return json;
}

const char* text_of(TicketState value) {
  switch (value) {
    case TicketState::queued: return "queued";
    case TicketState::searching: return "searching";
    case TicketState::requires_acceptance: return "requires_acceptance";
    case TicketState::placing: return "placing";
    case TicketState::completed: return "completed";
    case TicketState::failed: return "failed";
    case TicketState::cancelled: return "cancelled";
    case TicketState::timed_out: return "timed_out";
    default: return "unknown";
  }
}

static TicketState read_TicketState(const std::string& text) {
  if (text == "queued") return TicketState::queued;
  if (text == "searching") return TicketState::searching;
  if (text == "requires_acceptance") return TicketState::requires_acceptance;
  if (text == "placing") return TicketState::placing;
  if (text == "completed") return TicketState::completed;
  if (text == "failed") return TicketState::failed;
  if (text == "cancelled") return TicketState::cancelled;
  if (text == "timed_out") return TicketState::timed_out;
  return TicketState::unknown;
}

Ticket Ticket::from_json(const Json& json) {
  Ticket out;
  out.ticket_id = json["ticket_id"].text();
  out.matchmaker = json["matchmaker"].text();
  out.party_id = json["party_id"].text();
  out.state = read_TicketState(json["state"].text());
  out.reason = json["reason"].text();
  out.created_at = json["created_at"].time();
  out.updated_at = json["updated_at"].time();
  out.expires_at = json["expires_at"].time();
  if (!json["estimated_wait_seconds"].is_null()) out.estimated_wait_seconds = json["estimated_wait_seconds"].integer();
  out.players = json["players"].list<TicketPlayer>([](const Json& v) { return TicketPlayer::from_json(v); });
  if (!json["acceptance"].is_null()) out.acceptance = Acceptance::from_json(json["acceptance"]);
  out.match_id = json["match_id"].text();
  if (!json["connection"].is_null()) out.connection = Connection::from_json(json["connection"]);
  out.seq = json["seq"].integer();
  return out;
}

Json Ticket::to_json() const {
  Json json = Json::object();
  json.set("ticket_id", Json(ticket_id));
  json.set("matchmaker", Json(matchmaker));
  if (!party_id.empty()) json.set("party_id", Json(party_id));
  json.set("state", Json(text_of(state)));
  if (!reason.empty()) json.set("reason", Json(reason));
  json.set("created_at", Json(created_at));
  json.set("updated_at", Json(updated_at));
  json.set("expires_at", Json(expires_at));
  if (estimated_wait_seconds) json.set("estimated_wait_seconds", Json(*estimated_wait_seconds));
  json.set("players", Json::list(players, [](const TicketPlayer& v) { return v.to_json(); }));
  if (acceptance) json.set("acceptance", acceptance->to_json());
  if (!match_id.empty()) json.set("match_id", Json(match_id));
  if (connection) json.set("connection", connection->to_json());
  json.set("seq", Json(seq));
  return json;
}

Tickets Tickets::from_json(const Json& json) {
  Tickets out;
  out.items = json["items"].list<Ticket>([](const Json& v) { return Ticket::from_json(v); });
  return out;
}

Json Tickets::to_json() const {
  Json json = Json::object();
  json.set("items", Json::list(items, [](const Ticket& v) { return v.to_json(); }));
  return json;
}

AcceptRequest AcceptRequest::from_json(const Json& json) {
  AcceptRequest out;
  out.accept = json["accept"].boolean();
  return out;
}

Json AcceptRequest::to_json() const {
  Json json = Json::object();
  json.set("accept", Json(accept));
  return json;
}

PartyRequest PartyRequest::from_json(const Json& json) {
  PartyRequest out;
  out.matchmaker = json["matchmaker"].text();
  if (!json["max"].is_null()) out.max = json["max"].integer();
  return out;
}

Json PartyRequest::to_json() const {
  Json json = Json::object();
  json.set("matchmaker", Json(matchmaker));
  if (max) json.set("max", Json(*max));
  return json;
}

PartyJoin PartyJoin::from_json(const Json& json) {
  PartyJoin out;
  out.code = json["code"].text();
  return out;
}

Json PartyJoin::to_json() const {
  Json json = Json::object();
  json.set("code", Json(code));
  return json;
}

MemberChange MemberChange::from_json(const Json& json) {
  MemberChange out;
  out.ready = json["ready"].boolean();
  out.attributes = json["attributes"].map<Json>([](const Json& v) { return v; });
  out.latency_ms = json["latency_ms"].map<double>([](const Json& v) { return v.number(); });
  return out;
}

Json MemberChange::to_json() const {
  Json json = Json::object();
  json.set("ready", Json(ready));
  if (!attributes.empty()) json.set("attributes", Json::map(attributes, [](const Json& v) { return v; }));
  if (!latency_ms.empty()) json.set("latency_ms", Json::map(latency_ms, [](const double& v) { return Json(v); }));
  return json;
}

PartyMember PartyMember::from_json(const Json& json) {
  PartyMember out;
  out.player_id = json["player_id"].text();
  out.ready = json["ready"].boolean();
  return out;
}

Json PartyMember::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  json.set("ready", Json(ready));
  return json;
}

Party Party::from_json(const Json& json) {
  Party out;
  out.party_id = json["party_id"].text();
  out.code = json["code"].text();
  out.leader = json["leader"].text();
  out.matchmaker = json["matchmaker"].text();
  out.max = json["max"].integer();
  out.members = json["members"].list<PartyMember>([](const Json& v) { return PartyMember::from_json(v); });
  out.expires_at = json["expires_at"].time();
  return out;
}

Json Party::to_json() const {
  Json json = Json::object();
  json.set("party_id", Json(party_id));
  json.set("code", Json(code));
  json.set("leader", Json(leader));
  json.set("matchmaker", Json(matchmaker));
  json.set("max", Json(max));
  json.set("members", Json::list(members, [](const PartyMember& v) { return v.to_json(); }));
  json.set("expires_at", Json(expires_at));
  return json;
}

SessionRequest SessionRequest::from_json(const Json& json) {
  SessionRequest out;
  out.pool = json["pool"].text();
  out.name = json["name"].text();
  if (!json["max_players"].is_null()) out.max_players = json["max_players"].integer();
  out.properties = json["properties"].map<std::string>([](const Json& v) { return v.text(); });
  out.latency_ms = json["latency_ms"].map<double>([](const Json& v) { return v.number(); });
  return out;
}

Json SessionRequest::to_json() const {
  Json json = Json::object();
  json.set("pool", Json(pool));
  if (!name.empty()) json.set("name", Json(name));
  if (max_players) json.set("max_players", Json(*max_players));
  if (!properties.empty()) json.set("properties", Json::map(properties, [](const std::string& v) { return Json(v); }));
  if (!latency_ms.empty()) json.set("latency_ms", Json::map(latency_ms, [](const double& v) { return Json(v); }));
  return json;
}

const char* text_of(PlacementState value) {
  switch (value) {
    case PlacementState::pending: return "pending";
    case PlacementState::fulfilled: return "fulfilled";
    case PlacementState::cancelled: return "cancelled";
    case PlacementState::timed_out: return "timed_out";
    case PlacementState::failed: return "failed";
    default: return "unknown";
  }
}

static PlacementState read_PlacementState(const std::string& text) {
  if (text == "pending") return PlacementState::pending;
  if (text == "fulfilled") return PlacementState::fulfilled;
  if (text == "cancelled") return PlacementState::cancelled;
  if (text == "timed_out") return PlacementState::timed_out;
  if (text == "failed") return PlacementState::failed;
  return PlacementState::unknown;
}

Placement Placement::from_json(const Json& json) {
  Placement out;
  out.placement_id = json["placement_id"].text();
  out.pool = json["pool"].text();
  out.state = read_PlacementState(json["state"].text());
  out.reason = json["reason"].text();
  out.created_at = json["created_at"].time();
  out.expires_at = json["expires_at"].time();
  if (!json["connection"].is_null()) out.connection = Connection::from_json(json["connection"]);
  out.seq = json["seq"].integer();
  return out;
}

Json Placement::to_json() const {
  Json json = Json::object();
  json.set("placement_id", Json(placement_id));
  json.set("pool", Json(pool));
  json.set("state", Json(text_of(state)));
  if (!reason.empty()) json.set("reason", Json(reason));
  json.set("created_at", Json(created_at));
  json.set("expires_at", Json(expires_at));
  if (connection) json.set("connection", connection->to_json());
  json.set("seq", Json(seq));
  return json;
}

const char* text_of(GameSessionStatus value) {
  switch (value) {
    case GameSessionStatus::activating: return "ACTIVATING";
    case GameSessionStatus::active: return "ACTIVE";
    case GameSessionStatus::terminating: return "TERMINATING";
    case GameSessionStatus::terminated: return "TERMINATED";
    default: return "unknown";
  }
}

static GameSessionStatus read_GameSessionStatus(const std::string& text) {
  if (text == "ACTIVATING") return GameSessionStatus::activating;
  if (text == "ACTIVE") return GameSessionStatus::active;
  if (text == "TERMINATING") return GameSessionStatus::terminating;
  if (text == "TERMINATED") return GameSessionStatus::terminated;
  return GameSessionStatus::unknown;
}

GameSession GameSession::from_json(const Json& json) {
  GameSession out;
  out.session_id = json["session_id"].text();
  out.status = read_GameSessionStatus(json["status"].text());
  out.status_reason = json["status_reason"].text();
  out.name = json["name"].text();
  out.pool = json["pool"].text();
  out.properties = json["properties"].map<std::string>([](const Json& v) { return v.text(); });
  out.players = json["players"].integer();
  out.max_players = json["max_players"].integer();
  out.accepts_players = json["accepts_players"].boolean();
  out.location = json["location"].text();
  out.created_at = json["created_at"].time();
  if (!json["ended_at"].is_null()) out.ended_at = json["ended_at"].time();
  return out;
}

Json GameSession::to_json() const {
  Json json = Json::object();
  json.set("session_id", Json(session_id));
  json.set("status", Json(text_of(status)));
  if (!status_reason.empty()) json.set("status_reason", Json(status_reason));
  if (!name.empty()) json.set("name", Json(name));
  if (!pool.empty()) json.set("pool", Json(pool));
  json.set("properties", Json::map(properties, [](const std::string& v) { return Json(v); }));
  json.set("players", Json(players));
  json.set("max_players", Json(max_players));
  json.set("accepts_players", Json(accepts_players));
  json.set("location", Json(location));
  json.set("created_at", Json(created_at));
  if (ended_at) json.set("ended_at", Json(*ended_at));
  return json;
}

GameSessions GameSessions::from_json(const Json& json) {
  GameSessions out;
  out.items = json["items"].list<GameSession>([](const Json& v) { return GameSession::from_json(v); });
  return out;
}

Json GameSessions::to_json() const {
  Json json = Json::object();
  json.set("items", Json::list(items, [](const GameSession& v) { return v.to_json(); }));
  return json;
}

JoinRequest JoinRequest::from_json(const Json& json) {
  JoinRequest out;
  out.player_data = json["player_data"].text();
  return out;
}

Json JoinRequest::to_json() const {
  Json json = Json::object();
  if (!player_data.empty()) json.set("player_data", Json(player_data));
  return json;
}

const char* text_of(ReservationStatus value) {
  switch (value) {
    case ReservationStatus::reserved: return "RESERVED";
    case ReservationStatus::active: return "ACTIVE";
    default: return "unknown";
  }
}

static ReservationStatus read_ReservationStatus(const std::string& text) {
  if (text == "RESERVED") return ReservationStatus::reserved;
  if (text == "ACTIVE") return ReservationStatus::active;
  return ReservationStatus::unknown;
}

Reservation Reservation::from_json(const Json& json) {
  Reservation out;
  out.connection = Connection::from_json(json["connection"]);
  out.status = read_ReservationStatus(json["status"].text());
  if (!json["reserved_until"].is_null()) out.reserved_until = json["reserved_until"].time();
  return out;
}

Json Reservation::to_json() const {
  Json json = Json::object();
  json.set("connection", connection.to_json());
  json.set("status", Json(text_of(status)));
  if (reserved_until) json.set("reserved_until", Json(*reserved_until));
  return json;
}

Reservations Reservations::from_json(const Json& json) {
  Reservations out;
  out.items = json["items"].list<Reservation>([](const Json& v) { return Reservation::from_json(v); });
  return out;
}

Json Reservations::to_json() const {
  Json json = Json::object();
  json.set("items", Json::list(items, [](const Reservation& v) { return v.to_json(); }));
  return json;
}

BanRequest BanRequest::from_json(const Json& json) {
  BanRequest out;
  out.until = json["until"].time();
  out.reason = json["reason"].text();
  return out;
}

Json BanRequest::to_json() const {
  Json json = Json::object();
  json.set("until", Json(until));
  if (!reason.empty()) json.set("reason", Json(reason));
  return json;
}

Message Message::from_json(const Json& json) {
  Message out;
  out.type = json["type"].text();
  out.id = json["id"].text();
  out.re = json["re"].text();
  out.cursor = json["cursor"].text();
  out.data = json["data"];
  return out;
}

Json Message::to_json() const {
  Json json = Json::object();
  json.set("type", Json(type));
  if (!id.empty()) json.set("id", Json(id));
  if (!re.empty()) json.set("re", Json(re));
  if (!cursor.empty()) json.set("cursor", Json(cursor));
  if (!data.is_null()) json.set("data", data);
  return json;
}

SocketAuth SocketAuth::from_json(const Json& json) {
  SocketAuth out;
  out.access_token = json["access_token"].text();
  out.resume = json["resume"].text();
  return out;
}

Json SocketAuth::to_json() const {
  Json json = Json::object();
  json.set("access_token", Json(access_token));
  if (!resume.empty()) json.set("resume", Json(resume));
  return json;
}

SocketReady SocketReady::from_json(const Json& json) {
  SocketReady out;
  out.player_id = json["player_id"].text();
  out.expires_at = json["expires_at"].time();
  out.resumed = json["resumed"].boolean();
  return out;
}

Json SocketReady::to_json() const {
  Json json = Json::object();
  json.set("player_id", Json(player_id));
  json.set("expires_at", Json(expires_at));
  json.set("resumed", Json(resumed));
  return json;
}

SocketExpiring SocketExpiring::from_json(const Json& json) {
  SocketExpiring out;
  out.in_seconds = json["in_seconds"].integer();
  return out;
}

Json SocketExpiring::to_json() const {
  Json json = Json::object();
  json.set("in_seconds", Json(in_seconds));
  return json;
}

SocketTicketID SocketTicketID::from_json(const Json& json) {
  SocketTicketID out;
  out.ticket_id = json["ticket_id"].text();
  if (!json["accept"].is_null()) out.accept = json["accept"].boolean();
  return out;
}

Json SocketTicketID::to_json() const {
  Json json = Json::object();
  json.set("ticket_id", Json(ticket_id));
  if (accept) json.set("accept", Json(*accept));
  return json;
}

Call Api::ping(Callback<Nothing> done) {
  Request request("GET", std::string("/player/v1/ping"), Access::open, true);
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::config(Callback<ClientConfig> done) {
  Request request("GET", std::string("/player/v1/config"), Access::open, true);
  return caller_.call<ClientConfig>(std::move(request), [](const Answer& a) { return ClientConfig::from_json(a.body); }, std::move(done));
}

Call Api::locations(Callback<Locations> done) {
  Request request("GET", std::string("/player/v1/locations"), Access::open, true);
  return caller_.call<Locations>(std::move(request), [](const Answer& a) { return Locations::from_json(a.body); }, std::move(done));
}

Call Api::create_guest(Callback<Session> done) {
  Request request("POST", std::string("/player/v1/auth/guest"), Access::open, false);
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::login_guest(const GuestLogin& body, Callback<Session> done) {
  Request request("POST", std::string("/player/v1/auth/guest/login"), Access::open, false);
  request.body = body.to_json();
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::refresh(const RefreshRequest& body, Callback<Session> done) {
  Request request("POST", std::string("/player/v1/auth/refresh"), Access::open, false);
  request.body = body.to_json();
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::logout(const LogoutRequest& body, Callback<Nothing> done) {
  Request request("POST", std::string("/player/v1/auth/logout"), Access::open, false);
  request.body = body.to_json();
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::socket_ticket(Callback<SocketTicket> done) {
  Request request("POST", std::string("/player/v1/auth/ws-ticket"), Access::player, false);
  return caller_.call<SocketTicket>(std::move(request), [](const Answer& a) { return SocketTicket::from_json(a.body); }, std::move(done));
}

Call Api::login_provider(const std::string& provider, const ProviderLogin& body, Callback<Session> done) {
  Request request("POST", std::string("/player/v1/auth/") + escape(provider), Access::open, false);
  request.body = body.to_json();
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::me(Callback<Player> done) {
  Request request("GET", std::string("/player/v1/players/me"), Access::player, true);
  return caller_.call<Player>(std::move(request), [](const Answer& a) { return Player::from_json(a.body); }, std::move(done));
}

Call Api::change_me(const PlayerChange& body, Callback<Player> done) {
  Request request("PATCH", std::string("/player/v1/players/me"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Player>(std::move(request), [](const Answer& a) { return Player::from_json(a.body); }, std::move(done));
}

Call Api::delete_me(Callback<Nothing> done) {
  Request request("DELETE", std::string("/player/v1/players/me"), Access::player, true);
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::link(const std::string& provider, const ProviderLogin& body, Callback<Session> done) {
  Request request("PUT", std::string("/player/v1/players/me/identities/") + escape(provider), Access::player, true);
  request.body = body.to_json();
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::unlink(const std::string& provider, Callback<Nothing> done) {
  Request request("DELETE", std::string("/player/v1/players/me/identities/") + escape(provider), Access::player, true);
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::merge(const MergeRequest& body, Callback<Session> done) {
  Request request("POST", std::string("/player/v1/players/me/merge"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Session>(std::move(request), [](const Answer& a) { return Session::from_json(a.body); }, std::move(done));
}

Call Api::all_data(const std::string& namespace_, Callback<DataItems> done) {
  Request request("GET", std::string("/player/v1/players/me/data/") + escape(namespace_), Access::player, true);
  return caller_.call<DataItems>(std::move(request), [](const Answer& a) { return DataItems::from_json(a.body); }, std::move(done));
}

Call Api::get_data(const std::string& namespace_, const std::string& key, Callback<Answer> done) {
  Request request("GET", std::string("/player/v1/players/me/data/") + escape(namespace_) + std::string("/") + escape(key), Access::player, true);
  return caller_.call<Answer>(std::move(request), [](const Answer& a) { return a; }, std::move(done));
}

Call Api::put_data(const std::string& namespace_, const std::string& key, const Json& body, Callback<DataItem> done, const std::string& if_match, const std::string& if_none_match) {
  Request request("PUT", std::string("/player/v1/players/me/data/") + escape(namespace_) + std::string("/") + escape(key), Access::player, true);
  request.header("If-Match", if_match);
  request.header("If-None-Match", if_none_match);
  request.body = body;
  return caller_.call<DataItem>(std::move(request), [](const Answer& a) { return DataItem::from_json(a.body); }, std::move(done));
}

Call Api::delete_data(const std::string& namespace_, const std::string& key, Callback<Nothing> done, const std::string& if_match) {
  Request request("DELETE", std::string("/player/v1/players/me/data/") + escape(namespace_) + std::string("/") + escape(key), Access::player, true);
  request.header("If-Match", if_match);
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::report_latency(const LatencyReport& body, Callback<LatencyResult> done) {
  Request request("PUT", std::string("/player/v1/players/me/latency"), Access::player, true);
  request.body = body.to_json();
  return caller_.call<LatencyResult>(std::move(request), [](const Answer& a) { return LatencyResult::from_json(a.body); }, std::move(done));
}

Call Api::reservations(Callback<Reservations> done) {
  Request request("GET", std::string("/player/v1/players/me/reservations"), Access::player, true);
  return caller_.call<Reservations>(std::move(request), [](const Answer& a) { return Reservations::from_json(a.body); }, std::move(done));
}

Call Api::public_player(const std::string& player, Callback<PublicPlayer> done) {
  Request request("GET", std::string("/player/v1/players/") + escape(player), Access::player, true);
  return caller_.call<PublicPlayer>(std::move(request), [](const Answer& a) { return PublicPlayer::from_json(a.body); }, std::move(done));
}

Call Api::look_up_players(const PlayerLookup& body, Callback<PublicPlayers> done) {
  Request request("POST", std::string("/player/v1/players/lookup"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<PublicPlayers>(std::move(request), [](const Answer& a) { return PublicPlayers::from_json(a.body); }, std::move(done));
}

Call Api::start_matchmaking(const TicketRequest& body, Callback<Ticket> done) {
  Request request("POST", std::string("/player/v1/matchmaking/tickets"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Ticket>(std::move(request), [](const Answer& a) { return Ticket::from_json(a.body); }, std::move(done));
}

Call Api::tickets(Callback<Tickets> done, const std::string& active) {
  Request request("GET", std::string("/player/v1/matchmaking/tickets"), Access::player, true);
  request.query("active", active);
  return caller_.call<Tickets>(std::move(request), [](const Answer& a) { return Tickets::from_json(a.body); }, std::move(done));
}

Call Api::get_ticket(const std::string& ticket, Callback<std::optional<Ticket>> done, const std::string& wait, const std::string& if_none_match) {
  Request request("GET", std::string("/player/v1/matchmaking/tickets/") + escape(ticket), Access::player, true);
  request.query("wait", wait);
  request.header("If-None-Match", if_none_match);
  return caller_.call<std::optional<Ticket>>(std::move(request), [](const Answer& a) { return a.body.is_null() ? std::nullopt : std::make_optional(Ticket::from_json(a.body)); }, std::move(done));
}

Call Api::stop_matchmaking(const std::string& ticket, Callback<Ticket> done) {
  Request request("DELETE", std::string("/player/v1/matchmaking/tickets/") + escape(ticket), Access::player, true);
  return caller_.call<Ticket>(std::move(request), [](const Answer& a) { return Ticket::from_json(a.body); }, std::move(done));
}

Call Api::accept_match(const std::string& ticket, const AcceptRequest& body, Callback<Ticket> done) {
  Request request("POST", std::string("/player/v1/matchmaking/tickets/") + escape(ticket) + std::string("/acceptance"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Ticket>(std::move(request), [](const Answer& a) { return Ticket::from_json(a.body); }, std::move(done));
}

Call Api::create_party(const PartyRequest& body, Callback<Party> done) {
  Request request("POST", std::string("/player/v1/parties"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Party>(std::move(request), [](const Answer& a) { return Party::from_json(a.body); }, std::move(done));
}

Call Api::join_party(const PartyJoin& body, Callback<Party> done) {
  Request request("POST", std::string("/player/v1/parties/join"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Party>(std::move(request), [](const Answer& a) { return Party::from_json(a.body); }, std::move(done));
}

Call Api::get_party(const std::string& party, Callback<Party> done) {
  Request request("GET", std::string("/player/v1/parties/") + escape(party), Access::player, true);
  return caller_.call<Party>(std::move(request), [](const Answer& a) { return Party::from_json(a.body); }, std::move(done));
}

Call Api::change_member(const std::string& party, const MemberChange& body, Callback<Party> done) {
  Request request("PUT", std::string("/player/v1/parties/") + escape(party) + std::string("/members/me"), Access::player, true);
  request.body = body.to_json();
  return caller_.call<Party>(std::move(request), [](const Answer& a) { return Party::from_json(a.body); }, std::move(done));
}

Call Api::leave_party(const std::string& party, const std::string& player, Callback<Nothing> done) {
  Request request("DELETE", std::string("/player/v1/parties/") + escape(party) + std::string("/members/") + escape(player), Access::player, true);
  return caller_.call<Nothing>(std::move(request), [](const Answer&) { return Nothing{}; }, std::move(done));
}

Call Api::list_sessions(Callback<GameSessions> done, const std::string& pool, const std::string& limit, const std::string& location, const std::string& filter, const std::string& sort) {
  Request request("GET", std::string("/player/v1/sessions"), Access::player, true);
  request.query("pool", pool);
  request.query("limit", limit);
  request.query("location", location);
  request.query("filter", filter);
  request.query("sort", sort);
  return caller_.call<GameSessions>(std::move(request), [](const Answer& a) { return GameSessions::from_json(a.body); }, std::move(done));
}

Call Api::create_session(const SessionRequest& body, Callback<Placement> done) {
  Request request("POST", std::string("/player/v1/sessions"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Placement>(std::move(request), [](const Answer& a) { return Placement::from_json(a.body); }, std::move(done));
}

Call Api::get_session(const std::string& session, Callback<GameSession> done) {
  Request request("GET", std::string("/player/v1/sessions/") + escape(session), Access::player, true);
  return caller_.call<GameSession>(std::move(request), [](const Answer& a) { return GameSession::from_json(a.body); }, std::move(done));
}

Call Api::join_session(const std::string& session, const JoinRequest& body, Callback<Reservation> done) {
  Request request("POST", std::string("/player/v1/sessions/") + escape(session) + std::string("/players"), Access::player, false);
  request.body = body.to_json();
  return caller_.call<Reservation>(std::move(request), [](const Answer& a) { return Reservation::from_json(a.body); }, std::move(done));
}

Call Api::get_placement(const std::string& placement, Callback<std::optional<Placement>> done, const std::string& wait, const std::string& if_none_match) {
  Request request("GET", std::string("/player/v1/placements/") + escape(placement), Access::player, true);
  request.query("wait", wait);
  request.header("If-None-Match", if_none_match);
  return caller_.call<std::optional<Placement>>(std::move(request), [](const Answer& a) { return a.body.is_null() ? std::nullopt : std::make_optional(Placement::from_json(a.body)); }, std::move(done));
}

Call Api::stop_placement(const std::string& placement, Callback<Placement> done) {
  Request request("DELETE", std::string("/player/v1/placements/") + escape(placement), Access::player, true);
  return caller_.call<Placement>(std::move(request), [](const Answer& a) { return Placement::from_json(a.body); }, std::move(done));
}

}  // namespace muster

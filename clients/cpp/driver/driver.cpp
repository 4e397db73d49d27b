// The driver does with the library what the stories of all client libraries say
// (clients/stories). It reads commands, and writes results and events, one JSON object a line.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "muster/client.h"

using muster::Json;

namespace {

int connection = -1;
std::mutex writing;

void write_line(const Json& message) {
  const std::string line = message.write() + '\n';
  const std::lock_guard<std::mutex> lock(writing);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = send(connection, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

// Stores are shared by clients that are opened one after another, or together.
class SharedStore : public muster::TokenStore {
 public:
  bool load(std::string& text) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    text = text_;
    return true;
  }
  bool save(const std::string& text) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ = text;
    return true;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Json json_of(const muster::Error& error) {
  static const char* const kinds[] = {"none", "problem", "network", "timeout", "logged_out", "match", "placement", "cancelled", "closed", "usage"};
  Json out = error.kind == muster::Error::Kind::problem && error.data.is_object() ? error.data : Json::object();
  out.set("kind", Json(kinds[static_cast<int>(error.kind)])).set("detail", Json(error.detail));
  if (error.kind == muster::Error::Kind::problem) {
    out.set("status", Json(static_cast<std::int64_t>(error.status))).set("code", Json(error.code));
    if (error.retry_after_seconds > 0) out.set("retry_after_seconds", Json(error.retry_after_seconds));
  }
  if (error.kind == muster::Error::Kind::match) out.set("ticket", error.data);
  if (error.kind == muster::Error::Kind::placement) out.set("placement", error.data);
  return out;
}

void answer(std::int64_t id, const muster::Error& error, Json result) {
  Json out = Json::object();
  out.set("id", Json(id));
  if (error) {
    out.set("error", json_of(error));
  } else {
    out.set("result", std::move(result));
  }
  write_line(out);
}

// A client of the library with the verbs of stories.
struct Player {
  std::unique_ptr<muster::Client> client;

  Json login() const {
    Json out = Json::object();
    out.set("logged_in", Json(client && client->is_logged_in()));
    if (client && !client->player_id().empty()) out.set("player_id", Json(client->player_id()));
    return out;
  }
};

std::map<std::string, std::shared_ptr<Player>> players;
std::map<std::string, std::shared_ptr<SharedStore>> stores;
std::map<std::int64_t, std::pair<std::shared_ptr<Player>, muster::Call>> calls;

template <typename T>
muster::Callback<T> result_of(std::int64_t id) {
  return [id](muster::Result<T> result) { answer(id, result.error, result.value.to_json()); };
}

muster::Callback<muster::Nothing> nothing(std::int64_t id) {
  return [id](muster::Result<muster::Nothing> result) { answer(id, result.error, Json::object()); };
}

muster::Callback<std::string> login_of(std::int64_t id, const std::shared_ptr<Player>& player) {
  return [id, player](muster::Result<std::string> result) { answer(id, result.error, player->login()); };
}

std::shared_ptr<Player> open(const std::string& name, const Json& with) {
  const std::string store = with["store"].is_null() ? name : with["store"].text();
  if (!stores[store]) stores[store] = std::make_shared<SharedStore>();
  muster::Options options;
  options.tokens = stores[store];
  options.without_push = with["no_push"].boolean();
  options.callbacks_in_network_thread = true;
  const auto player = std::make_shared<Player>();
  const auto event = [name](const char* what, Json data) {
    write_line(Json::object().set("client", Json(name)).set("event", Json(what)).set("data", std::move(data)));
  };
  muster::Events events;
  events.ticket = [event](const muster::Ticket& ticket) { event("ticket", ticket.to_json()); };
  events.party = [event](const muster::Party& party) { event("party", party.to_json()); };
  events.party_left = [event] { event("partyLeft", Json::object()); };
  events.placement = [event](const muster::Placement& placement) { event("placement", placement.to_json()); };
  events.push = [event](muster::PushState state) { event("push", Json::object().set("state", Json(text_of(state)))); };
  const std::weak_ptr<Player> weak = player;
  events.session = [event, weak] {
    if (const auto player = weak.lock()) event("session", player->login());
  };
  player->client = std::make_unique<muster::Client>(with["url"].text(), std::move(options), std::move(events));
  return player;
}

muster::LatencyReport report_of(const Json& milliseconds) {
  muster::LatencyReport report;
  for (const Json::Member& one : milliseconds.members()) {
    muster::LatencySample sample;
    sample.location = one.first;
    sample.rtt_ms = one.second.number();
    sample.method = muster::LatencySampleMethod::udp;
    report.samples.push_back(sample);
  }
  return report;
}

std::int64_t version_of(const Json& with) { return with["version"].is_null() ? muster::Client::any_version : with["version"].integer(); }

using Verb = std::function<muster::Call(std::int64_t id, const std::shared_ptr<Player>& player, const Json& with)>;

const std::map<std::string, Verb>& verbs() {
  using namespace muster;
  using P = const std::shared_ptr<Player>&;
  using I = std::int64_t;
  static const std::map<std::string, Verb> all = {
      {"loginGuest", [](I id, P p, const Json&) { return p->client->login_guest(login_of(id, p)); }},
      {"loginProvider", [](I id, P p, const Json& w) { return p->client->login(w["provider"].text(), ProviderLogin::from_json(w), login_of(id, p)); }},
      {"link", [](I id, P p, const Json& w) { return p->client->link(w["provider"].text(), ProviderLogin::from_json(w), login_of(id, p)); }},
      {"unlink", [](I id, P p, const Json& w) { return p->client->api().unlink(w["provider"].text(), nothing(id)); }},
      {"merge", [](I id, P p, const Json& w) { return p->client->merge(MergeRequest::from_json(w), login_of(id, p)); }},
      {"logout", [](I id, P p, const Json& w) { return p->client->logout(w["all"].boolean(), nothing(id)); }},
      {"me", [](I id, P p, const Json&) { return p->client->api().me(result_of<muster::Player>(id)); }},
      {"changeMe", [](I id, P p, const Json& w) { return p->client->api().change_me(PlayerChange::from_json(w), result_of<muster::Player>(id)); }},
      {"deleteMe", [](I id, P p, const Json&) { return p->client->delete_account(nothing(id)); }},
      {"publicPlayer", [](I id, P p, const Json& w) { return p->client->api().public_player(w["player_id"].text(), result_of<PublicPlayer>(id)); }},
      {"lookUpPlayers", [](I id, P p, const Json& w) { return p->client->api().look_up_players(PlayerLookup::from_json(w), result_of<PublicPlayers>(id)); }},
      {"getData",
       [](I id, P p, const Json& w) {
         return p->client->api().get_data(w["namespace"].text(), w["key"].text(), [id](Result<Answer> r) {
           answer(id, r.error, Json::object().set("value", r.value.body).set("version", Json(r.value.version)));
         });
       }},
      {"putData",
       [](I id, P p, const Json& w) {
         return p->client->put_data(w["namespace"].text(), w["key"].text(), w["value"], version_of(w),
                                    [id](Result<std::int64_t> r) { answer(id, r.error, Json::object().set("version", Json(r.value))); });
       }},
      {"deleteData", [](I id, P p, const Json& w) { return p->client->delete_data(w["namespace"].text(), w["key"].text(), version_of(w), nothing(id)); }},
      {"allData", [](I id, P p, const Json& w) { return p->client->api().all_data(w["namespace"].text(), result_of<DataItems>(id)); }},
      {"config", [](I id, P p, const Json&) { return p->client->api().config(result_of<ClientConfig>(id)); }},
      {"locations", [](I id, P p, const Json&) { return p->client->api().locations(result_of<Locations>(id)); }},
      {"measureLatency",
       [](I id, P p, const Json&) {
         LatencyOptions fast;  // the beacons are on this machine
         fast.samples = 3;
         fast.interval = std::chrono::milliseconds(120);
         return p->client->measure_latency(fast, [id](Result<std::vector<LatencySample>> r) {
           Json out = Json::object();
           for (const LatencySample& one : r.value) out.set(one.location, Json(one.rtt_ms));
           answer(id, r.error, std::move(out));
         });
       }},
      {"reportLatency", [](I id, P p, const Json& w) { return p->client->api().report_latency(report_of(w["latency_ms"]), result_of<LatencyResult>(id)); }},
      {"startMatchmaking", [](I id, P p, const Json& w) { return p->client->api().start_matchmaking(TicketRequest::from_json(w), result_of<Ticket>(id)); }},
      {"getTicket",
       [](I id, P p, const Json& w) {
         return p->client->api().get_ticket(w["ticket_id"].text(), [id](Result<std::optional<Ticket>> r) { answer(id, r.error, r.value ? r.value->to_json() : Json::object()); });
       }},
      {"tickets", [](I id, P p, const Json& w) { return p->client->api().tickets(result_of<Tickets>(id), w["active"].boolean() ? "true" : w["active"].text()); }},
      {"stopMatchmaking", [](I id, P p, const Json& w) { return p->client->stop_matchmaking(w["ticket_id"].text(), nothing(id)); }},
      {"acceptMatch", [](I id, P p, const Json& w) { return p->client->api().accept_match(w["ticket_id"].text(), AcceptRequest::from_json(w), result_of<Ticket>(id)); }},
      {"findMatch",
       [](I id, P p, const Json& w) {
         MatchOptions options;
         if (!w["accept"].is_null()) options.accept = [yes = w["accept"].boolean()](const Ticket&, std::function<void(bool)> reply) { reply(yes); };
         return p->client->find_match(TicketRequest::from_json(w), options, result_of<Connection>(id));
       }},
      {"followTicket", [](I id, P p, const Json& w) { return p->client->follow_ticket(w["ticket_id"].text(), nullptr, result_of<Ticket>(id)); }},
      {"createParty", [](I id, P p, const Json& w) { return p->client->create_party(PartyRequest::from_json(w), result_of<Party>(id)); }},
      {"joinParty", [](I id, P p, const Json& w) { return p->client->join_party(w["code"].text(), result_of<Party>(id)); }},
      {"getParty", [](I id, P p, const Json& w) { return p->client->api().get_party(w["party_id"].text(), result_of<Party>(id)); }},
      {"changeMember", [](I id, P p, const Json& w) { return p->client->change_member(w["party_id"].text(), MemberChange::from_json(w), result_of<Party>(id)); }},
      {"leaveParty", [](I id, P p, const Json& w) { return p->client->api().leave_party(w["party_id"].text(), w["player_id"].is_null() ? "me" : w["player_id"].text(), nothing(id)); }},
      {"listSessions",
       [](I id, P p, const Json& w) {
         return p->client->api().list_sessions(result_of<GameSessions>(id), w["pool"].text(), w["limit"].is_null() ? "" : std::to_string(w["limit"].integer()), w["location"].text(), w["filter"].text(), w["sort"].text());
       }},
      {"getSession", [](I id, P p, const Json& w) { return p->client->api().get_session(w["session_id"].text(), result_of<GameSession>(id)); }},
      {"createSession", [](I id, P p, const Json& w) { return p->client->api().create_session(SessionRequest::from_json(w), result_of<Placement>(id)); }},
      {"followPlacement", [](I id, P p, const Json& w) { return p->client->follow_placement(w["placement_id"].text(), result_of<Placement>(id)); }},
      {"stopPlacement", [](I id, P p, const Json& w) { return p->client->api().stop_placement(w["placement_id"].text(), result_of<Placement>(id)); }},
      {"joinSession", [](I id, P p, const Json& w) { return p->client->api().join_session(w["session_id"].text(), JoinRequest::from_json(w), result_of<Reservation>(id)); }},
      {"reservations", [](I id, P p, const Json&) { return p->client->api().reservations(result_of<Reservations>(id)); }},
  };
  return all;
}

void run(const Json& command) {
  const std::int64_t id = command["id"].integer();
  const std::string name = command["client"].text(), verb = command["do"].text();
  const Json& with = command["with"];
  const auto usage = [id](const std::string& detail) {
    muster::Error error;
    error.kind = muster::Error::Kind::usage;
    error.detail = detail;
    answer(id, error, Json());
  };
  if (verb == "cancel") {
    const auto at = calls.find(with["id"].integer());
    if (at != calls.end() && at->second.first->client) at->second.first->client->cancel(at->second.second);
    return answer(id, {}, Json::object());
  }
  if (verb == "open") {
    players[name] = open(name, with);
    return answer(id, {}, Json::object());
  }
  const auto at = players.find(name);
  if (at == players.end()) return usage("there is no client " + name);
  const std::shared_ptr<Player> player = at->second;
  if (verb == "close") {
    players.erase(at);
    player->client.reset();
    return answer(id, {}, Json::object());
  }
  if (verb == "session") return answer(id, {}, player->login());
  if (verb == "connectPush" || verb == "disconnectPush") {
    verb == "connectPush" ? player->client->start_push() : player->client->stop_push();
    return answer(id, {}, Json::object());
  }
  const auto found = verbs().find(verb);
  if (found == verbs().end()) return usage("there is no verb " + verb);
  calls[id] = {player, found->second(id, player, with)};
}

bool connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  if (colon == std::string::npos || inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) return false;
  connection = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

}  // namespace

int main() {
  const char* const address = std::getenv("MUSTER_DRIVER");
  if (address == nullptr || !connect_to(address)) return 1;
  write_line(Json::object().set("hello", Json("c++")).set("runtime", Json("g++ " __VERSION__)).set("skips", Json::object()));
  std::string in;
  char buffer[16 << 10];
  for (ssize_t count; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
    in.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end; (end = in.find('\n')) != std::string::npos; in.erase(0, end + 1)) {
      Json command;
      if (Json::parse(in.substr(0, end), command)) run(command);
    }
  }
  players.clear();
  calls.clear();
  return 0;
}

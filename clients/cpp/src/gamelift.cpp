#include "muster/gamelift.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "caller.h"
#include "made.h"
#include "sigv4.h"

namespace muster::gamelift {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_look{250}, longest_look{5000};  // at a placement
constexpr milliseconds quick{100}, first_poll{1000}, shortest_poll{100}, longest_poll{60000};
constexpr int most_waits = 9;      // for a game session that is starting: 51.8 s in all
constexpr int most_missing = 3;    // reads of a ticket that is not found
constexpr std::int64_t page = 20;  // game sessions, the most that SearchGameSessions returns

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_of(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

bool only_reads(const std::string& operation) {
  return starts_with(operation, "Describe") || starts_with(operation, "Search") || starts_with(operation, "List") || starts_with(operation, "Get");
}

bool may_pass(const Error& error) { return is_passing(error) || error.is("ThrottlingException"); }

std::string endpoint_of(const Options& options) {
  if (!options.endpoint.empty() || options.region.empty()) return options.endpoint;
  return "https://gamelift." + options.region + ".amazonaws.com";
}

// The value of the header Host for a URL, without the port where it is the scheme's own.
std::string host_of(const std::string& url) {
  const std::size_t from = url.find("://");
  if (from == std::string::npos) return "";
  std::string host = url.substr(from + 3, url.find('/', from + 3) - from - 3);
  const std::string own = url.compare(0, 5, "https") == 0 ? ":443" : ":80";
  if (host.size() > own.size() && host.compare(host.size() - own.size(), own.size(), own) == 0) host.resize(host.size() - own.size());
  return host;
}

std::string path_of(const std::string& url) {
  const std::size_t from = url.find('/', url.find("://") + 3);
  return (from == std::string::npos ? "" : url.substr(from)) + "/";
}

// The fleets and aliases of a queue, in their order.
std::vector<Target> destinations(const Json& queue, const Target& as) {
  std::vector<Target> all;
  for (const Json& destination : queue["Destinations"].items()) {
    const std::string arn = destination["DestinationArn"].text();
    const std::string id = arn.substr(arn.rfind('/') + 1);
    Target one;
    one.location = as.location;
    (arn.find(":alias/") == std::string::npos ? one.fleet : one.alias) = id;
    all.push_back(one);
  }
  return all;
}

bool has_ended(const std::string& status) { return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED" || status == "TIMED_OUT"; }

}  // namespace

Options Options::from_environment(const std::string& region) {
  Options options;
  options.region = first_of(region, first_of(variable("AWS_REGION"), variable("AWS_DEFAULT_REGION")));
  options.endpoint = first_of(variable("AWS_ENDPOINT_URL_GAMELIFT"), variable("AWS_ENDPOINT_URL"));
  options.access_key = variable("AWS_ACCESS_KEY_ID");
  options.secret_key = variable("AWS_SECRET_ACCESS_KEY");
  options.session_token = variable("AWS_SESSION_TOKEN");
  return options;
}

/// What a Client is made of. Its methods are used in the network thread.
struct Client::Core {
  explicit Core(Options all)
      : options(std::move(all)), loop(options.ca_file), caller(loop, endpoint_of(options), options.callbacks_in_network_thread), host(host_of(caller.url)), path(path_of(caller.url)) {}
  ~Core() { loop.stop(); }

  void call(const std::string& operation, const Json& input, CancelPtr cancel, Callback<Json> done);
  void sign(Request& request, const std::string& body) const;
  void search(const Search& what, CancelPtr cancel, Callback<std::vector<Json>> done);

  struct Searching;
  struct Reserving;
  struct Ticketing;
  void next_page(std::shared_ptr<Searching> searching);
  void reserve(std::shared_ptr<Reserving> reserving);
  void placement(const std::string& id, int looks, CancelPtr cancel, Callback<Json> done);
  void ticket(std::shared_ptr<Ticketing> ticketing);
  void look_again(std::shared_ptr<Ticketing> ticketing, milliseconds time);

  // Waits, and goes on, or ends the call where it was cancelled.
  template <typename T>
  void after(milliseconds time, CancelPtr cancel, Callback<T> done, std::function<void()> go_on) {
    caller.wait(time, cancel, [done, go_on](bool cancelled) {
      if (cancelled) return done(failed<T>(error_of(Error::Kind::cancelled, "the call was cancelled")));
      go_on();
    });
  }

  const Options options;
  Loop loop;
  Caller caller;
  const std::string host, path;
};

/// A search under way.
struct Client::Core::Searching {
  Search what;
  CancelPtr cancel;
  Callback<std::vector<Json>> done;
  std::vector<Target> targets;  // that are left, the next one first
  std::string token;
  std::set<std::string> tokens, seen;
  std::vector<Json> found;
};

/// A slot that is being reserved.
struct Client::Core::Reserving {
  std::string session_id, player_id, player_data;
  CancelPtr cancel;
  Callback<Json> done;
  int waits = 0;
};

/// A ticket that is followed.
struct Client::Core::Ticketing {
  std::string id;
  TicketEvents events;
  CancelPtr cancel;
  Callback<Json> done;
  int reads = 0, failures = 0, missing = 0;
};

void Client::Core::sign(Request& request, const std::string& body) const {
  SignedRequest sent;
  sent.method = request.method;
  sent.path = path;
  sent.body = body;
  sent.date = compact(std::chrono::system_clock::now());
  sent.headers = {{"content-type", "application/x-amz-json-1.1"}, {"host", host}, {"x-amz-date", sent.date}};
  if (!options.session_token.empty()) sent.headers.emplace_back("x-amz-security-token", options.session_token);
  for (const std::string& header : request.headers) {
    if (starts_with(header, "X-Amz-Target: ")) sent.headers.emplace_back("x-amz-target", header.substr(14));
  }
  request.header("X-Amz-Date", sent.date);
  request.header("X-Amz-Security-Token", options.session_token);
  request.header("Authorization", authorization({first_of(options.region, "us-east-1"), "gamelift", options.access_key, options.secret_key}, sent));
}

void Client::Core::call(const std::string& operation, const Json& input, CancelPtr cancel, Callback<Json> done) {
  Request request("POST", "/", Access::open, only_reads(operation));
  request.body = input;
  request.header("Content-Type", "application/x-amz-json-1.1");
  request.header("X-Amz-Target", "GameLift." + operation);
  if (!options.access_key.empty()) sign(request, input.write());
  caller.send(request, cancel, [done](Error error, Answer answer) { done(error ? failed<Json>(std::move(error)) : value_of(std::move(answer.body))); });
}

void Client::Core::search(const Search& what, CancelPtr cancel, Callback<std::vector<Json>> done) {
  const auto searching = std::make_shared<Searching>();
  searching->what = what;
  searching->cancel = cancel;
  searching->done = std::move(done);
  if (what.target.queue.empty()) {
    searching->targets.push_back(what.target);
    return next_page(searching);
  }
  Json in = Json::object();
  in.set("Names", Json::list().add(Json(what.target.queue)));
  call("DescribeGameSessionQueues", in, cancel, [this, searching](Result<Json> result) {
    if (!result.ok()) return searching->done(failed<std::vector<Json>>(std::move(result.error)));
    for (const Json& queue : result.value["GameSessionQueues"].items()) searching->targets = destinations(queue, searching->what.target);
    next_page(searching);
  });
}

void Client::Core::next_page(std::shared_ptr<Searching> searching) {
  if (searching->targets.empty()) return searching->done(value_of(std::move(searching->found)));
  const Target& target = searching->targets.front();
  Json in = Json::object();
  in.set("Limit", Json(page));
  if (!target.alias.empty()) {
    in.set("AliasId", Json(target.alias));
  } else {
    in.set("FleetId", Json(target.fleet));
  }
  if (!target.location.empty()) in.set("Location", Json(target.location));
  if (!searching->what.filter.empty()) in.set("FilterExpression", Json(searching->what.filter));
  if (!searching->what.sort.empty()) in.set("SortExpression", Json(searching->what.sort));
  if (!searching->token.empty()) in.set("NextToken", Json(searching->token));
  call("SearchGameSessions", in, searching->cancel, [this, searching](Result<Json> result) {
    if (!result.ok()) return searching->done(failed<std::vector<Json>>(std::move(result.error)));
    for (const Json& one : result.value["GameSessions"].items()) {
      if (!searching->seen.insert(one["GameSessionId"].text()).second) continue;
      searching->found.push_back(one);
      if (searching->found.size() == searching->what.most) return searching->done(value_of(std::move(searching->found)));
    }
    searching->token = result.value["NextToken"].text();
    if (searching->token.empty()) {
      searching->targets.erase(searching->targets.begin());
    } else if (!searching->tokens.insert(searching->token).second) {
      return searching->done(failed<std::vector<Json>>(error_of(Error::Kind::network, "the search does not end: the same page came twice")));
    }
    next_page(searching);
  });
}

void Client::Core::reserve(std::shared_ptr<Reserving> reserving) {
  Json which = Json::object();
  which.set("GameSessionId", Json(reserving->session_id));
  call("DescribeGameSessions", which, reserving->cancel, [this, reserving](Result<Json> result) {
    if (!result.ok()) return reserving->done(std::move(result));
    const auto& found = result.value["GameSessions"].items();
    const std::string status = found.empty() ? "gone" : found[0]["Status"].text();
    if (status == "ACTIVATING" && reserving->waits < most_waits) {
      const milliseconds time = reserving->waits == 0 ? quick : milliseconds(200 << (reserving->waits - 1));
      reserving->waits++;
      return after<Json>(time, reserving->cancel, reserving->done, [this, reserving] { reserve(reserving); });
    }
    if (status != "ACTIVE") {
      Error error = error_of(Error::Kind::problem, "the game session is " + status + "; players can join it while it is ACTIVE");
      error.code = found.empty() ? "NotFoundException" : "InvalidGameSessionStatusException";
      return reserving->done(failed<Json>(std::move(error)));
    }
    Json in = Json::object();
    in.set("GameSessionId", Json(reserving->session_id)).set("PlayerId", Json(reserving->player_id));
    if (!reserving->player_data.empty()) in.set("PlayerData", Json(reserving->player_data));
    call("CreatePlayerSession", in, reserving->cancel, [reserving](Result<Json> made) {
      if (made.ok()) made.value = Json(made.value["PlayerSession"]);
      reserving->done(std::move(made));
    });
  });
}

void Client::Core::placement(const std::string& id, int looks, CancelPtr cancel, Callback<Json> done) {
  Json in = Json::object();
  in.set("PlacementId", Json(id));
  call("DescribeGameSessionPlacement", in, cancel, [this, id, looks, cancel, done](Result<Json> result) {
    if (!result.ok() && !may_pass(result.error)) return done(std::move(result));
    const Json now = result.value["GameSessionPlacement"];
    const std::string status = now["Status"].text();
    if (status == "FULFILLED") return done(value_of(now));
    if (result.ok() && status != "PENDING") {
      Error error = error_of(Error::Kind::placement, "the placement ended without a game session: " + status);
      error.data = now;
      return done(failed<Json>(std::move(error)));
    }
    const milliseconds time = std::min(longest_look, first_look * (1 << std::min(looks, 8)));
    after<Json>(time, cancel, done, [this, id, looks, cancel, done] { placement(id, looks + 1, cancel, done); });
  });
}

void Client::Core::ticket(std::shared_ptr<Ticketing> ticketing) {
  Json in = Json::object();
  in.set("TicketIds", Json::list().add(Json(ticketing->id)));
  call("DescribeMatchmaking", in, ticketing->cancel, [this, ticketing](Result<Json> result) {
    const auto& found = result.value["TicketList"].items();
    if (result.ok() && found.size() == 1) {
      ticketing->failures = ticketing->missing = 0;
      const Json seen = found[0];
      if (ticketing->events.seen) caller.deliver([seen, heard = ticketing->events.seen] { heard(seen); });
      if (has_ended(seen["Status"].text())) return ticketing->done(value_of(seen));
      return look_again(ticketing, std::min(options.poll, first_poll * (1 << std::min(ticketing->reads++, 8))));
    }
    Error error = std::move(result.error);
    if (!error) {
      error = error_of(Error::Kind::problem, "ticket " + ticketing->id + " is not found");
      error.code = "NotFoundException";
      if (++ticketing->missing == most_missing) return ticketing->done(failed<Json>(std::move(error)));
    } else if (!may_pass(error)) {
      return ticketing->done(failed<Json>(std::move(error)));
    }
    if (ticketing->events.missed) caller.deliver([error, heard = ticketing->events.missed] { heard(error); });
    look_again(ticketing, options.poll * (1 << std::min(++ticketing->failures, 4)));
  });
}

void Client::Core::look_again(std::shared_ptr<Ticketing> ticketing, milliseconds time) {
  time = std::min(longest_poll, std::max(shortest_poll, time));
  after<Json>(time, ticketing->cancel, ticketing->done, [this, ticketing] { ticket(ticketing); });
}

Client::Client(Options options) : core_(std::make_shared<Core>(std::move(options))) {}

Client::~Client() = default;

void Client::update() {
  const std::shared_ptr<Core> core = core_;  // a callback may end the client
  core->caller.update();
}

void Client::cancel(Call call) { core_->caller.cancel(call); }

Call Client::call(const std::string& operation, const Json& input, Callback<Json> done) {
  return core_->caller.begin<Json>(
      [core = core_.get(), operation, input](CancelPtr cancel, Callback<Json> done) { core->call(operation, input, cancel, std::move(done)); }, std::move(done));
}

Call Client::search(const Search& what, Callback<std::vector<Json>> done) {
  return core_->caller.begin<std::vector<Json>>(
      [core = core_.get(), what](CancelPtr cancel, Callback<std::vector<Json>> done) { core->search(what, cancel, std::move(done)); }, std::move(done));
}

Call Client::reserve(const std::string& session_id, const std::string& player_id, const std::string& player_data, Callback<Json> done) {
  const auto run = [core = core_.get(), session_id, player_id, player_data](CancelPtr cancel, Callback<Json> done) {
    core->reserve(std::make_shared<Core::Reserving>(Core::Reserving{session_id, player_id, player_data, cancel, std::move(done)}));
  };
  return core_->caller.begin<Json>(run, std::move(done));
}

Call Client::follow_placement(const std::string& placement_id, Callback<Json> done) {
  return core_->caller.begin<Json>(
      [core = core_.get(), placement_id](CancelPtr cancel, Callback<Json> done) { core->placement(placement_id, 0, cancel, std::move(done)); }, std::move(done));
}

Call Client::follow_ticket(const std::string& ticket_id, TicketEvents events, Callback<Json> done) {
  const auto run = [core = core_.get(), ticket_id, events](CancelPtr cancel, Callback<Json> done) {
    core->ticket(std::make_shared<Core::Ticketing>(Core::Ticketing{ticket_id, events, cancel, std::move(done)}));
  };
  return core_->caller.begin<Json>(run, std::move(done));
}

}  // namespace muster::gamelift

#include "muster/client.h"

#include "core.h"
#include "made.h"

namespace muster {

namespace {

std::string v1(const std::string& path) { return "/player/v1" + path; }

std::string tag(std::int64_t version) { return '"' + std::to_string(version) + '"'; }

}  // namespace

Client::Core::Core(const std::string& url, Options options, Events events)
    : loop(options.ca_file),
      caller(loop, url, options.callbacks_in_network_thread),
      account(caller, options.tokens ? options.tokens : std::make_shared<MemoryTokenStore>(),
              [this] {
                if (events_.session) caller.deliver([this] { events_.session(); });
              }),
      api(caller),
      push(caller, account,
           Push::Handler{
               [this](const Ticket& ticket) { see(ticket); },
               [this](const Placement& placement) { see(placement); },
               [this](const Party& party) { see(party); },
               [this] { see_party_left(); },
               [this](PushState state) {
                 push_state = state;
                 tickets_.interrupt();
                 placements_.interrupt();
                 if (events_.push) caller.deliver([this, state] { events_.push(state); });
               },
               [this] { return party_id_; },
           }),
      events_(std::move(events)),
      without_push_(options.without_push),
      tickets_(&Ticket::ticket_id, loop),
      placements_(&Placement::placement_id, loop) {
  caller.account = &account;
}

Client::Core::~Core() {
  stopping_ = true;
  loop.stop();
  for (std::thread& one : datagrams_) one.join();
}

void Client::Core::start_push() {
  if (!without_push_ && caller.usable) push.start();
}

Account::Done Client::Core::logged_in(Callback<std::string> done) {
  return [this, done](Error error) { done(error ? failed<std::string>(std::move(error)) : value_of(account.login().player_id)); };
}

Party Client::Core::joined(const Answer& answer) {
  Party party = Party::from_json(answer.body);
  party_id_ = party.party_id;
  return party;
}

void Client::Core::see(const Ticket& ticket) {
  if (tickets_.see(ticket) && events_.ticket) caller.deliver([this, ticket] { events_.ticket(ticket); });
}

void Client::Core::see(const Placement& placement) {
  if (placements_.see(placement) && events_.placement) caller.deliver([this, placement] { events_.placement(placement); });
}

void Client::Core::see(const Party& party) {
  party_id_ = party.party_id;
  const std::string text = party.to_json().write();
  if (text == last_party_) return;
  last_party_ = text;
  if (events_.party) caller.deliver([this, party] { events_.party(party); });
}

void Client::Core::see_party_left() {
  party_id_.clear();
  last_party_.clear();
  if (events_.party_left) caller.deliver([this] { events_.party_left(); });
}

Client::Client(const std::string& url, Options options, Events events) : core_(std::make_shared<Core>(url, std::move(options), std::move(events))) {}

Client::~Client() = default;

void Client::update() {
  const std::shared_ptr<Core> core = core_;  // a callback may end the client
  core->caller.update();
}

void Client::cancel(Call call) { core_->caller.cancel(call); }

Api& Client::api() { return core_->api; }

std::string Client::player_id() const { return core_->account.current_player(); }

bool Client::is_logged_in() const { return core_->account.current_logged_in(); }

PushState Client::push_state() const { return core_->push_state; }

void Client::start_push() {
  core_->loop.post([core = core_.get()] { core->start_push(); });
}

void Client::stop_push() {
  core_->loop.post([core = core_.get()] { core->push.stop(); });
}

Call Client::login_guest(Callback<std::string> done) {
  return core_->caller.begin<std::string>([core = core_.get()](CancelPtr, Callback<std::string> done) { core->account.come_back(true, core->logged_in(done)); }, std::move(done));
}

Call Client::resume(Callback<std::string> done) {
  return core_->caller.begin<std::string>([core = core_.get()](CancelPtr, Callback<std::string> done) { core->account.come_back(false, core->logged_in(done)); }, std::move(done));
}

Call Client::login(const std::string& provider, const ProviderLogin& login, Callback<std::string> done) {
  Request request("POST", v1("/auth/" + escape(provider)), Access::open, false);
  request.body = login.to_json();
  return core_->caller.begin<std::string>([core = core_.get(), request](CancelPtr, Callback<std::string> done) { core->account.enter(request, core->logged_in(done)); }, std::move(done));
}

Call Client::link(const std::string& provider, const ProviderLogin& login, Callback<std::string> done) {
  Request request("PUT", v1("/players/me/identities/" + escape(provider)), Access::player, true);
  request.body = login.to_json();
  return core_->caller.begin<std::string>([core = core_.get(), request](CancelPtr, Callback<std::string> done) { core->account.enter(request, core->logged_in(done)); }, std::move(done));
}

Call Client::merge(const MergeRequest& merge, Callback<std::string> done) {
  Request request("POST", v1("/players/me/merge"), Access::player, false);
  request.body = merge.to_json();
  return core_->caller.begin<std::string>([core = core_.get(), request](CancelPtr, Callback<std::string> done) { core->account.enter(request, core->logged_in(done)); }, std::move(done));
}

Call Client::logout(bool everywhere, Callback<Nothing> done) {
  const auto run = [core = core_.get(), everywhere](CancelPtr cancel, Callback<Nothing> done) {
    core->push.stop();
    const auto forget = [core, done] {
      core->account.forget(true, [done](Error error) { done(failed<Nothing>(std::move(error))); });
    };
    const std::string refresh = core->account.login().refresh;
    if (!everywhere && refresh.empty()) return forget();
    Request request("POST", v1("/auth/logout"), everywhere ? Access::player : Access::open, true);
    request.body = everywhere ? Json::object().set("all", Json(true)) : Json::object().set("refresh_token", Json(refresh));
    core->caller.send(request, cancel, [done, forget](Error error, Answer) {
      if (error) return done(failed<Nothing>(std::move(error)));
      forget();
    });
  };
  return core_->caller.begin<Nothing>(run, std::move(done));
}

Call Client::delete_account(Callback<Nothing> done) {
  const auto run = [core = core_.get()](CancelPtr cancel, Callback<Nothing> done) {
    core->caller.send(Request("DELETE", v1("/players/me"), Access::player, true), cancel, [core, done](Error error, Answer) {
      if (error) return done(failed<Nothing>(std::move(error)));
      core->push.stop();
      core->account.forget(false, [done](Error error) { done(failed<Nothing>(std::move(error))); });
    });
  };
  return core_->caller.begin<Nothing>(run, std::move(done));
}

Call Client::find_match(const TicketRequest& request, MatchOptions options, Callback<Connection> done) {
  return core_->caller.begin<Connection>(
      [core = core_.get(), request, options](CancelPtr cancel, Callback<Connection> done) { core->find_match(request, options, cancel, done); }, std::move(done));
}

Call Client::follow_ticket(const std::string& ticket_id, std::function<void(const Ticket&)> changed, Callback<Ticket> done) {
  const auto run = [core = core_.get(), ticket_id, changed](CancelPtr cancel, Callback<Ticket> done) {
    core->start_push();
    const auto tell = [core, changed](const Ticket& ticket, std::function<void(Error)> go_on) {
      if (changed) core->caller.deliver([changed, ticket] { changed(ticket); });
      go_on({});
    };
    core->caller.send(Request("GET", v1("/matchmaking/tickets/" + escape(ticket_id)), Access::player, true), cancel, [core, tell, cancel, done](Error error, Answer answer) {
      if (error) return done(failed<Ticket>(std::move(error)));
      core->follow(Ticket::from_json(answer.body), tell, cancel, done);
    });
  };
  return core_->caller.begin<Ticket>(run, std::move(done));
}

Call Client::stop_matchmaking(const std::string& ticket_id, Callback<Nothing> done) {
  const auto run = [core = core_.get(), ticket_id](CancelPtr cancel, Callback<Nothing> done) {
    core->caller.send(Request("DELETE", v1("/matchmaking/tickets/" + escape(ticket_id)), Access::player, true), cancel, [done](Error error, Answer) {
      done(failed<Nothing>(error.is("ticket-ended") ? Error() : std::move(error)));
    });
  };
  return core_->caller.begin<Nothing>(run, std::move(done));
}

Call Client::create_party(const PartyRequest& party, Callback<Party> done) {
  Request request("POST", v1("/parties"), Access::player, false);
  request.body = party.to_json();
  return core_->caller.call<Party>(request, [core = core_.get()](const Answer& a) { return core->joined(a); }, std::move(done));
}

Call Client::join_party(const std::string& code, Callback<Party> done) {
  Request request("POST", v1("/parties/join"), Access::player, false);
  request.body = Json::object().set("code", Json(code));
  return core_->caller.call<Party>(request, [core = core_.get()](const Answer& a) { return core->joined(a); }, std::move(done));
}

Call Client::change_member(const std::string& party_id, const MemberChange& change, Callback<Party> done) {
  Request request("PUT", v1("/parties/" + escape(party_id) + "/members/me"), Access::player, true);
  request.body = change.to_json();
  return core_->caller.call<Party>(request, [core = core_.get()](const Answer& a) { return core->joined(a); }, std::move(done));
}

Call Client::leave_party(const std::string& party_id, Callback<Nothing> done) { return api().leave_party(party_id, "me", std::move(done)); }

Call Client::create_session(const SessionRequest& session, Callback<Connection> done) {
  Request request("POST", v1("/sessions"), Access::player, false);
  request.body = session.to_json();
  const auto run = [core = core_.get(), request](CancelPtr cancel, Callback<Connection> done) {
    core->start_push();
    core->caller.send(request, cancel, [core, cancel, done](Error error, Answer answer) {
      if (error) return done(failed<Connection>(std::move(error)));
      core->follow_placement(Placement::from_json(answer.body), cancel, [done](Result<Placement> result) {
        if (!result.ok()) return done(failed<Connection>(std::move(result.error)));
        done(value_of(result.value.connection.value_or(Connection())));
      });
    });
  };
  return core_->caller.begin<Connection>(run, std::move(done));
}

Call Client::follow_placement(const std::string& placement_id, Callback<Placement> done) {
  const auto run = [core = core_.get(), placement_id](CancelPtr cancel, Callback<Placement> done) {
    core->start_push();
    core->caller.send(Request("GET", v1("/placements/" + escape(placement_id)), Access::player, true), cancel, [core, cancel, done](Error error, Answer answer) {
      if (error) return done(failed<Placement>(std::move(error)));
      core->follow_placement(Placement::from_json(answer.body), cancel, done);
    });
  };
  return core_->caller.begin<Placement>(run, std::move(done));
}

Call Client::put_data(const std::string& name_space, const std::string& key, const Json& value, std::int64_t expected, Callback<std::int64_t> done) {
  Request request("PUT", v1("/players/me/data/" + escape(name_space) + "/" + escape(key)), Access::player, true);
  request.body = value;
  if (expected == no_version) request.header("If-None-Match", "*");
  if (expected > no_version) request.header("If-Match", tag(expected));
  return core_->caller.call<std::int64_t>(request, [](const Answer& a) { return DataItem::from_json(a.body).version; }, std::move(done));
}

Call Client::delete_data(const std::string& name_space, const std::string& key, std::int64_t expected, Callback<Nothing> done) {
  return api().delete_data(name_space, key, std::move(done), expected > no_version ? tag(expected) : "");
}

Call Client::measure_latency(const LatencyOptions& options, Callback<std::vector<LatencySample>> done) {
  return core_->caller.begin<std::vector<LatencySample>>(
      [core = core_.get(), options](CancelPtr cancel, Callback<std::vector<LatencySample>> done) { core->measure(options, cancel, done); }, std::move(done));
}

Call Client::report_latency(const LatencyOptions& options, Callback<LatencyResult> done) {
  const auto run = [core = core_.get(), options](CancelPtr cancel, Callback<LatencyResult> done) {
    core->measure(options, cancel, [core, cancel, done](Result<std::vector<LatencySample>> measured) {
      if (!measured.ok()) return done(failed<LatencyResult>(std::move(measured.error)));
      Request request("PUT", v1("/players/me/latency"), Access::player, true);
      LatencyReport report;
      report.samples = std::move(measured.value);
      request.body = report.to_json();
      core->caller.send(request, cancel, [done](Error error, Answer answer) {
        done(error ? failed<LatencyResult>(std::move(error)) : value_of(LatencyResult::from_json(answer.body)));
      });
    });
  };
  return core_->caller.begin<LatencyResult>(run, std::move(done));
}

}  // namespace muster

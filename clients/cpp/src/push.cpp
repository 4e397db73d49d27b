#include "push.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

constexpr int going_away = 1001, login_ended = 4401, too_many_connections = 4409, too_much = 4429;
constexpr int failures_to_poll = 3;
constexpr milliseconds first{250}, longest{30000}, poll_every{2000}, ping_every{20000}, silent_for{50000}, answer_within{10000}, calm_down{10000};

}  // namespace

const char* text_of(PushState state) {
  switch (state) {
    case PushState::reconnecting: return "reconnecting";
    case PushState::connected: return "connected";
    case PushState::polling: return "polling";
    default: return "closed";
  }
}

Push::Push(Caller& caller, Account& account, Handler handler) : caller_(caller), account_(account), handler_(std::move(handler)) {}

void Push::start() {
  if (wanted_) return;
  wanted_ = true;
  run_++;
  failures_ = 0;
  become(PushState::reconnecting);
  connect("");
}

void Push::stop() {
  if (!wanted_) return;
  wanted_ = false;
  run_++;
  socket_.reset();
  cancel(silence_);
  cancel(ping_);
  cancel(pause_);
  cancel(polling_);
  polls_->now();
  polls_ = std::make_shared<Cancel>();
  become(PushState::closed);
}

void Push::become(PushState state) {
  if (state_ == state) return;
  state_ = state;
  if (state != PushState::polling) cancel(polling_);
  if (state == PushState::polling) poll();
  handler_.changed(state);
}

void Push::later(Loop::Timer& timer, milliseconds time, std::function<void()> run) {
  cancel(timer);
  timer = caller_.loop.after(time, [&timer, run = std::move(run)] {
    timer = 0;
    run();
  });
}

void Push::cancel(Loop::Timer& timer) {
  if (timer != 0) caller_.loop.cancel(timer);
  timer = 0;
}

void Push::connect(const std::string& stale) {
  const std::uint64_t run = run_;
  account_.access(stale, [this, run](Error error, std::string token) {
    if (run != run_) return;
    if (!error) return open(token);
    if (is_passing(error)) return ended(0);
    stop();  // the login has ended; a request says so too
  });
}

void Push::open(const std::string& token) {
  token_ = token;
  entered_ = false;
  later(silence_, answer_within, [this] { ended(0); });
  WebSocket::Handler handler;
  handler.opened = [this] { authenticate(token_, true); };
  handler.received = [this](std::string text) { received(text); };
  handler.ended = [this](int code) { ended(code); };
  socket_ = std::make_unique<WebSocket>(caller_.loop, caller_.url + "/player/v1/ws", "muster.player.v1", std::move(handler));
}

void Push::authenticate(const std::string& token, bool resume) {
  Json data = Json::object();
  data.set("access_token", Json(token));
  if (resume && !cursor_.empty()) data.set("resume", Json(cursor_));
  socket_->send(Json::object().set("type", Json("auth")).set("data", std::move(data)).write());
}

void Push::send(const char* type) {
  if (socket_) socket_->send(Json::object().set("type", Json(type)).write());
  later(ping_, ping_every, [this] { send("ping"); });
}

void Push::received(const std::string& text) {
  later(silence_, silent_for, [this] { ended(0); });
  Json message;
  if (!Json::parse(text, message)) return ended(0);  // a proxy speaks
  if (message["type"].text() == "auth.ok" && !entered_) {
    entered_ = true;
    failures_ = 0;
    later(ping_, ping_every, [this] { send("ping"); });
    become(PushState::connected);
  }
  hear(message);
}

void Push::hear(const Json& message) {
  const std::string type = message["type"].text();
  const Json& data = message["data"];
  if (!message["cursor"].is_null()) cursor_ = message["cursor"].text();
  if (type == "match.ticket") {
    handler_.ticket(Ticket::from_json(data));
  } else if (type == "placement") {
    handler_.placement(Placement::from_json(data));
  } else if (type == "party") {
    handler_.party(Party::from_json(data));
  } else if (type == "party.left") {
    handler_.party_left();
  } else if (type == "token.expiring") {
    const std::uint64_t run = run_;
    account_.access(account_.login().access, [this, run](Error error, std::string token) {
      if (run != run_ || error || !socket_) return;
      token_ = token;
      authenticate(token, false);
    });
  }
}

void Push::ended(int code) {
  // The WebSocket may be what calls this, so that it is gone only when it has returned.
  std::shared_ptr<WebSocket> old(socket_.release());
  if (old) {
    old->close();
    caller_.loop.post([old] {});
  }
  cancel(silence_);
  cancel(ping_);
  if (!wanted_) return;
  if (code == too_many_connections) return stop();
  failures_++;
  become(failures_ > failures_to_poll ? PushState::polling : PushState::reconnecting);
  const std::string stale = code == login_ended ? token_ : "";
  if (code == too_much) return again(calm_down, stale);
  if (code == going_away) return again(first, stale);
  again(first + caller_.pause(failures_, first, longest), stale);
}

void Push::again(milliseconds time, const std::string& stale) {
  later(pause_, time, [this, stale] { connect(stale); });
}

// poll asks for changes until there is a push.
void Push::poll() {
  const std::uint64_t run = run_;
  const auto next = [this, run] {
    if (run == run_ && state_ == PushState::polling) later(polling_, poll_every, [this] { poll(); });
  };
  caller_.send(Request("GET", "/player/v1/matchmaking/tickets", Access::player, false), polls_, [this, run, next](Error error, Answer answer) {
    if (run != run_) return;
    if (!error) {
      const Tickets tickets = Tickets::from_json(answer.body);
      for (const Ticket& ticket : tickets.items) handler_.ticket(ticket);
    }
    const std::string party = handler_.party_id();
    if (party.empty()) return next();
    caller_.send(Request("GET", "/player/v1/parties/" + escape(party), Access::player, false), polls_, [this, run, next](Error error, Answer answer) {
      if (run != run_) return;
      if (!error) handler_.party(Party::from_json(answer.body));
      if (error.kind == Error::Kind::problem && error.status == 404) handler_.party_left();
      next();
    });
  });
}

}  // namespace muster

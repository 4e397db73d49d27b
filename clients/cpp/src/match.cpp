#include "core.h"
#include "made.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

constexpr const char* long_poll = "20";  // seconds; the API allows 25
constexpr milliseconds look{15000}, farewell{5000};

bool has_ended(const Ticket& ticket) {
  switch (ticket.state) {
    case TicketState::completed:
    case TicketState::failed:
    case TicketState::cancelled:
    case TicketState::timed_out: return true;
    default: return false;
  }
}

Error no_match(const Ticket& ticket) {
  Error error = error_of(Error::Kind::match, std::string("the ticket ended without a match: ") + text_of(ticket.state) + (ticket.reason.empty() ? "" : ", " + ticket.reason));
  error.data = ticket.to_json();
  return error;
}

}  // namespace

/// A ticket that is followed.
struct Client::Core::Following {
  std::function<void(const Ticket&, std::function<void(Error)>)> changed;
  CancelPtr cancel;
  Callback<Ticket> done;
};

void Client::Core::find_match(const TicketRequest& request, const MatchOptions& options, CancelPtr cancel, Callback<Connection> done) {
  start_push();
  Request start("POST", "/player/v1/matchmaking/tickets", Access::player, false);
  start.body = request.to_json();
  const auto answered = std::make_shared<std::string>();  // the match that was accepted or rejected
  const auto changed = [this, options, answered, cancel](const Ticket& ticket, std::function<void(Error)> go_on) {
    if (options.changed) caller.deliver([changed = options.changed, ticket] { changed(ticket); });
    const bool is_mine = ticket.acceptance && ticket.acceptance->mine;
    if (ticket.state != TicketState::requires_acceptance || is_mine || *answered == ticket.match_id) return go_on({});
    *answered = ticket.match_id;
    if (!options.accept) return answer(ticket, true, cancel, std::move(go_on));
    caller.deliver([this, accept = options.accept, ticket] {
      accept(ticket, [this, ticket](bool yes) {
        loop.post([this, ticket, yes] { answer(ticket, yes, std::make_shared<Cancel>(), [](Error) {}); });
      });
    });
    go_on({});  // the player may take time, in which the ticket can change
  };
  const auto follow_it = [this, changed, cancel, done](const Ticket& ticket) {
    follow(ticket, changed, cancel, [this, ticket, done](Result<Ticket> end) {
      if (end.error.kind == Error::Kind::cancelled) {
        caller.send(Request("DELETE", "/player/v1/matchmaking/tickets/" + escape(ticket.ticket_id), Access::player, true), std::make_shared<Cancel>(),
                    [done, error = end.error](Error, Answer) { done(failed<Connection>(error)); });
        return;
      }
      if (!end.ok()) return done(failed<Connection>(std::move(end.error)));
      if (end.value.state != TicketState::completed || !end.value.connection) return done(failed<Connection>(no_match(end.value)));
      Result<Connection> result;
      result.value = *end.value.connection;
      done(std::move(result));
    });
  };
  caller.send(start, cancel, [this, request, follow_it, done](Error error, Answer answer) {
    if (!error) return follow_it(Ticket::from_json(answer.body));
    if (error.kind != Error::Kind::network && error.kind != Error::Kind::timeout) return done(failed<Connection>(std::move(error)));
    // The answer was lost: the ticket that the server may have created is found.
    caller.send(Request("GET", "/player/v1/matchmaking/tickets?active=true", Access::player, true), std::make_shared<Cancel>(),
                [request, follow_it, done, error](Error second, Answer answer) {
                  if (second) return done(failed<Connection>(error));
                  const Tickets open = Tickets::from_json(answer.body);
                  for (const Ticket& ticket : open.items) {
                    if (ticket.matchmaker == request.matchmaker && ticket.party_id == request.party_id) return follow_it(ticket);
                  }
                  done(failed<Connection>(error));
                });
  });
}

void Client::Core::answer(const Ticket& ticket, bool accept, CancelPtr cancel, std::function<void(Error)> done) {
  Request request("POST", "/player/v1/matchmaking/tickets/" + escape(ticket.ticket_id) + "/acceptance", Access::player, false);
  request.body = Json::object().set("accept", Json(accept));
  caller.send(request, cancel, [done](Error error, Answer) {
    if (error.is("not-awaiting-acceptance")) return done({});  // it was too late
    done(std::move(error));
  });
}

void Client::Core::follow(const Ticket& ticket, std::function<void(const Ticket&, std::function<void(Error)>)> changed, CancelPtr cancel, Callback<Ticket> done) {
  step(std::make_shared<Following>(Following{std::move(changed), std::move(cancel), std::move(done)}), ticket);
}

void Client::Core::step(std::shared_ptr<Following> following, const Ticket& ticket) {
  see(ticket);
  following->changed(ticket, [this, following, ticket](Error error) {
    if (error) return following->done(failed<Ticket>(std::move(error)));
    if (has_ended(ticket)) {
      Result<Ticket> result;
      result.value = ticket;
      return following->done(std::move(result));
    }
    next<Ticket>(tickets_, "/player/v1/matchmaking/tickets/", ticket.ticket_id, ticket.seq, 0, following->cancel, [this, following](Result<Ticket> news) {
      if (!news.ok()) return following->done(std::move(news));
      step(following, news.value);
    });
  });
}

void Client::Core::follow_placement(const Placement& placement, CancelPtr cancel, Callback<Placement> done) {
  see(placement);
  if (placement.state == PlacementState::fulfilled) {
    Result<Placement> result;
    result.value = placement;
    return done(std::move(result));
  }
  if (placement.state != PlacementState::pending) {
    Error error = error_of(Error::Kind::placement, std::string("the placement ended without a game session: ") + text_of(placement.state));
    error.data = placement.to_json();
    return done(failed<Placement>(std::move(error)));
  }
  next<Placement>(placements_, "/player/v1/placements/", placement.placement_id, placement.seq, 0, cancel, [this, cancel, done](Result<Placement> news) {
    if (!news.ok()) return done(std::move(news));
    follow_placement(news.value, cancel, done);
  });
}

// next yields a row that is newer than seq: from the push while that is connected, else by long
// polls. A row is also read now and then while the push is connected, and when it has changed
// its state.
template <typename T>
void Client::Core::next(Rows<T>& rows, const std::string& path, const std::string& id, std::int64_t seq, int failures, CancelPtr cancel, Callback<T> done) {
  if (cancel->cancelled) return done(failed<T>(error_of(Error::Kind::cancelled, "the call was cancelled")));
  const auto get = [this, &rows, path, id, seq, failures, cancel, done](bool waits) {
    Request request("GET", path + escape(id), Access::player, false);
    if (waits) request.query("wait", long_poll);
    request.header("If-None-Match", '"' + std::to_string(seq) + '"');
    caller.send(request, cancel, [this, &rows, path, id, seq, failures, waits, cancel, done](Error error, Answer answer) {
      if (error && !is_passing(error)) return done(failed<T>(std::move(error)));
      if (!error && !answer.body.is_null()) {
        Result<T> result;
        result.value = T::from_json(answer.body);
        if (result.value.seq > seq) return done(std::move(result));
      }
      const int failed_now = error ? failures + 1 : 0;
      const auto again = [this, &rows, path, id, seq, failed_now, cancel, done](bool) { next<T>(rows, path, id, seq, failed_now, cancel, done); };
      if (!error && !waits) return again(false);
      const auto longest = error ? milliseconds(10000) : milliseconds(50);
      const auto asked = milliseconds(static_cast<std::int64_t>(error.retry_after_seconds * 1000));
      caller.wait(asked + caller.pause(std::max(1, failed_now), error ? milliseconds(500) : milliseconds(50), longest), cancel, again);
    });
  };
  if (push.state() != PushState::connected) return get(true);
  rows.next(id, seq, look, cancel, [this, get, cancel, done](const T* news) {
    if (cancel->cancelled) return done(failed<T>(error_of(Error::Kind::cancelled, "the call was cancelled")));
    if (news == nullptr) return get(push.state() != PushState::connected);
    Result<T> result;
    result.value = *news;
    done(std::move(result));
  });
}

}  // namespace muster

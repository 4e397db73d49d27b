#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/api.h"
#include "muster/result.h"
#include "muster/token_store.h"

namespace muster {

/// The state of the push.
enum class PushState {
  closed,        ///< it is not wanted, or the server ended it for good
  reconnecting,  ///< it is being connected
  connected,     ///< changes arrive as they happen
  polling,       ///< it cannot be connected: changes are asked for every two seconds
};

const char* text_of(PushState state);

/// How a client works.
struct Options {
  std::shared_ptr<TokenStore> tokens;  ///< default: a MemoryTokenStore, which loses the login
  bool without_push = false;           ///< tickets are followed by long polls
  std::string ca_file;                 ///< PEM certificates to trust in place of the system's
  /// Callbacks are called in the client's network thread, in place of Client::update. They must
  /// not block.
  bool callbacks_in_network_thread = false;
};

/// What the client reports by itself. Each may be empty.
struct Events {
  std::function<void(const Ticket&)> ticket;        ///< a ticket of the player has changed
  std::function<void(const Party&)> party;          ///< the party has changed
  std::function<void()> party_left;                 ///< the player is no longer in a party
  std::function<void(const Placement&)> placement;  ///< a game session that was asked for has changed
  std::function<void(PushState)> push;
  std::function<void()> session;  ///< a player has logged in, or is logged out
};

/// How find_match follows a ticket.
struct MatchOptions {
  /// Asks whether to accept a proposed match; answer(true or false) may be called later. Empty
  /// accepts at once.
  std::function<void(const Ticket&, std::function<void(bool)> answer)> accept;
  /// Receives the ticket with each change.
  std::function<void(const Ticket&)> changed;
};

/// How latency is measured.
struct LatencyOptions {
  bool http_only = false;                    ///< without datagrams
  bool receipts = false;                     ///< has beacons sign what they measure, for matchmakers that require it
  int samples = 6;                           ///< for each location; the first does not count
  std::chrono::milliseconds interval{350};   ///< between datagrams: beacons answer 10 a second
  std::chrono::milliseconds deadline{4000};  ///< for all
};

/// One player of Muster's player API: logs in, keeps the login fresh, finds matches, follows what
/// changes, and lists, creates and joins game sessions. It may be used by several threads. No call
/// blocks; each callback is called once, from update.
class Client {
 public:
  /// Creates a client of the server at a URL, such as https://play.example.com. It sends nothing.
  /// If the URL is neither http nor https, every call ends with Error::Kind::usage.
  explicit Client(const std::string& url, Options options = {}, Events events = {});
  /// Ends the push. Calls under way end without a callback. The login remains.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Calls the callbacks and events that are due. Call it in each frame.
  void update();
  /// Cancels a call, which then ends with Error::Kind::cancelled unless it has ended.
  void cancel(Call call);

  /// The requests as they are described, with this player's login.
  Api& api();

  /// The id of the player who is logged in; "" before the first login.
  std::string player_id() const;
  bool is_logged_in() const;

  // Accounts. Each returns the player's id.

  /// Logs in with the stored login, else as a new guest.
  Call login_guest(Callback<std::string> done);
  /// Logs in with the stored login, or ends with Error::Kind::logged_out.
  Call resume(Callback<std::string> done);
  /// Logs in with an account of a provider, which the server's configuration names.
  Call login(const std::string& provider, const ProviderLogin& login, Callback<std::string> done);
  /// Adds a provider's account to the player. The problem identity-in-use has a conflict_token for merge.
  Call link(const std::string& provider, const ProviderLogin& login, Callback<std::string> done);
  /// Makes one player of two. The one that is not kept is deleted for good: let the player choose.
  Call merge(const MergeRequest& request, Callback<std::string> done);
  /// Ends this login, or all logins of the player. A guest's secret stays in the store.
  Call logout(bool everywhere, Callback<Nothing> done);
  /// Deletes the player with all data. It cannot be undone.
  Call delete_account(Callback<Nothing> done);

  // Matches.

  /// Takes the player to a match: starts matchmaking, answers what is proposed, and yields where to
  /// play. Cancelled, it stops the ticket.
  Call find_match(const TicketRequest& request, MatchOptions options, Callback<Connection> done);
  /// Yields a ticket when it has ended. changed receives it with each change before.
  Call follow_ticket(const std::string& ticket_id, std::function<void(const Ticket&)> changed, Callback<Ticket> done);
  /// Stops a ticket. One that has ended already is no error.
  Call stop_matchmaking(const std::string& ticket_id, Callback<Nothing> done);

  // Parties. The leader starts matchmaking with TicketRequest::party_id; the others learn of the
  // ticket from Events::ticket.

  Call create_party(const PartyRequest& request, Callback<Party> done);
  Call join_party(const std::string& code, Callback<Party> done);
  Call change_member(const std::string& party_id, const MemberChange& change, Callback<Party> done);
  Call leave_party(const std::string& party_id, Callback<Nothing> done);

  // Game sessions.

  /// Asks for a new game session, and yields where to play.
  Call create_session(const SessionRequest& request, Callback<Connection> done);
  /// Yields a placement when it is fulfilled, or ends with Error::Kind::placement.
  Call follow_placement(const std::string& placement_id, Callback<Placement> done);

  // Data.

  /// A version for put_data: there must be no value yet, and: any value or none.
  static constexpr std::int64_t no_version = 0, any_version = -1;
  Call put_data(const std::string& name_space, const std::string& key, const Json& value, std::int64_t expected, Callback<std::int64_t> done);
  Call delete_data(const std::string& name_space, const std::string& key, std::int64_t expected, Callback<Nothing> done);

  // Latency.

  /// Measures the round trip to each location, by datagrams where it has them, else by HTTP.
  /// Locations that were not reached are left out.
  Call measure_latency(const LatencyOptions& options, Callback<std::vector<LatencySample>> done);
  /// Measures, and reports what was measured: it applies for 15 minutes.
  Call report_latency(const LatencyOptions& options, Callback<LatencyResult> done);

  // Push.

  /// Starts the push: what changes is reported as events. Following a ticket starts it too.
  void start_push();
  void stop_push();
  PushState push_state() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster

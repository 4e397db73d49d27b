// Code generated from openapi.yaml. DO NOT EDIT.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/json.h"
#include "muster/result.h"

namespace muster {

/// What went wrong (RFC 9457).
struct Problem {
  std::string type;  ///< URI of the kind of problem.
  std::string title;  ///< The kind of problem in words.
  std::int64_t status = 0;  ///< HTTP status.
  std::string detail;  ///< What is wrong with this request.
  std::string instance;  ///< The request, as X-Request-Id names it.
  std::string code;  ///< The kind of problem, for programs.
  std::optional<std::int64_t> retry_after_seconds;  ///< When to try again.
  std::optional<Time> until;  ///< When a ban ends.
  std::string ticket_id;  ///< The ticket that is in the way.
  std::string conflict_token;  ///< Of identity-in-use: lets the player who asked merge the two, once, within 5 minutes; not told where the other player is banned.

  static Problem from_json(const Json& json);
  Json to_json() const;
};

/// A guest who comes back.
struct GuestLogin {
  std::string player_id;  ///< From the account’s creation.
  std::string guest_secret;  ///< From the account’s creation.

  static GuestLogin from_json(const Json& json);
  Json to_json() const;
};

/// What a provider gave to the client.
struct ProviderLogin {
  std::string token;  ///< ID token, access token, Steam ticket in hex, or what the operator’s webhook understands.
  std::string nonce;  ///< The raw nonce that the token was asked for with.
  std::string identity;  ///< Steam: the identity the ticket was made for.
  std::optional<bool> create;  ///< Make an account where there is none; default true.

  static ProviderLogin from_json(const Json& json);
  Json to_json() const;
};

/// The player who asks, or the one whom the account leads to.
enum class MergeRequestKeep {
  unknown,  ///< of a newer server
  mine,
  theirs,
};
/// The spelling of a value.
const char* text_of(MergeRequestKeep value);

/// Which of two players to keep. The other must have no further account elsewhere, and is given up with its data.
struct MergeRequest {
  std::string conflict_token;  ///< From the refused link.
  MergeRequestKeep keep = MergeRequestKeep::unknown;  ///< The player who asks, or the one whom the account leads to.

  static MergeRequest from_json(const Json& json);
  Json to_json() const;
};

/// A refresh token to use up.
struct RefreshRequest {
  std::string refresh_token;  ///< The newest one of its login.

  static RefreshRequest from_json(const Json& json);
  Json to_json() const;
};

/// Which logins to end: the refresh token’s, or those of the access token.
struct LogoutRequest {
  std::string refresh_token;  ///< Ends its login.
  std::optional<bool> all;  ///< Ends all logins of the player; needs an access token.

  static LogoutRequest from_json(const Json& json);
  Json to_json() const;
};

/// An account elsewhere.
struct LinkedIdentity {
  std::string provider;  ///< Its provider.
  std::string subject_hint;  ///< The end of its name there.
  Time linked_at;  ///< Since when.

  static LinkedIdentity from_json(const Json& json);
  Json to_json() const;
};

/// What the player has proven.
enum class SessionScope {
  unknown,  ///< of a newer server
  guest,
  authenticated,
};
/// The spelling of a value.
const char* text_of(SessionScope value);

/// A login.
struct Session {
  std::string player_id;  ///< The player.
  SessionScope scope = SessionScope::unknown;  ///< What the player has proven.
  std::string access_token;  ///< JWT for Authorization: Bearer.
  std::int64_t access_token_expires_in = 0;  ///< Seconds.
  std::string refresh_token;  ///< Gives the next login, once.
  std::int64_t refresh_token_expires_in = 0;  ///< Seconds.
  bool created = false;  ///< The account is new.
  std::vector<LinkedIdentity> identities;  ///< Accounts elsewhere.
  std::string guest_secret;  ///< Of a new guest account; shown once.

  static Session from_json(const Json& json);
  Json to_json() const;
};

/// Lets one WebSocket in.
struct SocketTicket {
  std::string ticket;  ///< For the query of /ws.
  std::int64_t expires_in = 0;  ///< Seconds.

  static SocketTicket from_json(const Json& json);
  Json to_json() const;
};

/// What the player has proven.
enum class PlayerScope {
  unknown,  ///< of a newer server
  guest,
  authenticated,
};
/// The spelling of a value.
const char* text_of(PlayerScope value);

/// The player’s own account.
struct Player {
  std::string player_id;  ///< The player.
  std::string display_name;  ///< Need not be unique.
  Time created_at;  ///< Since when.
  PlayerScope scope = PlayerScope::unknown;  ///< What the player has proven.
  std::vector<LinkedIdentity> identities;  ///< Accounts elsewhere.

  static Player from_json(const Json& json);
  Json to_json() const;
};

/// What to change.
struct PlayerChange {
  std::string display_name;  ///< 3 to 32 printable characters.

  static PlayerChange from_json(const Json& json);
  Json to_json() const;
};

/// A value of a player’s data.
struct DataItem {
  Json value;  ///< Any JSON of at most 32 KiB.
  std::int64_t version = 0;  ///< Rises by one with each write; also the ETag.
  Time updated_at;  ///< When it was written.

  static DataItem from_json(const Json& json);
  Json to_json() const;
};

/// What anybody may know of a player.
struct PublicPlayer {
  std::string player_id;  ///< The player.
  std::string display_name;  ///< Need not be unique.
  std::map<std::string, DataItem> data;  ///< Public data by key.

  static PublicPlayer from_json(const Json& json);
  Json to_json() const;
};

/// Whom to look up.
struct PlayerLookup {
  std::vector<std::string> ids;  ///< Players, at most 50.

  static PlayerLookup from_json(const Json& json);
  Json to_json() const;
};

/// What anybody may know of several players.
struct PublicPlayers {
  std::vector<PublicPlayer> items;  ///< In the order of the request, without players that do not exist.

  static PublicPlayers from_json(const Json& json);
  Json to_json() const;
};

/// A namespace of a player’s data.
struct DataItems {
  std::map<std::string, DataItem> items;  ///< By key.

  static DataItems from_json(const Json& json);
  Json to_json() const;
};

/// How it was measured.
enum class LatencySampleMethod {
  unknown,  ///< of a newer server
  udp,
  tcp,
  https,
};
/// The spelling of a value.
const char* text_of(LatencySampleMethod value);

/// What was measured for a location.
struct LatencySample {
  std::string location;  ///< Its name.
  double rtt_ms = 0;  ///< Round trip in milliseconds.
  std::optional<LatencySampleMethod> method;  ///< How it was measured.
  std::string receipt;  ///< Signed by the beacon.

  static LatencySample from_json(const Json& json);
  Json to_json() const;
};

/// What was measured. Leave out what was not reached.
struct LatencyReport {
  std::vector<LatencySample> samples;  ///< At most 64.

  static LatencyReport from_json(const Json& json);
  Json to_json() const;
};

/// Why.
enum class RejectedSampleReason {
  unknown,  ///< of a newer server
  unknown_location,
  too_far,
  not_a_number,
  repeated,
  receipt_invalid,
};
/// The spelling of a value.
const char* text_of(RejectedSampleReason value);

/// A sample that does not count.
struct RejectedSample {
  std::string location;  ///< Its name.
  RejectedSampleReason reason = RejectedSampleReason::unknown;  ///< Why.

  static RejectedSample from_json(const Json& json);
  Json to_json() const;
};

/// What counts, for 15 minutes.
struct LatencyResult {
  std::map<std::string, std::int64_t> accepted;  ///< Milliseconds by location.
  std::vector<RejectedSample> rejected;  ///< The rest.

  static LatencyResult from_json(const Json& json);
  Json to_json() const;
};

/// A place where games can be.
struct Location {
  std::string name;  ///< Its name.
  std::string udp;  ///< HOST:PORT of a UDP beacon.
  std::string tcp;  ///< HOST:PORT of a TCP beacon.
  std::string https;  ///< URL that answers GET with 204.

  static Location from_json(const Json& json);
  Json to_json() const;
};

/// Where games can be.
struct Locations {
  std::vector<Location> locations;  ///< By name.
  std::int64_t ttl_seconds = 0;  ///< How long this may be kept.

  static Locations from_json(const Json& json);
  Json to_json() const;
};

/// A way to log in.
struct ProviderInfo {
  std::string name;  ///< For paths.

  static ProviderInfo from_json(const Json& json);
  Json to_json() const;
};

/// A way to be matched.
struct MatchmakerInfo {
  std::string name;  ///< For requests.
  std::int64_t min_party = 0;  ///< Fewest players of a ticket.
  std::int64_t max_party = 0;  ///< Most players of a ticket.
  bool acceptance = false;  ///< A match has to be accepted.

  static MatchmakerInfo from_json(const Json& json);
  Json to_json() const;
};

/// Where game sessions without matchmaking come from.
struct PoolInfo {
  std::string name;  ///< For requests.
  bool can_create = false;  ///< Players may make game sessions.
  bool can_list = false;  ///< Players may list and join game sessions.

  static PoolInfo from_json(const Json& json);
  Json to_json() const;
};

/// What a client has to know.
struct ClientConfig {
  std::string api_version;  ///< Of this description.
  Time server_time;  ///< Now.
  std::vector<ProviderInfo> providers;  ///< Ways to log in besides guest.
  std::string websocket_url;  ///< For push.
  std::int64_t poll_interval_ms = 0;  ///< How often to ask, where no long poll is used.
  std::int64_t max_wait_seconds = 0;  ///< Longest wait of a long poll.
  std::vector<MatchmakerInfo> matchmakers;  ///< Ways to be matched.
  std::vector<PoolInfo> pools;  ///< Where game sessions without matchmaking come from.

  static ClientConfig from_json(const Json& json);
  Json to_json() const;
};

/// A request for a match.
struct TicketRequest {
  std::string matchmaker;  ///< One of the configuration’s.
  std::string party_id;  ///< Match this party; only its leader may ask.
  std::map<std::string, Json> attributes;  ///< Number, text, list of texts, or numbers by text; only those that the matchmaker takes from clients.
  std::map<std::string, double> latency_ms;  ///< Milliseconds by location; default: what was reported.
  std::string team;  ///< Only where the matchmaker lets players choose.

  static TicketRequest from_json(const Json& json);
  Json to_json() const;
};

/// Who is on a ticket.
struct TicketPlayer {
  std::string player_id;  ///< The player.
  std::string team;  ///< Once matched.
  std::optional<bool> accepted;  ///< Whether the player accepts the proposed match; null: no answer yet.

  static TicketPlayer from_json(const Json& json);
  Json to_json() const;
};

/// A proposed match waits for answers.
struct Acceptance {
  std::optional<Time> deadline;  ///< When it is given up.
  std::optional<bool> mine;  ///< The asking player’s answer.

  static Acceptance from_json(const Json& json);
  Json to_json() const;
};

/// Where to play. Only for the player who asks.
struct Connection {
  std::string session_id;  ///< The game session: the region, fleet, custom location and id of its ARN, with colons in between.
  std::string ip;  ///< Its address: the IPv6 one for a client that comes over IPv6, if its machine has both.
  std::vector<std::string> addresses;  ///< All its IP addresses, that in ip first; a client that needs another kind takes that.
  std::string dns_name;  ///< Its name, which TLS needs; ip where it has none.
  std::string host;  ///< dns_name, or else ip.
  std::int64_t port = 0;  ///< Its port.
  std::string player_session_id;  ///< To show to the game server, which accepts it once (AcceptPlayerSession).

  static Connection from_json(const Json& json);
  Json to_json() const;
};

/// Where it is.
enum class TicketState {
  unknown,  ///< of a newer server
  queued,
  searching,
  requires_acceptance,
  placing,
  completed,
  failed,
  cancelled,
  timed_out,
};
/// The spelling of a value.
const char* text_of(TicketState value);

/// A request for a match, and its outcome so far.
struct Ticket {
  std::string ticket_id;  ///< Its name.
  std::string matchmaker;  ///< As asked.
  std::string party_id;  ///< As asked.
  TicketState state = TicketState::unknown;  ///< Where it is.
  std::string reason;  ///< Why it ended without a match.
  Time created_at;  ///< When it was asked.
  Time updated_at;  ///< When this changed.
  Time expires_at;  ///< When it is forgotten.
  std::optional<std::int64_t> estimated_wait_seconds;  ///< A guess.
  std::vector<TicketPlayer> players;  ///< Who is matched together.
  std::optional<Acceptance> acceptance;  ///< While a proposed match waits.
  std::string match_id;  ///< Once proposed.
  std::optional<Connection> connection;  ///< Once completed.
  std::int64_t seq = 0;  ///< Rises with each change; also the ETag.

  static Ticket from_json(const Json& json);
  Json to_json() const;
};

/// Tickets of a player.
struct Tickets {
  std::vector<Ticket> items;  ///< The newest first.

  static Tickets from_json(const Json& json);
  Json to_json() const;
};

/// An answer to a proposed match.
struct AcceptRequest {
  bool accept = false;  ///< Yes or no.

  static AcceptRequest from_json(const Json& json);
  Json to_json() const;
};

/// A new party.
struct PartyRequest {
  std::string matchmaker;  ///< That it will be matched with.
  std::optional<std::int64_t> max;  ///< Most members; default and most: the matchmaker’s.

  static PartyRequest from_json(const Json& json);
  Json to_json() const;
};

/// A way into a party.
struct PartyJoin {
  std::string code;  ///< From a member.

  static PartyJoin from_json(const Json& json);
  Json to_json() const;
};

/// A member’s own state.
struct MemberChange {
  bool ready = false;  ///< Agrees to be matched, for a minute.
  std::map<std::string, Json> attributes;  ///< As in TicketRequest.
  std::map<std::string, double> latency_ms;  ///< As in TicketRequest.

  static MemberChange from_json(const Json& json);
  Json to_json() const;
};

/// Who is in a party.
struct PartyMember {
  std::string player_id;  ///< The player.
  bool ready = false;  ///< Agrees to be matched now.

  static PartyMember from_json(const Json& json);
  Json to_json() const;
};

/// Players who want to be matched together.
struct Party {
  std::string party_id;  ///< Its name.
  std::string code;  ///< Lets others in.
  std::string leader;  ///< Who may start.
  std::string matchmaker;  ///< That it will be matched with.
  std::int64_t max = 0;  ///< Most members.
  std::vector<PartyMember> members;  ///< In order of joining.
  Time expires_at;  ///< When it ends unless used.

  static Party from_json(const Json& json);
  Json to_json() const;
};

/// A new game session.
struct SessionRequest {
  std::string pool;  ///< One of the configuration’s.
  std::string name;  ///< For people.
  std::optional<std::int64_t> max_players;  ///< Default and most: the pool’s.
  std::map<std::string, std::string> properties;  ///< Only keys that the pool allows.
  std::map<std::string, double> latency_ms;  ///< As in TicketRequest.

  static SessionRequest from_json(const Json& json);
  Json to_json() const;
};

/// Where it is.
enum class PlacementState {
  unknown,  ///< of a newer server
  pending,
  fulfilled,
  cancelled,
  timed_out,
  failed,
};
/// The spelling of a value.
const char* text_of(PlacementState value);

/// A game session on its way.
struct Placement {
  std::string placement_id;  ///< Its name.
  std::string pool;  ///< As asked.
  PlacementState state = PlacementState::unknown;  ///< Where it is.
  std::string reason;  ///< Why it ended without a game session.
  Time created_at;  ///< When it was asked.
  Time expires_at;  ///< When it is forgotten.
  std::optional<Connection> connection;  ///< Once fulfilled.
  std::int64_t seq = 0;  ///< Rises with each change; also the ETag.

  static Placement from_json(const Json& json);
  Json to_json() const;
};

/// Where it is in its life.
enum class GameSessionStatus {
  unknown,  ///< of a newer server
  activating,
  active,
  terminating,
  terminated,
};
/// The spelling of a value.
const char* text_of(GameSessionStatus value);

/// A game. It is a picture of one moment.
struct GameSession {
  std::string session_id;  ///< Its name: the region, fleet, custom location and id of its ARN, with colons in between.
  GameSessionStatus status = GameSessionStatus::unknown;  ///< Where it is in its life.
  std::string status_reason;  ///< Why it ended, where somebody ended it.
  std::string name;  ///< For people.
  std::string pool;  ///< Where it came from, unless no player made it.
  std::map<std::string, std::string> properties;  ///< As the player who created it set them; absent if no player did.
  std::int64_t players = 0;  ///< Present and expected.
  std::int64_t max_players = 0;  ///< Most players.
  bool accepts_players = false;  ///< The game lets others in, while there is room.
  std::string location;  ///< Where it is.
  Time created_at;  ///< Since when.
  std::optional<Time> ended_at;  ///< Until when, once it is over.

  static GameSession from_json(const Json& json);
  Json to_json() const;
};

/// Games that can be joined.
struct GameSessions {
  std::vector<GameSession> items;  ///< At most as many as asked.

  static GameSessions from_json(const Json& json);
  Json to_json() const;
};

/// A request to join a game session.
struct JoinRequest {
  std::string player_data;  ///< For the game server; at most 2048 characters.

  static JoinRequest from_json(const Json& json);
  Json to_json() const;
};

/// Whether the player came already.
enum class ReservationStatus {
  unknown,  ///< of a newer server
  reserved,
  active,
};
/// The spelling of a value.
const char* text_of(ReservationStatus value);

/// A place in a game.
struct Reservation {
  Connection connection;  ///< Where to play.
  ReservationStatus status = ReservationStatus::unknown;  ///< Whether the player came already.
  std::optional<Time> reserved_until;  ///< When the place is given up.

  static Reservation from_json(const Json& json);
  Json to_json() const;
};

/// Games to come back to.
struct Reservations {
  std::vector<Reservation> items;  ///< The newest first.

  static Reservations from_json(const Json& json);
  Json to_json() const;
};

/// Keeps a player out.
struct BanRequest {
  Time until;  ///< A time that has passed lifts the ban.
  std::string reason;  ///< For other operators; at most 1000 bytes.

  static BanRequest from_json(const Json& json);
  Json to_json() const;
};

/// A text frame of the WebSocket, either way.
struct Message {
  std::string type;  ///< What it is.
  std::string id;  ///< Client: to know the answer by.
  std::string re;  ///< Server: the id that this answers.
  std::string cursor;  ///< Server: give it to auth as resume to go on from here.
  Json data;  ///< Depends on the type.

  static Message from_json(const Json& json);
  Json to_json() const;
};

/// Data of the message auth.
struct SocketAuth {
  std::string access_token;  ///< Of the player.
  std::string resume;  ///< The last cursor, to be sent what changed since.

  static SocketAuth from_json(const Json& json);
  Json to_json() const;
};

/// Data of the message auth.ok.
struct SocketReady {
  std::string player_id;  ///< The player.
  Time expires_at;  ///< When the access token ends; send auth again before.
  bool resumed = false;  ///< What follows is what changed since; else: what is under way.

  static SocketReady from_json(const Json& json);
  Json to_json() const;
};

/// Data of the message token.expiring.
struct SocketExpiring {
  std::int64_t in_seconds = 0;  ///< How long the access token is still valid.

  static SocketExpiring from_json(const Json& json);
  Json to_json() const;
};

/// Data of match.cancel and match.accept.
struct SocketTicketID {
  std::string ticket_id;  ///< The ticket.
  std::optional<bool> accept;  ///< For match.accept.

  static SocketTicketID from_json(const Json& json);
  Json to_json() const;
};

class Caller;

/// The requests of the player API, as they are described, with the player's login. Each calls
/// done once. An empty text leaves a parameter out. Client has methods that do more.
class Api {
 public:
  explicit Api(Caller& caller) : caller_(caller) {}

  /// Answers without content, for measuring latency.
  Call ping(Callback<Nothing> done);

  /// What a client has to know.
  Call config(Callback<ClientConfig> done);

  /// Where games can be, and how to measure the way.
  Call locations(Callback<Locations> done);

  /// Make a guest account.
  Call create_guest(Callback<Session> done);

  /// Log a guest in.
  Call login_guest(const GuestLogin& body, Callback<Session> done);

  /// Use up a refresh token for new tokens.
  Call refresh(const RefreshRequest& body, Callback<Session> done);

  /// End logins.
  Call logout(const LogoutRequest& body, Callback<Nothing> done);

  /// Get a ticket for a WebSocket that cannot send headers.
  Call socket_ticket(Callback<SocketTicket> done);

  /// Log in with an account elsewhere.
  Call login_provider(const std::string& provider, const ProviderLogin& body, Callback<Session> done);

  /// The own account.
  Call me(Callback<Player> done);

  /// Change the own account.
  Call change_me(const PlayerChange& body, Callback<Player> done);

  /// Delete the own account with all its data.
  Call delete_me(Callback<Nothing> done);

  /// Link an account elsewhere; 409 with a conflict_token where it leads to another player.
  Call link(const std::string& provider, const ProviderLogin& body, Callback<Session> done);

  /// Unlink an account elsewhere.
  Call unlink(const std::string& provider, Callback<Nothing> done);

  /// Make one player of two, with the conflict_token of a refused link; a login of who is kept.
  Call merge(const MergeRequest& body, Callback<Session> done);

  /// All data of a namespace: private, public or server.
  Call all_data(const std::string& namespace_, Callback<DataItems> done);

  /// A value.
  Call get_data(const std::string& namespace_, const std::string& key, Callback<Answer> done);

  /// Write a value; 201 where it is new.
  Call put_data(const std::string& namespace_, const std::string& key, const Json& body, Callback<DataItem> done, const std::string& if_match = "", const std::string& if_none_match = "");

  /// Delete a value.
  Call delete_data(const std::string& namespace_, const std::string& key, Callback<Nothing> done, const std::string& if_match = "");

  /// Report what was measured.
  Call report_latency(const LatencyReport& body, Callback<LatencyResult> done);

  /// Games to come back to after a crash.
  Call reservations(Callback<Reservations> done);

  /// What anybody may know of a player.
  Call public_player(const std::string& player, Callback<PublicPlayer> done);

  /// What anybody may know of several players.
  Call look_up_players(const PlayerLookup& body, Callback<PublicPlayers> done);

  /// Ask to be matched.
  Call start_matchmaking(const TicketRequest& body, Callback<Ticket> done);

  /// The own tickets.
  Call tickets(Callback<Tickets> done, const std::string& active = "");

  /// A ticket; 304 where nothing changed; nothing where nothing changed.
  Call get_ticket(const std::string& ticket, Callback<std::optional<Ticket>> done, const std::string& wait = "", const std::string& if_none_match = "");

  /// Ask for a ticket to be cancelled.
  Call stop_matchmaking(const std::string& ticket, Callback<Ticket> done);

  /// Answer a proposed match.
  Call accept_match(const std::string& ticket, const AcceptRequest& body, Callback<Ticket> done);

  /// Make a party.
  Call create_party(const PartyRequest& body, Callback<Party> done);

  /// Join a party by its code.
  Call join_party(const PartyJoin& body, Callback<Party> done);

  /// A party one is in.
  Call get_party(const std::string& party, Callback<Party> done);

  /// Say that one is ready, or not.
  Call change_member(const std::string& party, const MemberChange& body, Callback<Party> done);

  /// Leave (me), or put somebody out, as the leader.
  Call leave_party(const std::string& party, const std::string& player, Callback<Nothing> done);

  /// Games of a pool that can be joined.
  Call list_sessions(Callback<GameSessions> done, const std::string& pool = "", const std::string& limit = "", const std::string& location = "", const std::string& filter = "", const std::string& sort = "");

  /// Ask for a new game session.
  Call create_session(const SessionRequest& body, Callback<Placement> done);

  /// A game one has a place in, or had one until a few minutes ago.
  Call get_session(const std::string& session, Callback<GameSession> done);

  /// Take a place in a game.
  Call join_session(const std::string& session, const JoinRequest& body, Callback<Reservation> done);

  /// A game session on its way; 304 where nothing changed; nothing where nothing changed.
  Call get_placement(const std::string& placement, Callback<std::optional<Placement>> done, const std::string& wait = "", const std::string& if_none_match = "");

  /// Give it up.
  Call stop_placement(const std::string& placement, Callback<Placement> done);

 private:
  Caller& caller_;
};

}  // namespace muster

# Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.
extends Reference

## What the player API takes and returns. A member that the API leaves out is "", an empty
## Array or Dictionary, or null. Times are text, as in 2026-11-23T15:04:05Z:
## MusterClient.unix_time converts them.

const Wire = preload("../internal/wire.gd")


## The kinds of problems. Newer servers may have more.
class ProblemCode extends Reference:
	const INVALID_PARAMETER = "invalid-parameter"
	const MALFORMED_JSON = "malformed-json"
	const UNKNOWN_FIELD = "unknown-field"
	const GUEST_SECRET_INVALID = "guest-secret-invalid"
	const PROVIDER_TOKEN_INVALID = "provider-token-invalid"
	const REFRESH_INVALID = "refresh-invalid"
	const REFRESH_REUSED = "refresh-reused"
	const SIGNATURE_INVALID = "signature-invalid"
	const TOKEN_EXPIRED = "token-expired"
	const TOKEN_INVALID = "token-invalid"
	const TOKEN_MISSING = "token-missing"
	const BANNED = "banned"
	const NOT_ALLOWED = "not-allowed"
	const NOT_LEADER = "not-leader"
	const REAUTH_REQUIRED = "reauth-required"
	const SCOPE_INSUFFICIENT = "scope-insufficient"
	const NOT_FOUND = "not-found"
	const PROVIDER_DISABLED = "provider-disabled"
	const ALREADY_JOINED = "already-joined"
	const CONFLICT_TOKEN_INVALID = "conflict-token-invalid"
	const IDENTITY_IN_USE = "identity-in-use"
	const LAST_CREDENTIAL = "last-credential"
	const MERGED_TOO_OFTEN = "merged-too-often"
	const NOT_AWAITING_ACCEPTANCE = "not-awaiting-acceptance"
	const NOT_GUEST = "not-guest"
	const PARTY_FULL = "party-full"
	const PARTY_NOT_READY = "party-not-ready"
	const PLACEMENT_ENDED = "placement-ended"
	const SESSION_FULL = "session-full"
	const SESSION_NOT_ACTIVE = "session-not-active"
	const TICKET_ACTIVE = "ticket-active"
	const TICKET_ENDED = "ticket-ended"
	const PRECONDITION_FAILED = "precondition-failed"
	const BODY_TOO_LARGE = "body-too-large"
	const UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
	const ATTRIBUTE_REJECTED = "attribute-rejected"
	const LATENCY_REJECTED = "latency-rejected"
	const VALIDATION_FAILED = "validation-failed"
	const LOCKED_OUT = "locked-out"
	const RATE_LIMITED = "rate-limited"
	const INTERNAL = "internal"
	const BUSY = "busy"
	const NO_CAPACITY = "no-capacity"
	const PROVIDER_UNAVAILABLE = "provider-unavailable"


## The types of the messages of the push.
class PushMessage extends Reference:
	const SUBPROTOCOL = "muster.player.v1"
	## Logs in. The first message, and again with a new token of the same player before the old one expires.
	const AUTH = "auth"
	## The player is logged in. The first one has no re: it answers the login, however the client logged in.
	const AUTH_OK = "auth.ok"
	## Is answered by pong with the same data, after all that had to be sent before.
	const PING = "ping"
	## Answers a ping.
	const PONG = "pong"
	## Requests a match. Is answered by match.ticket, or by error: ticket-active (the player is on another ticket), attribute-rejected, party-not-ready, not-leader, not-found (no such matchmaker), rate-limited.
	const MATCH_START = "match.start"
	## Cancels a ticket. Is answered by match.ticket, or by error: not-found, ticket-ended.
	const MATCH_CANCEL = "match.cancel"
	## Accepts a proposed match; without accept, or with false, rejects it. Is answered by match.ticket, or by error: not-found, not-awaiting-acceptance.
	const MATCH_ACCEPT = "match.accept"
	## A ticket as it is now: with each change, and as an answer. Once it is completed, connection says where to play.
	const MATCH_TICKET = "match.ticket"
	## The player's party as it is now.
	const PARTY = "party"
	## The player is no longer in a party.
	const PARTY_LEFT = "party.left"
	## A game session that the player requested, as it is now.
	const PLACEMENT = "placement"
	## The access token expires soon: refresh it, and send auth with the new one.
	const TOKEN_EXPIRING = "token.expiring"
	## Why a message was refused. re is absent if its id could not be read.
	const ERROR = "error"


## What went wrong (RFC 9457).
class Problem extends Reference:
	## URI of the kind of problem.
	var type := ""
	## The kind of problem in words.
	var title := ""
	## HTTP status.
	var status := 0
	## What is wrong with this request.
	var detail := ""
	## The request, as X-Request-Id names it.
	var instance := ""
	## The kind of problem, for programs.
	var code := ""
	## When to try again.
	var retry_after_seconds = null
	## When a ban ends.
	var until := ""
	## The ticket that is in the way.
	var ticket_id := ""
	## Of identity-in-use: lets the player who asked merge the two, once, within 5 minutes; not told where the other player is banned.
	var conflict_token := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Problem.new()
		it.type = Wire.text(given, "type")
		it.title = Wire.text(given, "title")
		it.status = Wire.integer(given, "status")
		it.detail = Wire.text(given, "detail")
		it.instance = Wire.text(given, "instance")
		it.code = Wire.text(given, "code")
		it.retry_after_seconds = Wire.integer(given, "retry_after_seconds", null)
		it.until = Wire.text(given, "until")
		it.ticket_id = Wire.text(given, "ticket_id")
		it.conflict_token = Wire.text(given, "conflict_token")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["type"] = Wire.plain(type)
		out["title"] = Wire.plain(title)
		out["status"] = Wire.plain(status)
		if detail != "":
			out["detail"] = Wire.plain(detail)
		out["instance"] = Wire.plain(instance)
		out["code"] = Wire.plain(code)
		if retry_after_seconds != null:
			out["retry_after_seconds"] = Wire.plain(retry_after_seconds)
		if until != "":
			out["until"] = Wire.plain(until)
		if ticket_id != "":
			out["ticket_id"] = Wire.plain(ticket_id)
		if conflict_token != "":
			out["conflict_token"] = Wire.plain(conflict_token)
		return out


## A guest who comes back.
class GuestLogin extends Reference:
	## From the account’s creation.
	var player_id := ""
	## From the account’s creation.
	var guest_secret := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = GuestLogin.new()
		it.player_id = Wire.text(given, "player_id")
		it.guest_secret = Wire.text(given, "guest_secret")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		out["guest_secret"] = Wire.plain(guest_secret)
		return out


## What a provider gave to the client.
class ProviderLogin extends Reference:
	## ID token, access token, Steam ticket in hex, or what the operator’s webhook understands.
	var token := ""
	## The raw nonce that the token was asked for with.
	var nonce := ""
	## Steam: the identity the ticket was made for.
	var identity := ""
	## Make an account where there is none; default true.
	var create = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = ProviderLogin.new()
		it.token = Wire.text(given, "token")
		it.nonce = Wire.text(given, "nonce")
		it.identity = Wire.text(given, "identity")
		it.create = Wire.boolean(given, "create", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["token"] = Wire.plain(token)
		if nonce != "":
			out["nonce"] = Wire.plain(nonce)
		if identity != "":
			out["identity"] = Wire.plain(identity)
		if create != null:
			out["create"] = Wire.plain(create)
		return out


## Which of two players to keep. The other must have no further account elsewhere, and is given up with its data.
class MergeRequest extends Reference:
	const KEEP_MINE = "mine"
	const KEEP_THEIRS = "theirs"
	## From the refused link.
	var conflict_token := ""
	## The player who asks, or the one whom the account leads to.
	var keep := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = MergeRequest.new()
		it.conflict_token = Wire.text(given, "conflict_token")
		it.keep = Wire.text(given, "keep")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["conflict_token"] = Wire.plain(conflict_token)
		out["keep"] = Wire.plain(keep)
		return out


## A refresh token to use up.
class RefreshRequest extends Reference:
	## The newest one of its login.
	var refresh_token := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = RefreshRequest.new()
		it.refresh_token = Wire.text(given, "refresh_token")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["refresh_token"] = Wire.plain(refresh_token)
		return out


## Which logins to end: the refresh token’s, or those of the access token.
class LogoutRequest extends Reference:
	## Ends its login.
	var refresh_token := ""
	## Ends all logins of the player; needs an access token.
	var all = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = LogoutRequest.new()
		it.refresh_token = Wire.text(given, "refresh_token")
		it.all = Wire.boolean(given, "all", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		if refresh_token != "":
			out["refresh_token"] = Wire.plain(refresh_token)
		if all != null:
			out["all"] = Wire.plain(all)
		return out


## An account elsewhere.
class LinkedIdentity extends Reference:
	## Its provider.
	var provider := ""
	## The end of its name there.
	var subject_hint := ""
	## Since when.
	var linked_at := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = LinkedIdentity.new()
		it.provider = Wire.text(given, "provider")
		it.subject_hint = Wire.text(given, "subject_hint")
		it.linked_at = Wire.text(given, "linked_at")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["provider"] = Wire.plain(provider)
		out["subject_hint"] = Wire.plain(subject_hint)
		out["linked_at"] = Wire.plain(linked_at)
		return out


## A login.
class Session extends Reference:
	const SCOPE_GUEST = "guest"
	const SCOPE_AUTHENTICATED = "authenticated"
	## The player.
	var player_id := ""
	## What the player has proven.
	var scope := ""
	## JWT for Authorization: Bearer.
	var access_token := ""
	## Seconds.
	var access_token_expires_in := 0
	## Gives the next login, once.
	var refresh_token := ""
	## Seconds.
	var refresh_token_expires_in := 0
	## The account is new.
	var created := false
	## Accounts elsewhere.
	var identities := []
	## Of a new guest account; shown once.
	var guest_secret := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Session.new()
		it.player_id = Wire.text(given, "player_id")
		it.scope = Wire.text(given, "scope")
		it.access_token = Wire.text(given, "access_token")
		it.access_token_expires_in = Wire.integer(given, "access_token_expires_in")
		it.refresh_token = Wire.text(given, "refresh_token")
		it.refresh_token_expires_in = Wire.integer(given, "refresh_token_expires_in")
		it.created = Wire.boolean(given, "created")
		for each in Wire.list(given, "identities"):
			Wire.add(it.identities, LinkedIdentity.from_dictionary(each))
		it.guest_secret = Wire.text(given, "guest_secret")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		out["scope"] = Wire.plain(scope)
		out["access_token"] = Wire.plain(access_token)
		out["access_token_expires_in"] = Wire.plain(access_token_expires_in)
		out["refresh_token"] = Wire.plain(refresh_token)
		out["refresh_token_expires_in"] = Wire.plain(refresh_token_expires_in)
		out["created"] = Wire.plain(created)
		out["identities"] = Wire.plain(identities)
		if guest_secret != "":
			out["guest_secret"] = Wire.plain(guest_secret)
		return out


## Lets one WebSocket in.
class SocketTicket extends Reference:
	## For the query of /ws.
	var ticket := ""
	## Seconds.
	var expires_in := 0

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SocketTicket.new()
		it.ticket = Wire.text(given, "ticket")
		it.expires_in = Wire.integer(given, "expires_in")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["ticket"] = Wire.plain(ticket)
		out["expires_in"] = Wire.plain(expires_in)
		return out


## The player’s own account.
class Player extends Reference:
	const SCOPE_GUEST = "guest"
	const SCOPE_AUTHENTICATED = "authenticated"
	## The player.
	var player_id := ""
	## Need not be unique.
	var display_name := ""
	## Since when.
	var created_at := ""
	## What the player has proven.
	var scope := ""
	## Accounts elsewhere.
	var identities := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Player.new()
		it.player_id = Wire.text(given, "player_id")
		it.display_name = Wire.text(given, "display_name")
		it.created_at = Wire.text(given, "created_at")
		it.scope = Wire.text(given, "scope")
		for each in Wire.list(given, "identities"):
			Wire.add(it.identities, LinkedIdentity.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		if display_name != "":
			out["display_name"] = Wire.plain(display_name)
		out["created_at"] = Wire.plain(created_at)
		out["scope"] = Wire.plain(scope)
		out["identities"] = Wire.plain(identities)
		return out


## What to change.
class PlayerChange extends Reference:
	## 3 to 32 printable characters.
	var display_name := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PlayerChange.new()
		it.display_name = Wire.text(given, "display_name")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["display_name"] = Wire.plain(display_name)
		return out


## A value of a player’s data.
class DataItem extends Reference:
	## Any JSON of at most 32 KiB.
	var value = null
	## Rises by one with each write; also the ETag.
	var version := 0
	## When it was written.
	var updated_at := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = DataItem.new()
		it.value = given.get("value")
		it.version = Wire.integer(given, "version")
		it.updated_at = Wire.text(given, "updated_at")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["value"] = Wire.plain(value)
		out["version"] = Wire.plain(version)
		out["updated_at"] = Wire.plain(updated_at)
		return out


## What anybody may know of a player.
class PublicPlayer extends Reference:
	## The player.
	var player_id := ""
	## Need not be unique.
	var display_name := ""
	## Public data by key.
	var data := {}

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PublicPlayer.new()
		it.player_id = Wire.text(given, "player_id")
		it.display_name = Wire.text(given, "display_name")
		for name in Wire.dictionary(given, "data"):
			it.data[name] = DataItem.from_dictionary(given["data"][name])
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		if display_name != "":
			out["display_name"] = Wire.plain(display_name)
		out["data"] = Wire.plain(data)
		return out


## Whom to look up.
class PlayerLookup extends Reference:
	## Players, at most 50.
	var ids := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PlayerLookup.new()
		it.ids = Wire.list(given, "ids")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["ids"] = Wire.plain(ids)
		return out


## What anybody may know of several players.
class PublicPlayers extends Reference:
	## In the order of the request, without players that do not exist.
	var items := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PublicPlayers.new()
		for each in Wire.list(given, "items"):
			Wire.add(it.items, PublicPlayer.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["items"] = Wire.plain(items)
		return out


## A namespace of a player’s data.
class DataItems extends Reference:
	## By key.
	var items := {}

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = DataItems.new()
		for name in Wire.dictionary(given, "items"):
			it.items[name] = DataItem.from_dictionary(given["items"][name])
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["items"] = Wire.plain(items)
		return out


## What was measured for a location.
class LatencySample extends Reference:
	const METHOD_UDP = "udp"
	const METHOD_TCP = "tcp"
	const METHOD_HTTPS = "https"
	## Its name.
	var location := ""
	## Round trip in milliseconds.
	var rtt_ms := 0.0
	## How it was measured.
	var method := ""
	## Signed by the beacon.
	var receipt := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = LatencySample.new()
		it.location = Wire.text(given, "location")
		it.rtt_ms = Wire.number(given, "rtt_ms")
		it.method = Wire.text(given, "method")
		it.receipt = Wire.text(given, "receipt")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["location"] = Wire.plain(location)
		out["rtt_ms"] = Wire.plain(rtt_ms)
		if method != "":
			out["method"] = Wire.plain(method)
		if receipt != "":
			out["receipt"] = Wire.plain(receipt)
		return out


## What was measured. Leave out what was not reached.
class LatencyReport extends Reference:
	## At most 64.
	var samples := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = LatencyReport.new()
		for each in Wire.list(given, "samples"):
			Wire.add(it.samples, LatencySample.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["samples"] = Wire.plain(samples)
		return out


## A sample that does not count.
class RejectedSample extends Reference:
	const REASON_UNKNOWN_LOCATION = "unknown-location"
	const REASON_TOO_FAR = "too-far"
	const REASON_NOT_A_NUMBER = "not-a-number"
	const REASON_REPEATED = "repeated"
	const REASON_RECEIPT_INVALID = "receipt-invalid"
	## Its name.
	var location := ""
	## Why.
	var reason := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = RejectedSample.new()
		it.location = Wire.text(given, "location")
		it.reason = Wire.text(given, "reason")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["location"] = Wire.plain(location)
		out["reason"] = Wire.plain(reason)
		return out


## What counts, for 15 minutes.
class LatencyResult extends Reference:
	## Milliseconds by location.
	var accepted := {}
	## The rest.
	var rejected := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = LatencyResult.new()
		it.accepted = Wire.dictionary(given, "accepted")
		for each in Wire.list(given, "rejected"):
			Wire.add(it.rejected, RejectedSample.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["accepted"] = Wire.plain(accepted)
		out["rejected"] = Wire.plain(rejected)
		return out


## A place where games can be.
class Location extends Reference:
	## Its name.
	var name := ""
	## HOST:PORT of a UDP beacon.
	var udp := ""
	## HOST:PORT of a TCP beacon.
	var tcp := ""
	## URL that answers GET with 204.
	var https := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Location.new()
		it.name = Wire.text(given, "name")
		it.udp = Wire.text(given, "udp")
		it.tcp = Wire.text(given, "tcp")
		it.https = Wire.text(given, "https")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["name"] = Wire.plain(name)
		if udp != "":
			out["udp"] = Wire.plain(udp)
		if tcp != "":
			out["tcp"] = Wire.plain(tcp)
		if https != "":
			out["https"] = Wire.plain(https)
		return out


## Where games can be.
class Locations extends Reference:
	## By name.
	var locations := []
	## How long this may be kept.
	var ttl_seconds := 0

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Locations.new()
		for each in Wire.list(given, "locations"):
			Wire.add(it.locations, Location.from_dictionary(each))
		it.ttl_seconds = Wire.integer(given, "ttl_seconds")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["locations"] = Wire.plain(locations)
		out["ttl_seconds"] = Wire.plain(ttl_seconds)
		return out


## A way to log in.
class ProviderInfo extends Reference:
	## For paths.
	var name := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = ProviderInfo.new()
		it.name = Wire.text(given, "name")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["name"] = Wire.plain(name)
		return out


## A way to be matched.
class MatchmakerInfo extends Reference:
	## For requests.
	var name := ""
	## Fewest players of a ticket.
	var min_party := 0
	## Most players of a ticket.
	var max_party := 0
	## A match has to be accepted.
	var acceptance := false

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = MatchmakerInfo.new()
		it.name = Wire.text(given, "name")
		it.min_party = Wire.integer(given, "min_party")
		it.max_party = Wire.integer(given, "max_party")
		it.acceptance = Wire.boolean(given, "acceptance")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["name"] = Wire.plain(name)
		out["min_party"] = Wire.plain(min_party)
		out["max_party"] = Wire.plain(max_party)
		out["acceptance"] = Wire.plain(acceptance)
		return out


## Where game sessions without matchmaking come from.
class PoolInfo extends Reference:
	## For requests.
	var name := ""
	## Players may make game sessions.
	var can_create := false
	## Players may list and join game sessions.
	var can_list := false

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PoolInfo.new()
		it.name = Wire.text(given, "name")
		it.can_create = Wire.boolean(given, "can_create")
		it.can_list = Wire.boolean(given, "can_list")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["name"] = Wire.plain(name)
		out["can_create"] = Wire.plain(can_create)
		out["can_list"] = Wire.plain(can_list)
		return out


## What a client has to know.
class ClientConfig extends Reference:
	## Of this description.
	var api_version := ""
	## Now.
	var server_time := ""
	## Ways to log in besides guest.
	var providers := []
	## For push.
	var websocket_url := ""
	## How often to ask, where no long poll is used.
	var poll_interval_ms := 0
	## Longest wait of a long poll.
	var max_wait_seconds := 0
	## Ways to be matched.
	var matchmakers := []
	## Where game sessions without matchmaking come from.
	var pools := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = ClientConfig.new()
		it.api_version = Wire.text(given, "api_version")
		it.server_time = Wire.text(given, "server_time")
		for each in Wire.list(given, "providers"):
			Wire.add(it.providers, ProviderInfo.from_dictionary(each))
		it.websocket_url = Wire.text(given, "websocket_url")
		it.poll_interval_ms = Wire.integer(given, "poll_interval_ms")
		it.max_wait_seconds = Wire.integer(given, "max_wait_seconds")
		for each in Wire.list(given, "matchmakers"):
			Wire.add(it.matchmakers, MatchmakerInfo.from_dictionary(each))
		for each in Wire.list(given, "pools"):
			Wire.add(it.pools, PoolInfo.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["api_version"] = Wire.plain(api_version)
		out["server_time"] = Wire.plain(server_time)
		out["providers"] = Wire.plain(providers)
		out["websocket_url"] = Wire.plain(websocket_url)
		out["poll_interval_ms"] = Wire.plain(poll_interval_ms)
		out["max_wait_seconds"] = Wire.plain(max_wait_seconds)
		out["matchmakers"] = Wire.plain(matchmakers)
		out["pools"] = Wire.plain(pools)
		return out


## A request for a match.
class TicketRequest extends Reference:
	## One of the configuration’s.
	var matchmaker := ""
	## Match this party; only its leader may ask.
	var party_id := ""
	## Number, text, list of texts, or numbers by text; only those that the matchmaker takes from clients.
	var attributes := {}
	## Milliseconds by location; default: what was reported.
	var latency_ms := {}
	## Only where the matchmaker lets players choose.
	var team := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = TicketRequest.new()
		it.matchmaker = Wire.text(given, "matchmaker")
		it.party_id = Wire.text(given, "party_id")
		it.attributes = Wire.dictionary(given, "attributes")
		it.latency_ms = Wire.dictionary(given, "latency_ms")
		it.team = Wire.text(given, "team")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["matchmaker"] = Wire.plain(matchmaker)
		if party_id != "":
			out["party_id"] = Wire.plain(party_id)
		if not attributes.empty():
			out["attributes"] = Wire.plain(attributes)
		if not latency_ms.empty():
			out["latency_ms"] = Wire.plain(latency_ms)
		if team != "":
			out["team"] = Wire.plain(team)
		return out


## Who is on a ticket.
class TicketPlayer extends Reference:
	## The player.
	var player_id := ""
	## Once matched.
	var team := ""
	## Whether the player accepts the proposed match; null: no answer yet.
	var accepted = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = TicketPlayer.new()
		it.player_id = Wire.text(given, "player_id")
		it.team = Wire.text(given, "team")
		it.accepted = Wire.boolean(given, "accepted", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		if team != "":
			out["team"] = Wire.plain(team)
		if accepted != null:
			out["accepted"] = Wire.plain(accepted)
		return out


## A proposed match waits for answers.
class Acceptance extends Reference:
	## When it is given up.
	var deadline := ""
	## The asking player’s answer.
	var mine = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Acceptance.new()
		it.deadline = Wire.text(given, "deadline")
		it.mine = Wire.boolean(given, "mine", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		if deadline != "":
			out["deadline"] = Wire.plain(deadline)
		out["mine"] = Wire.plain(mine)
		return out


## Where to play. Only for the player who asks.
class Connection extends Reference:
	## The game session: the region, fleet, custom location and id of its ARN, with colons in between.
	var session_id := ""
	## Its address: the IPv6 one for a client that comes over IPv6, if its machine has both.
	var ip := ""
	## All its IP addresses, that in ip first; a client that needs another kind takes that.
	var addresses := []
	## Its name, which TLS needs; ip where it has none.
	var dns_name := ""
	## dns_name, or else ip.
	var host := ""
	## Its port.
	var port := 0
	## To show to the game server, which accepts it once (AcceptPlayerSession).
	var player_session_id := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Connection.new()
		it.session_id = Wire.text(given, "session_id")
		it.ip = Wire.text(given, "ip")
		it.addresses = Wire.list(given, "addresses")
		it.dns_name = Wire.text(given, "dns_name")
		it.host = Wire.text(given, "host")
		it.port = Wire.integer(given, "port")
		it.player_session_id = Wire.text(given, "player_session_id")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["session_id"] = Wire.plain(session_id)
		if ip != "":
			out["ip"] = Wire.plain(ip)
		if not addresses.empty():
			out["addresses"] = Wire.plain(addresses)
		if dns_name != "":
			out["dns_name"] = Wire.plain(dns_name)
		out["host"] = Wire.plain(host)
		out["port"] = Wire.plain(port)
		out["player_session_id"] = Wire.plain(player_session_id)
		return out


## A request for a match, and its outcome so far.
class Ticket extends Reference:
	const STATE_QUEUED = "queued"
	const STATE_SEARCHING = "searching"
	const STATE_REQUIRES_ACCEPTANCE = "requires_acceptance"
	const STATE_PLACING = "placing"
	const STATE_COMPLETED = "completed"
	const STATE_FAILED = "failed"
	const STATE_CANCELLED = "cancelled"
	const STATE_TIMED_OUT = "timed_out"
	## Its name.
	var ticket_id := ""
	## As asked.
	var matchmaker := ""
	## As asked.
	var party_id := ""
	## Where it is.
	var state := ""
	## Why it ended without a match.
	var reason := ""
	## When it was asked.
	var created_at := ""
	## When this changed.
	var updated_at := ""
	## When it is forgotten.
	var expires_at := ""
	## A guess.
	var estimated_wait_seconds = null
	## Who is matched together.
	var players := []
	## While a proposed match waits.
	var acceptance = null
	## Once proposed.
	var match_id := ""
	## Once completed.
	var connection = null
	## Rises with each change; also the ETag.
	var seq := 0

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Ticket.new()
		it.ticket_id = Wire.text(given, "ticket_id")
		it.matchmaker = Wire.text(given, "matchmaker")
		it.party_id = Wire.text(given, "party_id")
		it.state = Wire.text(given, "state")
		it.reason = Wire.text(given, "reason")
		it.created_at = Wire.text(given, "created_at")
		it.updated_at = Wire.text(given, "updated_at")
		it.expires_at = Wire.text(given, "expires_at")
		it.estimated_wait_seconds = Wire.integer(given, "estimated_wait_seconds", null)
		for each in Wire.list(given, "players"):
			Wire.add(it.players, TicketPlayer.from_dictionary(each))
		it.acceptance = Acceptance.from_dictionary(given.get("acceptance"))
		it.match_id = Wire.text(given, "match_id")
		it.connection = Connection.from_dictionary(given.get("connection"))
		it.seq = Wire.integer(given, "seq")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["ticket_id"] = Wire.plain(ticket_id)
		out["matchmaker"] = Wire.plain(matchmaker)
		if party_id != "":
			out["party_id"] = Wire.plain(party_id)
		out["state"] = Wire.plain(state)
		if reason != "":
			out["reason"] = Wire.plain(reason)
		out["created_at"] = Wire.plain(created_at)
		out["updated_at"] = Wire.plain(updated_at)
		out["expires_at"] = Wire.plain(expires_at)
		if estimated_wait_seconds != null:
			out["estimated_wait_seconds"] = Wire.plain(estimated_wait_seconds)
		out["players"] = Wire.plain(players)
		if acceptance != null:
			out["acceptance"] = Wire.plain(acceptance)
		if match_id != "":
			out["match_id"] = Wire.plain(match_id)
		if connection != null:
			out["connection"] = Wire.plain(connection)
		out["seq"] = Wire.plain(seq)
		return out


## Tickets of a player.
class Tickets extends Reference:
	## The newest first.
	var items := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Tickets.new()
		for each in Wire.list(given, "items"):
			Wire.add(it.items, Ticket.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["items"] = Wire.plain(items)
		return out


## An answer to a proposed match.
class AcceptRequest extends Reference:
	## Yes or no.
	var accept := false

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = AcceptRequest.new()
		it.accept = Wire.boolean(given, "accept")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["accept"] = Wire.plain(accept)
		return out


## A new party.
class PartyRequest extends Reference:
	## That it will be matched with.
	var matchmaker := ""
	## Most members; default and most: the matchmaker’s.
	var max_ = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PartyRequest.new()
		it.matchmaker = Wire.text(given, "matchmaker")
		it.max_ = Wire.integer(given, "max", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["matchmaker"] = Wire.plain(matchmaker)
		if max_ != null:
			out["max"] = Wire.plain(max_)
		return out


## A way into a party.
class PartyJoin extends Reference:
	## From a member.
	var code := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PartyJoin.new()
		it.code = Wire.text(given, "code")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["code"] = Wire.plain(code)
		return out


## A member’s own state.
class MemberChange extends Reference:
	## Agrees to be matched, for a minute.
	var ready := false
	## As in TicketRequest.
	var attributes := {}
	## As in TicketRequest.
	var latency_ms := {}

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = MemberChange.new()
		it.ready = Wire.boolean(given, "ready")
		it.attributes = Wire.dictionary(given, "attributes")
		it.latency_ms = Wire.dictionary(given, "latency_ms")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["ready"] = Wire.plain(ready)
		if not attributes.empty():
			out["attributes"] = Wire.plain(attributes)
		if not latency_ms.empty():
			out["latency_ms"] = Wire.plain(latency_ms)
		return out


## Who is in a party.
class PartyMember extends Reference:
	## The player.
	var player_id := ""
	## Agrees to be matched now.
	var ready := false

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = PartyMember.new()
		it.player_id = Wire.text(given, "player_id")
		it.ready = Wire.boolean(given, "ready")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		out["ready"] = Wire.plain(ready)
		return out


## Players who want to be matched together.
class Party extends Reference:
	## Its name.
	var party_id := ""
	## Lets others in.
	var code := ""
	## Who may start.
	var leader := ""
	## That it will be matched with.
	var matchmaker := ""
	## Most members.
	var max_ := 0
	## In order of joining.
	var members := []
	## When it ends unless used.
	var expires_at := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Party.new()
		it.party_id = Wire.text(given, "party_id")
		it.code = Wire.text(given, "code")
		it.leader = Wire.text(given, "leader")
		it.matchmaker = Wire.text(given, "matchmaker")
		it.max_ = Wire.integer(given, "max")
		for each in Wire.list(given, "members"):
			Wire.add(it.members, PartyMember.from_dictionary(each))
		it.expires_at = Wire.text(given, "expires_at")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["party_id"] = Wire.plain(party_id)
		out["code"] = Wire.plain(code)
		out["leader"] = Wire.plain(leader)
		out["matchmaker"] = Wire.plain(matchmaker)
		out["max"] = Wire.plain(max_)
		out["members"] = Wire.plain(members)
		out["expires_at"] = Wire.plain(expires_at)
		return out


## A new game session.
class SessionRequest extends Reference:
	## One of the configuration’s.
	var pool := ""
	## For people.
	var name := ""
	## Default and most: the pool’s.
	var max_players = null
	## Only keys that the pool allows.
	var properties := {}
	## As in TicketRequest.
	var latency_ms := {}

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SessionRequest.new()
		it.pool = Wire.text(given, "pool")
		it.name = Wire.text(given, "name")
		it.max_players = Wire.integer(given, "max_players", null)
		it.properties = Wire.dictionary(given, "properties")
		it.latency_ms = Wire.dictionary(given, "latency_ms")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["pool"] = Wire.plain(pool)
		if name != "":
			out["name"] = Wire.plain(name)
		if max_players != null:
			out["max_players"] = Wire.plain(max_players)
		if not properties.empty():
			out["properties"] = Wire.plain(properties)
		if not latency_ms.empty():
			out["latency_ms"] = Wire.plain(latency_ms)
		return out


## A game session on its way.
class Placement extends Reference:
	const STATE_PENDING = "pending"
	const STATE_FULFILLED = "fulfilled"
	const STATE_CANCELLED = "cancelled"
	const STATE_TIMED_OUT = "timed_out"
	const STATE_FAILED = "failed"
	## Its name.
	var placement_id := ""
	## As asked.
	var pool := ""
	## Where it is.
	var state := ""
	## Why it ended without a game session.
	var reason := ""
	## When it was asked.
	var created_at := ""
	## When it is forgotten.
	var expires_at := ""
	## Once fulfilled.
	var connection = null
	## Rises with each change; also the ETag.
	var seq := 0

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Placement.new()
		it.placement_id = Wire.text(given, "placement_id")
		it.pool = Wire.text(given, "pool")
		it.state = Wire.text(given, "state")
		it.reason = Wire.text(given, "reason")
		it.created_at = Wire.text(given, "created_at")
		it.expires_at = Wire.text(given, "expires_at")
		it.connection = Connection.from_dictionary(given.get("connection"))
		it.seq = Wire.integer(given, "seq")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["placement_id"] = Wire.plain(placement_id)
		out["pool"] = Wire.plain(pool)
		out["state"] = Wire.plain(state)
		if reason != "":
			out["reason"] = Wire.plain(reason)
		out["created_at"] = Wire.plain(created_at)
		out["expires_at"] = Wire.plain(expires_at)
		if connection != null:
			out["connection"] = Wire.plain(connection)
		out["seq"] = Wire.plain(seq)
		return out


## A game. It is a picture of one moment.
class GameSession extends Reference:
	const STATUS_ACTIVATING = "ACTIVATING"
	const STATUS_ACTIVE = "ACTIVE"
	const STATUS_TERMINATING = "TERMINATING"
	const STATUS_TERMINATED = "TERMINATED"
	## Its name: the region, fleet, custom location and id of its ARN, with colons in between.
	var session_id := ""
	## Where it is in its life.
	var status := ""
	## Why it ended, where somebody ended it.
	var status_reason := ""
	## For people.
	var name := ""
	## Where it came from, unless no player made it.
	var pool := ""
	## As the player who created it set them; absent if no player did.
	var properties := {}
	## Present and expected.
	var players := 0
	## Most players.
	var max_players := 0
	## The game lets others in, while there is room.
	var accepts_players := false
	## Where it is.
	var location := ""
	## Since when.
	var created_at := ""
	## Until when, once it is over.
	var ended_at := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = GameSession.new()
		it.session_id = Wire.text(given, "session_id")
		it.status = Wire.text(given, "status")
		it.status_reason = Wire.text(given, "status_reason")
		it.name = Wire.text(given, "name")
		it.pool = Wire.text(given, "pool")
		it.properties = Wire.dictionary(given, "properties")
		it.players = Wire.integer(given, "players")
		it.max_players = Wire.integer(given, "max_players")
		it.accepts_players = Wire.boolean(given, "accepts_players")
		it.location = Wire.text(given, "location")
		it.created_at = Wire.text(given, "created_at")
		it.ended_at = Wire.text(given, "ended_at")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["session_id"] = Wire.plain(session_id)
		out["status"] = Wire.plain(status)
		if status_reason != "":
			out["status_reason"] = Wire.plain(status_reason)
		if name != "":
			out["name"] = Wire.plain(name)
		if pool != "":
			out["pool"] = Wire.plain(pool)
		out["properties"] = Wire.plain(properties)
		out["players"] = Wire.plain(players)
		out["max_players"] = Wire.plain(max_players)
		out["accepts_players"] = Wire.plain(accepts_players)
		out["location"] = Wire.plain(location)
		out["created_at"] = Wire.plain(created_at)
		if ended_at != "":
			out["ended_at"] = Wire.plain(ended_at)
		return out


## Games that can be joined.
class GameSessions extends Reference:
	## At most as many as asked.
	var items := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = GameSessions.new()
		for each in Wire.list(given, "items"):
			Wire.add(it.items, GameSession.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["items"] = Wire.plain(items)
		return out


## A request to join a game session.
class JoinRequest extends Reference:
	## For the game server; at most 2048 characters.
	var player_data := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = JoinRequest.new()
		it.player_data = Wire.text(given, "player_data")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		if player_data != "":
			out["player_data"] = Wire.plain(player_data)
		return out


## A place in a game.
class Reservation extends Reference:
	const STATUS_RESERVED = "RESERVED"
	const STATUS_ACTIVE = "ACTIVE"
	## Where to play.
	var connection = null
	## Whether the player came already.
	var status := ""
	## When the place is given up.
	var reserved_until := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Reservation.new()
		it.connection = Connection.from_dictionary(given.get("connection"))
		it.status = Wire.text(given, "status")
		it.reserved_until = Wire.text(given, "reserved_until")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["connection"] = Wire.plain(connection)
		out["status"] = Wire.plain(status)
		if reserved_until != "":
			out["reserved_until"] = Wire.plain(reserved_until)
		return out


## Games to come back to.
class Reservations extends Reference:
	## The newest first.
	var items := []

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = Reservations.new()
		for each in Wire.list(given, "items"):
			Wire.add(it.items, Reservation.from_dictionary(each))
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["items"] = Wire.plain(items)
		return out


## Data of the message auth.
class SocketAuth extends Reference:
	## Of the player.
	var access_token := ""
	## The last cursor, to be sent what changed since.
	var resume := ""

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SocketAuth.new()
		it.access_token = Wire.text(given, "access_token")
		it.resume = Wire.text(given, "resume")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["access_token"] = Wire.plain(access_token)
		if resume != "":
			out["resume"] = Wire.plain(resume)
		return out


## Data of the message auth.ok.
class SocketReady extends Reference:
	## The player.
	var player_id := ""
	## When the access token ends; send auth again before.
	var expires_at := ""
	## What follows is what changed since; else: what is under way.
	var resumed := false

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SocketReady.new()
		it.player_id = Wire.text(given, "player_id")
		it.expires_at = Wire.text(given, "expires_at")
		it.resumed = Wire.boolean(given, "resumed")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["player_id"] = Wire.plain(player_id)
		out["expires_at"] = Wire.plain(expires_at)
		out["resumed"] = Wire.plain(resumed)
		return out


## Data of the message token.expiring.
class SocketExpiring extends Reference:
	## How long the access token is still valid.
	var in_seconds := 0

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SocketExpiring.new()
		it.in_seconds = Wire.integer(given, "in_seconds")
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["in_seconds"] = Wire.plain(in_seconds)
		return out


## Data of match.cancel and match.accept.
class SocketTicketID extends Reference:
	## The ticket.
	var ticket_id := ""
	## For match.accept.
	var accept = null

	## Returns what a Dictionary of the API says; null if it is none. Members that are not known
	## are ignored.
	static func from_dictionary(given):
		if not given is Dictionary:
			return null
		var it = SocketTicketID.new()
		it.ticket_id = Wire.text(given, "ticket_id")
		it.accept = Wire.boolean(given, "accept", null)
		return it

	## Returns it as a Dictionary of the API, without what is absent.
	func to_dictionary() -> Dictionary:
		var out = {}
		out["ticket_id"] = Wire.plain(ticket_id)
		if accept != null:
			out["accept"] = Wire.plain(accept)
		return out

extends Reference
class_name MusterError

## Why a call failed.

## The server refused a request: code is for programs, detail for people.
const PROBLEM = "problem"
## The server was not reached, or what answered is not the server.
const NETWORK = "network"
## The server did not answer in time.
const TIMEOUT = "timeout"
## The call needs a login, and there is none to come back to.
const LOGGED_OUT = "logged_out"
## A ticket ended without a match.
const MATCH = "match"
## A placement ended without a game session.
const PLACEMENT = "placement"
## The client was closed.
const CLOSED = "closed"
## The call was cancelled.
const CANCELLED = "cancelled"
## The call cannot be made in this way.
const USAGE = "usage"

## One of the constants above.
var kind := ""
## What is wrong, for people.
var detail := ""
## Of a problem: what is wrong, for programs, such as ticket-active (Types.ProblemCode).
var code := ""
## Of a problem: the HTTP status.
var status := 0
## Of a problem: the kind of problem in words.
var title := ""
## Of a problem: the request, as the server's log names it.
var instance := ""
## Of a problem: the member of the request that is wrong, as a JSON pointer such as /matchmaker.
var member := ""
## Of a problem: how many seconds to wait before another attempt; below 0: not said.
var retry_after_seconds := -1.0
## Of ticket-active: the ticket that is in the way.
var ticket_id := ""
## Of banned: when the ban ends.
var until := ""
## Of identity-in-use: lets the player merge the two accounts, once. It is a secret.
var conflict_token := ""
## Of a problem: members that this class does not name.
var extensions := {}
## Of the kind MATCH: the ticket as it ended.
var ticket = null
## Of the kind PLACEMENT: the placement as it ended.
var placement = null

const Wire = preload("internal/wire.gd")

const _NAMED = [
	"type", "title", "status", "detail", "instance", "code", "retry_after_seconds", "until", "ticket_id", "conflict_token",
]


## Returns an error.
static func of(error_kind: String, text: String):
	var it = load("res://addons/muster/muster_error.gd").new()
	it.kind = error_kind
	it.detail = text
	return it


## Returns the problem of an answer. body is its JSON, or what else answered; retry_after is the
## header, or "".
static func problem(http_status: int, body, retry_after: String):
	var given = body if body is Dictionary and body.get("code") is String else {}
	var it = of(PROBLEM, str(given.get("detail", "")))
	it.status = http_status
	it.code = str(given.get("code", "http-%d" % http_status))
	it.title = str(given.get("title", ""))
	it.instance = str(given.get("instance", ""))
	it.ticket_id = str(given.get("ticket_id", ""))
	it.until = str(given.get("until", ""))
	it.conflict_token = str(given.get("conflict_token", ""))
	var colon = it.detail.find(":")
	if it.detail.begins_with("/") and colon > 0 and not " " in it.detail.substr(0, colon):
		it.member = it.detail.substr(0, colon)
	it.retry_after_seconds = Wire.number(given, "retry_after_seconds", _retry_after(retry_after.strip_edges()))
	for name in given:
		if not name in _NAMED:
			it.extensions[name] = given[name]
	return it


# Returns the seconds of a header Retry-After, which has them or a time; below 0: neither.
static func _retry_after(header: String) -> float:
	if header.is_valid_integer():
		return max(0.0, header.to_float())
	var time = Wire.http_time(header)
	return max(0.0, time - OS.get_unix_time()) if time > 0 else -1.0


## Returns the error of a ticket that ended without a match.
static func of_ticket(row):
	var why = "" if row.reason == "" else ": " + row.reason
	var it = of(MATCH, "ticket %s is %s%s" % [row.ticket_id, row.state, why])
	it.ticket = row
	return it


## Returns the error of a placement that ended without a game session.
static func of_placement(row):
	var why = "" if row.reason == "" else ": " + row.reason
	var it = of(PLACEMENT, "placement %s is %s%s" % [row.placement_id, row.state, why])
	it.placement = row
	return it


## Reports whether the error may be gone at the next attempt.
func is_temporary() -> bool:
	if kind == PROBLEM:
		return status == 429 or (status >= 502 and status <= 504)
	return kind == NETWORK or kind == TIMEOUT


## Reports whether it is a problem of one of these codes.
func is_problem(codes: Array) -> bool:
	return kind == PROBLEM and code in codes


func _to_string() -> String:
	return (code if code != "" else kind) + ("" if detail == "" else ": " + detail)

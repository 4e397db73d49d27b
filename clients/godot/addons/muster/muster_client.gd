extends "generated/calls.gd"
class_name MusterClient

## A player of a game that Muster hosts. It is a node: it works while it is in the tree, also
## while the game is paused.
##
##     var client = MusterClient.new()
##     client.url = "https://play.example.com"
##     add_child(client)
##     yield(client.login_guest(), "completed")
##     var call = yield(client.find_match({"matchmaker": "ranked"}), "completed")
##     if call.error:
##         print(call.error)
##
## Each call returns a MusterCall, which ends with a value or with a MusterError. Calls that can
## be repeated safely are repeated a few times first.

## A ticket of the player has changed (Types.Ticket).
signal ticket_changed(ticket)
## The player's party has changed (Types.Party).
signal party_changed(party)
## The player is no longer in a party.
signal party_left()
## A game session that the player requested is closer, or there (Types.Placement).
signal placement_changed(placement)
## Changes are received in another way now: one of the PUSH constants, and the close code of the
## last WebSocket, 0 if it had none.
signal push_changed(state, code)
## Another player is logged in, or none, or the player has proven more or less.
signal session_changed(player_id, is_logged_in)

const Account = preload("internal/account.gd")
const Answer = preload("internal/answer.gd")
const Call = preload("muster_call.gd")
const Clock = preload("internal/clock.gd")
const Failure = preload("muster_error.gd")
const Http = preload("internal/http.gd")
const Latency = preload("internal/latency.gd")
const Matches = preload("internal/matches.gd")
const MemoryTokenStore = preload("token_store.gd")
const Push = preload("internal/push.gd")
const Wire = preload("internal/wire.gd")

## Changes are not received: nothing needs them, or another client of the player has replaced
## this one.
const PUSH_CLOSED = Push.CLOSED
## A WebSocket is opened.
const PUSH_CONNECTING = Push.CONNECTING
## Changes come by WebSocket.
const PUSH_CONNECTED = Push.CONNECTED
## The WebSocket was cut.
const PUSH_RECONNECTING = Push.RECONNECTING
## Changes are asked for, until a WebSocket can be opened.
const PUSH_POLLING = Push.POLLING

# Rows that are remembered, to report each change once.
const _MOST_KNOWN = 200

## The server's URL, such as https://play.example.com. Set it before the first call.
export(String) var url := ""
## How many milliseconds an answer may take. Set it before the first call.
export(int) var timeout_ms := 15000
## How often to ask where there is no push, in milliseconds. Set it before the first call.
export(int) var poll_interval_ms := 2000
## false: changes are asked for, without a WebSocket. Set it before the first call.
export(bool) var use_push := true
## Keeps the login, a MusterTokenStore; default: in memory, so that it ends with the game. Set it
## before the first call.
var token_store = MemoryTokenStore.new()

var _clock = null
var _http
var _account = null
var _push
var _latency
var _matches
var _calls := []
var _closed = null # MusterError
var _is_push_held := false
var _known := {} # seq of tickets and placements, by id
var _pending := {} # ids of placements that have not ended
var _party_id := ""
var _party_text := ""


func _init():
	pause_mode = PAUSE_MODE_PROCESS


func _process(_delta):
	if _clock == null:
		return
	_http.tick()
	_push.tick()
	_clock.tick()


func _notification(what):
	if what == NOTIFICATION_PREDELETE:
		close()


## Ends everything that is under way, with an error of the kind CLOSED. The login remains in the
## store. A client that was closed is of no more use.
func close():
	if _closed != null:
		return
	_closed = Failure.of(Failure.CLOSED, "the client was closed")
	if _clock == null:
		return
	_push.stop()
	for call in _calls.duplicate():
		call._give_up(_closed)
	_account.close(_closed)
	_latency.close()
	_http.close()


## Returns who is logged in, or was last; "" before the first login.
func player_id() -> String:
	return _account.player_id() if _has_account() else ""


## Reports whether there is a login. A login that the server has refused is over.
func is_logged_in() -> bool:
	return _has_account() and _account.is_logged_in()


## Returns what the player has proven: guest or authenticated; "" before the first login.
func scope() -> String:
	return _account.scope() if _has_account() else ""


## Returns how changes are received, one of the PUSH constants.
func push_state() -> String:
	return PUSH_CLOSED if _clock == null else _push.state


## Returns the seconds since 1970 of a time of the API; 0 for "".
static func unix_time(moment: String) -> float:
	return Wire.unix_time(moment)


# Logins


## Logs in with what the store has, or else makes a guest account.
## display_name: of a new account. Its value is the player's id.
func login_guest(display_name := ""):
	return _start("_log_guest_in", [display_name])


## Logs in with an account elsewhere, such as one of Steam. A player is made unless create is
## false. login: ProviderLogin. Its value is the player's id.
func login_provider(provider: String, login):
	return _start("_enter", [Request.new("POST", ["auth", provider]).with_body(login).by_anybody()])


## Links an account elsewhere to the player. If it belongs to another player, the error's code is
## identity-in-use, and its conflict_token is for merge. login: ProviderLogin.
func link(provider: String, login):
	return _start("_enter", [Request.new("PUT", ["players", "me", "identities", provider]).with_body(login)])


## Unlinks an account elsewhere.
func unlink(provider: String):
	return _call(Request.new("DELETE", ["players", "me", "identities", provider]), null)


## Makes one player of two. The player not kept is deleted for good: let the person choose.
## request: MergeRequest.
func merge(request):
	return _start("_enter", [Request.new("POST", ["players", "me", "merge"]).with_body(request)])


## Ends this login, or all logins of the player. A guest can log in again.
func logout(everywhere := false):
	return _start("_log_out", [everywhere])


## Deletes the player with all data.
func delete_me():
	return _start("_delete_me")


## Removes the stored login, a guest's secret too, without a request.
func forget():
	return _start("_forget")


# Data


## Reads a value of the player's data. Its value: DataItem, without updated_at.
func get_data(namespace: String, key: String):
	return _start("_get_data", [Request.new("GET", ["players", "me", "data", namespace, key])])


## Writes a value, any JSON, of the player's data. With a version the error's code may be
## precondition-failed; 0: only if there is no value. Its value is the DataItem.
func put_data(namespace: String, key: String, value, version = null):
	var request = Request.new("PUT", ["players", "me", "data", namespace, key]).with_json(value).repeatable(version == null)
	if version != null and int(version) == 0:
		request.with_header("If-None-Match", "*")
	elif version != null:
		request.with_header("If-Match", '"%d"' % int(version))
	return _call(request, Types.DataItem)


## Deletes a value of the player's data; with a version, only if that is its version.
func delete_data(namespace: String, key: String, version = null):
	var request = Request.new("DELETE", ["players", "me", "data", namespace, key])
	if version != null:
		request.with_header("If-Match", '"%d"' % int(version))
	return _call(request, null)


# Latency


## Measures the way to the locations where games can be, in a thread. Pass the result on:
## report_latency({"samples": call.value}). A location that is not reached is left out.
## options: samples (5), timeout_ms of one round trip (1000), deadline_ms of all (6000),
## http_only (false), receipts (false): beacons sign what they measure, which some matchmakers
## require. Its value is an Array of LatencySample.
func measure_latency(options := {}):
	return _start("_measure", [options])


# Matchmaking


## Requests a match, answers what is proposed, and finds where to play. If the call is cancelled,
## the ticket is stopped. The error's kind is MATCH if there was no match.
## request: TicketRequest. accept: whether to accept a proposed match: a bool; a FuncRef that
## takes the Ticket and returns one, perhaps after a yield; null: the game calls accept_match.
## The call emits changed with each Ticket; its value: Connection.
func find_match(request, accept = true):
	return _start("find_match", [Wire.plain(request), accept])


## Follows a ticket to its end. The call emits changed with each Ticket; its value is the last.
func follow_ticket(ticket_id: String):
	return _start("follow", ["ticket", ticket_id, null])


## Leaves a party; with a player, puts that member out, which only the leader may.
func leave_party(party_id, player_id := "me"):
	return .leave_party(party_id, player_id)


# Game sessions


## Requests a new game session and finds where to play. If the call is cancelled, the request is
## given up. The error's kind is PLACEMENT if there was none. request: SessionRequest. Its value
## is a Connection.
func host_session(request):
	return _start("host_session", [request])


## Follows a placement to its end. The error's kind is PLACEMENT if it is not fulfilled. The call
## emits changed with each Placement; its value is the last.
func follow_placement(placement_id: String):
	return _start("follow_placement", [placement_id])


# Push


## Receives changes, which the signals report, until disconnect_push. Without it they come while
## something is followed.
func connect_push():
	var error = _prepare()
	if error != null:
		push_error(str(error))
		return
	if not _is_push_held:
		_is_push_held = true
		_push.acquire()
	_push.revive()


## Ends what connect_push has begun. What is followed is still followed.
func disconnect_push():
	if _is_push_held:
		_is_push_held = false
		_push.release()


# Beneath


# Builds what is needed. Returns a MusterError, or null.
func _prepare():
	if _closed != null:
		return _closed
	if _clock != null:
		return null
	var clock = Clock.new()
	_http = Http.new(clock)
	var why = _http.open(url)
	if why != "":
		return Failure.of(Failure.USAGE, why)
	_http.timeout_ms = timeout_ms
	_account = Account.new(_http, token_store)
	_account.connect("changed", self, "_on_login")
	_push = Push.new(_http, _account, clock)
	_push.has_socket = use_push
	_push.poll_interval_ms = poll_interval_ms
	_push.poll = funcref(self, "_poll")
	_push.connect("ticket", self, "_on_ticket")
	_push.connect("party", self, "_on_party")
	_push.connect("party_left", self, "_on_party_left")
	_push.connect("placement", self, "_on_placement")
	_push.connect("changed", self, "_on_push")
	_latency = Latency.new()
	_matches = Matches.new(self, _account, _push, clock)
	_clock = clock
	_account.load_login()
	return null


# Reports whether it is known who is logged in: the URL is right, or was before the client was closed.
func _has_account() -> bool:
	return _account != null or _prepare() == null


# Starts a method that takes a MusterCall and returns an Answer, at the end of the frame: a call
# never ends before it was returned. It is a method of Matches if its name has no _ ahead.
func _start(method: String, arguments := []):
	var call = Call.new()
	var error = _prepare()
	if error == null and not is_inside_tree():
		error = Failure.of(Failure.USAGE, "the client is not in the tree: add it as a child of a node first")
	if error != null:
		call._settle(Answer.of_error(error))
		return call
	_calls.append(call)
	call_deferred("_run", call, method, arguments)
	return call


func _run(call, method: String, arguments: Array):
	var answer
	if call._given_up != null:
		answer = Answer.of_error(call._given_up)
	else:
		var who = self if method.begins_with("_") else _matches
		answer = who.callv(method, [call] + arguments)
		if answer is GDScriptFunctionState:
			answer = yield(answer, "completed")
	_calls.erase(call)
	call._settle(answer)


func _call(request, type):
	return _start("_perform", [request, type])


# Makes a request and converts its answer.
func _perform(call, request, type):
	if request.mistake != "":
		return Answer.of_error(Failure.of(Failure.USAGE, request.mistake))
	if request.place == "/players/lookup":
		request.repeatable(true)
	var answer = yield((_account if request.as_player else _http).send(request, call), "completed")
	if answer.error != null or type == null or answer.status in [0, 204, 304]:
		return answer
	var it = type.from_dictionary(answer.body)
	if it == null:
		return Answer.of_error(Failure.of(Failure.NETWORK, "%s %s: what answered is not the server" % [request.method, request.place]))
	answer.body = it
	if it is Types.Party:
		_party_id = it.party_id
	elif it is Types.Placement:
		_note(it)
	elif it is Types.Ticket and not _known.has(it.ticket_id):
		_known[it.ticket_id] = 0 # even if it ends before the next poll
	return answer


func _enter(call, request):
	if request.mistake != "":
		return Answer.of_error(Failure.of(Failure.USAGE, request.mistake))
	request.repeatable(false) # what proves an account works once
	return _logged_in(yield(call._until(_account.enter(request)), "completed"))


func _log_guest_in(call, display_name: String):
	var end = yield(call._until(_account.log_guest_in()), "completed")
	if end.error == null and end.value.error == null and end.value.body.created and display_name != "":
		var change = Request.new("PATCH", ["players", "me"]).with_body({"display_name": display_name})
		var answer = yield(_account.send(change, call), "completed")
		if answer.error != null:
			return answer
	return _logged_in(end)


# Returns the Answer of a login, whose body is the player.
func _logged_in(end):
	if end.error != null:
		return Answer.of_error(end.error)
	var answer = Answer.of_error(end.value.error)
	answer.body = _account.player_id()
	return answer


func _log_out(call, everywhere: bool):
	var refresh = _account.refresh_token()
	if refresh == "":
		return Answer.new()
	var body = {"all": true} if everywhere else {"refresh_token": refresh}
	var answer = yield(_account.send(Request.new("POST", ["auth", "logout"]).with_body(body), call), "completed")
	if answer.error != null and answer.error.kind != Failure.LOGGED_OUT: # else the login had ended already
		return answer
	return _forgotten(yield(call._until(_account.forget(false)), "completed"))


func _delete_me(call):
	var answer = yield(_account.send(Request.new("DELETE", ["players", "me"]), call), "completed")
	if answer.error != null:
		return answer
	return _forgotten(yield(call._until(_account.forget(true)), "completed"))


func _forget(call):
	return _forgotten(yield(call._until(_account.forget(true)), "completed"))


func _forgotten(end):
	return Answer.of_error(end.error if end.error != null else end.value)


func _get_data(call, request):
	if request.mistake != "":
		return Answer.of_error(Failure.of(Failure.USAGE, request.mistake))
	var answer = yield(_account.send(request, call), "completed")
	if answer.error == null:
		var item = Types.DataItem.new()
		item.value = answer.body
		item.version = int(answer.headers.get("etag", "").replace("W/", "").replace('"', ""))
		answer.body = item
	return answer


func _measure(call, options: Dictionary):
	var answer = yield(_http.send(Request.new("GET", ["locations"]), call), "completed")
	if answer.error != null:
		return answer
	var locations = Types.Locations.from_dictionary(answer.body)
	var end = yield(call._hold(_latency.measure(locations.locations if locations != null else [], options)), "completed")
	answer = Answer.of_error(end.error)
	answer.body = end.value
	return answer


func _on_login(is_other: bool):
	if is_other:
		_known.clear()
		_pending.clear()
		_party_id = ""
		_party_text = ""
		if _account.is_logged_in():
			_push.restart()
		else:
			_push.stop()
	call_deferred("emit_signal", "session_changed", _account.player_id(), _account.is_logged_in())


# Signals are emitted at the end of the frame, when no function of the client is under way.


func _on_ticket(ticket):
	if _is_news(ticket.ticket_id, ticket.seq):
		call_deferred("emit_signal", "ticket_changed", ticket)


func _on_placement(placement):
	_note(placement)
	if _is_news(placement.placement_id, placement.seq):
		call_deferred("emit_signal", "placement_changed", placement)


func _on_party(party):
	_party_id = party.party_id
	var text = Wire.write(party.to_dictionary())
	if text != _party_text:
		_party_text = text
		call_deferred("emit_signal", "party_changed", party)


func _on_party_left():
	_party_id = ""
	_party_text = ""
	call_deferred("emit_signal", "party_left")


func _on_push(state: String, code: int):
	call_deferred("emit_signal", "push_changed", state, code)


# Remembers a row, and reports whether it was not seen before.
func _is_news(id: String, seq: int) -> bool:
	if _known.get(id, 0) >= seq:
		return false
	_known.erase(id) # to the end of the order
	_known[id] = seq
	if _known.size() > _MOST_KNOWN:
		_known.erase(_known.keys()[0])
	return true


func _note(placement):
	if Matches.has_ended(placement):
		_pending.erase(placement.placement_id)
	else:
		_pending[placement.placement_id] = true


# Reads once what the push would report.
func _poll(scope):
	var answer = yield(_account.send(Request.new("GET", ["matchmaking", "tickets"]), scope), "completed")
	var tickets = Types.Tickets.from_dictionary(answer.body) if answer.error == null else null
	for ticket in tickets.items if tickets != null else []:
		if _known.has(ticket.ticket_id) or not Matches.has_ended(ticket):
			_push.emit_signal("ticket", ticket)
	for id in _pending.keys():
		if scope._given_up != null:
			return
		answer = yield(_account.send(Request.new("GET", ["placements", id]), scope), "completed")
		var placement = Types.Placement.from_dictionary(answer.body) if answer.error == null else null
		if placement != null:
			_push.emit_signal("placement", placement)
		elif answer.error != null and answer.error.status == 404:
			_pending.erase(id)
	if _party_id == "" or scope._given_up != null:
		return
	answer = yield(_account.send(Request.new("GET", ["parties", _party_id]), scope), "completed")
	var party = Types.Party.from_dictionary(answer.body) if answer.error == null else null
	if party != null:
		_push.emit_signal("party", party)
	elif answer.error != null and answer.error.status == 404:
		_push.emit_signal("party_left")

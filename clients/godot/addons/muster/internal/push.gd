extends Reference

## A WebSocket that resumes where it was interrupted, shared by all that follow something. While
## there is none, what is followed is polled.

signal ticket(ticket)
signal party(party)
signal party_left()
signal placement(placement)
## The state, one of the constants of MusterClient, has changed.
signal changed(state, code)

const Call = preload("../muster_call.gd")
const Failure = preload("../muster_error.gd")
const Resolver = preload("resolver.gd")
const Socket = preload("socket.gd")
const Types = preload("../generated/types.gd")
const Wire = preload("wire.gd")

const CLOSED = "closed"
const CONNECTING = "connecting"
const CONNECTED = "connected"
const RECONNECTING = "reconnecting"
const POLLING = "polling"

# Close codes of the server.
const _UNAUTHORIZED = 4401
const _REPLACED = 4409
const _TOO_MANY = 4429
const _LOST = 1006
# Failures in a row until the client polls.
const _FAILURES_TO_POLL = 3
# A connection that was open for less counts as a failure.
const _STABLE_MS = 10000
const _SLOW_DOWN_MS = 5000

var state := CLOSED
## The close code of the last WebSocket; 0 if it had none.
var code := 0
## false: there is no WebSocket, and changes are polled.
var has_socket := true
## How often to ask while there is no WebSocket, in milliseconds.
var poll_interval_ms := 2000
## Reads once, within a MusterCall, what the push would report.
var poll: FuncRef

var _http
var _account
var _clock
var _resolver
var _users := 0
var _running = null # MusterCall of the loop
var _polling = null # MusterCall of the polls
var _is_replaced := false
var _cursor := ""
var _player := ""
var _connections := 0
var _socket = null
var _token := ""
var _closing := [] # sockets


func _init(http, account, clock):
	_http = http
	_account = account
	_clock = clock
	_resolver = Resolver.new(clock)


## Returns the number of the connection that is open, which no other has; 0 if there is none.
func connection() -> int:
	return _connections if state == CONNECTED else 0


## Keeps the push open until release is called.
func acquire():
	_users += 1
	_start()


func release():
	_users -= 1
	if _users == 0:
		stop()


## Connects again after a connection was replaced by another client's.
func revive():
	_is_replaced = false
	_start()


## Ends the connection, for example because the player has logged out.
func stop():
	var running = _running
	_running = null
	if running != null:
		running.cancel()
	_become(CLOSED, 0)


## Connects as the player who is logged in now.
func restart():
	if _running != null and _player == "":
		return # it has waited for the login
	stop()
	_cursor = ""
	_start()


## Goes on with what is under way.
func tick():
	if _socket != null and not _socket.tick() and _socket.is_done:
		_socket = null
	for i in range(_closing.size() - 1, -1, -1):
		if not _closing[i].tick():
			_closing.remove(i)


# change returns when the state has changed, or with the call's error when that is given up.
func change(call):
	var wait = Changed.new()
	connect("changed", wait, "_on_changed")
	return yield(call._hold(wait), "completed")


class Changed extends "pending.gd":
	func _on_changed(_state, _code):
		finish()


func _start():
	if _running == null and _users > 0 and not _is_replaced:
		_running = Call.new()
		call_deferred("_run", _running)


func _become(next: String, with_code: int):
	var is_same = state == next and code == with_code
	state = next
	code = with_code
	if state == POLLING and _polling == null:
		_polling = Call.new()
		call_deferred("_poll", _polling)
	elif state != POLLING and _polling != null:
		var polling = _polling
		_polling = null
		polling.cancel()
	if not is_same:
		emit_signal("changed", state, code)


# Connects again and again, until the scope is given up or there is no use.
func _run(scope):
	if scope._given_up != null:
		return
	if not has_socket:
		_become(POLLING, 0)
		return
	var stale = ""
	var failures = 0
	_become(CONNECTING, 0)
	while scope._given_up == null:
		var ended = null
		var token = _account.access(stale, scope)
		if token is GDScriptFunctionState:
			token = yield(token, "completed")
		if scope._given_up != null:
			return
		if token.error == null:
			var is_known = _resolver.look_up(_http.host(), scope)
			if is_known is GDScriptFunctionState:
				is_known = yield(is_known, "completed")
			if is_known and scope._given_up == null:
				ended = yield(_connect(token.body, scope), "completed")
			if scope._given_up != null:
				return
		elif token.error.kind == Failure.LOGGED_OUT or (token.error.kind == Failure.PROBLEM and not token.error.is_temporary()):
			stop() # such as a player who is banned
			return
		if ended != null and ended.code == _REPLACED:
			_is_replaced = true
			_running = null
			_become(CLOSED, ended.code)
			return
		stale = _token if ended != null and ended.code == _UNAUTHORIZED else ""
		failures = 0 if ended != null and ended.lived_ms >= _STABLE_MS else failures + 1
		var why = ended.code if ended != null and ended.code != _LOST else 0
		_become(POLLING if failures >= _FAILURES_TO_POLL else RECONNECTING, why)
		var pause_ms = _clock.backoff(failures) + (_SLOW_DOWN_MS if why == _TOO_MANY else 0)
		if scope._given_up == null:
			yield(_clock.sleep(pause_ms, scope), "completed")


func _connect(token: String, scope):
	if _account.player_id() != _player:
		_player = _account.player_id()
		_cursor = "" # it is another player's
	var socket = Socket.new()
	if _socket != null:
		_closing.append(_socket)
	_socket = socket
	_token = token
	socket.connect("message", self, "_on_message", [scope])
	socket.open(_http.push_url(), token, _cursor)
	yield(scope._hold(socket), "completed")
	return socket


func _on_message(message: Dictionary, scope):
	if message.get("cursor") is String:
		_cursor = message["cursor"]
	var data = message.get("data")
	match message["type"]:
		Types.PushMessage.AUTH_OK:
			if state != CONNECTED:
				_connections += 1
			_become(CONNECTED, 0)
		Types.PushMessage.TOKEN_EXPIRING:
			_log_in_again(_socket, scope)
		Types.PushMessage.MATCH_TICKET:
			_report("ticket", Types.Ticket.from_dictionary(data))
		Types.PushMessage.PARTY:
			_report("party", Types.Party.from_dictionary(data))
		Types.PushMessage.PLACEMENT:
			_report("placement", Types.Placement.from_dictionary(data))
		Types.PushMessage.PARTY_LEFT:
			emit_signal("party_left")


# Goes on with a new token. If the login has ended, the server closes the connection.
func _log_in_again(socket, scope):
	var fresh = _account.access(_token, scope)
	if fresh is GDScriptFunctionState:
		fresh = yield(fresh, "completed")
	if fresh.error == null and not socket.is_done:
		_token = fresh.body
		socket.send({"type": Types.PushMessage.AUTH, "data": {"access_token": _token}})


# Reports a row; what is none is ignored.
func _report(name: String, row):
	if row != null:
		emit_signal(name, row)


func _poll(scope):
	while scope._given_up == null:
		var polled = poll.call_func(scope)
		if polled is GDScriptFunctionState:
			yield(polled, "completed")
		yield(_clock.sleep(poll_interval_ms, scope), "completed")

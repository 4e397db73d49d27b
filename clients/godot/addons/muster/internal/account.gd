extends Reference

## The login that requests are made with. It is renewed ahead of its end, by one request at a
## time, and saved before it is used.

## Another player is logged in, or none; without is_other, the same one has proven more or less.
signal changed(is_other)

const Answer = preload("answer.gd")
const Call = preload("../muster_call.gd")
const Failure = preload("../muster_error.gd")
const Pending = preload("pending.gd")
const Request = preload("request.gd")
const Types = preload("../generated/types.gd")

# The share of an access token's life after which it is renewed.
const _RENEW_AFTER = 0.8
# How many tokens are tried: the own one, one that another client has saved, a new one.
const _MOST_TOKENS = 3

var _http
var _store
var _login := {} # as it is stored; empty: none
var _given := "" # the access token that the server gave to this client last
var _is_loaded := false
var _is_unsaved := false # the store has a login that was used up
var _is_locked := false
var _turns := [] # Pendings of those who wait until it is not locked
var _renewal = null # Pending of the renewal under way
var _scope = Call.new() # of what is done for all calls


func _init(http, store):
	_http = http
	_store = store


func player_id() -> String:
	return _login.get("player_id", "")


func scope() -> String:
	return _login.get("scope", "")


func is_logged_in() -> bool:
	return _login.get("refresh_token", "") != ""


func refresh_token() -> String:
	return _login.get("refresh_token", "")


## Ends what is under way, with an error.
func close(why):
	_scope._give_up(why)


# send sends a request as the player, again with a newer token if that is refused, and returns an
# Answer.
func send(request, call):
	var stale = ""
	for attempt in _MOST_TOKENS:
		var token = access(stale, call)
		if token is GDScriptFunctionState:
			token = yield(token, "completed")
		if token.error != null:
			return token
		var answer = yield(_http.send(request, call, token.body), "completed")
		if _is_last(answer, attempt, token.body):
			return answer
		stale = token.body


# Reports whether a request is not sent again with another token. The first token refused may be
# older than what another client with the same store has saved, and that refused, too. One that
# was given to this client is the newest there is.
func _is_last(answer, attempt: int, token: String) -> bool:
	var is_refused = answer.error != null and answer.error.is_problem(["token-invalid", "token-expired"])
	return not is_refused or attempt + 1 == _MOST_TOKENS or (attempt > 0 and token == _given)


# access returns an Answer whose body is an access token that does not expire soon: at once if
# there is one. stale is a token that was refused; it is not returned again. Callers share one
# renewal, which goes on if the call is given up.
func access(stale: String, call):
	load_login()
	if _is_usable(stale):
		return _token()
	if _renewal == null:
		_renewal = Pending.new()
		call_deferred("_renew_for_all", stale)
	var end = yield(call._join(_renewal), "completed")
	return end.value if end.error == null else Answer.of_error(end.error)


# log_guest_in logs in with what is stored, or makes a guest account. It returns an Answer whose
# body is a Session.
func log_guest_in():
	load_login()
	var turn = _lock()
	if turn is GDScriptFunctionState:
		yield(turn, "completed")
	if _is_closed():
		return Answer.of_error(_scope._given_up)
	_reload()
	var answer = _come_back()
	if answer is GDScriptFunctionState:
		answer = yield(answer, "completed")
	if answer.error != null and answer.error.kind == Failure.LOGGED_OUT:
		answer = yield(_enter(Request.new("POST", ["auth", "guest"])), "completed")
	_unlock()
	return answer


# enter sends a request that returns a login, as the player or as nobody. It returns an Answer
# whose body is a Session.
func enter(request):
	load_login()
	var turn = _lock()
	if turn is GDScriptFunctionState:
		yield(turn, "completed")
	if _is_closed():
		return Answer.of_error(_scope._given_up)
	var answer = _enter_alone(request)
	if answer is GDScriptFunctionState:
		answer = yield(answer, "completed")
	_unlock()
	return answer


func _enter_alone(request):
	if not request.as_player:
		return yield(_enter(request), "completed")
	var stale = ""
	var answer
	for attempt in _MOST_TOKENS:
		var token = _renew(stale)
		if token is GDScriptFunctionState:
			token = yield(token, "completed")
		if token.error != null:
			return token
		stale = token.body
		answer = yield(_http.send(request, _scope, token.body), "completed")
		if _is_last(answer, attempt, token.body):
			break
	return _keep(answer)


# forget ends the login, but keeps a guest's secret, which is the only way back, unless all is
# to be forgotten. It returns a MusterError, or null.
func forget(all: bool):
	load_login()
	var turn = _lock()
	if turn is GDScriptFunctionState:
		yield(turn, "completed")
	if _is_closed():
		return _scope._given_up
	var error = _forget(all)
	_unlock()
	return error


## Loads the stored login, once.
func load_login():
	if not _is_loaded:
		_is_loaded = true
		_reload()


# Waits until nobody else changes the login. Returns at once if nobody does.
func _lock():
	if _is_locked:
		var turn = Pending.new()
		_turns.append(turn)
		yield(turn, "completed")
	_is_locked = true


# Reports whether the client was closed, and if so lets the next one know.
func _is_closed() -> bool:
	if _scope._given_up == null:
		return false
	_unlock()
	return true


func _unlock():
	var next = _turns.pop_front()
	if next != null:
		next.finish() # it remains locked
	else:
		_is_locked = false


func _is_usable(stale: String) -> bool:
	var token = _login.get("access_token", "")
	return token != "" and token != stale and OS.get_system_time_msecs() < _login.get("renew_at_ms", 0)


func _token():
	var it = Answer.new()
	it.body = _login.get("access_token", "")
	return it


# Takes over what another client with the same store has saved: a refresh token works once.
func _reload():
	var stored = null if _is_unsaved else _store.load_login()
	if stored is Dictionary and stored.get("player_id") is String and player_id() in ["", stored["player_id"]]:
		_change(stored.duplicate())


func _renew_for_all(stale: String):
	var turn = _lock()
	if turn is GDScriptFunctionState:
		yield(turn, "completed")
	if _is_closed():
		return # and so is everything that waits for it
	var token = _renew(stale)
	if token is GDScriptFunctionState:
		token = yield(token, "completed")
	_unlock()
	var renewal = _renewal
	_renewal = null
	renewal.finish(token)


func _renew(stale: String):
	_reload()
	if _is_usable(stale):
		return _token()
	var before = _login.get("access_token", "")
	var valid_until = _login.get("expires_at_ms", 0)
	var answer = _come_back()
	if answer is GDScriptFunctionState:
		answer = yield(answer, "completed")
	if answer.error == null:
		return _token()
	if answer.error.is_temporary() and not before in ["", stale] and OS.get_system_time_msecs() < valid_until:
		return _token() # is still valid: the renewal can wait
	return answer


# Uses the refresh token, or logs the guest in.
func _come_back():
	var refresh = refresh_token()
	if refresh != "":
		var request = Request.new("POST", ["auth", "refresh"]).with_body({"refresh_token": refresh}).by_anybody().repeatable(true)
		var answer = yield(_enter(request), "completed")
		if answer.error == null or not _is_refused(answer.error):
			return answer
	var secret = _login.get("guest_secret", "")
	if secret != "":
		var guest = {"player_id": player_id(), "guest_secret": secret}
		var request = Request.new("POST", ["auth", "guest", "login"]).with_body(guest).by_anybody().repeatable(true)
		var answer = yield(_enter(request), "completed")
		if answer.error != null and _is_refused(answer.error):
			_forget(false)
		return answer
	if refresh != "":
		_forget(false)
	return Answer.of_error(Failure.of(Failure.LOGGED_OUT, "log in first"))


# Reports whether the server has refused a login for good.
func _is_refused(error) -> bool:
	return error.kind == Failure.PROBLEM and error.status == 401


func _enter(request):
	return _keep(yield(_http.send(request, _scope), "completed"))


# Saves the login of an answer. Returns an Answer whose body is a Session.
func _keep(answer):
	if answer.error != null:
		return answer
	var session = Types.Session.from_dictionary(answer.body)
	if session == null or session.player_id == "" or session.access_token == "" or session.refresh_token == "" or session.access_token_expires_in <= 0:
		return Answer.of_error(Failure.of(Failure.NETWORK, "what answered a login is not the server")) # the login before is kept
	_given = session.access_token
	var now = OS.get_system_time_msecs()
	var life = session.access_token_expires_in * 1000
	var login = {
		"player_id": session.player_id, "scope": session.scope, "access_token": session.access_token, "refresh_token": session.refresh_token,
		"renew_at_ms": now + int(_RENEW_AFTER * life), "expires_at_ms": now + life,
	}
	if session.guest_secret != "":
		login["guest_secret"] = session.guest_secret
	elif session.player_id == player_id() and _login.has("guest_secret"):
		login["guest_secret"] = _login["guest_secret"]
	var out = Answer.of_error(_save(login))
	out.body = session
	return out


# Returns a MusterError, or null.
func _save(login: Dictionary):
	_is_unsaved = not _store.save_login(login.duplicate())
	_change(login) # the login before was used up
	return Failure.of(Failure.USAGE, "the token store could not be written") if _is_unsaved else null


func _forget(all: bool):
	if not all and not _login.empty():
		var left = {"player_id": player_id(), "scope": scope()}
		if _login.has("guest_secret"):
			left["guest_secret"] = _login["guest_secret"]
		return _save(left)
	_is_unsaved = not _store.clear_login()
	_change({})
	return Failure.of(Failure.USAGE, "the token store could not be cleared") if _is_unsaved else null


func _change(login: Dictionary):
	var before = [player_id(), is_logged_in(), scope()]
	_login = login
	var is_other = before[0] != player_id() or before[1] != is_logged_in()
	if is_other or before[2] != scope():
		emit_signal("changed", is_other)

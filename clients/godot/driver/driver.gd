extends SceneTree

## Drives the library for the stories of clients/stories: takes calls, makes them, and sends
## their ends and what the library reports. Each message is a line of JSON.

const Wire = preload("res://addons/muster/internal/wire.gd")

var _runner := StreamPeerTCP.new()
var _text := PoolByteArray()
var _clients := {}
var _stores := {}
var _calls := {} # MusterCalls under way, by id


func _initialize():
	Engine.target_fps = 200
	var address = OS.get_environment("MUSTER_DRIVER").split(":")
	_runner.connect_to_host(address[0], int(address[1]))
	while _runner.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		OS.delay_msec(1)
	_runner.set_no_delay(true)
	_send({"hello": "gdscript", "runtime": "Godot " + Engine.get_version_info()["string"]})


# Called for each frame; ends the program when it returns true.
func _idle(_delta):
	if _runner.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		return true
	var size = _runner.get_available_bytes()
	if size > 0:
		_text.append_array(_runner.get_data(size)[1])
	var end = _text_end()
	while end >= 0:
		var line = _text.subarray(0, end).get_string_from_utf8()
		_text = _text.subarray(end + 1, -1) if end + 1 < _text.size() else PoolByteArray()
		_take(Wire.read(line)[0])
		end = _text_end()
	return false


func _text_end() -> int:
	for i in _text.size():
		if _text[i] == 10:
			return i
	return -1


func _send(message: Dictionary):
	_runner.put_data((Wire.write(message) + "\n").to_utf8())


func _take(call: Dictionary):
	var id = int(call["id"])
	var given = call.get("with", {})
	match call["do"]:
		"cancel":
			if _calls.has(int(given["id"])):
				_calls[int(given["id"])].cancel()
			_send({"id": id, "result": {}})
		"open":
			_open(call["client"], given)
			_send({"id": id, "result": {}})
		"close":
			if _clients.has(call["client"]):
				_clients[call["client"]].queue_free()
				_clients.erase(call["client"])
			_send({"id": id, "result": {}})
		_:
			_make(id, _clients.get(call.get("client")), call["do"], given)


func _open(name: String, given: Dictionary):
	var store = given.get("store", name)
	if not _stores.has(store):
		_stores[store] = MusterTokenStore.new()
	var client = MusterClient.new()
	client.url = given["url"]
	client.token_store = _stores[store]
	client.use_push = not given.get("no_push", false)
	client.connect("ticket_changed", self, "_on_row", [name, "ticket"])
	client.connect("party_changed", self, "_on_row", [name, "party"])
	client.connect("placement_changed", self, "_on_row", [name, "placement"])
	client.connect("party_left", self, "_on_event", [name, "partyLeft", {}])
	client.connect("push_changed", self, "_on_push", [name])
	client.connect("session_changed", self, "_on_session", [name])
	root.add_child(client)
	_clients[name] = client


func _on_row(row, name: String, event: String):
	_on_event(name, event, row.to_dictionary())


func _on_push(state: String, _code: int, name: String):
	_on_event(name, "push", {"state": state})


func _on_session(player_id: String, is_logged_in: bool, name: String):
	_on_event(name, "session", {"player_id": player_id, "logged_in": is_logged_in})


func _on_event(name: String, event: String, data: Dictionary):
	_send({"client": name, "event": event, "data": data})


func _make(id: int, client, verb: String, given: Dictionary):
	var error = {"kind": MusterError.USAGE, "detail": "there is no such client"}
	if client != null:
		if verb in ["session", "connectPush", "disconnectPush"]:
			_send({"id": id, "result": _at_once(client, verb)})
			return
		var call = _begin(client, verb, given)
		if call == null:
			_send({"id": id, "error": {"kind": MusterError.USAGE, "detail": "there is no verb " + verb}})
			return
		_calls[id] = call
		yield(call, "completed")
		_calls.erase(id)
		if call.error == null:
			_send({"id": id, "result": _result(verb, client, call.value)})
			return
		error = _error(call.error)
	_send({"id": id, "error": error})


# Does what is no MusterCall.
func _at_once(client, verb: String) -> Dictionary:
	match verb:
		"connectPush":
			client.connect_push()
		"disconnectPush":
			client.disconnect_push()
		"session":
			return {"player_id": client.player_id(), "logged_in": client.is_logged_in()}
	return {}


# Makes a call and returns it; null if there is no such verb.
func _begin(client, verb: String, given: Dictionary):
	match verb:
		"loginGuest":
			return client.login_guest()
		"loginProvider":
			return client.login_provider(given["provider"], _without(given, ["provider"]))
		"link":
			return client.link(given["provider"], _without(given, ["provider"]))
		"unlink":
			return client.unlink(given["provider"])
		"merge":
			return client.merge(given)
		"logout":
			return client.logout(given.get("all", false))
		"me":
			return client.me()
		"changeMe":
			return client.change_me(given)
		"deleteMe":
			return client.delete_me()
		"lookUpPlayers":
			return client.look_up_players(given)
		"publicPlayer":
			return client.public_player(given["player_id"])
		"getData":
			return client.get_data(given["namespace"], given["key"])
		"putData":
			return client.put_data(given["namespace"], given["key"], given["value"], given.get("version"))
		"deleteData":
			return client.delete_data(given["namespace"], given["key"], given.get("version"))
		"allData":
			return client.all_data(given["namespace"])
		"config":
			return client.config()
		"locations":
			return client.locations()
		"measureLatency":
			return client.measure_latency()
		"reportLatency":
			var samples = []
			for location in given["latency_ms"]:
				samples.append({"location": location, "rtt_ms": given["latency_ms"][location]})
			return client.report_latency({"samples": samples})
		"startMatchmaking":
			return client.start_matchmaking(given)
		"getTicket":
			return client.get_ticket(given["ticket_id"])
		"tickets":
			return client.tickets(given.get("active"))
		"stopMatchmaking":
			return client.stop_matchmaking(given["ticket_id"])
		"acceptMatch":
			return client.accept_match(given["ticket_id"], _without(given, ["ticket_id"]))
		"findMatch":
			return client.find_match(_without(given, ["accept"]), given.get("accept", true))
		"followTicket":
			return client.follow_ticket(given["ticket_id"])
		"createParty":
			return client.create_party(given)
		"joinParty":
			return client.join_party(given)
		"getParty":
			return client.get_party(given["party_id"])
		"changeMember":
			return client.change_member(given["party_id"], _without(given, ["party_id"]))
		"leaveParty":
			return client.leave_party(given["party_id"], given.get("player_id", "me"))
		"listSessions":
			return client.list_sessions(given.get("pool"), given.get("limit"), given.get("location"), given.get("filter"), given.get("sort"))
		"getSession":
			return client.get_session(given["session_id"])
		"createSession":
			return client.create_session(given)
		"followPlacement":
			return client.follow_placement(given["placement_id"])
		"stopPlacement":
			return client.stop_placement(given["placement_id"])
		"joinSession":
			return client.join_session(given["session_id"], _without(given, ["session_id"]))
		"reservations":
			return client.reservations()
	return null


func _without(given: Dictionary, names: Array) -> Dictionary:
	var left = given.duplicate()
	for name in names:
		left.erase(name)
	return left


func _result(verb: String, client, value):
	if verb in ["loginGuest", "loginProvider", "link", "merge"]:
		return {"player_id": value, "logged_in": client.is_logged_in()}
	if verb == "measureLatency":
		var by_location = {}
		for sample in value:
			by_location[sample.location] = sample.rtt_ms
		return by_location
	return {} if value == null else Wire.plain(value)


func _error(error) -> Dictionary:
	var out = error.extensions.duplicate()
	out["kind"] = error.kind
	out["detail"] = error.detail
	if error.kind == MusterError.PROBLEM:
		out["status"] = error.status
		out["code"] = error.code
		out["title"] = error.title
		for name in ["member", "ticket_id", "conflict_token", "until"]:
			if error.get(name) != "":
				out[name] = error.get(name)
		if error.retry_after_seconds >= 0:
			out["retry_after_seconds"] = error.retry_after_seconds
	if error.ticket != null:
		out["ticket"] = error.ticket.to_dictionary()
	if error.placement != null:
		out["placement"] = error.placement.to_dictionary()
	return out

extends SceneTree

## Tests of what the stories do not show. Each prints a line; the exit code is 1 if one fails.

const Request = preload("res://addons/muster/internal/request.gd")
const Server = preload("server.gd")
const Types = preload("res://addons/muster/generated/types.gd")
const Wire = preload("res://addons/muster/internal/wire.gd")

# How long a test may take, on a busy machine.
const _LONGEST_MS = 60000

var _server
var _begun_ms := 0
var _failures := 0
var _name := ""


func _initialize():
	Engine.target_fps = 500
	var only = OS.get_cmdline_args()[-1] # the name of a test
	for method in get_method_list():
		if not method["name"].begins_with("test_") or only.begins_with("test_") and only != method["name"]:
			continue
		_name = method["name"].substr(5).replace("_", " ")
		_begun_ms = OS.get_ticks_msec()
		_server = Server.new()
		var before = _failures
		var state = call(method["name"])
		if state is GDScriptFunctionState:
			yield(state, "completed")
		_server.close()
		print("%s - %s" % ["ok" if _failures == before else "not ok", _name])
	quit(1 if _failures > 0 else 0)


func _idle(_delta):
	if _server != null:
		_server.tick()
	if OS.get_ticks_msec() - _begun_ms > _LONGEST_MS: # such as after an error of the script
		print("not ok - %s: it does not end" % _name)
		quit(1)


func same(got, want, what := ""):
	if typeof(got) != typeof(want) or (Wire.write(got) != Wire.write(want) if got is Dictionary or got is Array else got != want):
		_failures += 1
		print("# %s: %s is %s, want %s" % [_name, what, str(got), str(want)])


# Returns a client of the server of canned answers.
func new_client():
	var client = MusterClient.new()
	client.url = _server.url()
	client.use_push = false
	root.add_child(client)
	return client


# Returns a client that is logged in.
func new_player():
	var client = new_client()
	_server.answer_login()
	same(yield(client.login_guest(), "completed").error, null, "the error of the login")
	return client


func frames(count: int):
	for _i in count:
		yield(self, "idle_frame")


# Waits until as many requests have arrived.
func await_requests(count: int):
	yield(self, "idle_frame")
	while _server.requests.size() < count:
		yield(self, "idle_frame")


# JSON and other formats


func test_json_keeps_numbers():
	for pair in [
		[0, "0"], [-7, "-7"], [9007199254740993, "9007199254740993"], [7.0, "7"], [0.1, "0.1"], [12.5, "12.5"], [-0.1234567891, "-0.1234567891"],
		[123456.789012345, "123456.789012345"], [1e-9, "1e-9"], [2.5e300, "2.5e300"], [1e22, "1e22"], [0.001, "1e-3"], [99999999999999.5, "99999999999999.5"],
	]:
		same(Wire.write(pair[0]), pair[1], "a number")


func test_json_keeps_text():
	var text = "\"\\/ \t\r\n" + char(1) + char(11) + char(31) + "é☃😀"
	same(Wire.write(text), "\"\\\"\\\\/ \\u0009\\u000d\\u000a\\u0001\\u000b\\u001fé☃😀\"", "a text")
	same(Wire.read(Wire.write(text)), [text], "the text, read")
	same(Wire.number({"a": 123456789}, "a"), 123456789.0, "a number of many digits")
	same(Wire.read("\"\\ud83d\\uDE00 \\\\ud83d\\\\ude00 \\u00e9\""), ["😀 \\ud83d\\ude00 é"], "escaped characters")


func test_json_writes_values():
	var value = {"a": [1, null, true, {"b": PoolStringArray(["x"])}], "": {}}
	same(Wire.write(value), '{"a":[1,null,true,{"b":["x"]}],"":{}}', "a value")
	for bad in [NAN, INF, Vector2(1, 2), {1: 2}, [Node], {"a": [{"b": Color(1, 1, 1)}]}]:
		same(Wire.unwritable(bad) != "", true, "that a value is no JSON")


func test_json_refuses_other_text():
	for text in ["", " ", "<!doctype html>", "{", "nothing"]:
		same(Wire.read(text), [], text)


func test_times():
	same(MusterClient.unix_time("1970-01-02T00:00:01Z"), 86401.0, "a time")
	same(MusterClient.unix_time("2024-02-29T23:59:59Z"), 1709251199.0, "a leap day")
	same(MusterClient.unix_time("2024-03-01T00:00:00Z"), 1709251200.0, "the day after")
	same(MusterClient.unix_time("2026-11-23T15:04:05.25Z"), 1795446245.25, "a time with a fraction")
	same(Wire.http_time("Thu, 29 Feb 2024 23:59:59 GMT"), 1709251199.0, "a time of HTTP")
	for text in ["", "soon", "Thu, 29 Foo 2024 23:59:59 GMT", "Thu, 29 Feb 2024 23:59:59 CET"]:
		same(Wire.http_time(text), 0.0, text)
	for text in ["", "soon", "2026-11-23 15:04:05Z", "2026-11-23T15:04:05+01:00"]:
		same(MusterClient.unix_time(text), 0.0, text)


func test_urls():
	same(Wire.split_url("https://play.example.com"), {"tls": true, "host": "play.example.com", "port": 443, "path": ""}, "a name")
	same(Wire.split_url("http://[::1]:8080/a/b"), {"tls": false, "host": "::1", "port": 8080, "path": "/a/b"}, "an address")
	for text in ["", "play.example.com", "ftp://a", "http://", "http://a:b", "http://a:0", "http://u@a", "http://a?b", "http://::1"]:
		same(Wire.split_url(text), {}, text)


func test_requests_escape():
	var request = Request.new("GET", ["players", "a/b ü"]).with_query({"active": true, "pool": "x&y", "limit": null})
	same(request.path, "/players/a%2fb%20%c3%bc?active=true&pool=x%26y", "the path")
	same(request.place, "/players/a%2fb%20%c3%bc", "the path in messages")


func test_types_ignore_what_does_not_fit():
	var ticket = Types.Ticket.from_dictionary({"ticket_id": 5, "players": [{"player_id": "p"}, 7, null], "seq": 3.0, "connection": "none", "later": 1})
	same([ticket.ticket_id, ticket.players.size(), ticket.seq, ticket.connection], ["", 1, 3, null], "a ticket")
	same(typeof(ticket.seq), TYPE_INT, "the type of seq")
	same(Types.Ticket.from_dictionary([]), null, "no ticket")
	var request = MusterClient.Types.PartyRequest.new()
	request.matchmaker = "m"
	same(request.to_dictionary(), {"matchmaker": "m"}, "a request without what is absent")


func test_problems():
	var body = {
		"type": "t", "title": "T", "status": 409.0, "code": "identity-in-use", "detail": "/token: is wrong", "conflict_token": "hush", "hint": "h",
	}
	var error = MusterError.problem(409, body, "7")
	same([error.status, error.code, error.member, error.retry_after_seconds, error.extensions], [409, "identity-in-use", "/token", 7.0, {"hint": "h"}], "a problem")
	same("hush" in str(error), false, "that its text has the secret")
	error = MusterError.problem(503, null, "Thu, 01 Jan 2099 00:00:00 GMT")
	same(error.retry_after_seconds > 1e9, true, "that it waits until then")
	error = MusterError.problem(502, null, "")
	same([error.code, error.detail, error.retry_after_seconds, error.is_temporary()], ["http-502", "", -1.0, true], "the problem of a proxy")


# Token stores


func test_file_token_store():
	var path = OS.get_user_data_dir() + "/login.json"
	var store = MusterFileTokenStore.new(path)
	same(store.load_login(), null, "no login")
	same(store.save_login({"player_id": "p", "renew_at_ms": 1795446245250}), true, "that it was saved")
	same(store.save_login({"player_id": "q", "refresh_token": "r"}), true, "that it was replaced")
	same(MusterFileTokenStore.new(path).load_login(), {"player_id": "q", "refresh_token": "r"}, "the login")
	var mode = []
	OS.execute("stat", ["-c", "%a", path], true, mode)
	same(mode[0].strip_edges(), "600", "the mode of the file")
	same(Directory.new().file_exists(path + ".new"), false, "that a part is left")
	var file = File.new()
	file.open(path, File.WRITE)
	file.store_string("{\"player_id\": ")
	file.close()
	same(store.load_login(), null, "a broken login")
	same([store.clear_login(), store.clear_login(), Directory.new().file_exists(path)], [true, true, false], "clearing")
	same(MusterFileTokenStore.new(path + "/nowhere/x").save_login({}), false, "a store without a folder")


class BrokenStore extends MusterTokenStore:
	func save_login(_login: Dictionary) -> bool:
		return false


func test_a_login_that_cannot_be_saved_is_an_error():
	var client = new_client()
	client.token_store = BrokenStore.new()
	_server.answer_login()
	var call = yield(client.login_guest(), "completed")
	same(call.error.kind, MusterError.USAGE, "the kind")
	same(client.is_logged_in(), true, "that the login is used")
	client.free()


# Calls


func test_calls_that_cannot_be_made():
	var client = MusterClient.new()
	client.url = _server.url()
	same([yield(client.config(), "completed").error.kind, client.player_id()], [MusterError.USAGE, ""], "a client outside the tree")
	client.free()
	client = MusterClient.new()
	root.add_child(client)
	for url in ["", "play.example.com", "http://a?b=c"]:
		client.url = url
		same(yield(client.config(), "completed").error.kind, MusterError.USAGE, url)
	client.url = _server.url()
	for call in [client.get_ticket(""), client.get_ticket(".."), client.put_data("private", "k", Vector2(1, 1)), client.start_matchmaking({1: 2})]:
		same(yield(call, "completed").error.kind, MusterError.USAGE, "a call")
	same(_server.requests.size(), 0, "requests")
	client.free()


func test_a_client_goes_on_while_the_game_is_paused():
	var client = new_client()
	paused = true
	_server.answer_json(200, {"locations": []})
	same(yield(client.locations(), "completed").error, null, "the error")
	paused = false
	client.free()


func test_connections_are_used_again():
	var client = new_client()
	for _i in 3:
		_server.answer_json(200, {"locations": []})
		same(yield(client.locations(), "completed").is_ok(), true, "that it is answered")
	same(_server.connections, 1, "connections")
	client.free()


func test_answers_of_all_sorts_are_read():
	var client = new_client()
	var json = "Content-Type: application/json\r\n"
	_server.answer("HTTP/1.1 200 OK\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"api_ve\r\na\r\nrsion\":\"2\"\r\n1\r\n}\r\n0\r\n\r\n")
	same(yield(client.config(), "completed").value.api_version, "2", "an answer in chunks")
	_server.answer("HTTP/1.1 200 OK\r\n" + json + "Connection: close\r\n\r\n{\"api_version\":\"3\"}")
	same(yield(client.config(), "completed").value.api_version, "3", "an answer that ends with the connection")
	_server.answer("HTTP/1.1 204 No Content\r\n\r\n")
	same(yield(client.ping(), "completed").is_ok(), true, "that an empty answer is one")
	client.free()


func test_strange_answers_are_network_errors():
	var client = yield(new_player(), "completed")
	for text in [
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
		"HTTP/1.1 302 Found\r\nLocation: https://login.example.com\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{\"",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n\r\nConnection: close",
	]:
		_server.answer(text)
		var call = yield(client.create_party({"matchmaker": "m"}), "completed")
		same(call.error.kind if call.error else "", MusterError.NETWORK, text)
	for _i in 4:
		_server.answer("HTTP/1.1 302 Found\r\nLocation: https://login.example.com\r\nContent-Length: 0\r\n\r\n")
	same(yield(client.ping(), "completed").is_ok(), false, "that a redirection is an answer")
	client.free()


func test_a_long_answer_is_refused():
	var client = yield(new_player(), "completed")
	_server.answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\"" + "x".repeat(5 << 20) + "\"")
	same(yield(client.create_party({}), "completed").error.detail, "POST /parties: the answer is too long", "the error")
	client.free()


func test_silence_is_a_timeout():
	var client = new_client()
	client.timeout_ms = 100
	_server.answer_login()
	yield(client.login_guest(), "completed")
	var call = yield(client.create_party({}), "completed")
	same(call.error.kind, MusterError.TIMEOUT, "the kind")
	same(_server.requests.size(), 2, "requests")
	client.free()


func test_a_long_frame_is_not_the_delay_of_the_server():
	var client = new_client()
	client.timeout_ms = 700
	_server.answer_json(200, {"api_version": "1"})
	_server.is_held = true
	var call = client.config()
	yield(frames(10), "completed")
	OS.delay_msec(1500) # a scene is loaded
	yield(frames(1), "completed")
	_server.is_held = false
	yield(call, "completed")
	same([call.is_ok(), _server.requests.size()], [true, 1], "the call, and requests")
	client.free()


func test_retries_have_limits():
	var client = new_client()
	for _i in 4:
		_server.answer_json(503, {})
	same(yield(client.config(), "completed").error.status, 503, "the status")
	same(_server.requests.size(), 4, "requests")
	_server.answer_json(429, {"code": "rate-limited", "retry_after_seconds": 60})
	same(yield(client.config(), "completed").error.retry_after_seconds, 60.0, "when to ask again")
	same(_server.requests.size(), 5, "requests, after one that would wait too long")
	client.free()


func test_a_call_is_cancelled_once():
	var client = new_client()
	var call = client.config()
	call.cancel() # before it has begun
	yield(call, "completed")
	same(call.error.kind, MusterError.CANCELLED, "the kind")
	same(_server.requests.size(), 0, "requests")
	call = client.config()
	yield(await_requests(1), "completed")
	call.call_deferred("cancel")
	yield(call, "completed")
	same(call.error.kind, MusterError.CANCELLED, "the kind, under way")
	call.cancel()
	same(call.error.kind, MusterError.CANCELLED, "the kind, at last")
	client.free()


func test_closing_ends_calls():
	var client = yield(new_player(), "completed")
	var calls = [client.me(), client.follow_ticket("t"), client.measure_latency(), client.find_match({"matchmaker": "m"})]
	yield(await_requests(5), "completed")
	client.close()
	for call in calls + [client.me()]:
		if not call.is_done:
			yield(call, "completed")
		same(call.error.kind, MusterError.CLOSED, "the kind")
	same([client.player_id(), client.is_logged_in()], ["p-1", true], "the login of a closed client")
	client.free()


func test_freeing_ends_calls():
	var client = yield(new_player(), "completed")
	var calls = [client.me(), client.follow_ticket("t"), client.find_match({"matchmaker": "m"})]
	yield(await_requests(4), "completed")
	client.free()
	yield(frames(1), "completed")
	for call in calls:
		same([call.is_done, call.error.kind if call.error else ""], [true, MusterError.CLOSED], "a call")


func test_a_renewal_is_freed_with_its_client():
	var client = new_client()
	_server.answer_login({"access_token_expires_in": 0.001})
	_server.answer_login({"access_token_expires_in": 1})
	var login = client.login_guest()
	yield(login, "completed")
	same(login.error.kind, MusterError.NETWORK, "the error of a login that has ended already")
	yield(client.login_guest(), "completed")
	client._account._login["renew_at_ms"] = 0
	var calls = [client.me(), client.me(), client.login_guest(), client.forget()]
	yield(await_requests(3), "completed")
	client.free()
	yield(frames(1), "completed")
	for call in calls:
		same([call.is_done, call.error.kind if call.error else ""], [true, MusterError.CLOSED], "a call")
	yield(frames(5), "completed")
	same(_server.requests.size(), 3, "requests")


func test_nothing_is_left_of_a_client():
	yield(frames(3), "completed")
	var before = Performance.get_monitor(Performance.OBJECT_COUNT)
	for _i in 20:
		var client = yield(new_player(), "completed")
		_server.answer_json(200, {"locations": []})
		yield(client.locations(), "completed")
		client.find_match({"matchmaker": "m"})
		client.follow_ticket("t")
		client.connect_push()
		yield(await_requests(_server.requests.size() + 2), "completed")
		client.free()
	yield(frames(3), "completed")
	var left = Performance.get_monitor(Performance.OBJECT_COUNT) - before
	same(left < 10, true, "that %d objects are left" % left)


func test_nothing_is_left_of_a_renewal():
	yield(frames(3), "completed")
	var before = Performance.get_monitor(Performance.OBJECT_COUNT)
	for i in 20:
		var client = yield(new_player(), "completed")
		client._account._login["renew_at_ms"] = 0
		if i % 2 == 0:
			client.me()
		client.login_guest()
		client.forget()
		client.me()
		yield(await_requests(_server.requests.size() + 1), "completed")
		client.free()
	yield(frames(3), "completed")
	var left = Performance.get_monitor(Performance.OBJECT_COUNT) - before
	same(left < 10, true, "that %d objects are left" % left)


func test_nothing_is_left_of_what_was_followed():
	var client = yield(new_player(), "completed")
	_server.answer_all("/tickets/t ", 200, {"ticket_id": "t", "state": "completed", "seq": 1})
	yield(client.follow_ticket("t"), "completed")
	yield(frames(3), "completed")
	var before = Performance.get_monitor(Performance.OBJECT_COUNT)
	for _i in 20:
		same(yield(client.follow_ticket("t"), "completed").error, null, "the error")
	yield(frames(3), "completed")
	var left = Performance.get_monitor(Performance.OBJECT_COUNT) - before
	same(left < 10, true, "that %d objects are left" % left)
	same(client.push_state(), MusterClient.PUSH_CLOSED, "the push")
	client.free()


class Ticking extends Node:
	var clock = preload("res://addons/muster/internal/clock.gd").new()

	func _process(_delta):
		clock.tick()


func test_hosts_are_looked_up():
	var node = Ticking.new()
	root.add_child(node)
	var resolver = preload("res://addons/muster/internal/resolver.gd").new(node.clock)
	for pair in [["127.0.0.1", true], ["localhost", true], ["nowhere.invalid", false]]:
		var call = MusterCall.new()
		same(yield(call._until(resolver.look_up(pair[0], call)), "completed").value, pair[1], pair[0])
	node.free()


# Latency


func test_latency_without_beacons():
	var client = new_client()
	var gone = {"name": "gone", "udp": "127.0.0.1:9", "https": "http://127.0.0.1:9/beacon"}
	_server.answer_json(200, {"locations": [gone, {"name": "none"}, {"name": "strange", "udp": "nowhere", "https": "x"}], "ttl_seconds": 1})
	var call = yield(client.measure_latency({"timeout_ms": 50, "samples": 2}), "completed")
	same(call.error, null, "the error")
	same(call.value, [], "samples of what is not there")
	client.free()


func test_latency_by_requests():
	var client = new_client()
	var web = {"name": "web", "https": _server.url() + "/beacon"}
	_server.answer_json(200, {"locations": [web], "ttl_seconds": 1})
	for _i in 3:
		_server.answer("HTTP/1.1 204 No Content\r\n\r\n")
	var call = yield(client.measure_latency({"samples": 2}), "completed")
	same(call.value.size(), 1, "samples")
	if call.value.size() == 1:
		same([call.value[0].location, call.value[0].method, call.value[0].rtt_ms > 0], ["web", "https", true], "the sample")
	client.free()

extends Reference

## Sends requests to one server: JSON both ways, with a time limit, repeated where that is safe.
## Connections are used again.

const Answer = preload("answer.gd")
const Failure = preload("../muster_error.gd")
const Pending = preload("pending.gd")
const Wire = preload("wire.gd")

const _API = "/player/v1"
const _LONGEST_ANSWER = 4 << 20 # bytes
const _MOST_IDLE = 4
const _IDLE_MS = 15000
const _MOST_RETRIES = 3
# A frame that takes longer, as when a scene is loaded, is not the server's delay.
const _STALL_MS = 500
# The longest Retry-After that a request waits for, in seconds.
const _PATIENCE = 10.0

## How many milliseconds an answer may take.
var timeout_ms := 15000

var _clock
var _host := ""
var _port := 0
var _tls := false
var _base := ""
var _running := []
var _idle := [] # of [HTTPClient, since when]
var _ticked_ms := OS.get_ticks_msec()


func _init(clock):
	_clock = clock


## Sets the server by its URL. Returns why that cannot be, or "".
func open(url: String) -> String:
	var parts = Wire.split_url(url)
	if parts.empty():
		return "the URL of a server is http://HOST or https://HOST, perhaps with a port and a path"
	_tls = parts["tls"]
	_host = parts["host"]
	_port = parts["port"]
	_base = parts["path"].rstrip("/") + _API
	return ""


## Returns the URL of the push.
func push_url() -> String:
	var host = "[%s]" % _host if ":" in _host else _host
	return "%s://%s:%d%s/ws" % ["wss" if _tls else "ws", host, _port, _base]


func host() -> String:
	return _host


# send sends a request, again if that is safe and useful, and returns an Answer. token: an
# access token, or "".
func send(request, call, token := ""):
	var retries = 0
	while true:
		var exchange = yield(call._hold(_begin(request, token)), "completed")
		var answer = exchange.value if exchange.error == null else Answer.of_error(exchange.error)
		if answer.error == null:
			return answer
		if retries > 0 and request.method == "DELETE" and answer.error.status == 404:
			return Answer.new() # an earlier attempt did it
		if retries >= _MOST_RETRIES or not request.may_repeat or not answer.error.is_temporary():
			return answer
		var asked = max(0.0, answer.error.retry_after_seconds)
		if asked > _PATIENCE:
			return answer
		retries += 1
		var pause = yield(_clock.sleep(asked * 1000 + _clock.backoff(retries), call), "completed")
		if pause.error != null:
			return Answer.of_error(pause.error)


## Goes on with what is under way.
func tick():
	var stalled_ms = OS.get_ticks_msec() - _ticked_ms
	_ticked_ms += stalled_ms
	for exchange in _running.duplicate():
		if stalled_ms > _STALL_MS:
			exchange.deadline_ms += stalled_ms
		exchange.tick()
		if not exchange.is_done:
			continue
		_running.erase(exchange)
		var used = exchange.release()
		if used != null and _idle.size() < _MOST_IDLE:
			_idle.append([used, OS.get_ticks_msec()])
	for i in range(_idle.size() - 1, -1, -1):
		var one = _idle[i][0]
		one.poll()
		if one.get_status() != HTTPClient.STATUS_CONNECTED or OS.get_ticks_msec() - _idle[i][1] > _IDLE_MS:
			one.close()
			_idle.remove(i)


## Closes the connections.
func close():
	for exchange in _running:
		exchange.drop()
	for one in _idle:
		one[0].close()
	_running.clear()
	_idle.clear()


func _begin(request, token: String):
	var exchange = Exchange.new()
	exchange.request = request
	exchange.path = _base + request.path
	exchange.deadline_ms = OS.get_ticks_msec() + timeout_ms + request.wait_ms
	var headers = PoolStringArray(["Accept: application/json"])
	headers.append_array(request.headers)
	if request.body != "":
		headers.append("Content-Type: application/json")
	elif request.method != "GET":
		headers.append("Content-Length: 0")
	if token != "":
		headers.append("Authorization: Bearer " + token)
	exchange.headers = headers
	var client = _take()
	if client == null:
		client = HTTPClient.new()
		client.read_chunk_size = 65536
		if client.connect_to_host(_host, _port, _tls, _tls) != OK:
			exchange.call_deferred("lose", "the server was not reached")
			return exchange
	exchange.client = client
	_running.append(exchange)
	return exchange


# Returns a connection that was used before and is still open, or null.
func _take():
	while not _idle.empty():
		var one = _idle.pop_back()[0]
		one.poll()
		if one.get_status() == HTTPClient.STATUS_CONNECTED:
			return one
		one.close()
	return null


## One request and its answer.
class Exchange extends Pending:
	var request
	var path := ""
	var headers
	var client
	var deadline_ms := 0
	var _sent := false
	var _body := PoolByteArray()
	var _head = null # Answer
	var _until_end := false # the body ends with the connection

	const _METHODS = {
		"GET": HTTPClient.METHOD_GET, "POST": HTTPClient.METHOD_POST, "PUT": HTTPClient.METHOD_PUT,
		"PATCH": HTTPClient.METHOD_PATCH, "DELETE": HTTPClient.METHOD_DELETE,
	}

	## Goes on.
	func tick():
		if is_done:
			return
		if OS.get_ticks_msec() > deadline_ms:
			fail(Failure.of(Failure.TIMEOUT, "%s %s: no answer in time" % [request.method, request.place]))
			return
		client.poll()
		match client.get_status():
			HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
				return
			HTTPClient.STATUS_CONNECTED:
				if _sent:
					_answer()
				elif client.request(_METHODS[request.method], path, headers, request.body) == OK:
					_sent = true
				else:
					lose("the connection was closed")
			HTTPClient.STATUS_BODY:
				_read()
			HTTPClient.STATUS_SSL_HANDSHAKE_ERROR:
				lose("the server's certificate was refused")
			_:
				_closed()

	## Ends it because there is no answer.
	func lose(why: String):
		fail(Failure.of(Failure.NETWORK, "%s %s: %s" % [request.method, request.place, why]))

	## Returns the connection if it can be used again, else null.
	func release():
		if error == null and client.get_status() == HTTPClient.STATUS_CONNECTED:
			return client
		client.close()
		return null

	## Closes the connection.
	func drop():
		client.close()

	func _read():
		_note_head()
		while client.get_status() == HTTPClient.STATUS_BODY:
			var chunk = client.read_response_body_chunk()
			if chunk.size() == 0:
				break
			_body.append_array(chunk)
			if _body.size() > _LONGEST_ANSWER:
				lose("the answer is too long")
				return
		if client.get_status() == HTTPClient.STATUS_CONNECTED:
			_answer()
		elif client.get_status() != HTTPClient.STATUS_BODY:
			_closed()

	func _closed():
		if _until_end:
			_answer()
		else:
			lose("the connection was closed" if _sent else "the server was not reached")

	# Keeps the status and headers, which the client forgets at the end of the connection.
	func _note_head():
		if _head != null:
			return
		_until_end = client.get_response_body_length() < 0 and not client.is_response_chunked()
		_head = Answer.new()
		_head.status = client.get_response_code()
		for header in client.get_response_headers():
			var colon = header.find(":")
			_head.headers[header.substr(0, colon).to_lower()] = header.substr(colon + 1).strip_edges()

	func _answer():
		_note_head()
		var answer = _head
		# Godot's parser prints an error for what is not JSON, such as a page of a hotel's network.
		var is_json = "json" in answer.headers.get("content-type", "").to_lower()
		var read = Wire.read(_body.get_string_from_utf8()) if is_json and _body.size() > 0 else []
		if answer.status >= 400:
			answer.error = Failure.problem(answer.status, read[0] if not read.empty() else null, answer.headers.get("retry-after", ""))
		elif answer.status < 200 or (answer.status >= 300 and answer.status != 304) or (read.empty() and _body.size() > 0):
			lose("what answered is not the server")
			return
		elif not read.empty():
			answer.body = read[0]
		finish(answer)

extends Reference

## A server of canned answers for the tests. Each request takes the next answer.

var port := 0
## Nothing is read and answered.
var is_held := false
## What arrived, as text.
var requests := []
## How many connections were opened.
var connections := 0

var _listener := TCP_Server.new()
var _answers := []
var _always := {} # answers, by parts of the requests' lines
var _peers := [] # of [StreamPeerTCP, what was read, what is to be written, whether it is closed then]


func _init():
	for candidate in range(20000, 30000, 37):
		if _listener.listen(candidate, "127.0.0.1") == OK:
			port = candidate
			return


func url() -> String:
	return "http://127.0.0.1:%d" % port


## Adds an answer to the next request that has none: text, or null for silence.
func answer(text):
	_answers.append(text)


## Adds an answer of JSON.
func answer_json(status: int, value):
	answer(_json(status, value))


## Sets the answer of JSON to all requests whose line has a text; they take no other answer.
func answer_all(part: String, status: int, value):
	_always[part] = _json(status, value)


func _json(status: int, value) -> String:
	var body = JSON.print(value)
	return "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % [status, body.to_utf8().size(), body]


## Adds an answer of a login.
func answer_login(more := {}):
	var login = {
		"player_id": "p-1", "scope": "guest", "access_token": "access-%d" % _answers.size(), "access_token_expires_in": 900,
		"refresh_token": "refresh-%d" % _answers.size(), "refresh_token_expires_in": 9000, "created": true, "identities": [], "guest_secret": "secret",
	}
	for name in more:
		login[name] = more[name]
	answer_json(201, login)


func tick():
	if is_held:
		return
	while _listener.is_connection_available():
		connections += 1
		_peers.append([_listener.take_connection(), "", PoolByteArray(), false])
	for i in range(_peers.size() - 1, -1, -1):
		var peer = _peers[i][0]
		if peer.get_status() != StreamPeerTCP.STATUS_CONNECTED:
			_peers.remove(i)
			continue
		if _peers[i][2].size() > 0: # in parts, since the client reads in the same thread
			var sent = peer.put_partial_data(_peers[i][2])[1]
			_peers[i][2] = _peers[i][2].subarray(sent, -1) if sent < _peers[i][2].size() else PoolByteArray()
			if _peers[i][2].size() == 0 and _peers[i][3]:
				peer.disconnect_from_host()
			continue
		if peer.get_available_bytes() > 0:
			_peers[i][1] += peer.get_utf8_string(peer.get_available_bytes())
		var text = _peers[i][1]
		var head = text.find("\r\n\r\n")
		if head < 0 or text.length() < head + 4 + _length(text):
			continue
		requests.append(text)
		_peers[i][1] = ""
		var next = _next(text.substr(0, text.find("\r\n")))
		if next != null:
			_peers[i][2] = next.to_utf8()
			_peers[i][3] = "Connection: close" in next


func _next(line: String):
	for part in _always:
		if part in line:
			return _always[part]
	return _answers.pop_front()


func close():
	_peers.clear()
	_listener.stop()


func _length(text: String) -> int:
	var at = text.to_lower().find("content-length: ")
	return 0 if at < 0 else int(text.substr(at + 16, text.find("\r\n", at) - at - 16))

extends "pending.gd"

## One WebSocket of the push. It ends without an error; ended has why.

## Is emitted with each message, beginning with auth.ok.
signal message(message)

const Types = preload("../generated/types.gd")
const Wire = preload("wire.gd")

const _OPEN_WITHIN_MS = 10000
const _PING_AFTER_MS = 25000
const _PONG_WITHIN_MS = 10000
const _CLOSE_WITHIN_MS = 1000
const _LOST = 1006

## The close code; 1006 if there was none.
var code := _LOST
## How long the player was logged in on it, in milliseconds.
var lived_ms := 0

var _socket = null
var _token := ""
var _cursor := ""
var _since_ms := -1
var _limit_ms := 0 # when the socket is given up, or asked for a message
var _asked := false
var _was_closed := false # by us
var _is_closed := false


## Begins to connect. cursor: where to resume; "" for now.
func open(url: String, token: String, cursor: String):
	_token = token
	_cursor = cursor
	_socket = WebSocketClient.new()
	_socket.set_buffers(256, 1024, 64, 64)
	_socket.connect("connection_established", self, "_on_established")
	_socket.connect("connection_error", self, "_on_error")
	_socket.connect("connection_closed", self, "_on_closed")
	_socket.connect("server_close_request", self, "_on_close_request")
	_socket.connect("data_received", self, "_on_data")
	_limit_ms = OS.get_ticks_msec() + _OPEN_WITHIN_MS
	if _socket.connect_to_url(url, PoolStringArray([Types.PushMessage.SUBPROTOCOL])) != OK:
		call_deferred("_lose")


## Sends a message.
func send(message: Dictionary):
	if not is_done and not _is_closed:
		_socket.get_peer(1).put_packet(Wire.write(message).to_utf8())


## Goes on. Returns whether there is more to do.
func tick() -> bool:
	if _is_closed or _socket == null:
		return false
	_socket.poll()
	var now = OS.get_ticks_msec()
	if is_done:
		if not _was_closed:
			_was_closed = true
			_limit_ms = now + _CLOSE_WITHIN_MS
			_socket.disconnect_from_host(1000)
		return now < _limit_ms and _socket.get_connection_status() != NetworkedMultiplayerPeer.CONNECTION_DISCONNECTED
	if now > _limit_ms:
		if _since_ms < 0 or _asked:
			_lose()
		else:
			_asked = true
			_limit_ms = now + _PONG_WITHIN_MS
			send({"type": Types.PushMessage.PING})
	return true


func _on_established(_protocol):
	_socket.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
	var login = {"access_token": _token}
	if _cursor != "":
		login["resume"] = _cursor
	send({"type": Types.PushMessage.AUTH, "data": login})


func _on_data():
	var read = Wire.read(_socket.get_peer(1).get_packet().get_string_from_utf8())
	if read.empty() or not read[0] is Dictionary or not read[0].get("type") is String:
		_lose() # what answers is not the server
		return
	if is_done:
		return
	if read[0]["type"] == Types.PushMessage.AUTH_OK and _since_ms < 0:
		_since_ms = OS.get_ticks_msec()
	if _since_ms >= 0:
		_asked = false
		_limit_ms = OS.get_ticks_msec() + _PING_AFTER_MS
	emit_signal("message", read[0])


func _on_close_request(why: int, _reason: String):
	code = why


func _on_closed(_was_clean := false):
	_is_closed = true
	_lose()


func _on_error():
	_on_closed()


func _lose():
	if _since_ms >= 0:
		lived_ms = OS.get_ticks_msec() - _since_ms
	finish()

extends Reference

## Follows a ticket or placement: it hears of changes by push, reads the row once whenever a push
## begins, since what happened before was not pushed, and asks for it while there is none.

const Call = preload("../muster_call.gd")
const Pending = preload("pending.gd")
const Request = preload("request.gd")

# How long a request waits for a change; the API allows 25 s.
const _WAIT_SECONDS = 20
# A request that waited for less time without news did not wait: the server is stopping.
const _QUICK_MS = 250
# In a row, until a row counts as unknown.
const _MISSES_TO_END = 3

var _push
var _account
var _clock
var _name := "" # ticket or placement, also of the push's signal
var _type
var _segments := []
var _id := ""
var _rows := []
var _seq := 0
var _error = null
var _waiting = null
var _scope = Call.new()


func _init(push, account, clock):
	_push = push
	_account = account
	_clock = clock


## Begins to follow a row. name: ticket or placement; segments: its path.
func begin(name: String, type, segments: Array):
	_name = name
	_type = type
	_segments = segments
	_id = segments.back()
	_push.connect(_name, self, "_hear")
	_push.acquire()
	_watch()


func end():
	_push.disconnect(_name, self, "_hear")
	_scope.cancel()
	_push.release()


## Returns the next row that was seen, or null if there is none yet.
func take():
	return _rows.pop_front()


## Returns a Pending that ends when take returns a row, or with the error for which there will be
## none.
func wait():
	_waiting = Pending.new()
	if _error != null:
		_waiting.call_deferred("fail", _error)
	elif not _rows.empty():
		_waiting.call_deferred("finish")
	return _waiting


func _hear(row):
	if row.get(_name + "_id") != _id or row.seq <= _seq:
		return
	_seq = row.seq
	_rows.append(row)
	if _waiting != null:
		_waiting.finish()


func _watch():
	var missed = 0
	var failures = 0
	while true:
		var live = _push.connection()
		var begun = OS.get_ticks_msec()
		var seconds = 0 if live > 0 or _seq == 0 else _WAIT_SECONDS
		var answer = yield(_account.send(_request(seconds), _scope), "completed")
		if _scope._given_up != null:
			return
		var error = answer.error
		if error == null:
			failures = 0
			missed = 0
			var row = _type.from_dictionary(answer.body)
			if row != null:
				_push.emit_signal(_name, row)
			elif live == 0 and OS.get_ticks_msec() - begun < _QUICK_MS:
				failures = 1
		elif error.status == 404 and missed + 1 < _MISSES_TO_END:
			missed += 1
			failures = missed
		elif error.is_temporary() or error.status >= 500:
			failures += 1
		else:
			_error = error
			if _waiting != null:
				_waiting.fail(error)
			return
		if _scope._given_up != null:
			return
		if failures > 0:
			yield(_clock.sleep(_clock.backoff(failures) + _QUICK_MS, _scope), "completed")
		elif live > 0 and _push.connection() == live:
			yield(_push.change(_scope), "completed")
		if _scope._given_up != null:
			return


func _request(seconds: int):
	var request = Request.new("GET", _segments)
	if seconds > 0:
		request.with_query({"wait": seconds})
		request.wait_ms = seconds * 1000
	if _seq > 0:
		request.with_header("If-None-Match", '"%d"' % _seq)
	return request

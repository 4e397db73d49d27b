extends Reference

## Timers that run while the client's node processes frames.

const Pending = preload("pending.gd")

const _FIRST_PAUSE_MS = 250
const _LONGEST_PAUSE_MS = 10000

var _sleeping := []
var _random := RandomNumberGenerator.new()


class Sleep extends Pending:
	var until_ms := 0


func _init():
	_random.randomize()


## Returns a Pending that ends after a time, or with the call's error when that is given up.
func sleep(ms: float, call):
	var it = Sleep.new()
	it.until_ms = OS.get_ticks_msec() + int(ceil(ms))
	_sleeping.append(it)
	return call._hold(it)


## Returns how many milliseconds to wait after so many failures in a row: a random time up to a
## limit that doubles with each.
func backoff(failures: int) -> float:
	return _random.randf() * min(_LONGEST_PAUSE_MS, _FIRST_PAUSE_MS * pow(2, clamp(failures - 1, 0, 10)))


## Ends what is due.
func tick():
	var now = OS.get_ticks_msec()
	var due = []
	for i in range(_sleeping.size() - 1, -1, -1):
		var it = _sleeping[i]
		if it.is_done or it.until_ms <= now:
			_sleeping.remove(i)
			due.push_front(it)
	for it in due:
		it.finish()

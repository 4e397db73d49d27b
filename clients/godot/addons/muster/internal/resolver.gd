extends Reference

## Looks up the address of a host without holding up the game. Godot's WebSockets and datagrams
## look it up once more, which then ends at once.

const _TRIES = 100
const _PAUSE_MS = 50.0

var _clock


func _init(clock):
	_clock = clock


# look_up returns when the address is known, or cannot be known.
func look_up(host: String, call):
	if host.is_valid_ip_address():
		return
	var item = IP.resolve_hostname_queue_item(host)
	if item == IP.RESOLVER_INVALID_ID:
		return
	for _try in _TRIES:
		if IP.get_resolve_item_status(item) != IP.RESOLVER_STATUS_WAITING or call._given_up != null:
			break
		yield(_clock.sleep(_PAUSE_MS, call), "completed")
	IP.erase_resolve_item(item)

extends Reference

## Looks up the address of a host without holding up the game. Godot's WebSockets and datagrams
## look it up once more, which then ends at once.

const _TRIES = 100
const _PAUSE_MS = 50.0

var _clock


func _init(clock):
	_clock = clock


# look_up returns whether the address is known, at once or as soon as it is.
func look_up(host: String, call):
	if host.is_valid_ip_address():
		return true
	var item = IP.resolve_hostname_queue_item(host)
	if item == IP.RESOLVER_INVALID_ID:
		return false
	for _try in _TRIES:
		if IP.get_resolve_item_status(item) != IP.RESOLVER_STATUS_WAITING or call._given_up != null:
			break
		yield(_clock.sleep(_PAUSE_MS, call), "completed")
	var is_known = IP.get_resolve_item_status(item) == IP.RESOLVER_STATUS_DONE
	IP.erase_resolve_item(item)
	return is_known

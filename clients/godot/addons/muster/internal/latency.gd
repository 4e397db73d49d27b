extends Reference

## Measures beacons in threads, since what is measured must not depend on the game's frames. Each
## is measured by datagrams, or else by requests on one connection.

const Failure = preload("../muster_error.gd")
const Pending = preload("pending.gd")
const Types = preload("../generated/types.gd")
const Wire = preload("wire.gd")

var _running := []


## Begins to measure locations. Returns a Pending whose value is an Array of LatencySample.
func measure(locations: Array, options: Dictionary):
	var it = Measurement.new()
	if not OS.can_use_threads():
		it.call_deferred("fail", Failure.of(Failure.USAGE, "latency is measured in threads, which this platform does not have"))
		return it
	for old in _running.duplicate():
		if old.is_over():
			_running.erase(old)
	_running.append(it)
	it.begin(locations, options)
	return it


## Ends what is under way.
func close():
	for it in _running:
		it.stop()
	_running.clear()


class Measurement extends Pending:
	# Between two datagrams: beacons answer ten a second.
	const _INTERVAL_USEC = 120000
	const _LOOK_USEC = 200
	const _MOST_THREADS = 4

	var _samples := 5
	var _timeout_usec := 1000000
	var _http_only := false
	var _deadline_usec := 0
	var _names := []
	var _todo := []
	var _found := {}
	var _mutex := Mutex.new() # guards _todo and _found
	var _threads := []
	var _ended := 0

	func begin(locations: Array, options: Dictionary):
		_samples = int(clamp(options.get("samples", 5), 1, 32))
		_timeout_usec = int(options.get("timeout_ms", 1000)) * 1000
		_http_only = options.get("http_only", false)
		_deadline_usec = OS.get_ticks_usec() + int(options.get("deadline_ms", 6000)) * 1000
		_todo = locations.duplicate()
		for location in locations:
			_names.append(location.name)
		for number in min(_MOST_THREADS, locations.size()):
			var thread = Thread.new()
			if thread.start(self, "_work", number) == OK:
				_threads.append(thread)
		if _threads.empty():
			call_deferred("_complete")

	## Waits for the threads, which end soon.
	func stop():
		is_done = true
		for thread in _threads:
			if thread.is_active():
				thread.wait_to_finish()

	## Reports whether all threads have ended.
	func is_over() -> bool:
		return _ended == _threads.size()

	func _work(_number):
		while not _is_late(_deadline_usec):
			_mutex.lock()
			var location = _todo.pop_front()
			_mutex.unlock()
			if location == null:
				break
			var sample = _one(location)
			_mutex.lock()
			_found[location.name] = sample
			_mutex.unlock()
		call_deferred("_thread_ended")

	func _thread_ended():
		_ended += 1
		if _ended < _threads.size():
			return
		for thread in _threads:
			if thread.is_active():
				thread.wait_to_finish()
		_complete()

	func _complete():
		var samples = []
		for name in _names:
			if _found.get(name) != null:
				samples.append(_found[name])
		finish(samples)

	# Returns a LatencySample, or null.
	func _one(location):
		var trips = [] if _http_only or location.udp == "" else _datagrams(location.udp)
		var method = Types.LatencySample.METHOD_UDP
		if trips.size() * 2 <= _samples and location.https != "":
			trips = _requests(location.https)
			method = Types.LatencySample.METHOD_HTTPS
		if trips.size() * 2 <= _samples:
			return null # an invented figure would invite a match there
		trips.sort()
		var sample = Types.LatencySample.new()
		sample.location = location.name
		sample.rtt_ms = max(0.001, trips[trips.size() / 2] / 1000.0)
		sample.method = method
		return sample

	# Returns how long datagrams took that came back, in microseconds, but for the first.
	func _datagrams(address: String) -> Array:
		var colon = address.find_last(":")
		if colon < 0:
			return []
		var ip = _look_up(address.substr(0, colon).lstrip("[").rstrip("]"))
		var socket = PacketPeerUDP.new()
		if ip == "" or socket.set_dest_address(ip, int(address.substr(colon + 1))) != OK:
			return []
		var nonce = Crypto.new().generate_random_bytes(8)
		var trips = []
		for number in _samples + 1:
			var datagram = nonce + PoolByteArray([number])
			var begun = OS.get_ticks_usec()
			socket.put_packet(datagram)
			var is_back = false
			while not is_back and not _is_late(begun + _timeout_usec):
				while not is_back and socket.get_available_packet_count() > 0:
					is_back = socket.get_packet() == datagram
				if not is_back:
					OS.delay_usec(_LOOK_USEC)
			if is_back and number > 0:
				trips.append(OS.get_ticks_usec() - begun)
			while number < _samples and not _is_late(begun + _INTERVAL_USEC):
				OS.delay_usec(_LOOK_USEC)
		socket.close()
		return trips

	# Returns how long requests took, in microseconds, but for the first, which opens the way.
	func _requests(url: String) -> Array:
		var parts = Wire.split_url(url)
		var trips = []
		var client = HTTPClient.new()
		if parts.empty() or client.connect_to_host(parts["host"], parts["port"], parts["tls"], parts["tls"]) != OK:
			return trips
		var path = parts["path"] if parts["path"] != "" else "/"
		for number in _samples + 1:
			var begun = OS.get_ticks_usec()
			if not _reaches(client, HTTPClient.STATUS_CONNECTED, begun) or client.request(HTTPClient.METHOD_GET, path, []) != OK:
				break
			if number > 0:
				begun = OS.get_ticks_usec()
			if not _reaches(client, HTTPClient.STATUS_CONNECTED, begun) or client.get_response_code() / 100 != 2:
				break
			if number > 0:
				trips.append(OS.get_ticks_usec() - begun)
		client.close()
		return trips

	# Goes on with a request until it has a status; reports whether it reaches that in time.
	func _reaches(client, status: int, begun: int) -> bool:
		while not _is_late(begun + _timeout_usec):
			client.poll()
			if client.get_status() == status:
				return true
			if client.get_status() == HTTPClient.STATUS_BODY:
				client.read_response_body_chunk()
			elif not client.get_status() in [HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING]:
				return false
			else:
				OS.delay_usec(_LOOK_USEC)
		return false

	func _look_up(host: String) -> String:
		if host.is_valid_ip_address():
			return host
		var item = IP.resolve_hostname_queue_item(host)
		if item == IP.RESOLVER_INVALID_ID:
			return ""
		while IP.get_resolve_item_status(item) == IP.RESOLVER_STATUS_WAITING and not _is_late(_deadline_usec):
			OS.delay_usec(1000)
		var is_found = IP.get_resolve_item_status(item) == IP.RESOLVER_STATUS_DONE
		var ip = IP.get_resolve_item_address(item) if is_found else ""
		IP.erase_resolve_item(item)
		return ip

	func _is_late(limit_usec: int) -> bool:
		var now = OS.get_ticks_usec()
		return is_done or now > limit_usec or now > _deadline_usec

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
	const _LONGEST_ANSWER = 4096 # bytes
	# Of the exchange for a receipt.
	const _NONCE_SIZE = 8
	const _ASK_SIZE = 64
	const _DATAGRAM_SIZE = 300

	var _samples := 5
	var _timeout_usec := 1000000
	var _http_only := false
	var _receipts := false
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
		_receipts = options.get("receipts", false)
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
		var sample = Types.LatencySample.new()
		var trips = []
		if not _http_only and location.udp != "":
			sample.method = Types.LatencySample.METHOD_UDP
			trips = _datagrams(location.udp, sample)
		if trips.size() * 2 <= _samples and location.https != "":
			sample.method = Types.LatencySample.METHOD_HTTPS
			trips = _requests(location.https, sample)
		if trips.size() * 2 <= _samples:
			return null # an invented figure would invite a match there
		trips.sort()
		sample.location = location.name
		sample.rtt_ms = max(0.001, trips[trips.size() / 2] / 1000.0)
		return sample

	# Returns how long datagrams took that came back, in microseconds, but for the first.
	func _datagrams(address: String, sample) -> Array:
		var colon = address.find_last(":")
		if colon < 0:
			return []
		var ip = _look_up(address.substr(0, colon).lstrip("[").rstrip("]"))
		var socket = PacketPeerUDP.new()
		if ip == "" or socket.set_dest_address(ip, int(address.substr(colon + 1))) != OK:
			return []
		var nonce = Crypto.new().generate_random_bytes(_NONCE_SIZE)
		var trips = []
		for number in _samples + 1:
			var datagram = nonce + PoolByteArray([number])
			var begun = OS.get_ticks_usec()
			if not _exchange(socket, datagram, datagram).empty() and number > 0:
				trips.append(OS.get_ticks_usec() - begun)
			while number < _samples and not _is_late(begun + _INTERVAL_USEC):
				OS.delay_usec(_LOOK_USEC)
		if _receipts and not trips.empty():
			var begin = "GLB2".to_ascii() + nonce
			var stamped = _exchange(socket, _padded("GLB1".to_ascii() + nonce, _ASK_SIZE), begin)
			begin = "GLB4".to_ascii() + nonce
			if stamped.size() > 4:
				var signed = _exchange(socket, _padded("GLB3".to_ascii() + stamped.subarray(4, -1), _DATAGRAM_SIZE), begin)
				sample.receipt = signed.subarray(begin.size(), -1).get_string_from_ascii() if signed.size() > begin.size() else ""
		socket.close()
		return trips

	# Sends a datagram and returns the answer that begins as is said; an empty one if none comes
	# in time.
	func _exchange(socket, datagram: PoolByteArray, begin: PoolByteArray) -> PoolByteArray:
		var limit = OS.get_ticks_usec() + _timeout_usec
		socket.put_packet(datagram)
		while not _is_late(limit):
			while socket.get_available_packet_count() > 0:
				var answer = socket.get_packet()
				if answer.size() >= begin.size() and answer.subarray(0, begin.size() - 1) == begin:
					return answer
			OS.delay_usec(_LOOK_USEC)
		return PoolByteArray()

	# Beacons answer with no more than they were sent.
	func _padded(datagram: PoolByteArray, size: int) -> PoolByteArray:
		var from = datagram.size()
		datagram.resize(size)
		for i in range(from, size):
			datagram[i] = 0
		return datagram

	# Returns how long requests took, in microseconds, but for the first, which opens the way.
	func _requests(url: String, sample) -> Array:
		var parts = Wire.split_url(url)
		var trips = []
		var client = HTTPClient.new()
		if parts.empty() or client.connect_to_host(parts["host"], parts["port"], parts["tls"], parts["tls"]) != OK:
			return trips
		var path = parts["path"] if parts["path"] != "" else "/"
		for number in _samples + 1:
			var begun = OS.get_ticks_usec()
			if _request(client, path) == null:
				break
			if number > 0:
				trips.append(OS.get_ticks_usec() - begun)
		if _receipts and not trips.empty():
			path += "?nonce=" + Crypto.new().generate_random_bytes(_NONCE_SIZE).hex_encode()
			var stamp = _request(client, path)
			if stamp != null and stamp != "":
				var signed = _request(client, path + "&stamp=" + stamp.percent_encode())
				sample.receipt = signed if signed != null else ""
		client.close()
		return trips

	# Returns what a beacon answers; null if it does not in time.
	func _request(client, path: String):
		var limit = OS.get_ticks_usec() + _timeout_usec
		var body = PoolByteArray()
		var is_sent = false
		while not _is_late(limit):
			client.poll()
			match client.get_status():
				HTTPClient.STATUS_CONNECTED:
					if is_sent:
						return body.get_string_from_ascii() if client.get_response_code() / 100 == 2 else null
					is_sent = client.request(HTTPClient.METHOD_GET, path, []) == OK
				HTTPClient.STATUS_BODY:
					body.append_array(client.read_response_body_chunk())
					if body.size() > _LONGEST_ANSWER:
						return null
				HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
					OS.delay_usec(_LOOK_USEC)
				_:
					return null
		return null

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

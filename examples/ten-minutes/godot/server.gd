# Higher or lower: the game server. GDScript for Godot 3, no add-on.
extends SceneTree

var http = HTTPClient.new()
var server = TCP_Server.new()
var requests = {} # what has come of each, by connection
var players = []  # their player sessions
var secret = 0
var winner = ""
var state = ""
var asked = 0
var last_guess = 0


func _initialize():
	Engine.target_fps = 60
	randomize()
	secret = 1 + randi() % 100
	server.listen(int(OS.get_environment("GAME_PORT")))
	muster(HTTPClient.METHOD_POST, "/ready") # Muster may now start a game here


# Is called for each frame, and ends the program when it returns true.
func _idle(_delta):
	if server.is_connection_available():
		requests[server.take_connection()] = ""
	for peer in requests.keys():
		read(peer)
	if OS.get_ticks_msec() - asked > 1000:
		asked = OS.get_ticks_msec()
		state = muster(HTTPClient.METHOD_GET, "/session")["state"]
		if state == "activating": # it has started one: let the players in
			muster(HTTPClient.METHOD_POST, "/session/activate")
			last_guess = OS.get_ticks_msec()
		if state == "ending" or state == "active" and over():
			muster(HTTPClient.METHOD_POST, "/end")
			return true
	return false


# Reads what has come of a request, whose body is a player session, a space and a number, and
# answers it when that is all.
func read(peer):
	if peer.get_available_bytes() > 0:
		requests[peer] += peer.get_utf8_string(peer.get_available_bytes())
	var parts = requests[peer].split("\r\n\r\n", true, 1)
	var length = 0
	for line in parts[0].to_lower().split("\r\n"):
		if line.begins_with("content-length:"):
			length = int(line)
	if parts.size() == 2 and parts[1].length() >= length:
		var words = parts[1].strip_edges().split(" ")
		var text = "send your player session and a number"
		if words.size() == 2:
			text = guess(words[0], int(words[1]))
		peer.put_data(("HTTP/1.1 200 OK\r\nConnection: close\r\nAccess-Control-Allow-Origin: *\r\n" +
			"Content-Length: %d\r\n\r\n%s" % [text.length(), text]).to_utf8())
		peer.disconnect_from_host()
	if peer.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		requests.erase(peer)


# Answers a guess. The player is the player session that Muster gave to the client.
func guess(player, number):
	if not players.has(player):
		if muster(HTTPClient.METHOD_POST, "/players", {"player_session_id": player}) == null:
			return "you are not in this game"
		players.append(player)
	last_guess = OS.get_ticks_msec()
	if winner == "" and number == secret:
		winner = player
	if winner == "":
		return "higher" if number < secret else "lower"
	muster(HTTPClient.METHOD_DELETE, "/players/" + player) # the game is over for this player
	return "you won" if player == winner else "you lost, it was %d" % secret


# Reports whether everybody knows who has won, or nobody plays any more.
func over():
	var done = true
	for player in muster(HTTPClient.METHOD_GET, "/players")["players"]:
		done = done and player["state"] in ["completed", "timed_out"]
	return winner != "" and done or OS.get_ticks_msec() - last_guess > 60000


# Tells Muster something, or asks it. Returns the answer, or null if Muster does not agree.
func muster(method, path, body = {}):
	var at = OS.get_environment("MUSTER_GAME_URL").trim_prefix("http://").split("/")
	var address = at[0].split(":")
	http.close()
	http.connect_to_host(address[0], int(address[1]))
	while http.get_status() in [HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING]:
		http.poll()
		OS.delay_msec(1)
	http.request(method, "/" + at[1] + path, ["Authorization: Bearer " + OS.get_environment("MUSTER_GAME_TOKEN")],
		to_json(body) if method == HTTPClient.METHOD_POST else "")
	while http.get_status() == HTTPClient.STATUS_REQUESTING:
		http.poll()
		OS.delay_msec(1)
	var code = http.get_response_code()
	var text = PoolByteArray()
	while http.get_status() == HTTPClient.STATUS_BODY:
		http.poll()
		text.append_array(http.read_response_body_chunk())
	if code == 0 or code == 503:  # nobody answers for a moment, as when the agent restarts: nothing is done twice
		OS.delay_msec(1000)
		return muster(method, path, body)
	if code < 200 or code >= 300:
		return null
	return parse_json(text.get_string_from_utf8()) if text.size() > 0 else {}

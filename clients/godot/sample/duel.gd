extends SceneTree

## A guest finds a match and prints where to play. With bin/muster local in one terminal, run this
## in two others, for two players:
##
##     godot3-server --path clients/godot --script sample/duel.gd
##
## Arguments: the server's URL, the matchmaker, a file that keeps the login.

var client: MusterClient
var begun := 0


func _initialize():
	Engine.target_fps = 60 # without a screen, Godot draws as often as it can
	client = MusterClient.new()
	var arguments = own_arguments()
	client.url = arguments[0] if arguments.size() > 0 else "http://127.0.0.1:9080"
	if arguments.size() > 2:
		client.token_store = MusterFileTokenStore.new(arguments[2])
	client.connect("push_changed", self, "_on_push_changed")
	root.add_child(client)
	var error = play(arguments[1] if arguments.size() > 1 else "")
	if error is GDScriptFunctionState:
		error = yield(error, "completed")
	if error:
		printerr(error)
	client.queue_free()
	quit(1 if error else 0)


# Returns the arguments after the name of this script.
func own_arguments() -> Array:
	var all = Array(OS.get_cmdline_args())
	return all.slice(all.find("--script") + 2, all.size() - 1) if all.size() > all.find("--script") + 2 else []


# Logs in and finds a game. Returns a MusterError, or null.
func play(wanted: String):
	var login = yield(client.login_guest(), "completed")
	if login.error:
		return login.error
	print("player: ", login.value)
	var error = yield(measure_latency(), "completed")
	if error:
		return error
	var game = yield(interrupted_game(), "completed")
	if not game:
		game = yield(find_match(wanted), "completed")
	if game is MusterError:
		return game
	# From here on it is the game's own protocol: connect to the address, and send the player
	# session id first, which the game server passes to AcceptPlayerSession.
	print("play: %s:%d as %s" % [game.host, game.port, game.player_session_id])


# Measures the way to where games can be, so that the match is near.
func measure_latency():
	var measured = yield(client.measure_latency(), "completed")
	if measured.error:
		return measured.error
	for sample in measured.value:
		print("latency: %s %.1f ms (%s)" % [sample.location, sample.rtt_ms, sample.method])
	if measured.value.empty():
		return null
	return yield(client.report_latency({"samples": measured.value}), "completed").error


# Returns the game to go back to after a crash, if there is one.
func interrupted_game():
	var call = yield(client.reservations(), "completed")
	return call.value.items[0].connection if call.is_ok() and not call.value.items.empty() else null


# Finds a match, and shows on the way what becomes of the ticket.
func find_match(wanted: String):
	var config = yield(client.config(), "completed")
	if config.error:
		return config.error
	for matchmaker in config.value.matchmakers:
		if wanted == "":
			wanted = matchmaker.name
	print("matchmaker: ", wanted)
	begun = OS.get_ticks_msec()
	var call = client.find_match({"matchmaker": wanted}, funcref(self, "accept"))
	call.connect("changed", self, "_on_ticket_changed")
	yield(call, "completed")
	return call.error if call.error else call.value


func accept(ticket) -> bool:
	print("a match is proposed to %d players: accepted" % ticket.players.size())
	return true


func _on_ticket_changed(ticket):
	print("ticket: %s after %.1f s" % [ticket.state, (OS.get_ticks_msec() - begun) / 1000.0])


func _on_push_changed(state: String, code: int):
	print("changes: ", state, " (%d)" % code if code else "")

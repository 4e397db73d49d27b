# Higher or lower: a player. GDScript for Godot 3, with Muster's add-on.
extends SceneTree

var client = preload("res://addons/muster/muster_client.gd").new()
var http = HTTPRequest.new()


func _initialize():
	Engine.target_fps = 60
	client.url = "http://127.0.0.1:9080"
	if OS.has_environment("MUSTER_ENDPOINT"):
		client.url = OS.get_environment("MUSTER_ENDPOINT")
	root.add_child(client)
	root.add_child(http)
	play()


func play():
	print("looking for somebody to play with ...")
	var call = yield(client.login_guest(), "completed")
	if call.is_ok():
		call = yield(client.find_match({"matchmaker": "exec"}), "completed")
	if call.error:
		printerr(call.error)
		return quit(1)
	# Godot without a screen has no keyboard either, so this player guesses by halves. In a game,
	# a LineEdit's text_entered calls guess.
	var low = 1
	var high = 100
	var answer = ""
	while not answer.begins_with("you "):
		var number = (low + high) / 2
		answer = yield(guess(call.value, number), "completed")
		print(number, " ", answer)
		if answer == "higher":
			low = number + 1
		else:
			high = number - 1
	quit()


# Sends a guess, and returns what the game server answers.
func guess(game, number):
	http.request("http://%s:%d/" % [game.host, game.port], [], true, HTTPClient.METHOD_POST,
		"%s %d" % [game.player_session_id, number])
	return yield(http, "request_completed")[3].get_string_from_utf8()

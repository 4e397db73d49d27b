extends SceneTree

## Prints how many microseconds of each frame a client takes that is connected and has nothing to
## do. The argument is the server's URL.


func _initialize():
	Engine.target_fps = 60
	var client = MusterClient.new()
	client.url = OS.get_cmdline_args()[-1]
	root.add_child(client)
	yield(client.login_guest(), "completed")
	client.connect_push()
	while client.push_state() != MusterClient.PUSH_CONNECTED:
		yield(client, "push_changed")
	for _round in 5:
		yield(create_timer(0.2), "timeout")
		var begun = OS.get_ticks_usec()
		for _i in 10000:
			client._process(0)
		print("%.0f" % ((OS.get_ticks_usec() - begun) / 10000.0))
	quit()

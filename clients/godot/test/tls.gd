extends SceneTree

## Logs in and connects the push at the server whose URL is the argument. It prints each state of
## the push, and ends once that is connected, or with 1 if the login fails.


func _initialize():
	Engine.target_fps = 60
	var client = MusterClient.new()
	client.url = OS.get_cmdline_args()[-1]
	root.add_child(client)
	var login = yield(client.login_guest(), "completed")
	if login.error:
		print(login.error)
		quit(1)
		return
	client.connect_push()
	while client.push_state() != MusterClient.PUSH_CONNECTED:
		yield(client, "push_changed")
		print("push: ", client.push_state())
	quit()

extends SceneTree

## Measures latency with receipts at the server whose URL is the argument, by datagrams and by
## HTTP, reports both, and prints a line of JSON for each.

const Wire = preload("res://addons/muster/internal/wire.gd")


func _initialize():
	Engine.target_fps = 60
	var client = MusterClient.new()
	client.url = OS.get_cmdline_args()[-1]
	root.add_child(client)
	yield(client.login_guest(), "completed")
	for http_only in [false, true]:
		var measured = yield(client.measure_latency({"receipts": true, "samples": 3, "http_only": http_only}), "completed")
		var reported = yield(client.report_latency({"samples": measured.value}), "completed")
		print(Wire.write(Wire.plain({"samples": measured.value, "result": reported.value})))
	quit()

extends "token_store.gd"
class_name MusterFileTokenStore

## Keeps a login in a file, which only the user of the computer can read where Godot can say so.
## Use another file for each server and each player; only one running game may use a file.

const Wire = preload("internal/wire.gd")

var _path := ""


func _init(path := "user://muster_login.json"):
	_path = path


func load_login():
	var file = File.new()
	if not file.file_exists(_path) or file.open(_path, File.READ) != OK:
		return null
	var read = Wire.read(file.get_as_text())
	file.close()
	return read[0] if not read.empty() and read[0] is Dictionary else null


# The file is replaced as a whole: a crash leaves the old login or the new one.
func save_login(login: Dictionary) -> bool:
	var next = _path + ".new"
	var file = File.new()
	if file.open(next, File.WRITE) != OK:
		return false
	if OS.get_name() in ["X11", "OSX", "Server"]:
		file.close()
		OS.execute("chmod", ["600", ProjectSettings.globalize_path(next)], true)
		if file.open(next, File.WRITE) != OK:
			return false
	file.store_string(Wire.write(login))
	var error = file.get_error()
	file.close()
	return error == OK and Directory.new().rename(next, _path) == OK


func clear_login() -> bool:
	var directory = Directory.new()
	return not directory.file_exists(_path) or directory.remove(_path) == OK

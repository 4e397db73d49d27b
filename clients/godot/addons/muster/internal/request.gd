extends Reference

## A request of the player API.

const Wire = preload("wire.gd")

var method := "GET"
## The path below the API's, with the query.
var path := ""
## The path without the query, for messages.
var place := ""
## JSON; "" for none.
var body := ""
var headers := PoolStringArray()
## Whether it needs a login.
var as_player := true
## Whether it may be made again after a lost answer.
var may_repeat := true
## How many milliseconds the server is asked to wait, besides the time that an answer may take.
var wait_ms := 0
## Why it cannot be made; "" if it can.
var mistake := ""


## segments: the parts of the path; each is escaped.
func _init(of_method: String, segments: Array):
	method = of_method
	may_repeat = of_method in ["GET", "PUT", "DELETE"]
	for segment in segments:
		var part = str(segment)
		if part in ["", ".", ".."]:
			mistake = "%s cannot be a part of a path" % Wire.write(part)
		path += "/" + part.percent_encode()
	place = path


## value: Dictionary, or an object with to_dictionary.
func with_body(value):
	return with_json(value)


## Sends any JSON.
func with_json(value):
	var plain = Wire.plain(value)
	var why = Wire.unwritable(plain)
	if why != "":
		mistake = "%s %s: %s cannot be sent" % [method, place, why]
		return self
	body = Wire.write(plain)
	return self


## Adds members that are not null to the query.
func with_query(members: Dictionary):
	for name in members:
		var value = members[name]
		if value == null:
			continue
		var text = str(value).to_lower() if value is bool else str(value)
		path += ("&" if "?" in path else "?") + name + "=" + text.percent_encode()
	return self


func with_header(name: String, value: String):
	headers.append(name + ": " + value)
	return self


## The request needs no login.
func by_anybody():
	as_player = false
	return self


## The request can be made again, or not, whatever its method says.
func repeatable(yes: bool):
	may_repeat = yes
	return self

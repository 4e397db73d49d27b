extends Reference

## What is between JSON and objects. Godot 3 itself writes numbers with six decimals and some
## characters as no JSON has them, and reads a character of two \u escapes as none. Its float(x)
## keeps seven digits; x * 1.0 keeps all.

# 2^53: a whole number below is exact.
const _EXACT = 9007199254740992.0
const _MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


## Returns a member that is text; otherwise if it is none.
static func text(given: Dictionary, name: String, otherwise = "") -> String:
	var value = given.get(name)
	return value if value is String else otherwise


## Returns a member that is a whole number. JSON numbers are floats in Godot 3.
static func integer(given: Dictionary, name: String, otherwise = 0):
	var value = given.get(name)
	return int(value) if value is float or value is int else otherwise


## Returns a member that is a number.
static func number(given: Dictionary, name: String, otherwise = 0.0):
	var value = given.get(name)
	return value * 1.0 if value is float or value is int else otherwise


## Returns a member that is true or false.
static func boolean(given: Dictionary, name: String, otherwise = false):
	var value = given.get(name)
	return value if value is bool else otherwise


## Returns a member that is an Array.
static func list(given: Dictionary, name: String) -> Array:
	var value = given.get(name)
	return value if value is Array else []


## Returns a member that is a Dictionary.
static func dictionary(given: Dictionary, name: String) -> Dictionary:
	var value = given.get(name)
	return value if value is Dictionary else {}


## Adds what is not null.
static func add(to: Array, value):
	if value != null:
		to.append(value)


## Returns a value without objects: each is replaced by what its to_dictionary returns.
static func plain(value):
	if value is Object:
		return value.to_dictionary() if value.has_method("to_dictionary") else value
	if value is Array:
		var all = []
		for each in value:
			all.append(plain(each))
		return all
	if value is Dictionary:
		var members = {}
		for name in value:
			members[name] = plain(value[name])
		return members
	return value


## Returns what a value without objects has that JSON does not; "" for nothing.
static func unwritable(value) -> String:
	match typeof(value):
		TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_STRING:
			return ""
		TYPE_REAL:
			return "a number that is not finite" if is_nan(value) or is_inf(value) else ""
		TYPE_DICTIONARY:
			for name in value:
				if not name is String:
					return "a Dictionary whose keys are not text"
				var why = unwritable(value[name])
				if why != "":
					return why
			return ""
		TYPE_ARRAY, TYPE_STRING_ARRAY, TYPE_INT_ARRAY, TYPE_REAL_ARRAY, TYPE_RAW_ARRAY:
			for each in value:
				var why = unwritable(each)
				if why != "":
					return why
			return ""
	return "a value of Godot's type %d" % typeof(value)


## Writes a value as JSON, for which unwritable has returned "". Floats have 15 digits.
static func write(value) -> String:
	match typeof(value):
		TYPE_NIL:
			return "null"
		TYPE_BOOL:
			return "true" if value else "false"
		TYPE_INT:
			return str(value)
		TYPE_REAL:
			return _write_number(value)
		TYPE_STRING:
			return _write_text(value)
		TYPE_DICTIONARY:
			var members = PoolStringArray()
			for name in value:
				members.append(_write_text(name) + ":" + write(value[name]))
			return "{" + members.join(",") + "}"
	var all = PoolStringArray()
	for each in value:
		all.append(write(each))
	return "[" + all.join(",") + "]"


static func _write_number(value: float) -> String:
	if value == floor(value) and abs(value) < _EXACT:
		return "%d" % int(value)
	if abs(value) < 1e-290:
		return "0"
	var exponent = int(floor(log(abs(value)) / log(10.0)))
	if exponent >= -1 and exponent < 14:
		return _trim("%.*f" % [14 - exponent, value])
	var digits = value / pow(10.0, exponent)
	if abs(digits) >= 10.0: # by the logarithm's error
		digits /= 10.0
		exponent += 1
	return _trim("%.14f" % digits) + "e%d" % exponent


static func _trim(number: String) -> String:
	return number.rstrip("0").rstrip(".") if "." in number else number


static func _write_text(value: String) -> String:
	var out = value.replace("\\", "\\\\").replace("\"", "\\\"")
	for control in range(1, 32):
		var one = char(control)
		if one in out:
			out = out.replace(one, "\\u%04x" % control)
	return "\"" + out + "\""


## Reads JSON. Returns an Array with the value alone, or an empty one if it is none.
static func read(source: String) -> Array:
	var trimmed = source.strip_edges()
	if trimmed == "" or not trimmed[0] in "{[\"tfn-0123456789":
		return [] # such as HTML; Godot's own parser would print an error
	var parsed = JSON.parse(_join_surrogates(trimmed))
	return [parsed.result] if parsed.error == OK else []


# Writes characters that have two \u escapes as they are.
static func _join_surrogates(source: String) -> String:
	var lower = source.findn("\\ud")
	if lower < 0:
		return source
	var parts = PoolStringArray()
	var from = 0
	var at = source.find("\\")
	while at >= 0:
		var high = _escape(source, at)
		var low = _escape(source, at + 6) if high >= 0xD800 and high < 0xDC00 else 0
		if low >= 0xDC00 and low < 0xE000:
			parts.append(source.substr(from, at - from))
			parts.append(_utf8(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00))
			from = at + 12
			at = source.find("\\", from)
		else:
			at = source.find("\\", at + 2) # the next character is escaped
	parts.append(source.substr(from))
	return parts.join("")


# Returns the number of a \u escape; -1 if there is none.
static func _escape(source: String, at: int) -> int:
	var digits = source.substr(at + 2, 4)
	if source.substr(at, 2) != "\\u" or digits.length() < 4 or not digits.is_valid_hex_number():
		return -1
	return ("0x" + digits).hex_to_int()


# Returns a character above 0xFFFF.
static func _utf8(code: int) -> String:
	var bytes = PoolByteArray([0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F])
	return bytes.get_string_from_utf8()


## Splits a URL of HTTP into tls, host, port and path, which is "" or begins with a slash. Returns
## an empty Dictionary for what is none, or has a user, a query or a fragment.
static func split_url(url: String) -> Dictionary:
	var begin = url.find("://")
	var scheme = url.substr(0, max(0, begin))
	if not scheme in ["http", "https"] or "@" in url or "?" in url or "#" in url or " " in url:
		return {}
	var rest = url.substr(begin + 3)
	var slash = rest.find("/")
	var path = "" if slash < 0 else rest.substr(slash)
	var address = rest if slash < 0 else rest.substr(0, slash)
	var host = address
	var port = "443" if scheme == "https" else "80"
	var colon = address.find_last(":")
	if colon > address.find_last("]"):
		host = address.substr(0, colon)
		port = address.substr(colon + 1)
	if host.begins_with("[") and host.ends_with("]"):
		host = host.substr(1, host.length() - 2)
	elif ":" in host:
		return {}
	if host == "" or not port.is_valid_integer() or int(port) < 1 or int(port) > 65535:
		return {}
	return {"tls": scheme == "https", "host": host, "port": int(port), "path": path}


## Returns the seconds since 1970 of a time such as 2026-11-23T15:04:05.5Z; 0 if it is none.
static func unix_time(moment: String) -> float:
	if moment.length() < 20 or not moment.ends_with("Z") or moment[10] != "T":
		return 0.0
	var days = _days(int(moment.substr(0, 4)), int(moment.substr(5, 2)), int(moment.substr(8, 2)))
	return days * 86400 + _seconds(moment.substr(11, 8)) + ("0" + moment.substr(19, moment.length() - 20)).to_float()


## Returns the seconds since 1970 of a time of HTTP such as Mon, 23 Nov 2026 15:04:05 GMT; 0 if it
## is none.
static func http_time(text: String) -> float:
	var parts = text.strip_edges().split(" ")
	var month = _MONTHS.find(parts[2]) + 1 if parts.size() == 6 and parts[5] == "GMT" else 0
	if month == 0:
		return 0.0
	return _days(int(parts[3]), month, int(parts[1])) * 86400.0 + _seconds(parts[4])


# Returns the days from 1970 on. Godot's own conversion is wrong by some seconds.
static func _days(year: int, month: int, day: int) -> int:
	month -= 3 # years begin in March, so that leap days end them
	if month < 0:
		month += 12
		year -= 1
	return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719469


# Returns the seconds of HH:MM:SS.
static func _seconds(time: String) -> int:
	return int(time.substr(0, 2)) * 3600 + int(time.substr(3, 2)) * 60 + int(time.substr(6, 2))

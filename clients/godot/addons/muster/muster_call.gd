extends "internal/pending.gd"
class_name MusterCall

## A call under way, and what it ends with:
##
##     var call = yield(client.me(), "completed")
##     if call.error:
##         print(call.error)
##     else:
##         print(call.value.display_name)

## Is emitted with each change of a ticket or placement that the call follows.
signal changed(row)

const Failure = preload("muster_error.gd")
const Pending = preload("internal/pending.gd")

var _waits := []
var _given_up = null # the MusterError that everything it waits for ends with


## Gives the call up: it ends with an error of the kind CANCELLED. A request that is on its way
## may still have its effect.
func cancel():
	_give_up(Failure.of(Failure.CANCELLED, "the call was cancelled"))


## Reports whether it ended without an error.
func is_ok() -> bool:
	return is_done and error == null


# Ends the call at the end of the frame: no function of the client is under way when the game's
# goes on, so that the game may free the client. The call keeps itself until then.
func _settle(answer):
	call_deferred("_end_of", self, answer)


func _end_of(_itself, answer):
	_end(answer.body if answer.error == null else null, answer.error)


# Emits changed at the end of the frame.
func _tell(row):
	call_deferred("_emit_changed", self, row)


func _emit_changed(_itself, row):
	emit_signal("changed", row)


# Ends what the call waits for, and what it would wait for later, with an error.
func _give_up(with):
	if _given_up != null or is_done:
		return
	_given_up = with
	var waits = _waits
	_waits = []
	for wait in waits:
		wait.fail(with)


# Ends a wait when the call is given up, and returns it.
func _hold(wait):
	if _given_up != null:
		wait.call_deferred("fail", _given_up)
		return wait
	for i in range(_waits.size() - 1, -1, -1):
		if _waits[i].is_done:
			_waits.remove(i)
	_waits.append(wait)
	return wait


# Waits for what others wait for too.
func _join(shared):
	var wait = Pending.new()
	wait.follow(shared)
	return _hold(wait)


# Waits for the end of a function that goes on even if the call is given up. given is what the
# function returned: its state, or its result if it has ended.
func _until(given):
	var wait = Pending.new()
	if given is GDScriptFunctionState:
		given.connect("completed", wait, "finish")
	else:
		wait.call_deferred("finish", given)
	return _hold(wait)

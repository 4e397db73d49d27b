extends Reference

## What ends once, with a value or an error: wait for it with yield(pending, "completed").
## Nothing ends in the function that begins it, so that there is always time to wait.

## Is emitted once, with this object.
signal completed(it)

## What it has ended with.
var value = null
## A MusterError, or null.
var error = null
var is_done := false


## Ends it with a value, unless it has ended.
func finish(with = null):
	_end(with, null)


## Ends it with an error, unless it has ended.
func fail(with):
	_end(null, with)


## Ends it as another one ends.
func follow(other):
	other.connect("completed", self, "_follow")


func _follow(other):
	_end(other.value, other.error)


func _end(with_value, with_error):
	if is_done:
		return
	is_done = true
	value = with_value
	error = with_error
	emit_signal("completed", self)

extends Reference

## What a request has ended with.

## A MusterError, or null.
var error = null
## The HTTP status.
var status := 0
## Headers by their names in lower case.
var headers := {}
## The JSON of the body; null if it is empty.
var body = null


static func of_error(what):
	var it = load("res://addons/muster/internal/answer.gd").new()
	it.error = what
	return it

extends Reference

## What takes several requests: matches and placements from their request to their end.

const Answer = preload("answer.gd")
const Call = preload("../muster_call.gd")
const Failure = preload("../muster_error.gd")
const Follower = preload("follower.gd")
const Request = preload("request.gd")
const Types = preload("../generated/types.gd")

# How long to try to stop what was given up.
const _GIVE_UP_MS = 5000

var _client # not kept: the client keeps this
var _account
var _push
var _clock


func _init(client, account, push, clock):
	_client = client
	_account = account
	_push = push
	_clock = clock


# find_match returns an Answer whose body is a Connection.
func find_match(call, request, accept):
	var start = Request.new("POST", ["matchmaking", "tickets"]).with_body(request)
	var answer = _client._perform(call, start, Types.Ticket)
	if answer is GDScriptFunctionState:
		answer = yield(answer, "completed")
	var ticket_id = answer.body.ticket_id if answer.error == null else ""
	if answer.error != null and answer.error.kind in [Failure.NETWORK, Failure.TIMEOUT] and call._given_up == null:
		# The answer may have been lost: the ticket that the server may have made is found.
		var mine = yield(_open_tickets(call, request), "completed")
		ticket_id = mine[0].ticket_id if not mine.empty() else ""
	if ticket_id != "":
		answer = yield(follow(call, "ticket", ticket_id, accept), "completed")
	if call._given_up != null and _client._closed == null:
		yield(_give_up_ticket(request, ticket_id), "completed") # it times out otherwise
		return Answer.of_error(call._given_up)
	if answer.error != null:
		return answer
	if answer.body.connection == null:
		return Answer.of_error(Failure.of_ticket(answer.body))
	answer.body = answer.body.connection
	return answer


# Returns the player's tickets that a request may have led to.
func _open_tickets(call, request):
	var answer = yield(_account.send(Request.new("GET", ["matchmaking", "tickets"]).with_query({"active": true}), call), "completed")
	var mine = []
	var all = Types.Tickets.from_dictionary(answer.body) if answer.error == null else null
	for ticket in all.items if all != null else []:
		if ticket.matchmaker == request.get("matchmaker") and ticket.party_id == request.get("party_id", ""):
			mine.append(ticket)
	return mine


# Stops a ticket, or those that a request without an answer may have led to.
func _give_up_ticket(request, ticket_id: String):
	var scope = Call.new()
	_client._calls.append(scope)
	var ids = [ticket_id]
	if ticket_id == "":
		ids = []
		for ticket in yield(_open_tickets(scope, request), "completed"):
			ids.append(ticket.ticket_id)
	for id in ids:
		yield(_account.send(_farewell(["matchmaking", "tickets", id]), scope), "completed")
	_client._calls.erase(scope)


# Returns a request that stops what was given up, and does not take long.
func _farewell(segments: Array):
	var request = Request.new("DELETE", segments)
	request.wait_ms = int(min(0, _GIVE_UP_MS - _client.timeout_ms))
	return request


# follow follows a ticket or placement to its end, and answers proposed matches unless accept is
# null. It returns an Answer whose body is the last row.
func follow(call, name: String, id: String, accept):
	var follower = Follower.new(_push, _account, _clock)
	if name == "ticket":
		follower.begin(name, Types.Ticket, ["matchmaking", "tickets", id])
	else:
		follower.begin(name, Types.Placement, ["placements", id])
	var answered = ""
	var answer = Answer.new()
	while answer.error == null and not has_ended(answer.body):
		var row = follower.take()
		if row == null:
			answer.error = yield(call._hold(follower.wait()), "completed").error
			continue
		answer.body = row
		call._tell(row)
		if accept != null and row.state == Types.Ticket.STATE_REQUIRES_ACCEPTANCE and row.match_id != answered and row.acceptance != null and row.acceptance.mine == null:
			answered = row.match_id
			answer.error = yield(_answer(call, row, accept), "completed")
	follower.end()
	return answer


## Reports whether a ticket or placement changes no more.
static func has_ended(row) -> bool:
	if row is Types.Placement:
		return row.state != Types.Placement.STATE_PENDING
	return row is Types.Ticket and row.state in [
		Types.Ticket.STATE_COMPLETED, Types.Ticket.STATE_FAILED, Types.Ticket.STATE_CANCELLED, Types.Ticket.STATE_TIMED_OUT,
	]


# Answers a proposed match; answering again does no harm. Returns a MusterError, or null.
func _answer(call, ticket, accept):
	if accept is FuncRef:
		var end = yield(call._until(accept.call_func(ticket)), "completed")
		if end.error != null:
			return end.error
		accept = end.value
		if accept == null:
			return null # the game answers by itself
	for failures in range(1, 5):
		var request = Request.new("POST", ["matchmaking", "tickets", ticket.ticket_id, "acceptance"]).with_body({"accept": bool(accept)})
		var answer = yield(_account.send(request, call), "completed")
		if answer.error == null or answer.error.is_problem(["not-awaiting-acceptance", "ticket-ended"]):
			return null # the ticket shows what became of it
		if not answer.error.is_temporary() or failures == 4:
			return answer.error
		yield(_clock.sleep(_clock.backoff(failures), call), "completed")


# follow_placement returns an Answer whose body is a Placement that is fulfilled.
func follow_placement(call, id: String):
	var answer = yield(follow(call, "placement", id, null), "completed")
	if answer.error == null and answer.body.state != Types.Placement.STATE_FULFILLED:
		return Answer.of_error(Failure.of_placement(answer.body))
	return answer


# host_session returns an Answer whose body is a Connection.
func host_session(call, request):
	var answer = _client._perform(call, Request.new("POST", ["sessions"]).with_body(request), Types.Placement)
	if answer is GDScriptFunctionState:
		answer = yield(answer, "completed")
	if answer.error != null:
		return answer
	var id = answer.body.placement_id
	answer = yield(follow_placement(call, id), "completed")
	if call._given_up != null and _client._closed == null:
		var scope = Call.new()
		_client._calls.append(scope)
		yield(_account.send(_farewell(["placements", id]), scope), "completed")
		_client._calls.erase(scope)
		return Answer.of_error(call._given_up)
	if answer.error == null:
		answer.body = answer.body.connection
	return answer

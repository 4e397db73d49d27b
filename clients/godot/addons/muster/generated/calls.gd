# Code generated from openapi.yaml. DO NOT EDIT.
extends Node

## The calls of the player API that need nothing besides their answer. Each returns a
## MusterCall. A request may be a Dictionary or an object of Types.

const Types = preload("types.gd")
const Request = preload("../internal/request.gd")

# Makes a request and returns a MusterCall; its value is of the type, if that is not null.
func _call(_request, _type):
	assert(false, "MusterClient makes the requests")


## Answers without content, for measuring latency.
func ping():
	return _call(Request.new("GET", ["ping"]).by_anybody(), null)


## What a client has to know.
## Its value: ClientConfig.
func config():
	return _call(Request.new("GET", ["config"]).by_anybody(), Types.ClientConfig)


## Where games can be, and how to measure the way.
## Its value: Locations.
func locations():
	return _call(Request.new("GET", ["locations"]).by_anybody(), Types.Locations)


## The own account.
## Its value: Player.
func me():
	return _call(Request.new("GET", ["players", "me"]), Types.Player)


## Change the own account.
## body: PlayerChange.
## Its value: Player.
func change_me(body):
	return _call(Request.new("PATCH", ["players", "me"]).with_body(body), Types.Player)


## All data of a namespace: private, public or server.
## Its value: DataItems.
func all_data(namespace):
	return _call(Request.new("GET", ["players", "me", "data", namespace]), Types.DataItems)


## Report what was measured.
## body: LatencyReport.
## Its value: LatencyResult.
func report_latency(body):
	return _call(Request.new("PUT", ["players", "me", "latency"]).with_body(body), Types.LatencyResult)


## Games to come back to after a crash.
## Its value: Reservations.
func reservations():
	return _call(Request.new("GET", ["players", "me", "reservations"]), Types.Reservations)


## What anybody may know of a player.
## Its value: PublicPlayer.
func public_player(player_id):
	return _call(Request.new("GET", ["players", player_id]), Types.PublicPlayer)


## What anybody may know of several players.
## body: PlayerLookup.
## Its value: PublicPlayers.
func look_up_players(body):
	return _call(Request.new("POST", ["players", "lookup"]).with_body(body), Types.PublicPlayers)


## Ask to be matched.
## body: TicketRequest.
## Its value: Ticket.
func start_matchmaking(body):
	return _call(Request.new("POST", ["matchmaking", "tickets"]).with_body(body), Types.Ticket)


## The own tickets.
## active: true leaves out those that are over.
## Its value: Tickets.
func tickets(active = null):
	return _call(Request.new("GET", ["matchmaking", "tickets"]).with_query({"active": active}), Types.Tickets)


## A ticket; 304 where nothing changed.
## Its value: Ticket.
func get_ticket(ticket_id):
	return _call(Request.new("GET", ["matchmaking", "tickets", ticket_id]), Types.Ticket)


## Ask for a ticket to be cancelled.
## Its value: Ticket.
func stop_matchmaking(ticket_id):
	return _call(Request.new("DELETE", ["matchmaking", "tickets", ticket_id]), Types.Ticket)


## Answer a proposed match.
## body: AcceptRequest.
## Its value: Ticket.
func accept_match(ticket_id, body):
	return _call(Request.new("POST", ["matchmaking", "tickets", ticket_id, "acceptance"]).with_body(body), Types.Ticket)


## Make a party.
## body: PartyRequest.
## Its value: Party.
func create_party(body):
	return _call(Request.new("POST", ["parties"]).with_body(body), Types.Party)


## Join a party by its code.
## body: PartyJoin.
## Its value: Party.
func join_party(body):
	return _call(Request.new("POST", ["parties", "join"]).with_body(body), Types.Party)


## A party one is in.
## Its value: Party.
func get_party(party_id):
	return _call(Request.new("GET", ["parties", party_id]), Types.Party)


## Say that one is ready, or not.
## body: MemberChange.
## Its value: Party.
func change_member(party_id, body):
	return _call(Request.new("PUT", ["parties", party_id, "members", "me"]).with_body(body), Types.Party)


## Leave (me), or put somebody out, as the leader.
func leave_party(party_id, player_id):
	return _call(Request.new("DELETE", ["parties", party_id, "members", player_id]), null)


## Games of a pool that can be joined.
## pool: the pool.
## limit: 1 to 20.
## location: only there.
## filter: only those for which this holds: a FilterExpression of SearchGameSessions, 1024 characters at most, on what players see.
## sort: in this order: a SortExpression of SearchGameSessions, 1024 characters at most; default: by creation.
## Its value: GameSessions.
func list_sessions(pool = null, limit = null, location = null, filter = null, sort = null):
	return _call(Request.new("GET", ["sessions"]).with_query({"pool": pool, "limit": limit, "location": location, "filter": filter, "sort": sort}), Types.GameSessions)


## Ask for a new game session.
## body: SessionRequest.
## Its value: Placement.
func create_session(body):
	return _call(Request.new("POST", ["sessions"]).with_body(body), Types.Placement)


## A game one has a place in, or had one until a few minutes ago.
## Its value: GameSession.
func get_session(session_id):
	return _call(Request.new("GET", ["sessions", session_id]), Types.GameSession)


## Take a place in a game.
## body: JoinRequest.
## Its value: Reservation.
func join_session(session_id, body):
	return _call(Request.new("POST", ["sessions", session_id, "players"]).with_body(body), Types.Reservation)


## A game session on its way; 304 where nothing changed.
## Its value: Placement.
func get_placement(placement_id):
	return _call(Request.new("GET", ["placements", placement_id]), Types.Placement)


## Give it up.
## Its value: Placement.
func stop_placement(placement_id):
	return _call(Request.new("DELETE", ["placements", placement_id]), Types.Placement)

"""Launch a game server, create a game session, add players, validate one, stop
the session, shut down; with boto3, in the protocol that the argument names."""

import datetime
import json
import os
import subprocess
import sys

import checks
import protocols
from checks import check, refused


class GameServer:
    """A game server process that is spoken to in lines."""

    def __init__(self, endpoint, token, fleet):
        environment = dict(
            os.environ,
            GAMELIFT_SDK_WEBSOCKET_URL=endpoint, GAMELIFT_SDK_AUTH_TOKEN=token, GAMELIFT_SDK_FLEET_ID=fleet,
            GAMELIFT_SDK_HOST_ID="host-1", GAMELIFT_SDK_PROCESS_ID="process-1",
        )
        self.process = subprocess.Popen(
            [os.environ["GAMESERVER"]], env=environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hears(self, line):
        check(f"the game server says: {line.split()[0]}", self.process.stdout.readline().strip(), line)

    def does(self, *words):
        print(*words, file=self.process.stdin)


def main(protocol):
    gl, sent = protocols.client(protocol)
    gl.create_location(LocationName="custom-boto3", Tags=[{"Key": "team", "Value": "red"}])
    want = {"json": b"application/x-amz-json-1.1", "cbor": b"application/cbor"}[protocol]
    check("boto3 speaks " + protocol, {t if isinstance(t, bytes) else t.encode() for t in sent}, {want})
    refused("a location's name is taken once", "ConflictException", gl.create_location, LocationName="custom-boto3")
    fleet = gl.create_fleet(
        Name="boto3", ComputeType="ANYWHERE", Locations=[{"Location": "custom-boto3"}],
        AnywhereConfiguration={"Cost": "0.5"})["FleetAttributes"]
    check("an Anywhere fleet is ACTIVE at once", fleet["Status"], "ACTIVE")
    age = datetime.datetime.now(datetime.timezone.utc) - fleet["CreationTime"]
    check("its creation is a time just past", abs(age) < datetime.timedelta(minutes=1), True)
    compute = gl.register_compute(
        FleetId=fleet["FleetId"], ComputeName="host-1", Location="custom-boto3", IpAddress="127.0.0.1")["Compute"]
    token = gl.get_compute_auth_token(FleetId=fleet["FleetId"], ComputeName="host-1")
    check("the token ends later", token["ExpirationTimestamp"] > fleet["CreationTime"], True)
    server = GameServer(compute["GameLiftServiceSdkEndpoint"], token["AuthToken"], fleet["FleetId"])
    server.hears("ready")
    play(gl, server, fleet)
    match(gl)

    gl.deregister_compute(FleetId=fleet["FleetId"], ComputeName="host-1")
    gl.delete_fleet(FleetId=fleet["FleetId"])
    check("every request was in " + protocol, {t if isinstance(t, bytes) else t.encode() for t in sent}, {want})


def match(gl):
    """Matchmaking without game sessions, with attributes of every type."""
    attributes = [
        {"name": "skill", "type": "number"}, {"name": "mode", "type": "string"},
        {"name": "maps", "type": "string_list"}, {"name": "prefs", "type": "string_number_map"}]
    rules = [{"name": "map", "type": "collection", "operation": "intersection", "minCount": 1,
              "measurements": ["flatten(teams[*].players.attributes[maps])"]}]
    body = json.dumps({
        "ruleLanguageVersion": "1.0", "playerAttributes": attributes, "rules": rules,
        "teams": [{"name": "duo", "minPlayers": 2, "maxPlayers": 2}]})
    check("the rule set is valid", gl.validate_matchmaking_rule_set(RuleSetBody=body)["Valid"], True)
    gl.create_matchmaking_rule_set(Name="duo", RuleSetBody=body)
    gl.create_matchmaking_configuration(
        Name="mm", RuleSetName="duo", FlexMatchMode="STANDALONE", RequestTimeoutSeconds=60,
        AcceptanceRequired=True, AcceptanceTimeoutSeconds=60)
    wrong = {"PlayerId": "p", "PlayerAttributes": {"skill": {"S": "much"}}}
    refused("a value of the wrong type", "InvalidRequestException", gl.start_matchmaking, ConfigurationName="mm", Players=[wrong])
    brought = {"skill": {"N": 12.5}, "mode": {"S": "ctf"}, "maps": {"SL": ["ice", "sand"]}, "prefs": {"SDM": {"ice": 7.0}}}
    for name in "ab":
        ticket = gl.start_matchmaking(
            ConfigurationName="mm", TicketId=name,
            Players=[{"PlayerId": "player-" + name, "PlayerAttributes": brought, "LatencyInMs": {"us-east-1": 20}}])["MatchmakingTicket"]
        check("a new ticket is QUEUED", ticket["Status"], "QUEUED")
    check("tickets become REQUIRES_ACCEPTANCE", become(gl, "REQUIRES_ACCEPTANCE"), ["REQUIRES_ACCEPTANCE"] * 2)
    shown = gl.describe_matchmaking(TicketIds=["a"])["TicketList"][0]["Players"][0]
    check("attributes of every type come back", shown["PlayerAttributes"], brought)
    for name in "ab":
        gl.accept_match(TicketId=name, PlayerIds=["player-" + name], AcceptanceType="ACCEPT")
    check("tickets become COMPLETED", become(gl, "COMPLETED"), ["COMPLETED"] * 2)
    refused("what is over cannot be stopped", "InvalidRequestException", gl.stop_matchmaking, TicketId="a")
    gl.delete_matchmaking_configuration(Name="mm")
    gl.delete_matchmaking_rule_set(Name="duo")


def become(gl, status):
    """Poll both tickets until they have the status, or a minute has passed."""
    until = datetime.datetime.now() + datetime.timedelta(minutes=1)
    while True:
        now = [t["Status"] for t in gl.describe_matchmaking(TicketIds=["a", "b"])["TicketList"]]
        if now == [status] * 2 or datetime.datetime.now() > until:
            return now


def create(gl, asked):
    """Create a game session; a process counts from its SDK's first heartbeat, which comes just after it is ready."""
    until = datetime.datetime.now() + datetime.timedelta(minutes=1)
    while True:
        try:
            return gl.create_game_session(**asked)["GameSession"]
        except gl.exceptions.FleetCapacityExceededException:
            if datetime.datetime.now() > until:
                raise


def play(gl, server, fleet):
    asked = dict(
        FleetId=fleet["FleetArn"], Location="custom-boto3", MaximumPlayerSessionCount=3, Name="fünf",
        GameProperties=[{"Key": "map", "Value": "winter"}], IdempotencyToken="game-1")
    game = create(gl, asked)
    check("a new game session is ACTIVATING", game["Status"], "ACTIVATING")
    server.hears("activated " + game["GameSessionId"])
    again = gl.create_game_session(**asked)["GameSession"]
    check("the same request gives the same game session", again["GameSessionId"], game["GameSessionId"])
    check("which is ACTIVE by now", again["Status"], "ACTIVE")
    check("its name and properties are kept", (again["Name"], again["GameProperties"]), (asked["Name"], asked["GameProperties"]))
    refused("the token is not for another request", "IdempotentParameterMismatchException",
            gl.create_game_session, **dict(asked, Name="six"))

    key = dict(GameSessionId=game["GameSessionId"])
    player = gl.create_player_session(PlayerId="ana", PlayerData="blue", **key)["PlayerSession"]
    check("a reservation is RESERVED", player["Status"], "RESERVED")
    server.does("accept", game["GameSessionId"], player["PlayerSessionId"])
    server.hears("accepted " + player["PlayerSessionId"])
    shown = gl.describe_player_sessions(PlayerSessionId=player["PlayerSessionId"])["PlayerSessions"][0]
    check("a validated player session is ACTIVE", (shown["Status"], shown["PlayerData"]), ("ACTIVE", "blue"))
    gl.create_player_sessions(PlayerIds=["ben", "eve"], PlayerDataMap={"ben": "red"}, **key)
    refused("the game session is full", "GameSessionFullException", gl.create_player_session, PlayerId="joe", **key)
    pages = gl.get_paginator("describe_player_sessions").paginate(PaginationConfig={"PageSize": 1}, **key)
    check("pages of one give all three players",
          [p["PlayerId"] for page in pages for p in page["PlayerSessions"]], ["ana", "ben", "eve"])
    server.does("remove", game["GameSessionId"], player["PlayerSessionId"])
    server.hears("removed " + player["PlayerSessionId"])

    gl.update_game_session(Name="saturday", PlayerSessionCreationPolicy="DENY_ALL", **key)
    found = gl.search_game_sessions(
        FleetId=fleet["FleetId"], FilterExpression="gameSessionName='saturday' AND playerSessionCount=2",
        SortExpression="creationTimeMillis ASC")["GameSessions"]
    check("it is found by its new name", [g["GameSessionId"] for g in found], [game["GameSessionId"]])
    refused("it takes no new players", "InvalidGameSessionStatusException", gl.create_player_session, PlayerId="joe", **key)
    refused("an unknown fleet is not found", "NotFoundException", gl.describe_fleet_location_attributes,
            FleetId="fleet-00000000-0000-0000-0000-000000000000")
    stop(gl, server, key)


def stop(gl, server, key):
    answer = gl.terminate_game_session(TerminationMode="TRIGGER_ON_PROCESS_TERMINATE", **key)
    check("it is told to end", answer["GameSession"]["Status"], "TERMINATING")
    server.hears("terminated")
    server.hears("ended")
    over = gl.describe_game_sessions(**key)["GameSessions"][0]
    check("it ended, and says why", (over["Status"], over["StatusReason"]), ("TERMINATED", "TRIGGERED_ON_PROCESS_TERMINATE"))
    check("its end is a time after its beginning", over["TerminationTime"] >= over["CreationTime"], True)


main(sys.argv[1])
sys.exit(1 if checks.failures else 0)

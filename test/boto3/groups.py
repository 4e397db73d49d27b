"""A game server group with boto3: game servers register on a host, one is claimed and
hosts a game, and the group is deleted; in the protocol that the argument names."""

import json
import os
import sys
import urllib.request

import checks
import protocols
from checks import check, refused


def post(path, body=None):
    """Call Muster's own interface as an operator."""
    request = urllib.request.Request(os.environ["ENDPOINT"] + path, data=json.dumps(body or {}).encode(), method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def join(name):
    """Let a machine join whose name is the id of an instance."""
    post("/agent/v1/join", dict(
        Token=post("/agent/v1/tokens")["Token"], Name=name, IPAddress="127.0.0.1", CPUMillis=1000, MemoryMiB=1000, PortFrom=1, PortTo=9))
    return name


def main(protocol):
    gl, sent = protocols.client(protocol)
    one, two = join("i-0000000000000000a"), join("i-0000000000000000b")
    group = dict(GameServerGroupName="arena")
    machines = dict(
        RoleArn="arn:aws:iam::000000000000:role/r", MinSize=0, MaxSize=2, LaunchTemplate={"LaunchTemplateName": "template"},
        InstanceDefinitions=[{"InstanceType": "c5.large"}, {"InstanceType": "c5.xlarge", "WeightedCapacity": "2"}])
    made = gl.create_game_server_group(BalancingStrategy="SPOT_ONLY", Tags=[{"Key": "k", "Value": "v"}], **group, **machines)["GameServerGroup"]
    check("a group is ACTIVE at once", made["Status"], "ACTIVE")
    check("its strategy is shown, and that it has no effect", (made["BalancingStrategy"], "no effect" in made["StatusReason"]), ("SPOT_ONLY", True))
    check("its tags can be read", gl.list_tags_for_resource(ResourceARN=made["GameServerGroupArn"])["Tags"], [{"Key": "k", "Value": "v"}])
    refused("its name is taken", "ConflictException", gl.create_game_server_group, **group, **machines)
    pages = gl.get_paginator("describe_game_server_instances").paginate(PaginationConfig={"PageSize": 1}, **group)
    instances = {i["InstanceId"]: i["InstanceStatus"] for page in pages for i in page["GameServerInstances"]}
    check("the hosts are its instances", (instances.get(one), instances.get(two)), ("ACTIVE", "ACTIVE"))

    first, second = dict(GameServerId="server-1", **group), dict(GameServerId="server-2", **group)
    refused("no game server is free", "OutOfCapacityException", gl.claim_game_server, **group)
    refused("only a host can be an instance", "InvalidRequestException", gl.register_game_server, InstanceId="i-00000000000000000", **first)
    v = gl.register_game_server(InstanceId=one, ConnectionInfo="127.0.0.1:7777", GameServerData="new", **first)["GameServer"]
    check("a registered game server is AVAILABLE and not claimed", (v["UtilizationStatus"], v.get("ClaimStatus")), ("AVAILABLE", None))
    refused("its id is taken", "ConflictException", gl.register_game_server, InstanceId=two, **first)
    gl.register_game_server(InstanceId=two, **second)
    v = gl.claim_game_server(GameServerData="map=7", FilterOption={"InstanceStatuses": ["ACTIVE"]}, **group)["GameServer"]
    check("a claim takes the first instance", (v["GameServerId"], v["ClaimStatus"], v["ConnectionInfo"], v["GameServerData"]), ("server-1", "CLAIMED", "127.0.0.1:7777", "map=7"))
    refused("it is claimed once", "ConflictException", gl.claim_game_server, **first)
    v = gl.update_game_server(UtilizationStatus="UTILIZED", HealthCheck="HEALTHY", **first)["GameServer"]
    check("when players are there it is UTILIZED", (v["UtilizationStatus"], v.get("ClaimStatus")), ("UTILIZED", None))
    refused("it cannot be AVAILABLE again", "InvalidRequestException", gl.update_game_server, UtilizationStatus="AVAILABLE", **first)
    check("the claim is remembered", gl.describe_game_server(**first)["GameServer"]["LastClaimTime"] >= v["RegistrationTime"], True)
    servers = gl.get_paginator("list_game_servers").paginate(SortOrder="DESCENDING", PaginationConfig={"PageSize": 1}, **group)
    check("the list is in the order that was asked for", [v["GameServerId"] for page in servers for v in page["GameServers"]], ["server-2", "server-1"])

    changed = gl.update_game_server_group(BalancingStrategy="ON_DEMAND_ONLY", GameServerProtectionPolicy="FULL_PROTECTION", **group)["GameServerGroup"]
    check("a group is updated", (changed["BalancingStrategy"], changed["GameServerProtectionPolicy"], changed.get("StatusReason")), ("ON_DEMAND_ONLY", "FULL_PROTECTION", None))
    actions = ["REPLACE_INSTANCE_TYPES"]
    check("it is suspended", gl.suspend_game_server_group(SuspendActions=actions, **group)["GameServerGroup"]["SuspendedActions"], actions)
    check("it is resumed", gl.resume_game_server_group(ResumeActions=actions, **group)["GameServerGroup"]["SuspendedActions"], [])

    check("a group with a game waits", gl.delete_game_server_group(DeleteOption="SAFE_DELETE", **group)["GameServerGroup"]["Status"], "DELETE_SCHEDULED")
    refused("it takes no claims", "InvalidRequestException", gl.claim_game_server, **group)
    check("it is still there", gl.describe_game_server_group(**group)["GameServerGroup"]["Status"], "DELETE_SCHEDULED")
    gl.deregister_game_server(**first)
    for _ in range(1000):
        if not gl.list_game_server_groups()["GameServerGroups"]:
            break
    refused("it goes when the game has ended", "NotFoundException", gl.describe_game_server_group, **group)
    refused("its other game servers are deregistered", "NotFoundException", gl.describe_game_server, **second)
    check("every request was in " + protocol, {protocol in str(t) for t in sent}, {True})


main(sys.argv[1])
sys.exit(1 if checks.failures else 0)

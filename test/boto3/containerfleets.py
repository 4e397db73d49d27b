"""Container fleets and their deployments with boto3, in the protocol that the argument
names. No machine is there, so that none becomes ACTIVE."""

import sys

import checks
import protocols
from botocore.exceptions import ClientError
from checks import check, refused

DIGEST = "sha256:" + "a" * 64


def define(gl, name, kind="GAME_SERVER", vcpu=1.0):
    container = dict(ContainerName="main", ImageUri="registry.example/arena@" + DIGEST)
    ports = {"ContainerPortRanges": [{"FromPort": 7000, "ToPort": 7001, "Protocol": "UDP"}]}
    if kind == "GAME_SERVER":
        containers = dict(GameServerContainerDefinition=dict(container, ServerSdkVersion="5.4.0", PortConfiguration=ports))
    else:
        containers = dict(SupportContainerDefinitions=[dict(container, Essential=True)])
    return gl.create_container_group_definition(
        Name=name, ContainerGroupType=kind, OperatingSystem="AMAZON_LINUX_2023", TotalMemoryLimitMebibytes=512, TotalVcpuLimit=vcpu,
        **containers)["ContainerGroupDefinition"]["ContainerGroupDefinitionArn"]


def begun(deployment):
    """Whether it has not ended: PENDING or IN_PROGRESS is a matter of time."""
    return deployment["DeploymentStatus"] in ("PENDING", "IN_PROGRESS")


def main(protocol):
    gl, sent = protocols.client(protocol)
    first = define(gl, "arena")
    second = gl.update_container_group_definition(Name="arena", VersionDescription="2")["ContainerGroupDefinition"]["ContainerGroupDefinitionArn"]
    define(gl, "side", "PER_INSTANCE", 0.5)
    define(gl, "wide", vcpu=2.0)
    role = dict(FleetRoleArn="arn:aws:iam::000000000000:role/r")
    small = dict(role, InstanceType="c5.large")

    invalid = "InvalidRequestException"
    refused("an unknown definition", invalid, gl.create_container_fleet, GameServerContainerGroupDefinitionName="none", **role)
    refused("a definition of the other type", invalid, gl.create_container_fleet, GameServerContainerGroupDefinitionName="side", **role)
    refused("groups that do not fit together", invalid, gl.create_container_fleet, GameServerContainerGroupDefinitionName="wide",
            PerInstanceContainerGroupDefinitionName="side", **small)
    refused("too narrow a range of ports", invalid, gl.create_container_fleet, GameServerContainerGroupDefinitionName=first,
            InstanceConnectionPortRange={"FromPort": 5000, "ToPort": 5000}, **small)
    refused("logs to S3 without a bucket", invalid, gl.create_container_fleet, LogConfiguration={"LogDestination": "S3"}, **role)
    refused("a tag of AWS's own", "TaggingFailedException", gl.create_container_fleet, Tags=[{"Key": "aws:x", "Value": "v"}], **role)
    check("a refusal creates nothing", gl.list_container_fleets()["ContainerFleets"], [])

    given = dict(
        PerInstanceContainerGroupDefinitionName="side", Description="d", BillingType="SPOT", MetricGroups=["m"], NewGameSessionProtectionPolicy="FullProtection",
        GameSessionCreationLimitPolicy={"NewGameSessionsPerCreator": 3, "PolicyPeriodInMinutes": 5}, LogConfiguration={"LogDestination": "S3", "S3BucketName": "b"},
        InstanceInboundPermissions=[{"FromPort": 5000, "ToPort": 5010, "IpRange": "0.0.0.0/0", "Protocol": "UDP"}],
        InstanceConnectionPortRange={"FromPort": 5000, "ToPort": 5010}, PlayerGatewayMode="ENABLED", **small)
    fleet = gl.create_container_fleet(Locations=[{"Location": "eu-west-1"}], **given)["ContainerFleet"]
    check("what was given is shown", {k: fleet.get(k) for k in given}, given)
    check("it has its own kind of ARN", fleet["FleetArn"].endswith(":containerfleet/" + fleet["FleetId"]), True)
    check("nothing runs without a game server group", (fleet["Status"], [l["Status"] for l in fleet["LocationAttributes"]]), ("CREATED", ["CREATED"]))
    which = dict(FleetId=fleet["FleetId"])
    refused("it has no deployment", "NotFoundException", gl.describe_fleet_deployment, **which)
    refused("it cannot be scaled yet", "InvalidFleetStatusException", gl.update_fleet_capacity, DesiredInstances=1, **which)

    fleet = gl.update_container_fleet(GameServerContainerGroupDefinitionName=first, **which)["ContainerFleet"]
    check("a definition sets it in motion", (fleet["Status"], fleet["GameServerContainerGroupsPerInstance"]), ("ACTIVATING", 1))
    fleet = gl.update_container_fleet(
        GameServerContainerGroupDefinitionName=second, RemoveAttributes=["PER_INSTANCE_CONTAINER_GROUP_DEFINITION"],
        DeploymentConfiguration={"MinimumHealthyPercentage": 40, "ImpairmentStrategy": "MAINTAIN"}, **which)["ContainerFleet"]
    check("an attribute is removed", fleet.get("PerInstanceContainerGroupDefinitionArn"), None)
    check("more groups fit then", fleet["MaximumGameServerContainerGroupsPerInstance"], 2)
    latest = gl.describe_fleet_deployment(**which)
    check("its deployment", latest["FleetDeployment"]["DeploymentConfiguration"],
          {"ProtectionStrategy": "WITH_PROTECTION", "MinimumHealthyPercentage": 40, "ImpairmentStrategy": "MAINTAIN"})
    check("in each location", {k: begun(d) for k, d in latest["LocationalDeployments"].items()}, {"us-east-1": True, "eu-west-1": True})
    pages = gl.get_paginator("list_fleet_deployments").paginate(PaginationConfig={"PageSize": 1}, **which)
    check("deployments are listed, the newest first", [(d["GameServerBinaryArn"], begun(d)) for page in pages for d in page["FleetDeployments"]],
          [(second, True), (first, False)])
    quiet = gl.update_container_fleet(Description="e", **which)["ContainerFleet"]
    check("a description needs no deployment", (quiet["Description"], quiet["DeploymentDetails"]["LatestDeploymentId"]),
          ("e", latest["FleetDeployment"]["DeploymentId"]))
    closed = gl.update_container_fleet(InstanceInboundPermissionRevocations=given["InstanceInboundPermissions"], **which)["ContainerFleet"]
    check("permissions need one", (closed["DeploymentDetails"] == quiet["DeploymentDetails"], closed.get("InstanceInboundPermissions")), (False, None))
    refused("a permission that is not there", invalid, gl.update_container_fleet,
            InstanceInboundPermissionRevocations=given["InstanceInboundPermissions"], **which)
    refused("an unknown definition in an update", "NotFoundException", gl.update_container_fleet, GameServerContainerGroupDefinitionName="none", **which)
    refused("a deployment of no fleet", "NotFoundException", gl.describe_fleet_deployment, DeploymentId="deployment-none", **which)
    ports = gl.describe_container_group_port_mappings
    refused("ports of an instance that is not there", "NotFoundException", ports, ContainerGroupType="PER_INSTANCE", InstanceId="i-00000000000000000", **which)
    refused("ports of a compute that is not there", "NotFoundException", ports, ContainerGroupType="GAME_SERVER", ComputeName="i-00000000000000000/0", **which)
    refused("ports in no fleet", "NotFoundException", ports, ContainerGroupType="PER_INSTANCE", InstanceId="i-00000000000000000", FleetId="containerfleet-none")
    refused("ports of nothing", invalid, ports, ContainerGroupType="GAME_SERVER", **which)
    refused("ports of two kinds", invalid, ports, ContainerGroupType="PER_INSTANCE", InstanceId="i-0", ComputeName="i-0/0", **which)
    pages = gl.get_paginator("list_container_fleets").paginate(ContainerGroupDefinitionName="arena", PaginationConfig={"PageSize": 1})
    check("fleets are listed by definition", [f["FleetId"] for page in pages for f in page["ContainerFleets"]], [fleet["FleetId"]])
    refused("its versions are in use", invalid, gl.delete_container_group_definition, Name="arena")
    refused("it is no fleet of builds", invalid, gl.delete_fleet, **which)

    starting = gl.create_container_fleet(GameServerContainerGroupDefinitionName=first, **role)["ContainerFleet"]["FleetId"]
    refused("one that is being created", "NotReadyException", gl.update_container_fleet, FleetId=starting)
    for one in [fleet["FleetId"], starting]:
        gl.delete_container_fleet(FleetId=one)
        try:
            while True:
                gl.describe_container_fleet(FleetId=one)
        except ClientError as e:
            check("it is deleted", e.response["Error"]["Code"], "NotFoundException")
        refused("it is gone", "NotFoundException", gl.delete_container_fleet, FleetId=one)
    refused("with its deployments", "NotFoundException", gl.list_fleet_deployments, **which)
    for name in ["arena", "side", "wide"]:
        gl.delete_container_group_definition(Name=name)
    check("every request was in " + protocol, {protocol in str(t) for t in sent}, {True})


main(sys.argv[1])
sys.exit(1 if checks.failures else 0)

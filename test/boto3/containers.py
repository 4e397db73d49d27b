"""Container group definitions with boto3: versions are made, read, listed and deleted; in
the protocol that the argument names."""

import sys

import checks
import protocols
from checks import check, refused

DIGEST = "sha256:" + "a" * 64


def main(protocol):
    gl, sent = protocols.client(protocol)
    name = dict(Name="arena")
    game = dict(
        ContainerName="game", ImageUri="registry.example/arena@" + DIGEST, ServerSdkVersion="5.4.0",
        PortConfiguration={"ContainerPortRanges": [{"FromPort": 7000, "ToPort": 7010, "Protocol": "UDP"}]})
    logs = dict(
        ContainerName="logs", ImageUri="registry.example/logs:1@" + DIGEST, Essential=False, MemoryHardLimitMebibytes=64, Vcpu=0.25,
        DependsOn=[{"ContainerName": "game", "Condition": "START"}], HealthCheck={"Command": ["CMD", "true"], "Interval": 60, "Retries": 5, "Timeout": 30})
    spec = dict(OperatingSystem="AMAZON_LINUX_2023", TotalMemoryLimitMebibytes=1024, TotalVcpuLimit=1.5)

    made = gl.create_container_group_definition(
        GameServerContainerDefinition=game, SupportContainerDefinitions=[logs], VersionDescription="first",
        Tags=[{"Key": "k", "Value": "v"}], **name, **spec)["ContainerGroupDefinition"]
    check("images named by their digests need no registry", (made["Status"], made["VersionNumber"], made["ContainerGroupType"]), ("READY", 1, "GAME_SERVER"))
    check("the digest is resolved", made["GameServerContainerDefinition"]["ResolvedImageDigest"], DIGEST)
    check("what was given is shown", {k: made["SupportContainerDefinitions"][0].get(k) for k in logs}, logs)
    check("its tags can be read", gl.list_tags_for_resource(ResourceARN=made["ContainerGroupDefinitionArn"])["Tags"], [{"Key": "k", "Value": "v"}])
    refused("its name is taken", "ConflictException", gl.create_container_group_definition, GameServerContainerDefinition=game, **name, **spec)
    refused("dependencies in a ring", "InvalidRequestException", gl.create_container_group_definition, Name="ring",
            GameServerContainerDefinition=dict(game, DependsOn=[{"ContainerName": "logs", "Condition": "HEALTHY"}]), SupportContainerDefinitions=[logs], **spec)
    refused("more memory than the group has", "InvalidRequestException", gl.create_container_group_definition, Name="large",
            GameServerContainerDefinition=game, SupportContainerDefinitions=[dict(logs, MemoryHardLimitMebibytes=2048)], **spec)
    refused("a refusal creates nothing", "NotFoundException", gl.describe_container_group_definition, Name="ring")

    second = gl.update_container_group_definition(TotalVcpuLimit=2, VersionDescription="second", **name)["ContainerGroupDefinition"]
    check("an update is another version", (second["VersionNumber"], second["TotalVcpuLimit"], second["TotalMemoryLimitMebibytes"]), (2, 2, 1024))
    third = gl.update_container_group_definition(SourceVersionNumber=1, SupportContainerDefinitions=[], **name)["ContainerGroupDefinition"]
    check("it may begin with an older one", (third["VersionNumber"], third["TotalVcpuLimit"], third.get("SupportContainerDefinitions")), (3, 1.5, None))
    check("the newest is described", gl.describe_container_group_definition(**name)["ContainerGroupDefinition"]["VersionNumber"], 3)
    check("or the one asked for", gl.describe_container_group_definition(VersionNumber=2, **name)["ContainerGroupDefinition"]["VersionDescription"], "second")
    check("or that of the ARN", gl.describe_container_group_definition(Name=made["ContainerGroupDefinitionArn"])["ContainerGroupDefinition"]["VersionNumber"], 1)
    pages = gl.get_paginator("list_container_group_definition_versions").paginate(PaginationConfig={"PageSize": 1}, **name)
    check("versions are listed, the newest first", [v["VersionNumber"] for page in pages for v in page["ContainerGroupDefinitions"]], [3, 2, 1])

    alone = dict(logs, Essential=True)
    del alone["DependsOn"]
    gl.create_container_group_definition(Name="node", ContainerGroupType="PER_INSTANCE", SupportContainerDefinitions=[alone], **spec)
    listed = gl.list_container_group_definitions(ContainerGroupType="PER_INSTANCE")["ContainerGroupDefinitions"]
    check("the list is filtered by type", [v["Name"] for v in listed], ["node"])
    pages = gl.get_paginator("list_container_group_definitions").paginate(PaginationConfig={"PageSize": 1})
    check("the list has the newest of each", [(v["Name"], v["VersionNumber"]) for page in pages for v in page["ContainerGroupDefinitions"]], [("arena", 3), ("node", 1)])

    gl.delete_container_group_definition(VersionNumber=2, **name)
    refused("a version is deleted", "NotFoundException", gl.describe_container_group_definition, VersionNumber=2, **name)
    gl.delete_container_group_definition(VersionCountToRetain=1, **name)
    refused("all but the newest are deleted", "NotFoundException", gl.describe_container_group_definition, VersionNumber=1, **name)
    gl.delete_container_group_definition(**name)
    refused("all are deleted", "NotFoundException", gl.list_container_group_definition_versions, **name)
    gl.delete_container_group_definition(Name="node")
    check("every request was in " + protocol, {protocol in str(t) for t in sent}, {True})


main(sys.argv[1])
sys.exit(1 if checks.failures else 0)

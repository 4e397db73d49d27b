"""A managed fleet with boto3 alone: a build is uploaded, a fleet made of it is asked
for until it is ACTIVE, a game session starts and ends, its logs are fetched."""

import datetime
import io
import os
import sys
import urllib.request
import zipfile

import boto3

import checks
from checks import check, refused

region = dict(region_name="us-east-1", endpoint_url=os.environ["ENDPOINT"])
gl = boto3.client("gamelift", **region)


def until(what, want, ask):
    """Poll until the answer is the wanted one, or a minute has passed."""
    end = datetime.datetime.now() + datetime.timedelta(minutes=1)
    while (got := ask()) != want and datetime.datetime.now() < end:
        pass
    check(what, got, want)


def upload(program):
    """Do as `aws gamelift upload-build` does."""
    made = gl.create_build(Name="game", Version="1", OperatingSystem="AMAZON_LINUX_2023")
    build = made["Build"]["BuildId"]
    fresh = gl.request_upload_credentials(BuildId=build)
    lent, place = fresh["UploadCredentials"], fresh["StorageLocation"]
    s3 = boto3.client(
        "s3", aws_access_key_id=lent["AccessKeyId"], aws_secret_access_key=lent["SecretAccessKey"],
        aws_session_token=lent["SessionToken"], **region)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.write(program, "arena")
    archive.seek(0)
    s3.upload_fileobj(archive, place["Bucket"], place["Key"])
    until("the build is READY", "READY", lambda: gl.describe_build(BuildId=build)["Build"]["Status"])
    return build


def main():
    build = upload(os.environ["ARENA_BIN"])
    made = gl.create_fleet(
        Name="game", BuildId=build, EC2InstanceType="c5.large",
        EC2InboundPermissions=[{"FromPort": 20000, "ToPort": 29999, "IpRange": "0.0.0.0/0", "Protocol": "UDP"}],
        RuntimeConfiguration={"ServerProcesses": [{
            "LaunchPath": "/local/game/arena", "Parameters": "server -port {{.GamePort}} -wait 10m", "ConcurrentExecutions": 1}]})
    fleet = made["FleetAttributes"]["FleetId"]
    shown = lambda: gl.describe_fleet_attributes(FleetIds=[fleet])["FleetAttributes"]
    until("the fleet becomes ACTIVE", "ACTIVE", lambda: shown()[0]["Status"])
    pages = gl.get_paginator("describe_fleet_events").paginate(FleetId=fleet, PaginationConfig={"PageSize": 2})
    codes = {e["EventCode"] for page in pages for e in page["Events"]}
    check("its events tell of it", "FLEET_STATE_ACTIVE" in codes, True)

    key = {}

    def create():  # a process counts from its SDK's first heartbeat, which comes just after it is ready
        try:
            key["GameSessionId"] = gl.create_game_session(FleetId=fleet, MaximumPlayerSessionCount=4)["GameSession"]["GameSessionId"]
        except gl.exceptions.FleetCapacityExceededException:
            pass
        return bool(key)

    until("a game session is created", True, create)
    status = lambda: gl.describe_game_sessions(**key)["GameSessions"][0]["Status"]
    until("a game session on it becomes ACTIVE", "ACTIVE", status)
    refused("logs of a game session that runs", "NotFoundException", gl.get_game_session_log_url, **key)
    gl.terminate_game_session(TerminationMode="FORCE_TERMINATE", **key)
    until("it ends when it is told to", "TERMINATED", status)
    until("its logs can be fetched", True, lambda: "stdout.log" in " ".join(logs(key)))
    processes = lambda: gl.describe_fleet_utilization(FleetIds=[fleet])["FleetUtilization"][0]["ActiveServerProcessCount"]
    until("another process takes the place of the one that ended", 1, processes)

    gl.delete_fleet(FleetId=fleet)
    until("a deleted fleet goes", 0, lambda: len(shown()))


def logs(key):
    """The names in a game session's archive of logs; none until it is there."""
    try:
        url = gl.get_game_session_log_url(**key)["PreSignedUrl"]
    except gl.exceptions.NotFoundException:
        return []
    with urllib.request.urlopen(url) as answer:
        return zipfile.ZipFile(io.BytesIO(answer.read())).namelist()


main()
sys.exit(1 if checks.failures else 0)

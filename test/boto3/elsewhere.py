"""Clients of other services, whose endpoint is set to Muster too, can read that it is wrong."""

import os
import sys

import boto3

import checks
from checks import check, refused

for service, call in {
    "iam": lambda c: c.list_users, "ec2": lambda c: c.describe_instances, "cloudformation": lambda c: c.list_stacks,
    "route53": lambda c: c.list_hosted_zones, "sns": lambda c: c.list_topics,
    "lambda": lambda c: c.list_functions,
}.items():
    client = boto3.client(service, region_name="us-east-1", endpoint_url=os.environ["ENDPOINT"])
    refused(f"{service} is not served", "InvalidAction", call(client))
    try:
        call(client)()
    except client.exceptions.ClientError as e:
        check(f"{service}: the remedy", "AWS_ENDPOINT_URL_GAMELIFT" in e.response["Error"]["Message"], True)
dynamodb = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=os.environ["ENDPOINT"])
refused("dynamodb is not served", "UnknownOperationException", dynamodb.list_tables)
sys.exit(1 if checks.failures else 0)

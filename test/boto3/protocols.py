"""Clients of boto3 that speak one protocol."""

import gzip
import json
import os
import pathlib
import tempfile

import boto3
import botocore

models = tempfile.TemporaryDirectory()


def client(protocol):
    """Return a client that speaks json or cbor, and a list that gets the type of each request."""
    if protocol == "cbor":
        only_cbor(models.name)
        os.environ["AWS_DATA_PATH"] = models.name
    gl, sent = boto3.client("gamelift", endpoint_url=os.environ["ENDPOINT"]), []
    gl.meta.events.register("before-send.gamelift.*", lambda request, **_: sent.append(request.headers["Content-Type"]))
    return gl, sent


def only_cbor(directory):
    """Put a copy of the service's model there that lists no protocol but CBOR."""
    source = pathlib.Path(botocore.__file__).parent / "data/gamelift/2015-10-01"
    target = pathlib.Path(directory) / "gamelift/2015-10-01"
    target.mkdir(parents=True)
    for file in source.iterdir():
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        document = json.loads(text)
        if file.name.startswith("service-2"):
            document["metadata"]["protocols"] = ["smithy-rpc-v2-cbor"]
            document["metadata"]["protocol"] = "smithy-rpc-v2-cbor"
        (target / file.name.removesuffix(".gz")).write_text(json.dumps(document))

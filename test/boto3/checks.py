"""Checks of a story, a line each."""

from botocore.exceptions import ClientError

failures = 0


def check(what, got, want):
    global failures
    if got == want:
        print(f"ok - {what}")
        return
    failures += 1
    print(f"not ok - {what}\n  got  {got!r}\n  want {want!r}")


def refused(what, code, call, **parameters):
    """The call fails with an exception that boto3 knows by its code."""
    try:
        got = call(**parameters)
    except ClientError as e:
        got = e.response["Error"]["Code"]
        check(f"{what}, with a text", bool(e.response["Error"]["Message"]), True)
    check(what, got, code)

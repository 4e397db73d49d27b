# Higher or lower: a player. Python 3.8 or later, nothing else installed.
import json, os, sys, urllib.error, urllib.request

API = os.environ.get("MUSTER_ENDPOINT", "http://127.0.0.1:9080") + "/player/v1"
headers = {"Content-Type": "application/json"}


def send(method, url, body=None, **more):
    request = urllib.request.Request(url, body and body.encode(), {**headers, **more}, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


login = json.loads(send("POST", API + "/auth/guest", "{}"))
headers["Authorization"] = "Bearer " + login["access_token"]
ticket = json.loads(send("POST", API + "/matchmaking/tickets", '{"matchmaker": "exec"}'))
print("looking for somebody to play with ...", flush=True)
while ticket["state"] in ("queued", "searching", "placing"):
    known = {"If-None-Match": '"%d"' % ticket["seq"]}
    try:  # the answer comes when something has changed
        ticket = json.loads(send("GET", API + "/matchmaking/tickets/%s?wait=25" % ticket["ticket_id"], **known))
    except urllib.error.HTTPError as error:
        if error.code != 304:  # nothing has, for 25 seconds
            raise
if ticket["state"] != "completed":
    sys.exit("no match: " + ticket["state"])

game = ticket["connection"]
print("guess a number from 1 to 100", flush=True)
for line in sys.stdin:
    answer = send("POST", "http://%s:%d/" % (game["host"], game["port"]), game["player_session_id"] + " " + line)
    print(answer, flush=True)
    if answer.startswith("you "):
        break

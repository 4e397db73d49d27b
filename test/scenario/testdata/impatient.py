#!/usr/bin/python3
# A game server that ends at the first error of an interface of its agent. Players ask it how
# often each has answered.
import collections, http.client, json, os, socket, socketserver, sys, threading, time, traceback, urllib.parse, urllib.request

URL = urllib.parse.urlsplit(os.environ["MUSTER_GAME_URL"])
RELAY = urllib.parse.urlsplit(os.environ["GAMELIFT_SDK_WEBSOCKET_URL"])
AUTH = {"Authorization": "Bearer " + os.environ["MUSTER_GAME_TOKEN"]}
CRASH = int(os.environ["GAMELIFT_CRASH_REPORTER_PORT"])
LEGACY = 5758
counts = collections.Counter()


def ask(connection, method, path, want=200, headers=AUTH):
    """Sends a request on a connection, which must stay open."""
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == want, (path, answer.status, text)
    return json.loads(text) if want == 200 and text else None


def kept(port, path, want=200, pause=0.1, headers=AUTH):
    """Returns what polls on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    connection.auto_open = 0  # or it would connect again by itself

    def poll():
        ask(connection, "GET", path, want, headers)
        time.sleep(pause)
    return poll


def fresh(port, path, want=200, headers=AUTH):
    """Returns what polls with a new connection for each request."""
    def poll():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        ask(connection, "GET", path, want, headers)
        connection.close()
        time.sleep(0.1)
    return poll


def waiting():
    """Returns what waits for news of the game session."""
    connection = http.client.HTTPConnection("127.0.0.1", URL.port, timeout=60)
    connection.connect()
    connection.auto_open = 0
    version = [0]

    def poll():
        version[0] = ask(connection, "GET", "/v1/session?wait=30&after=%d" % version[0])["version"]
    return poll


def metrics():
    """Returns what sends a metric."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(("127.0.0.1", int(os.environ["GAMELIFT_STATSD_PORT"])))

    def send():
        udp.send(b"server.polls:1|c|#gamelift_process_id:none")  # an error if the one before was refused
        time.sleep(0.05)
    return send


def forever(name, do):
    def run():
        try:
            while True:
                do()
                counts[name] += 1
        except BaseException:
            print(name, traceback.format_exc().replace("\n", " "), file=sys.stderr, flush=True)
            os._exit(3)
    threading.Thread(target=run, daemon=True).start()


class Player(socketserver.StreamRequestHandler):
    def handle(self):
        for _ in self.rfile:
            self.wfile.write(json.dumps(counts).encode() + b"\n")


main = http.client.HTTPConnection("127.0.0.1", URL.port, timeout=60)
server = socketserver.ThreadingTCPServer(("", int(os.environ["GAME_PORT"])), Player)
threading.Thread(target=server.serve_forever, daemon=True).start()
ask(main, "POST", "/v1/ready")
while ask(main, "GET", "/v1/session?wait=30")["state"] != "activating":
    pass
ask(main, "POST", "/v1/session/activate")
for name, do in {
    "kept": kept(URL.port, "/v1/session"), "fresh": fresh(URL.port, "/v1/session"), "waiting": waiting(),
    "crash": fresh(CRASH, "/register?process_pid=%d" % os.getpid()), "metrics": metrics(),
    "legacy": kept(LEGACY, "/", 405, headers={}), "legacy fresh": fresh(LEGACY, "/", 405, headers={}),
    "relay": fresh(RELAY.port, "/?pID=nobody", 403, headers={}),
}.items():
    forever(name, do)
while True:
    time.sleep(60)

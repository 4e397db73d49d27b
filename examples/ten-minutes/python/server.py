# Higher or lower: the game server. Python 3.8 or later, nothing else installed.
import http.server, json, os, random, threading, time, urllib.error, urllib.request

secret, winner = random.randint(1, 100), None
players, turn, last_guess = set(), threading.Lock(), time.monotonic()
http_here = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy


def muster(method, path, body=None):
    """Tells Muster something, or asks it, and returns the answer."""
    request = urllib.request.Request(os.environ["MUSTER_GAME_URL"] + path, method=method)
    request.add_header("Authorization", "Bearer " + os.environ["MUSTER_GAME_TOKEN"])
    while True:
        try:
            with http_here.open(request, json.dumps(body or {}).encode() if method == "POST" else None) as answer:
                return json.loads(answer.read() or "null")
        except OSError as error:
            if getattr(error, "code", 503) != 503:
                raise
            time.sleep(1)  # nobody answers for a moment, as when the agent restarts: nothing is done twice


def guess(player, number):
    """Answers a guess. The player is the player session that Muster gave to the client."""
    global winner, last_guess
    if player not in players:
        muster("POST", "/players", {"player_session_id": player})  # an error if nobody expects this player
        players.add(player)
    last_guess = time.monotonic()
    if winner is None and number == secret:
        winner = player
    if winner is None:
        return "higher" if number < secret else "lower"
    muster("DELETE", "/players/" + player)  # the game is over for this player
    return "you won" if player == winner else "you lost, it was %d" % secret


class Guess(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # a guess: the player session, a space, the number
        try:
            player, number = self.rfile.read(int(self.headers["Content-Length"])).decode().split()
            with turn:
                text = guess(player, int(number))
        except ValueError:
            text = "send your player session and a number"
        except urllib.error.HTTPError:
            text = "you are not in this game"
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")  # for players in browsers
        self.end_headers()
        self.wfile.write(text.encode())


def over():
    """Reports whether everybody knows who has won, or nobody plays any more."""
    there = [p for p in muster("GET", "/players")["players"] if p["state"] in ("reserved", "active")]
    return winner and not there or time.monotonic() - last_guess > 60


server = http.server.ThreadingHTTPServer(("", int(os.environ["GAME_PORT"])), Guess)
threading.Thread(target=server.serve_forever, daemon=True).start()
muster("POST", "/ready")  # Muster may now start a game here
state = ""
while state != "ending" and not (state == "active" and over()):
    time.sleep(1)
    state = muster("GET", "/session")["state"]
    if state == "activating":  # it has started one: let the players in
        muster("POST", "/session/activate")
        last_guess = time.monotonic()
muster("POST", "/end")

// Higher or lower: the game server. Node.js 20 or later, no packages.
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

const { MUSTER_GAME_URL, MUSTER_GAME_TOKEN, GAME_PORT } = process.env;
const secret = 1 + Math.floor(Math.random() * 100);
const players = new Map(); // their admission, by player session
let winner = null;
let lastGuess = Date.now();

/** Tells Muster something, or asks it, and returns the answer. */
async function muster(method, path, body) {
  const headers = { Authorization: `Bearer ${MUSTER_GAME_TOKEN}` };
  for (;; await wait(1000)) {
    const answer = await fetch(MUSTER_GAME_URL + path, { method, headers, body: body && JSON.stringify(body) }).catch(() => null);
    if (!answer || answer.status === 503) continue; // nobody answers for a moment, as when the agent restarts: nothing is done twice
    if (!answer.ok) throw new Error(await answer.text());
    return answer.status === 204 ? null : answer.json();
  }
}

/** Answers a guess. The player is the player session that Muster gave to the client. */
async function guess(player, number) {
  if (!players.has(player)) {
    players.set(player, muster("POST", "/players", { player_session_id: player })); // an error if nobody expects this player
  }
  await players.get(player);
  lastGuess = Date.now();
  if (number === secret) winner ??= player;
  if (!winner) return number < secret ? "higher" : "lower";
  await muster("DELETE", `/players/${player}`); // the game is over for this player
  return player === winner ? "you won" : `you lost, it was ${secret}`;
}

/** Reports whether everybody knows who has won, or nobody plays any more. */
async function over() {
  const { players } = await muster("GET", "/players");
  const done = players.every(({ state }) => state === "completed" || state === "timed_out");
  return (winner && done) || Date.now() - lastGuess > 60_000;
}

const server = createServer(async (request, answer) => {
  answer.setHeader("Access-Control-Allow-Origin", "*"); // for players in browsers
  try {
    let body = ""; // a guess: the player session, a space, the number
    for await (const part of request) body += part;
    const [player, number] = body.trim().split(" ");
    answer.end(number ? await guess(player, Number(number)) : "send your player session and a number");
  } catch {
    answer.end("you are not in this game");
  }
});
server.listen(Number(GAME_PORT), async () => {
  await muster("POST", "/ready"); // Muster may now start a game here
  for (let state = ""; state !== "ending" && !(state === "active" && (await over())); ) {
    await wait(1000);
    ({ state } = await muster("GET", "/session"));
    if (state === "activating") { // it has started one: let the players in
      await muster("POST", "/session/activate");
      lastGuess = Date.now();
    }
  }
  await muster("POST", "/end");
  process.exit();
});

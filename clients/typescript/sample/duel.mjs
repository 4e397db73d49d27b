// A guest finds a match and prints where to play. With bin/muster local in one terminal, run this
// in two others, for two players:
//
//	node clients/typescript/sample/duel.mjs
//
// Arguments: the server's URL, the matchmaker, a file that keeps the login.
import { Client, FileTokenStore, MatchError, MemoryTokenStore, ProblemError } from "@muster/client";

const [url = "http://127.0.0.1:9080", wanted, file] = process.argv.slice(2);
const client = new Client(url, { store: file ? new FileTokenStore(file) : new MemoryTokenStore() });

// Ctrl-C stops the ticket as well.
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
const { signal } = interrupted;

client.on("push", ({ state, code }) => console.log(`changes: ${state}${code ? ` (${code})` : ""}`));

/** Returns the matchmaker to use, and explains it. */
async function chooseMatchmaker() {
  const { matchmakers } = await client.config({ signal });
  const chosen = wanted ? matchmakers.find((m) => m.name === wanted) : matchmakers[0];
  if (!chosen) {
    throw new Error(`the server has the matchmakers: ${matchmakers.map((m) => m.name).join(", ") || "none"}`);
  }
  console.log(`matchmaker: ${chosen.name}${chosen.acceptance ? ", matches have to be accepted" : ""}`);
  return chosen.name;
}

/** Measures the way to where games can be, so that the match is near. */
async function measureLatency() {
  const samples = await client.measureLatency({ signal });
  for (const { location, rttMs, method } of samples) {
    console.log(`latency: ${location} ${rttMs.toFixed(1)} ms (${method})`);
  }
  if (samples.length > 0) {
    await client.reportLatency({ samples }, { signal });
  }
}

/** Returns the game to go back to after a crash, if there is one. */
async function interruptedGame() {
  const { items } = await client.reservations({ signal });
  return items[0]?.connection;
}

/** Finds a match, and shows on the way what becomes of the ticket. */
async function findMatch() {
  const matchmaker = await chooseMatchmaker();
  const begun = performance.now();
  return client.findMatch(
    { matchmaker },
    {
      signal,
      accept: (ticket) => {
        console.log(`a match is proposed to ${ticket.players.length} players: accepted`);
        return true;
      },
      onTicket: ({ state }) => console.log(`ticket: ${state} after ${((performance.now() - begun) / 1000).toFixed(1)} s`),
    },
  );
}

try {
  const { playerId } = await client.loginGuest({ signal });
  console.log(`player: ${playerId}`);
  await measureLatency();
  const game = (await interruptedGame()) ?? (await findMatch());
  // From here on it is the game's own protocol: connect to the address, and send the player
  // session id first, which the game server passes to AcceptPlayerSession.
  console.log(`play: ${game.host}:${game.port} as ${game.playerSessionId}`);
} catch (error) {
  process.exitCode = 1;
  if (error instanceof MatchError) {
    console.error(`no match: ${error.message}`);
  } else if (error instanceof ProblemError) {
    console.error(`refused: ${error.message}`);
  } else {
    console.error(error);
  }
} finally {
  client.close();
}

// The arena in a browser: logs in as a guest, measures latency, finds a match, plays, and shows
// what Muster does on the way. With ?auto=SECONDS it plays by itself.
import { Client, type Connection, LocalStorageTokenStore, MatchError, type Ticket } from "../../../../clients/typescript/src/index.js";
import { autopilot, controls } from "./controls.js";
import { Game, type Result } from "./game.js";
import { color, draw } from "./view.js";

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`the page has no ${id}`);
  }
  return found as T;
}

const settings = (await (await fetch("settings.json")).json()) as { url: string; matchmaker: string };
const client = new Client(settings.url, { store: new LocalStorageTokenStore(`arena ${settings.url}`) });
const canvas = element<HTMLCanvasElement>("field");
const play = element<HTMLButtonElement>("play");
const stop = element<HTMLButtonElement>("stop");
const steps = element("steps");
const match = element("match");
const scores = element("scores");
const status = element("status");
const pilot = controls(canvas);
const automatic = Number(new URLSearchParams(location.search).get("auto") ?? 0);

/** Shows a step, or replaces the text of the step of that name. What a match consists of is beneath the game. */
function step(name: string, text: string, list: HTMLElement = steps): void {
  let row = [...list.children].find((r) => (r as HTMLElement).dataset["name"] === name) as HTMLElement | undefined;
  if (!row) {
    row = document.createElement("li");
    row.dataset["name"] = name;
    row.append(document.createElement("b"), document.createElement("span"));
    list.append(row);
  }
  (row.firstChild as HTMLElement).textContent = name;
  (row.lastChild as HTMLElement).textContent = text;
}

client.on("push", ({ state, code }) => step("Changes", `${state === "connected" ? "pushed by WebSocket" : state}${code === undefined ? "" : ` (${code})`}`));

/** Logs in and measures; returns the game to go back to, if there is one. */
async function prepare(signal: AbortSignal): Promise<Connection | undefined> {
  status.textContent = "Logging in …";
  const { playerId } = await client.loginGuest({ signal });
  step("Account", `guest ${playerId}`);
  client.connectPush();
  status.textContent = "Measuring latency …";
  const samples = await client.measureLatency({ signal });
  step("Latency", samples.map((s) => `${s.location} ${s.rttMs.toFixed(1)} ms`).join(", ") || "no location was reached");
  if (samples.length > 0) {
    await client.reportLatency({ samples }, { signal });
  }
  const { items } = await client.reservations({ signal });
  return items.find((r) => r.status === "RESERVED")?.connection;
}

async function findMatch(signal: AbortSignal): Promise<Connection> {
  status.textContent = "Finding a match …";
  const begun = performance.now();
  const shown: string[] = [];
  let ticketId = "";
  const onTicket = (t: Ticket): void => {
    const now = `${t.state.replace("_", " ")} ${((performance.now() - begun) / 1000).toFixed(1)} s`;
    shown.push(now);
    step("Ticket", `${t.ticketId} for ${t.matchmaker}: ${shown.join(" → ")}`, match);
    ticketId = t.ticketId;
    if (t.matchId !== undefined) {
      step("Match", `${t.matchId}: ${t.players.map((p) => `${p.playerId === client.session.playerId ? "you" : p.playerId.slice(-6)} (${p.team === undefined ? "no team" : `team ${p.team}`})`).join(", ")}`, match);
    }
  };
  const found = client.findMatch({ matchmaker: settings.matchmaker }, { signal, onTicket });
  const bots = await fetch("bots", { method: "POST", signal }); // so that nobody waits alone
  step("Bots", bots.ok ? "one looks for a match too" : `none comes: ${await bots.text()}`);
  const to = await found;
  await explain(ticketId, signal);
  return to;
}

interface Explained {
  readonly rules: readonly { readonly rule: string; readonly passed: number; readonly failed: number }[];
  readonly placement: { readonly id: string; readonly queue: string; readonly status: string; readonly result: string };
}

/** Shows the rules that the match meets, and how it was placed, which the game's operator knows. */
async function explain(ticketId: string, signal: AbortSignal): Promise<void> {
  const answer = await fetch(`matches/${encodeURIComponent(ticketId)}`, { signal });
  if (!answer.ok) {
    step("Rules met", await answer.text(), match);
    return;
  }
  const { rules, placement } = (await answer.json()) as Explained;
  step("Rules met", rules.map((r) => `${r.rule} (met ${r.passed} of the ${r.passed + r.failed} times it was judged)`).join(", ") || "the sizes of teams; there are no others", match);
  step("Placement", `${placement.id} by queue ${placement.queue}: ${placement.status}, ${placement.result}`, match);
}

async function enter(to: Connection): Promise<Result> {
  const session = await client.getSession(to.sessionId);
  step("Game session", `${to.sessionId} at ${session.location}, ${session.status}, ${session.players} of ${session.maxPlayers} players`, match);
  step("Game server", `${to.host}:${to.port}, as ${to.playerSessionId.slice(0, 14)}…`, match);
  status.textContent = automatic ? "Playing by itself." : "Arrows or WASD to move, space to shoot. On a phone: left half moves, right half shoots.";
  const game = new Game(to, (view, me) => (automatic ? autopilot(view, me) : pilot()), (view, welcome) => {
    draw(canvas, view, welcome);
    scores.replaceChildren(
      ...[...view.players]
        .sort((a, b) => b.score - a.score)
        .map((p) => {
          const row = document.createElement("li");
          row.textContent = `${p.id === welcome.player ? "you" : `player ${p.id}`}: ${p.score}`;
          row.style.color = color(p.id);
          return row;
        }),
    );
  });
  stop.textContent = "Leave";
  stop.onclick = () => game.leave();
  if (automatic) {
    setTimeout(() => game.leave(), automatic * 1000);
  }
  return game.over;
}

async function run(): Promise<Result> {
  const cancel = new AbortController();
  play.hidden = true;
  stop.hidden = false;
  stop.textContent = "Cancel";
  stop.onclick = () => cancel.abort(new Error("cancelled"));
  steps.replaceChildren();
  match.replaceChildren();
  try {
    const to = (await prepare(cancel.signal)) ?? (await findMatch(cancel.signal));
    const result = await enter(to);
    status.textContent = `Over (${result.ending}): ${result.score} points, place ${result.place} of ${result.players}.`;
    step("Result", `${result.snapshots} pictures of the game received`);
    return result;
  } catch (error) {
    status.textContent = error instanceof MatchError ? `No match: ${error.ticket.state}.` : String(error);
    throw error;
  } finally {
    play.hidden = false;
    stop.hidden = true;
  }
}

play.onclick = () => void run().catch(() => undefined); // the page shows the error
play.hidden = false;
if (automatic) {
  // For tests: the end of the game.
  (globalThis as { game?: Promise<Result> }).game = run();
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../src/client.js";
import type { SocketLike } from "../src/socket.js";
import { MemoryTokenStore } from "../src/store.js";
import { json, login, problem, server, stored } from "./helpers.js";

type Sent = { type: string; data?: { access_token?: string; resume?: string } };

/** WebSockets that the test is the other side of. */
class Fake implements SocketLike {
  static all: Fake[] = [];
  static next: (() => void) | undefined;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly sent: Sent[] = [];
  readonly url: string;

  constructor(url: string, protocol: string) {
    assert.equal(protocol, "muster.player.v1");
    this.url = url;
    Fake.all.push(this);
    Fake.next?.();
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Sent);
  }

  close(): void {}

  hear(m: unknown): void {
    this.onmessage?.({ data: JSON.stringify(m) } as never);
  }

  ready(): void {
    this.onopen?.({} as never);
    this.hear({ type: "auth.ok", data: { player_id: "p-1", expires_at: "2030-01-01T00:00:00Z", resumed: false } });
  }

  end(code: number): void {
    this.onclose?.({ code } as never);
  }
}

const ticket = (seq: number, state: string, more: object = {}): Record<string, unknown> => ({
  ticket_id: "t-1",
  matchmaker: "duel",
  state,
  created_at: "2030-01-01T00:00:00Z",
  updated_at: "2030-01-01T00:00:00Z",
  expires_at: "2030-01-01T00:00:00Z",
  players: [],
  seq,
  ...more,
});

async function opened(n: number): Promise<Fake> {
  while (Fake.all.length < n) {
    await new Promise<void>((resolve) => (Fake.next = resolve));
  }
  return Fake.all[n - 1] as Fake;
}

function client(fetcher: typeof fetch, webSocket: typeof Fake | null = Fake): Client {
  Fake.all = [];
  const store = new MemoryTokenStore();
  store.save(stored);
  return new Client("http://muster.test/", { store, fetch: fetcher, webSocket, random: () => 0, now: () => 0, pollIntervalMs: 1 });
}

test("the push logs in by message, resumes by cursor, and has no token in its URL", async () => {
  const c = client(server(() => json(200, { items: [] })).fetch);
  const states: string[] = [];
  c.on("push", (p) => states.push(p.state + (p.code ?? "")));
  const seen: number[] = [];
  c.on("ticket", (t) => seen.push(t.seq));
  c.connectPush();
  const first = await opened(1);
  assert.equal(first.url, "ws://muster.test/player/v1/ws");
  first.ready();
  assert.deepEqual(first.sent, [{ type: "auth", data: { access_token: "access-0" } }]);
  first.hear({ type: "match.ticket", cursor: "0a", data: ticket(1, "searching") });
  first.hear({ type: "match.ticket", cursor: "0b", data: ticket(1, "searching") });
  first.end(1001);
  const second = await opened(2);
  second.ready();
  assert.deepEqual(second.sent, [{ type: "auth", data: { access_token: "access-0", resume: "0b" } }]);
  assert.deepEqual(seen, [1], "each change once");
  assert.deepEqual(states, ["connecting", "connected", "reconnecting1001", "connected"]);
  c.close();
  assert.equal(c.pushState.state, "closed");
});

test("a login that has ended is renewed, and the connection opened again", async () => {
  const s = server(() => login(1));
  const c = client(s.fetch);
  c.connectPush();
  (await opened(1)).end(4401);
  const second = await opened(2);
  second.ready();
  assert.equal(second.sent[0]?.data?.access_token, "access-1");
  second.hear({ type: "token.expiring", data: { in_seconds: 50 } });
  while (second.sent.length < 2) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(s.got.length, 2, "refreshed again");
  assert.equal(second.sent[1]?.type, "auth");
  c.close();
});

test("a connection that was replaced is not opened again", async () => {
  const c = client(server(() => json(200, { items: [] })).fetch);
  c.connectPush();
  const first = await opened(1);
  first.ready();
  first.end(4409);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(c.pushState, { state: "closed", code: 4409 });
  assert.equal(Fake.all.length, 1);
  c.connectPush();
  await opened(2);
  c.close();
});

test("after three failures changes are polled, until a connection opens", async () => {
  let seq = 1;
  const s = server((r) => json(200, r.path === "/matchmaking/tickets" ? { items: [ticket(seq++, "searching")] } : {}));
  const c = client(s.fetch);
  const polled = new Promise<void>((resolve) => c.on("ticket", () => resolve()));
  c.connectPush();
  for (let n = 1; n <= 3; n++) {
    (await opened(n)).end(1006);
  }
  await polled;
  assert.equal(c.pushState.state, "polling");
  (await opened(4)).ready();
  assert.equal(c.pushState.state, "connected");
  c.close();
});

test("a match is found by push: accepted once, to the connection", async () => {
  const s = server((r) => (r.method === "POST" ? json(201, ticket(r.path.endsWith("acceptance") ? 3 : 1, "searching")) : json(200, ticket(1, "searching"))));
  const c = client(s.fetch);
  const states: string[] = [];
  const found = c.findMatch({ matchmaker: "duel", attributes: { skill_level: 3 } }, { onTicket: (t) => states.push(t.state) });
  const push = await opened(1);
  push.ready();
  const proposed = { match_id: "m-1", acceptance: { mine: null } };
  push.hear({ type: "match.ticket", data: ticket(2, "requires_acceptance", proposed) });
  push.hear({ type: "match.ticket", data: ticket(3, "requires_acceptance", proposed) });
  push.hear({ type: "match.ticket", data: ticket(4, "completed", { connection: { session_id: "s", host: "h", port: 7, player_session_id: "ps" } }) });
  assert.deepEqual(await found, { sessionId: "s", host: "h", port: 7, playerSessionId: "ps" });
  assert.equal(states.at(-1), "completed");
  const posts = s.got.filter((r) => r.method === "POST");
  assert.deepEqual(posts.map((r) => [r.path, r.body]), [
    ["/matchmaking/tickets", { matchmaker: "duel", attributes: { skill_level: 3 } }],
    ["/matchmaking/tickets/t-1/acceptance", { accept: true }],
  ]);
  assert.equal(c.pushState.state, "closed", "nothing needs the push any more");
});

test("a match is found without a WebSocket, by requests that wait", async () => {
  const s = server((r) => {
    if (r.method === "POST") {
      return json(201, ticket(1, "queued"));
    }
    return r.headers.get("If-None-Match") === null ? json(200, ticket(1, "queued")) : json(200, ticket(2, "failed", { reason: "nobody there" }));
  });
  const c = client(s.fetch, null);
  await assert.rejects(c.findMatch({ matchmaker: "duel" }), { name: "MatchError", message: "ticket t-1 is failed: nobody there" });
  const waited = s.got.find((r) => r.path === "/matchmaking/tickets/t-1?wait=20");
  assert.equal(waited?.headers.get("If-None-Match"), '"1"');
});

test("a caller who gives up stops the ticket", async () => {
  const enough = new AbortController();
  const s = server((r) => json(r.method === "POST" ? 201 : 200, ticket(1, "searching")));
  const c = client(s.fetch);
  const found = c.findMatch({ matchmaker: "duel" }, { signal: enough.signal });
  (await opened(1)).ready();
  enough.abort(new Error("enough"));
  await assert.rejects(found, /enough/);
  assert.deepEqual(s.got.filter((r) => r.method === "DELETE").map((r) => r.path), ["/matchmaking/tickets/t-1"]);
});

test("a caller who gives up before the answer stops what the request may have begun", async () => {
  const enough = new AbortController();
  const s = server((r) => {
    if (r.method === "POST") {
      enough.abort(new Error("enough"));
      throw new TypeError("fetch failed");
    }
    return json(200, r.method === "GET" ? { items: [ticket(1, "searching"), ticket(1, "searching", { ticket_id: "t-2", matchmaker: "other" })] } : ticket(2, "cancelled"));
  });
  await assert.rejects(client(s.fetch).findMatch({ matchmaker: "duel" }, { signal: enough.signal }), /enough/);
  assert.deepEqual(s.got.map((r) => `${r.method} ${r.path}`), ["POST /matchmaking/tickets", "GET /matchmaking/tickets?active=true", "DELETE /matchmaking/tickets/t-1"]);
});

test("a ticket that is unknown is an error after three attempts", async () => {
  const s = server(() => problem(404, "not-found"));
  const c = client(s.fetch, null);
  await assert.rejects(async () => {
    for await (const _ of c.followTicket("t-1"));
  }, { name: "ProblemError", code: "not-found" });
  assert.equal(s.got.filter((r) => r.path === "/matchmaking/tickets/t-1").length, 3);
});

test("close ends what is under way", async () => {
  const c = client(server(() => json(200, ticket(1, "searching"))).fetch);
  const rows = c.followTicket("t-1");
  assert.equal((await rows.next()).value?.seq, 1);
  const next = rows.next();
  c.close();
  await assert.rejects(next, { name: "ClosedError" });
  await assert.rejects(c.me(), { name: "ClosedError" });
});

test("messages that are none change nothing, or end the connection", async () => {
  const c = client(server(() => json(200, { items: [] })).fetch);
  const tickets: unknown[] = [];
  c.on("ticket", (t) => tickets.push(t));
  c.connectPush();
  const first = await opened(1);
  first.ready();
  for (const m of [{ type: "match.ticket" }, { type: "match.ticket", data: "x" }, { type: "party", data: null }, { type: "news", data: {} }, { type: 5 }]) {
    first.hear(m);
  }
  assert.equal(c.pushState.state, "connected");
  assert.deepEqual(tickets, []);
  first.hear(null);
  const second = await opened(2);
  second.ready();
  second.onmessage?.({ data: "<html>" } as never);
  await opened(3);
  c.close();
});

test("what answers in place of the server is an error, and no login", async () => {
  const s = server(() => json(200, {}));
  const store = new MemoryTokenStore();
  store.save({ ...stored, renewAt: -1, expiresAt: -1 });
  const c = new Client("http://muster.test/", { store, fetch: s.fetch, webSocket: null, random: () => 0, now: () => 0 });
  await assert.rejects(c.loginGuest(), { name: "NetworkError" });
  assert.equal(store.load()?.refreshToken, "refresh-0");
  const list = server(() => json(200, null));
  await assert.rejects(client(list.fetch, null).config(), { name: "NetworkError" });
});

test("a logout of a login that has ended is one", async () => {
  const s = server(() => problem(401, "refresh-invalid"));
  const store = new MemoryTokenStore();
  const { guestSecret: _, ...linked } = stored;
  store.save({ ...linked, renewAt: -1, expiresAt: -1 });
  const c = new Client("http://muster.test/", { store, fetch: s.fetch, webSocket: null, random: () => 0, now: () => 0 });
  await c.logout();
  assert.equal(c.session.loggedIn, false);
});

test("without a push, the end of a party and of a placement is seen", async () => {
  const party = { party_id: "p", code: "c", leader: "p-1", matchmaker: "duel", max: 2, members: [], expires_at: "2030-01-01T00:00:00Z" };
  const s = server((r) => {
    if (r.path === "/parties" || r.path === "/sessions") {
      return json(201, r.path === "/parties" ? party : { placement_id: "g", pool: "x", state: "pending", created_at: "2030-01-01T00:00:00Z", expires_at: "2030-01-01T00:00:00Z", seq: 1 });
    }
    return r.path === "/matchmaking/tickets" ? json(200, { items: [] }) : problem(404, "not-found");
  });
  const c = client(s.fetch, null);
  await c.createParty({ matchmaker: "duel" });
  await c.createSession({ pool: "x" });
  const left = new Promise<void>((resolve) => c.on("partyLeft", () => resolve()));
  c.connectPush();
  await left;
  c.close();
  assert.equal(s.got.filter((r) => r.path === "/placements/g").length, 1, "what is not found is not asked for again");
});

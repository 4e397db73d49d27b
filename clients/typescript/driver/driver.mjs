// Drives the library for the stories of clients/stories: takes calls, makes them, and sends
// their ends and what the library reports. A platform (node.mjs, browser.mjs) connects it.

/**
 * Starts a driver.
 *
 * @param library - The library's module.
 * @param platform - hello: what the runner is greeted with; send: sends an object to it.
 * @returns A function to call with each object of the runner.
 */
export function drive(library, { hello, send }) {
  const clients = new Map();
  const stores = new Map();
  const calls = new Map();
  send(hello);

  const open = (name, { url, store = Symbol(), no_push }) => {
    if (!stores.has(store)) {
      stores.set(store, new library.MemoryTokenStore());
    }
    const c = new library.Client(url, { store: stores.get(store), ...(no_push ? { webSocket: null } : {}) });
    for (const event of ["ticket", "party", "partyLeft", "placement", "push", "session"]) {
      c.on(event, (data) => send({ client: name, event, data: snake(data ?? {}) }));
    }
    clients.set(name, c);
    return {};
  };

  const run = async ({ client: name, do: verb, with: given = {} }, signal) => {
    switch (verb) {
      case "cancel":
        calls.get(given.id)?.abort();
        return {};
      case "open":
        return open(name, given);
    }
    const c = clients.get(name);
    if (!c) {
      throw new library.UsageError(`there is no client ${name}`);
    }
    if (verb === "close") {
      clients.delete(name);
      c.close();
      return {};
    }
    const make = verbs[verb];
    if (!make) {
      throw new library.UsageError(`there is no verb ${verb}`);
    }
    return snake((await make(c, camel(given), { signal })) ?? {});
  };

  const errorOf = (e) => {
    const out = { kind: "usage", detail: e?.message ?? String(e) };
    if (e instanceof library.ProblemError) {
      return {
        kind: "problem",
        ...snake(e.extensions),
        status: e.status,
        code: e.code,
        title: e.title,
        detail: e.detail,
        ...(e.member === undefined ? {} : { member: e.member }),
        ...(e.ticketId === undefined ? {} : { ticket_id: e.ticketId }),
        ...(e.conflictToken === undefined ? {} : { conflict_token: e.conflictToken }),
        ...(e.until === undefined ? {} : { until: e.until.toISOString() }),
        ...(e.retryAfterMs === undefined ? {} : { retry_after_seconds: e.retryAfterMs / 1000 }),
      };
    }
    const kinds = { NetworkError: "network", TimeoutError: "timeout", ClosedError: "closed", LoggedOutError: "logged_out", AbortError: "cancelled" };
    out.kind = kinds[e?.name] ?? "usage";
    if (e instanceof library.MatchError) {
      return { ...out, kind: "match", ticket: snake(e.ticket) };
    }
    if (e instanceof library.PlacementError) {
      return { ...out, kind: "placement", placement: snake(e.placement) };
    }
    return out;
  };

  return async (call) => {
    const controller = new AbortController();
    calls.set(call.id, controller);
    try {
      send({ id: call.id, result: await run(call, controller.signal) });
    } catch (e) {
      send({ id: call.id, error: errorOf(e) });
    } finally {
      calls.delete(call.id);
    }
  };
}

/** What the verbs do with a client, the arguments in camelCase, and options. */
const verbs = {
  loginGuest: (c, { displayName }, o) => c.loginGuest({ ...o, displayName }),
  loginProvider: (c, { provider, ...login }, o) => c.loginProvider(provider, login, o),
  link: (c, { provider, ...login }, o) => c.link(provider, login, o),
  unlink: (c, { provider }, o) => c.unlink(provider, o),
  merge: (c, request, o) => c.merge(request, o),
  logout: (c, { all }, o) => c.logout({ ...o, everywhere: all }),
  session: (c) => c.session,
  me: (c, _, o) => c.me(o),
  changeMe: (c, change, o) => c.changeMe(change, o),
  deleteMe: (c, _, o) => c.deleteMe(o),
  lookUpPlayers: (c, lookup, o) => c.lookUpPlayers(lookup, o),
  publicPlayer: (c, { playerId }, o) => c.publicPlayer(playerId, o),
  getData: (c, { namespace, key }, o) => c.getData(namespace, key, o),
  putData: (c, { namespace, key, value, version }, o) => c.putData(namespace, key, value, { ...o, version }),
  deleteData: (c, { namespace, key, version }, o) => c.deleteData(namespace, key, { ...o, version }),
  allData: (c, { namespace }, o) => c.allData(namespace, o),
  config: (c, _, o) => c.config(o),
  locations: (c, _, o) => c.locations(o),
  measureLatency: async (c, _, o) => new Map((await c.measureLatency(o)).map((s) => [s.location, s.rttMs])),
  reportLatency: (c, { latencyMs }, o) => c.reportLatency({ samples: Object.entries(latencyMs).map(([location, rttMs]) => ({ location, rttMs })) }, o),
  startMatchmaking: (c, request, o) => c.startMatchmaking(request, o),
  getTicket: (c, { ticketId }, o) => c.getTicket(ticketId, o),
  tickets: (c, { active }, o) => c.tickets({ ...o, active }),
  stopMatchmaking: (c, { ticketId }, o) => c.stopMatchmaking(ticketId, o),
  acceptMatch: (c, { ticketId, accept }, o) => c.acceptMatch(ticketId, { accept }, o),
  findMatch: (c, { accept, ...request }, o) => c.findMatch(request, { ...o, accept }),
  followTicket: (c, { ticketId }, o) => last(c.followTicket(ticketId, o)),
  createParty: (c, request, o) => c.createParty(request, o),
  joinParty: (c, join, o) => c.joinParty(join, o),
  getParty: (c, { partyId }, o) => c.getParty(partyId, o),
  changeMember: (c, { partyId, ...change }, o) => c.changeMember(partyId, change, o),
  leaveParty: (c, { partyId, playerId }, o) => c.leaveParty(partyId, playerId, o),
  listSessions: (c, filter, o) => c.listSessions({ ...filter, ...o }),
  getSession: (c, { sessionId }, o) => c.getSession(sessionId, o),
  createSession: (c, request, o) => c.createSession(request, o),
  followPlacement: (c, { placementId }, o) => c.waitForPlacement(placementId, o),
  stopPlacement: (c, { placementId }, o) => c.stopPlacement(placementId, o),
  joinSession: (c, { sessionId, ...join }, o) => c.joinSession(sessionId, join, o),
  reservations: (c, _, o) => c.reservations(o),
  connectPush: (c) => c.connectPush(),
  disconnectPush: (c) => c.disconnectPush(),
};

async function last(rows) {
  let row;
  for await (row of rows);
  return row;
}

/** Renames the members of a call's arguments; what is below them is data. */
function camel(given) {
  return Object.fromEntries(Object.entries(given).map(([name, v]) => [name.replace(/_([a-z])/g, (_, l) => l.toUpperCase()), v]));
}

/** Members whose own members are data. */
const data = new Set(["value", "properties", "accepted"]);
/** Members that are objects by names that are data, unless they are lists. */
const byName = new Set(["data", "items"]);

/** Returns a result as it is in the HTTP API. */
function snake(v, name) {
  if (v instanceof Date) {
    return v.toISOString();
  }
  if (v instanceof Map) {
    return Object.fromEntries(v);
  }
  if (Array.isArray(v)) {
    return v.map((x) => snake(x));
  }
  if (typeof v !== "object" || v === null || (data.has(name) && typeof v === "object")) {
    return v;
  }
  return Object.fromEntries(
    Object.entries(v).map(([member, x]) => [byName.has(name) ? member : member.replace(/[A-Z]/g, (l) => `_${l.toLowerCase()}`), snake(x, byName.has(name) ? undefined : member)]),
  );
}

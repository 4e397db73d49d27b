// Walks every page, each list and each of its details, in both themes and several widths.

import { accessible, call, check, fits, get, open, picture, show, task, view, withBrowser } from "./browser.mjs";

/** Returns the paths of all pages, with objects that there are. */
async function pages() {
  const fleets = await get("/console/api/fleets");
  const queues = await get("/console/api/queues");
  const { matchmakers } = await view("matchmakers");
  const { sessions } = await view("sessions");
  const playing = sessions.find((s) => s.players > 0) ?? sessions[0];
  const tickets = [];
  for (const m of matchmakers) {
    const one = await view(`matchmaker?name=${encodeURIComponent(m.name)}`);
    tickets.push(...one.open, ...one.ended);
  }
  const waiting = tickets.find((t) => t.id === "lonely");
  const matched = tickets.find((t) => t.session);
  const hosts = await get("/agent/v1/hosts");
  const busiest = queues.map((q) => q.name).sort((a) => (a === "crowded" ? -1 : 1))[0];
  const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
  for (const [what, one] of Object.entries({ fleet: fleets[0], queue: busiest, matchmaker: matchmakers[0], session: playing, "waiting ticket": waiting, "matched ticket": matched, host: hosts[0] })) {
    check(one, "the demo", `has no ${what}`);
  }
  return {
    now: "/", "now-15m": "/?range=15m", "fleet-24h": of("/fleets", { id: fleets[0].id, range: "24h" }), "queue-7d": of("/queues", { name: busiest, range: "7d" }), world: "/world", webhooks: "/webhooks", quality: "/quality", "quality-of": of("/quality", { name: matched.configuration ?? matchmakers[0].name }), rules: "/rules", "rules-of": of("/rules", { name: "duels" }), "rules-kinds": of("/rules", { new: "yes" }), "rules-new": of("/rules", { new: "squads" }), queues: "/queues", queue: of("/queues", { name: busiest }), placement: of("/queues", { name: busiest, placement: "waits-1" }),
    matchmaking: "/matchmaking", matchmaker: of("/matchmaking", { name: matched.configuration ?? matchmakers[0].name }), waits: of("/matchmaking", { name: "duels" }), rules: "/rules", "rule-set": of("/rules", { name: "duels" }),
    ticket: of("/tickets", { id: waiting.id }), matched: of("/tickets", { id: matched.id }), fleets: "/fleets", fleet: of("/fleets", { id: fleets[0].id }), hosts: "/hosts", host: of("/hosts", { id: hosts[0].HostID }),
    sessions: "/sessions", session: of("/sessions", { id: playing.id }), players: "/players", player: of("/players", { id: matched.players[0] }), crashes: "/crashes", events: "/events", audit: "/events?show=audit",
    access: "/access", api: "/operations", operation: "/operations?operation=CreateGameSession", nowhere: "/nowhere", "no-fleet": "/fleets?id=fleet-00000000-0000-0000-0000-000000000000",
  };
}

await withBrowser(async (browser) => {
  const all = await pages();
  for (const { scheme, width, only } of task.passes) {
    const page = await open(browser, { scheme, width, expected: /status of 404/ });
    for (const [name, path] of Object.entries(all)) {
      if (only?.length && !only.includes(name)) continue;
      const where = `${name}-${scheme}-${width}`;
      await show(page, path, where);
      await fits(page, where);
      await accessible(page, where);
      await picture(page, where);
    }
    await page.context().close();
  }
});

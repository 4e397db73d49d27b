// What a page shows is what the API says: of a live server at the event that the page is
// paused at, and of a still one from AWS's operations.

import { ask, call, check, log, long, open, settled, show, task, view, withBrowser } from "./browser.mjs";

const figures = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll(".figure")].map((f) => [f.querySelector("span").textContent, f.querySelector("b").textContent])));
const number = (n) => n.toLocaleString("en-US");

/** Follows a view as pages do, and keeps its frames by event. */
function follow(name) {
  const frames = new Map(), stop = new AbortController();
  const over = (async () => {
    const r = await fetch(`${task.base}/console/api/live/${name}?every=500`, { signal: stop.signal });
    let rest = "";
    for await (const part of r.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) {
        const frame = JSON.parse(line);
        frames.set(frame.seq, [...(frames.get(frame.seq) ?? []), frame.data]);
      }
    }
  })().catch(() => {});
  return { frames, end: () => { stop.abort(); return over; } };
}

/** Compares a page with the API until they agree: game servers still end and start. difference returns what is wrong, or "". */
async function agree(page, where, difference) {
  let found = "";
  for (const end = Date.now() + long; (found = await difference()) && Date.now() < end; ) await page.waitForTimeout(250);
  check(!found, where, found);
}

await withBrowser(async (browser) => {
  const page = await open(browser);
  await show(page, "/", "live figures");
  const stream = follow("now");
  let compared = 0;
  for (let turn = 0; compared < 3 && turn < 20; turn++) {
    await page.waitForFunction((seq) => document.querySelector("#main").dataset.seq !== seq, await page.locator("#main").getAttribute("data-seq"));
    await page.keyboard.press("Space");
    const seq = Number(await page.locator("#main").getAttribute("data-seq"));
    const shown = await figures(page);
    const rows = await page.locator(".tablebox tbody tr").allInnerTexts();
    for (const end = Date.now() + long / 2; Math.max(...stream.frames.keys()) <= seq && Date.now() < end; ) await page.waitForTimeout(25);
    const same = stream.frames.get(seq) ?? []; // none if only the page's own request was answered at this event
    const at = [...stream.frames.keys()].indexOf(seq);
    // A minute passes between events too, so these are as of the events before and after.
    const starts = [...stream.frames.values()].slice(Math.max(0, at - 1), at + 2).flat().map((d) => number(d.starts));
    const told = same.flatMap((d) => starts.map((n) => ({
      "players in game sessions": number(d.totals.players), "tickets that wait for a match": number(d.totals.waiting),
      "game sessions started in a minute": n, "crashes in the last hour": number(d.crashes),
    })));
    if (at > 0) { // the page may have been told of the first event before
      compared++;
      check(told.some((t) => JSON.stringify(t) === JSON.stringify(shown)), `event ${seq}`, `the page shows ${JSON.stringify(shown)}, the API said ${JSON.stringify(told)}`);
      check(same.some((d) => d.locations.every((l) => rows.some((r) => [l.location, l.current_player_sessions, l.available_game_sessions].every((v) => r.split(/\s+/).includes(String(v)))))), `event ${seq}`, `the locations are ${rows}`);
    }
    await page.keyboard.press("Space");
  }
  await stream.end();
  check(compared === 3, "live figures", `were compared ${compared} times`);

  await ask("still"); // nobody plays any more
  await show(page, "/", "still figures");
  const fleets = (await call("ListFleets")).FleetIds;
  let players = 0, tickets = 0;
  await agree(page, "Now", async () => {
    const { FleetUtilization } = await call("DescribeFleetUtilization", { FleetIds: fleets });
    const { TicketList } = await call("DescribeMatchmaking", { TicketIds: ["lonely", "apart", "close"] });
    players = FleetUtilization.reduce((n, u) => n + u.CurrentPlayerSessionCount, 0);
    tickets = TicketList.filter((t) => t.Status === "SEARCHING").length;
    const shown = await figures(page);
    return shown["players in game sessions"] === number(players) && shown["tickets that wait for a match"] === number(tickets) ? "" : `shows ${JSON.stringify(shown)}; AWS's API says ${players} players, and ${tickets} tickets wait`;
  });

  // A ticket's near misses: by what the best teams break the rule, and its limit at each age.
  await show(page, "/tickets?id=lonely", "still ticket");
  await agree(page, "Ticket", async () => {
    const { waiting } = await view("ticket-why?id=lonely");
    const [breach] = waiting.nearest.breaches, [{ rule, steps }] = waiting.expansions;
    const shown = await page.locator(".main").innerText();
    const limits = await page.getByRole("img", { name: `The limit of ${rule} by age: ${steps.map((s) => `${s.limit} from ${s.from_ms / 1000} s`).join(", ")}.` }).count();
    return limits === 1 && shown.includes(`${breach.rule} (${Math.round(10 * breach.value) / 10}; the limit is ${breach.limit})`) ? "" : `shows ${shown}; the API says ${JSON.stringify(waiting.nearest)}`;
  });

  let active = 0;
  await show(page, "/sessions", "still sessions");
  await agree(page, "Sessions", async () => {
    active = 0;
    for (const FleetId of fleets) active += (await call("DescribeGameSessions", { FleetId, StatusFilter: "ACTIVE" })).GameSessions.length;
    const chip = await page.locator(".chip", { hasText: " active" }).allInnerTexts();
    return Number(chip[0]?.match(/\d+/)?.[0] ?? 0) === active ? "" : `shows ${chip}; AWS's API says ${active} are active`;
  });

  await show(page, "/queues?name=crowded", "still queue");
  let pending = 0;
  await agree(page, "Queue", async () => {
    pending = 0;
    for (const PlacementId of ["waits-1", "waits-2", "waits-3"]) pending += (await call("DescribeGameSessionPlacement", { PlacementId })).GameSessionPlacement.Status === "PENDING" ? 1 : 0;
    const shown = await figures(page);
    return shown["placements wait"] === String(pending) ? "" : `shows ${JSON.stringify(shown)}; AWS's API says ${pending} are pending`;
  });

  await show(page, "/fleets", "still fleets");
  for (const id of fleets) await agree(page, "Fleets", async () => {
    const [u] = (await call("DescribeFleetUtilization", { FleetIds: [id] })).FleetUtilization;
    const row = (await page.locator("tr", { has: page.locator(`a[href$="${id}"]`) }).locator("td").allInnerTexts()).join(" ");
    return row.includes(String(u.ActiveServerProcessCount)) ? "" : `shows ${row}; AWS's API says ${JSON.stringify(u)}`;
  });
  log(`compared ${compared} live pages, ${players} players, ${active} game sessions, ${tickets} tickets, ${pending} placements`);
});

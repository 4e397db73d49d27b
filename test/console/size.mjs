// How long people wait on a large server: until a page is painted, until its data is there,
// until a key that they press is seen.

import { check, log, picture, open, settled, task, view, withBrowser } from "./browser.mjs";

const rounds = 5;
const { fleet, game } = task.about;
const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
const pages = {
  now: "/", world: "/world", queues: "/queues", matchmaking: "/matchmaking", matchmaker: of("/matchmaking", { name: "duels" }), quality: of("/quality", { name: "duels" }), ticket: of("/tickets", { id: "waits-00007" }), rules: "/rules",
  fleets: "/fleets", fleet: of("/fleets", { id: fleet }), hosts: "/hosts", sessions: "/sessions", session: of("/sessions", { id: game }),
  player: of("/players", { id: "player-7" }), crashes: "/crashes", events: "/events", webhooks: "/webhooks", access: "/access", api: "/operations",
};
/** Returns the shortest, the middle and the longest of some times. The machine may have other work: the first is nearest to what the page takes. */
const times = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  return `${[sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((v) => v.toFixed(0)).join(" / ")} ms`;
};

/** Watches a page from its beginning: when its data is there, what blocks it, what moves. */
const watch = () => {
  const seen = (globalThis.seen = { shown: 0, paint: 0, blocked: 0, moved: 0, inputs: [] });
  const frame = () => {
    if (document.querySelector(".main h1") && !document.querySelector(".skel") && !seen.shown) {
      requestAnimationFrame(() => setTimeout(() => (seen.shown ||= performance.now())));
    } else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const on = (type, take, more = {}) => new PerformanceObserver((l) => l.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  on("paint", (e) => e.name === "first-contentful-paint" && (seen.paint = e.startTime));
  on("longtask", (e) => (seen.blocked = Math.max(seen.blocked, e.duration)));
  on("layout-shift", (e) => e.hadRecentInput || (seen.moved += e.value));
  on("event", (e) => ["keydown", "input", "click", "pointerup"].includes(e.name) && seen.inputs.push(e.duration), { durationThreshold: 16 });
};

/** Waits until what was done is seen, and returns how long the longest took; 16 ms is the least that is told. */
async function inputs(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
  return page.evaluate(() => Math.max(8, ...globalThis.seen.inputs.splice(0)));
}

await withBrowser(async (browser) => {
  // Each page alone, with nothing in the browser's cache.
  for (const [name, to] of Object.entries(pages)) {
    const rows = [];
    for (let i = 0; i < rounds; i++) {
      const page = await open(browser);
      await page.addInitScript(watch);
      let bytes = 0;
      page.on("requestfinished", async (r) => (bytes += (await r.sizes().catch(() => null))?.responseBodySize ?? 0));
      await page.goto(`${task.base}/console${to}`);
      await page.waitForFunction(() => globalThis.seen.shown && globalThis.seen.paint); // the paint is reported later
      rows.push({ ...(await page.evaluate(() => globalThis.seen)), bytes });
      if (i === 0) await picture(page, `size-${name.replace(" ", "-")}`);
      await page.context().close();
    }
    const all = (of) => times(rows.map((r) => r[of]));
    log(`${name.padEnd(11)} first paint ${all("paint")}, data ${all("shown")}, blocked ${all("blocked")}, moved ${Math.max(...rows.map((r) => r.moved)).toFixed(3)}`);
  }

  // Going from page to page by keys, while all of them are live.
  const page = await open(browser);
  await page.addInitScript(watch);
  await page.goto(`${task.base}/console/`);
  await settled(page);
  await page.waitForTimeout(3000); // until the programs of all pages are there
  const waits = {};
  for (let i = 0; i < rounds; i++) {
    for (const [key, name] of Object.entries({ s: "sessions", f: "fleets", m: "matchmaking", q: "queues", h: "hosts", e: "events", w: "world", n: "now" })) {
      await page.keyboard.press("g");
      await page.evaluate(() => (globalThis.seen.key = performance.now()));
      await page.keyboard.press(key);
      await page.waitForFunction((at) => location.pathname.endsWith(at) && document.querySelector(".main h1") && !document.querySelector(".skel"), name === "now" ? "/" : name);
      const took = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(performance.now() - globalThis.seen.key))));
      (waits[name] ??= { keys: [], data: [] }).data.push(took);
      waits[name].keys.push(await inputs(page));
    }
  }
  for (const [name, w] of Object.entries(waits)) log(`to ${name.padEnd(11)} key ${times(w.keys)}, data ${times(w.data)}`);

  // Typing into the filter, moving through rows, sorting, searching.
  for (const [name, to] of Object.entries({ sessions: pages.sessions, matchmaker: pages.matchmaker, fleet: pages.fleet })) {
    await page.goto(`${task.base}/console${to}`);
    await settled(page);
    const took = {};
    const note = async (what) => (took[what] ??= []).push(await inputs(page));
    if (to.startsWith("/sessions")) {
      await page.getByRole("searchbox").focus();
      for (const letter of "game 00123") {
        await page.keyboard.press(letter === " " ? "Space" : letter);
        await note("typing");
      }
      await page.waitForFunction(() => document.querySelectorAll(".tablebox tbody tr:not(.gap)").length === 1);
      await page.getByRole("searchbox").fill("");
      await page.waitForFunction(() => document.querySelectorAll(".tablebox tbody tr:not(.gap)").length > 20);
    }
    const table = page.locator(".tablebox").first();
    if (await table.count()) {
      await table.focus();
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("j");
        await note("rows");
      }
      await page.keyboard.press("End");
      await note("rows");
      const all = Number(await table.locator("table").getAttribute("aria-rowcount"));
      await page.waitForFunction((n) => document.querySelector("tr.sel")?.getAttribute("aria-rowindex") === String(n), all);
      await page.keyboard.press("Home");
      await note("rows");
      for (let i = 0; i < 9; i++) {
        const heads = table.locator("th button");
        await heads.nth(i % Math.min(3, await heads.count())).click();
        await note("sorting");
      }
    }
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("/");
    await note("search opens");
    for (const letter of "player-19999") {
      await page.keyboard.press(letter);
      await note("search");
    }
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Escape");
    await note("search closes");
    for (const [what, list] of Object.entries(took)) log(`${name.padEnd(11)} ${what.padEnd(13)} ${times(list)} of ${list.length}`);
  }
  const { sessions } = await view("sessions?limit=10000");
  check(sessions.length > 9, "the server", `has ${sessions.length} game sessions`);
  await page.context().close();
});

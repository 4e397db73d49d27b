// Long lists: axe has nothing to say, and a keyboard alone leads to any row.

import { accessible, ask, check, fits, log, open, picture, settled, show, task, view, withBrowser } from "./browser.mjs";

const { fleet, games, tickets } = task.about;

await withBrowser(async (browser) => {
  const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
  // The newest tickets come and go during the check: sorted in this way, the last one stays.
  const lists = { sessions: "/sessions", "sessions by players": of("/sessions", { sort: "-players" }), "sessions of a fleet": of("/sessions", { fleet }), matchmaker: of("/matchmaking", { name: "duels", sort: "started" }), events: "/events" };
  for (const { scheme, width } of task.passes) {
    const page = await open(browser, { scheme, width });
    for (const [name, to] of Object.entries({ ...lists, now: "/", world: "/world", fleet: of("/fleets", { id: fleet }), hosts: "/hosts", quality: of("/quality", { name: "duels" }), ticket: of("/tickets", { id: "waits-00007" }) })) {
      const where = `crowd-${name.replaceAll(" ", "-")}-${scheme}-${width}`;
      await show(page, to, where);
      await fits(page, where);
      await accessible(page, where);
      await picture(page, where);
      const drawn = await page.evaluate(() => document.querySelectorAll(".main *").length);
      check(drawn < 5000, where, `has ${drawn} elements`);
    }
    await page.context().close();
  }

  const page = await open(browser);
  for (const [name, to] of Object.entries(lists)) {
    await show(page, to, name);
    const table = page.locator(".tablebox").first(), chosen = page.locator("tr.sel");
    const rows = async () => Number(await table.locator("table").getAttribute("aria-rowcount")) - 1;
    const place = async () => Number(await chosen.first().getAttribute("aria-rowindex")) - 1;
    const most = await rows();
    check(most >= (name === "matchmaker" ? Math.min(tickets, 200) : name === "events" ? 200 : games), name, `has ${most} rows`);
    await table.focus();
    if (name === "events") continue; // they come while one looks
    await page.keyboard.press("End");
    await page.waitForFunction(() => Number(document.querySelector("tr.sel")?.getAttribute("aria-rowindex")) - 1 === Number(document.querySelector(".tablebox table").getAttribute("aria-rowcount")) - 1);
    const id = (await table.locator("tr.sel [data-copy]").first().getAttribute("data-copy")) ?? "";
    const seen = await chosen.evaluate((e) => {
      const row = e.getBoundingClientRect(), box = e.closest(".tablebox").getBoundingClientRect();
      return row.top >= box.top && row.bottom <= box.bottom + 1;
    });
    check(seen, name, "the last row is not in view");
    await page.keyboard.press("PageUp");
    await page.keyboard.press("k");
    const before = await place();
    check(before < most && before > most - 60, name, `PageUp and k lead from ${most} to ${before}`);
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.querySelector("tr.sel")?.getAttribute("aria-rowindex") === "2");
    await page.keyboard.press("End");
    await page.waitForFunction((want) => document.querySelector("tr.sel [data-copy]")?.dataset.copy === want, id);
    await page.keyboard.press("Enter");
    await page.waitForURL((at) => at.searchParams.get("id") === id);
    await settled(page);
  }

  // A row that was chosen stays chosen while newer ones come above it.
  const list = await view("sessions?limit=20");
  await show(page, "/sessions", "a chosen row");
  await page.locator(".tablebox").focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("j");
  const chosen = () => page.locator("tr.sel [data-copy]").first().getAttribute("data-copy");
  const id = await chosen();
  check(id === list.sessions[2].id, "j", `leads to ${id}, not to ${list.sessions[2].id}`);
  const newest = await ask("more");
  await page.locator(`tbody tr:first-child [data-copy="${newest}"]`).waitFor();
  check((await chosen()) === id, "a chosen row", `was ${id}, and is ${await chosen()}`);
  log(`${games} game sessions, ${tickets} tickets`);
});

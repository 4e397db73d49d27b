// Long lists: axe has nothing to say, and a keyboard alone leads to any row.

import { accessible, ask, check, fits, log, open, picture, settled, show, task, view, withBrowser } from "./browser.mjs";

const { fleet, games, tickets } = task.about;

await withBrowser(async (browser) => {
  const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
  // The newest tickets come and go during the check, and guests visit the newest games: in each of these orders the last row stays.
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

  // Rows come and go: what counts is what the page says when a key was pressed.
  const page = await open(browser);
  const told = async (what) => (await page.waitForFunction((what) => {
    const [, place, of, id] = /^row ([\d,]+) of ([\d,]+): (.+)$/.exec(document.querySelector(".tablebox + [role=status]").textContent) ?? [];
    const row = { place: Number(place?.replaceAll(",", "")), of: Number(of?.replaceAll(",", "")), id };
    return { first: row.place === 1, last: row.place === row.of, "another row": id && id !== what.than }[what.is] && row;
  }, what)).jsonValue();
  for (const [name, to] of Object.entries(lists)) {
    await show(page, to, name);
    const table = page.locator(".tablebox").first();
    const most = Number(await table.locator("table").getAttribute("aria-rowcount")) - 1;
    check(most >= (name === "matchmaker" ? Math.min(tickets, 200) : name === "events" ? 200 : games), name, `has ${most} rows`);
    await table.focus();
    if (name === "events") continue; // there the last row is displaced at once
    await page.keyboard.press("End");
    const last = await told({ is: "last" });
    await page.waitForFunction((id) => {
      const chosen = document.querySelector("tr.sel:has([data-copy])"), row = chosen?.getBoundingClientRect(), box = chosen?.closest(".tablebox").getBoundingClientRect();
      return chosen?.querySelector("[data-copy]").dataset.copy === id && row.top >= box.top && row.bottom <= box.bottom + 1;
    }, last.id);
    await page.keyboard.press("PageUp");
    const above = await told({ is: "another row", than: last.id });
    await page.keyboard.press("k");
    const higher = await told({ is: "another row", than: above.id });
    for (const { place, of } of [above, higher]) check(place < of && place > of - 60, name, `PageUp and k lead from ${last.of} to ${place} of ${of}`);
    await page.keyboard.press("Home");
    await told({ is: "first" });
    await page.keyboard.press("End");
    check((await told({ is: "last" })).id === last.id, name, "End leads to another row than before");
    await page.keyboard.press("Enter");
    await page.waitForURL((at) => at.searchParams.get("id") === last.id);
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

// Names that strangers choose are shown as text, and do not disturb what stands beside them.

import { call, check, fits, get, log, open, picture, show, task, view, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
  const { names, fleet } = task.about;
  const { sessions } = await view("sessions");
  const pages = ["/", "/world", "/quality", "/rules", of("/quality", { name: "a".repeat(128) }), of("/rules", { name: "a".repeat(128) }), "/queues", of("/queues", { name: "a".repeat(128) }), "/matchmaking", "/fleets", of("/fleets", { id: fleet }), "/hosts", "/sessions", "/events", "/events?show=audit", "/access", "/crashes"];
  for (const host of await get("/agent/v1/hosts")) pages.push(of("/hosts", { id: host.HostID }));
  for (const s of sessions) pages.push(of("/sessions", { id: s.id }));
  for (const name of names) pages.push(of("/players", { id: name }), of("/sessions", { filter: name }), of("/fleets", { id: name }), of("/queues", { name }), of("/tickets", { id: name }));
  for (const t of task.about.tickets) pages.push(of("/tickets", { id: t }));
  let shown = 0;
  for (const width of [1440, 390]) {
    const page = await open(browser, { width, expected: /status of (400|404)/ });
    for (const to of pages) {
      await show(page, to, to.slice(0, 60));
      await fits(page, to.slice(0, 60));
      const made = await page.evaluate(() => ({ images: document.querySelectorAll(".main img, .main script, .main iframe").length, ran: globalThis.ran, text: document.querySelector(".main").textContent }));
      check(made.images === 0 && made.ran === undefined, to, "has made an element of a name");
      if (made.text.includes("<img src=x")) shown++;
      const out = await page.evaluate(() => [...document.querySelectorAll(".main .panel, .main .head, .top, .nav")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "visible").map((e) => e.className));
      check(out.length === 0, to.slice(0, 60), `does not fit: ${out.join(", ")}`);
    }
    for (const name of names) {
      await page.keyboard.press("/");
      await page.getByRole("dialog").waitFor();
      await page.getByRole("combobox").fill(name.slice(0, 40));
      await page.locator("[role=option], .finder [role=status]").first().waitFor();
      await fits(page, "search");
      await page.keyboard.press("Escape");
    }
    await show(page, "/sessions", "hostile sessions");
    await picture(page, `hostile-sessions-${width}`);
    await show(page, of("/sessions", { id: sessions.find((s) => s.name?.startsWith("<img")).id }), "hostile session");
    await picture(page, `hostile-session-${width}`);
    await page.context().close();
  }
  check(shown > 10, "the names", `were shown as text on ${shown} pages only`);
  log(`${pages.length} pages, names as text on ${shown}`);
});

// What people do with a keyboard: every control is reached, letters lead to pages, rows are
// chosen and opened, search and dialogs keep the focus and give it back.

import { accessible, call, check, log, open, picture, settled, show, view, withBrowser } from "./browser.mjs";

const focused = (page) => page.evaluate(() => {
  const e = document.activeElement;
  return e === document.body ? "" : `${e.tagName.toLowerCase()} ${e.getAttribute("aria-label") ?? e.textContent.trim().slice(0, 40)}`;
});

/** Presses Tab until the focus comes around, and checks that it was everywhere, and seen. */
async function reached(page, where) {
  await page.evaluate(() => {
    document.querySelector(".skip").focus();
    globalThis.reachable = [...document.querySelectorAll("a[href], button:not(:disabled), input, select, textarea, [tabindex='0']")].filter((e) => e.checkVisibility({ visibilityProperty: true }));
  });
  const all = await page.evaluate(() => globalThis.reachable.length);
  const unseen = new Set();
  await page.keyboard.press("Shift+Tab"); // to where Tab begins
  for (let i = 0; i < all + 2; i++) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => {
      const e = document.activeElement;
      if (e === document.body) return "";
      globalThis.reachable = globalThis.reachable.filter((r) => r !== e && r.isConnected);
      const s = getComputedStyle(e);
      return s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2 ? `${e.tagName.toLowerCase()}.${e.className}` : "";
    });
    if (seen) unseen.add(seen);
  }
  const missed = await page.evaluate(() => globalThis.reachable.map((e) => e.outerHTML.slice(0, 120)));
  check(missed.length === 0, where, `Tab does not reach ${missed.length} of ${all}: ${missed.slice(0, 3).join(" | ")}`);
  check(unseen.size === 0, where, `where the focus is cannot be seen on ${[...unseen].join(", ")}`);
  return all;
}

await withBrowser(async (browser) => {
  const page = await open(browser);
  // The address that the page has now: page.url() has it later.
  const at = async () => new URL(await page.evaluate(() => location.href));
  const path = async () => (await at()).pathname.replace("/console", "");

  // Letters lead to all pages, and on each Tab leads to everything while it stands still.
  await show(page, "/");
  let all = 0;
  for (const [key, to] of Object.entries({ q: "/queues", m: "/matchmaking", w: "/world", u: "/quality", r: "/rules", k: "/webhooks", f: "/fleets", h: "/hosts", s: "/sessions", p: "/players", c: "/crashes", e: "/events", a: "/access", i: "/operations", n: "/" })) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await settled(page);
    check((await path()) === to, `g ${key}`, `leads to ${await path()}, not to ${to}`);
    page.where = `g ${key}`;
    if (to === "/operations") await page.locator(".list a").first().waitFor();
    await page.keyboard.press("Escape"); // out of a field that has the focus at once
    await page.keyboard.press("Space");
    check((await page.locator(".livebtn").getAttribute("aria-pressed")) === "true", to, "Space does not pause");
    all += await reached(page, to);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("Space"); // goes on
  }
  log(`Tab reached ${all} controls`);

  // The range of charts is in the address, and goes along to other pages.
  const range = async () => (await at()).searchParams.get("range") ?? "";
  const pressed = () => page.locator(".ranges [aria-pressed=true]").innerText();
  await show(page, "/");
  for (const [key, want, text] of [["]", "24h", "24 h"], ["]", "7d", "7 d"], ["]", "7d", "7 d"], ["[", "24h", "24 h"]]) {
    await page.keyboard.press(key);
    check((await range()) === want && (await pressed()) === text, `key ${key}`, `leads to range ${await range()}, ${await pressed()}, not to ${want}`);
  }
  await page.getByText("crashes in the last 24 hours").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await settled(page);
  check((await range()) === "24h" && (await pressed()) === "24 h", "g q", `loses the range: ${await at()}`);
  await page.locator(".ranges button").nth(1).press("Enter");
  check((await range()) === "" && (await pressed()) === "1 h", "Queues", `the usual range leaves ${await at()}`);

  // Rows.
  await show(page, "/matchmaking", "rows");
  await page.locator(".tablebox").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const row = page.locator("tr.sel");
  check((await row.count()) === 1, "j k", "no row is chosen");
  const name = (await row.locator("a").first().textContent()) ?? "";
  await page.keyboard.press("Enter");
  await settled(page);
  check((await at()).searchParams.get("name") === name, "Enter", `opens ${await at()}, not ${name}`);

  // Search.
  await page.keyboard.press("/");
  const search = page.getByRole("dialog", { name: "Search" });
  await search.waitFor();
  check((await focused(page)).startsWith("input"), "search", "the focus is not in the field");
  await page.keyboard.type("lonely");
  await search.getByRole("option").first().waitFor();
  await accessible(page, "search");
  await picture(page, "search");
  await page.keyboard.press("Enter");
  await page.waitForURL(/tickets\?id=lonely/);
  await settled(page);
  const help = page.getByRole("button", { name: "keys" });
  await help.focus();
  await page.keyboard.press("/");
  await search.waitFor();
  await page.keyboard.type("there is no such thing");
  await page.getByText("Nothing has an id").waitFor();
  await page.keyboard.press("Escape");
  await search.waitFor({ state: "detached" });
  check((await focused(page)) === "button keys", "Escape", `leaves the focus on ${await focused(page)}`);

  // The list of keys.
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await accessible(page, "keys");
  await picture(page, "keys");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  // A dialog keeps the focus; nothing behind it hears keys; only the button acts.
  page.where = "dialog";
  const cancel = page.getByRole("button", { name: "Cancel …" });
  await cancel.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Cancel this ticket?" });
  await dialog.waitFor();
  check((await focused(page)) === "button Cancel", "dialog", `begins with the focus on ${await focused(page)}`);
  await accessible(page, "dialog");
  await picture(page, "dialog");
  for (const step of ["Tab", "Tab", "Tab", "Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab"]) {
    await page.keyboard.press(step);
    check(await page.evaluate(() => !!document.activeElement.closest("[role=dialog]")), "dialog", `${step} leaves it, for ${await focused(page)}`);
  }
  await dialog.getByRole("button", { name: "Cancel", exact: true }).focus();
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await page.keyboard.press("/");
  check((await path()) === "/tickets" && (await page.getByRole("dialog").count()) === 1, "dialog", "keys act on the page behind it");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  check((await focused(page)) === "button Cancel …", "Escape", `leaves the focus on ${await focused(page)}`);
  const status = async () => (await call("DescribeMatchmaking", { TicketIds: ["lonely"] })).TicketList[0].Status;
  check((await status()) === "SEARCHING", "Escape", `the ticket is ${await status()}`);
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Cancel the ticket" }).click();
  await page.getByText("The ticket was canceled.").waitFor();
  check((await status()) === "CANCELLED", "the action", `the ticket is ${await status()}`);
  await cancel.waitFor({ state: "detached" });
  await accessible(page, "canceled");
  await picture(page, "canceled");
  check((await view("ticket?id=lonely")).ticket.status === "CANCELLED", "the view", "does not know");
});

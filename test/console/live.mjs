// A page over time: it follows, stands still while paused, says when the server is away, keeps
// what it shows, and goes on by itself when the server is back.

import { accessible, ask, check, fits, log, long, open, picture, settled, show, view, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  const page = await open(browser, { expected: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/ });
  const clock = page.locator(".livebtn .mono");
  const text = () => page.locator(".main").innerText();

  // Paused.
  await show(page, "/", "paused");
  await page.keyboard.press("Space");
  await settled(page); // what came before is drawn
  const then = [await clock.innerText(), await text()];
  await page.getByText(/paused, \d+ behind/).waitFor();
  await picture(page, "paused");
  const still = [await clock.innerText(), await text()];
  check(still.join() === then.join(), "paused", `changes: ${then.join()} became ${still.join()}`);
  await page.keyboard.press("Space");
  await page.waitForFunction((at) => document.querySelector(".livebtn .mono").innerText !== at, then[0]);

  // Another server process on the same address. Pages that are loaded are there without it.
  page.where = "offline";
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((r) => /\/fleets[^/]*\.js/.test(r.name) && r.responseEnd > 0));
  const parts = () => page.evaluate(() => [".light", ".figure", ".panel", ".tablebox tbody tr"].map((what) => `${document.querySelectorAll(what).length} ${what}`).join());
  const before = await parts();
  await ask("kill");
  await page.getByText(/No connection for \d+ s/).waitFor();
  await page.getByText("offline").waitFor();
  check((await parts()) === before, "offline", `has ${await parts()} instead of ${before}`);
  await accessible(page, "offline");
  await fits(page, "offline");
  await picture(page, "offline");
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await page.getByText(/No connection/).waitFor(); // a page that is opened now has nothing to show but says why
  await picture(page, "offline-other");
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await page.getByText(/No connection/).waitFor();
  await ask("start");
  const begun = Date.now();
  await page.getByText(/No connection/).waitFor({ state: "detached" });
  await page.getByText("Can players play?").waitFor();
  log(`shown again ${Date.now() - begun} ms after the server was ready`);
  const waiting = () => page.evaluate(() => Number([...document.querySelectorAll("a.figure")].find((f) => f.innerText.includes("tickets")).querySelector("b").innerText));
  let differs = "";
  for (const end = Date.now() + long; Date.now() < end; await page.waitForTimeout(250)) { // tickets of bots come and go
    const { totals } = await view("now"), shown = await waiting();
    differs = shown === totals.waiting ? "" : `shows that ${shown} tickets wait; the API says ${totals.waiting}`;
    if (!differs) break;
  }
  check(!differs, "shown again", differs);
});

// A configuration whose tickets cannot be matched, open in three browsers: each shows its counts
// at once and why its tickets wait a moment later, and another configuration goes on as before.

import { accessible, ask, check, fits, log, open, picture, settled, show, task, view, withBrowser } from "./browser.mjs";

const { tickets } = task.about;
const number = (n) => n.toLocaleString("en-US");
const funnel = (page) => page.locator(".funnel").innerText();
const why = (page) => page.locator(".panel", { has: page.getByRole("heading", { name: "Why tickets wait now" }) });

/** Runs with three browsers. */
const withThree = (run) => withBrowser((a) => withBrowser((b) => withBrowser((c) => run([a, b, c]))));

await withThree(async (browsers) => {
  // As long as there is no explanation, all else is there.
  const held = await open(browsers[0]);
  let release;
  const released = new Promise((done) => (release = done));
  await held.route("**/views/matchmaker-why*", async (route) => {
    await released;
    await route.continue();
  });
  await held.goto(`${task.base}/console/matchmaking?name=duels`);
  await held.locator(".funnel").waitFor();
  await why(held).getByText("It is being computed …").waitFor();
  check((await funnel(held)).includes(`${number(tickets)} still open`), "a page without its explanation", `shows ${await funnel(held)}`);
  check((await held.locator("tbody tr").count()) > 0, "a page without its explanation", "lists no tickets");
  await picture(held, "matchmaker-computing");
  release();
  await settled(held);
  const text = await why(held).innerText();
  check(text.includes("Rules are the limit"), "the explanation", `says ${text}`);
  check(text.includes(`${number(tickets)} tickets`), "the explanation", `is not of ${tickets} tickets: ${text}`);
  if (tickets > 48) check(text.includes(`A sample: 48 tickets of ${number(tickets)}`), "the explanation", `does not say that it is a sample: ${text}`);
  await held.context().close();

  const pages = [];
  for (const [i, browser] of browsers.entries()) {
    const page = await open(browser, { width: [1440, 1024, 390][i], scheme: i === 1 ? "dark" : "light" });
    const begun = Date.now();
    await page.goto(`${task.base}/console/matchmaking?name=duels`);
    await page.locator(".funnel").waitFor();
    const counts = Date.now() - begun;
    await settled(page);
    log(`browser ${i + 1}: counts after ${counts} ms, explanation after ${Date.now() - begun} ms`);
    await fits(page, `matchmaker ${i + 1}`);
    await accessible(page, `matchmaker ${i + 1}`);
    await picture(page, `matchmaker-${i + 1}`);
    pages.push(page);
  }
  const started = await ask("match", "while it is open in three browsers");
  for (const page of pages) {
    page.where = "after the matches of another configuration";
    const text = await funnel(page);
    check(text.includes(`${number(tickets)} still open`), page.where, `shows ${text}`);
  }
  const other = await open(browsers[0]);
  await show(other, "/matchmaking?name=during", "the other configuration");
  const { counts, match } = await view("matchmaker?name=during");
  check(counts.COMPLETED === started && match.quantiles.p90 !== null, "the other configuration", `has ${JSON.stringify(counts)}`);
  await other.waitForFunction((n) => document.querySelector(".funnel").innerText.includes(n), number(started));
  await picture(other, "matchmaker-other");
  const ticket = await open(browsers[1]);
  await show(ticket, "/tickets?id=waits-00007", "a ticket among many");
  await ticket.getByRole("heading", { name: "Why it waits" }).waitFor();
  await picture(ticket, "matchmaker-ticket");
  await show(other, "/matchmaking", "the list");
  await picture(other, "matchmaker-list");
});

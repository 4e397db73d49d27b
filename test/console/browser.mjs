// What the checks of the console share: Chromium, pages whose faults are reported, and the
// line to the Go test that runs them.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

/** What the Go test says about this run. */
export const task = JSON.parse(process.argv[2]);

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (o) => process.stdout.write(JSON.stringify(o) + "\n");

/** How long something may take that needs the machine, in milliseconds: others may use it, too. */
export const long = 120_000;

/** Reports a fault: the test fails, and the check goes on. */
export const fault = (where, what) => say({ fault: `${where}: ${what}` });

/** Reports a fault unless a condition holds. */
export const check = (ok, where, what) => ok || fault(where, what);

/** Tells how it went, in the test's log. */
export const log = (text) => say({ log: text });

/** Asks the Go test to do something to the server, and returns its answer. */
export async function ask(what, about = "") {
  say({ ask: what, about });
  const { value } = await answers.next();
  return JSON.parse(value);
}

/** Returns the answer of a path of the server. */
export async function get(path, headers = {}) {
  const r = await fetch(task.base + path, { headers });
  if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
  return r.json();
}

/** Returns a view as it is now. */
export const view = async (name) => (await get(`/console/api/views/${name}`)).data;

/** Calls an operation of the AWS API on a server that asks for no signature. */
export async function call(operation, input = {}) {
  const r = await fetch(task.base + "/", {
    method: "POST",
    headers: { "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": `GameLift.${operation}` },
    body: JSON.stringify(input),
  });
  const text = await r.text();
  if (!r.ok) throw new Error(`${operation}: ${r.status} ${text}`);
  return JSON.parse(text || "{}");
}

/** Runs a check with a browser that ends with it. */
export async function withBrowser(run) {
  const browser = await chromium.launch({ executablePath: task.chromium, timeout: long, args: ["--no-sandbox", "--disable-dev-shm-usage", ...(task.flags ?? [])] });
  try {
    await run(browser);
  } catch (e) {
    fault("the check itself", e.stack);
  } finally {
    await browser.close();
    answers.return?.();
    process.stdin.destroy();
  }
}

/**
 * Opens a page whose faults are reported: errors of scripts and of the console (such as what
 * the content security policy refused), and requests to other servers. expected is of the
 * console's errors that belong to the check.
 */
export async function open(browser, { width = 1440, scheme = "light", expected, ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height: width < 500 ? 844 : 900 }, colorScheme: scheme, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(long);
  page.where = "";
  const at = () => `${page.where || page.url()} (${scheme}, ${width})`;
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !expected?.test(m.text()) && fault(at(), `console: ${m.text()}`));
  page.on("pageerror", (e) => fault(at(), `script: ${e.message}`));
  page.on("request", (r) => r.url().startsWith(task.base + "/") || r.url().startsWith("data:") || fault(at(), `asks ${r.url()}`));
  page.on("dialog", (d) => { fault(at(), `a script of a stranger ran: ${d.message()}`); void d.dismiss(); });
  return page;
}

/** Shows a page of the console, and waits until its data is there. */
export async function show(page, to, name = to) {
  page.where = name;
  await page.goto(`${task.base}/console${to}`);
  await settled(page);
}

/** Waits until a page has shown its data, and has drawn it. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".main h1") && !document.querySelector(".skel"));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Checks that nothing is wider than the screen. */
export async function fits(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, where, `is ${wide} px wider than the screen`);
}

/** Checks a page with axe; serious and critical findings are faults. */
export async function accessible(page, where) {
  // What is fading in has not its colors yet.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((a) => a.effect?.getComputedTiming().endTime !== Infinity).map((a) => a.finished)));
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of violations) {
    if (v.impact !== "serious" && v.impact !== "critical") continue;
    for (const n of v.nodes.slice(0, 3)) fault(where, `axe ${v.id} (${v.impact}): ${n.target.join(" ")}: ${n.html.slice(0, 200)}: ${n.failureSummary.split("\n").slice(1).join(" ").trim()}`);
  }
}

/** Takes a picture of a page, if there is a folder for it. */
export async function picture(page, name) {
  if (task.pictures) await page.screenshot({ path: path.join(task.pictures, `${name}.png`) });
}

// People at a server that requires keys: logging in and out, what a role does not see, and
// what a page of another site cannot do.

import { accessible, ask, check, fault, fits, log, long, open, picture, settled, show, task, withBrowser } from "./browser.mjs";

const { admin, reader, foreign } = task.about;

async function logIn(page, key, secret) {
  await page.getByLabel("Access key id").fill("");
  await page.getByLabel("Access key id").focus();
  await page.keyboard.type(key);
  await page.keyboard.press("Tab");
  await page.getByLabel("Secret access key").fill("");
  await page.keyboard.type(secret);
  await page.keyboard.press("Enter");
}

/** What a script of the console itself gets, with the login and its proof. */
const own = (page, method, path, headers = {}, body = undefined) =>
  page.evaluate(async ([method, path, headers, body]) => {
    const me = await (await fetch("/console/api/me")).json();
    const r = await fetch(path, { method, headers: { ...headers, "X-Muster-Csrf": me.csrf }, body });
    return `${r.status} ${(await r.text()).slice(0, 300)}`;
  }, [method, path, headers, body]);

await withBrowser(async (browser) => {
  const page = await open(browser, { expected: /status of (401|403|400)/ });

  // Nobody sees anything; a wrong secret is told; the right one is let in where one wanted to go.
  page.where = "log in";
  await page.goto(`${task.base}/console/fleets`);
  await page.getByRole("button", { name: "Log in" }).waitFor();
  await accessible(page, "login");
  await fits(page, "login");
  await picture(page, "login");
  await logIn(page, reader.id, "wrong");
  const told = await page.getByRole("alert").innerText();
  check(/key|secret|credential|signature/i.test(told), "a wrong secret", `is told as ${told}`);
  await picture(page, "login-wrong");
  await logIn(page, reader.id, reader.secret);
  await settled(page);
  check(page.url() === `${task.base}/console/fleets`, "log in", `leads to ${page.url()}`);
  check(await page.evaluate(() => document.cookie === ""), "the cookie", "can be read by scripts");

  // A role that reads has no button for changes, and its requests are refused.
  for (const to of ["/", "/queues", "/queues?name=crowded&placement=waits-1", "/matchmaking", "/tickets?id=lonely", "/fleets", `/fleets?id=${task.about.fleet}`, "/hosts", "/sessions", "/crashes", "/events", "/operations?operation=CreateLocation"]) {
    await show(page, to, `read-only ${to}`);
    const actions = await page.locator(".main button:visible", { hasText: "…" }).allInnerTexts();
    check(actions.length === 0, page.where, `has buttons for ${actions.join(", ")}`);
    await accessible(page, page.where);
  }
  await picture(page, "read-only");
  check((await page.getByRole("link", { name: "Access", exact: true }).count()) === 0, "read-only", "is led to the page of keys");
  page.where = "read-only by address";
  await page.goto(`${task.base}/console/access`);
  await page.getByRole("alert").waitFor();
  await picture(page, "read-only-access");
  check(!(await page.locator(".main").innerText()).includes(admin.id), "read-only", "sees the keys");
  check((await page.locator(".main button:visible", { hasText: "…" }).count()) === 0, "read-only", "has buttons on the page of keys");
  const target = { "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "GameLift.CreateLocation" };
  const asJSON = { "Content-Type": "application/json" };
  for (const [what, answer] of Object.entries({
    "a change by AWS's API": await own(page, "POST", "/", target, `{"LocationName":"custom-evil"}`),
    "a key": await own(page, "POST", "/admin/v1/keys", asJSON, `{"name":"evil","role":"admin"}`),
    "the keys": await own(page, "GET", "/admin/v1/keys"),
    "the logins": await own(page, "GET", "/admin/v1/logins"),
    "ending logins": await own(page, "DELETE", `/admin/v1/logins/${admin.id}`),
    "the audit log": await own(page, "GET", "/admin/v1/audit"),
    "a join token": await own(page, "POST", "/agent/v1/tokens", asJSON, `{"location":"custom-evil"}`),
  })) check(/^(403|400.*AccessDenied)/s.test(answer), `read-only, ${what}`, `gets ${answer}`);

  // A page of another site, and of another port of this machine, in the same browser.
  for (const origin of foreign) {
    const evil = await page.context().newPage();
    await evil.goto(origin);
    const got = await evil.evaluate(async ([base, target]) => {
      const out = {};
      const to = async (name, path, init) => {
        try {
          const r = await fetch(base + path, { credentials: "include", ...init });
          out[name] = r.type === "opaque" ? "opaque" : `${r.status} ${await r.text()}`;
        } catch {
          out[name] = "refused";
        }
      };
      await to("reading", "/console/api/views/now");
      await to("who", "/console/api/me");
      await to("a change", "/", { method: "POST", headers: target, body: `{"LocationName":"custom-evil"}` });
      await to("a plain change", "/", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: `{"LocationName":"custom-evil"}` });
      await to("a plain change by path", "/service/GameLift/operation/CreateLocation", { method: "POST", mode: "no-cors", body: `{"LocationName":"custom-evil"}` });
      await to("a plain key", "/admin/v1/keys", { method: "POST", mode: "no-cors", body: `{"name":"evil","role":"admin"}` });
      await to("a plain login", "/console/api/login", { method: "POST", mode: "no-cors", body: `{"key_id":"a","secret":"b"}` });
      await to("logging out", "/console/api/login", { method: "DELETE" });
      const frame = document.createElement("iframe");
      frame.src = `${base}/console/`;
      await new Promise((done) => { frame.onload = done; document.body.append(frame); });
      return out;
    }, [task.base, target]);
    for (const [what, answer] of Object.entries(got)) check(answer === "refused" || answer === "opaque", `${origin}, ${what}`, `gets ${answer}`);
    const framed = evil.frames().filter((f) => f !== evil.mainFrame());
    for (const end = Date.now() + long; framed.some((f) => f.url() === "") && Date.now() < end; ) await evil.waitForTimeout(25); // its address is known later than its load event
    check(framed.length === 1 && framed[0].url().startsWith("chrome-error:"), origin, `frames the console: ${framed.map((f) => f.url())}`);
    await evil.evaluate(([base]) => {
      const form = document.createElement("form");
      Object.assign(form, { action: `${base}/console/api/login`, method: "post", enctype: "text/plain" });
      document.body.append(form);
      form.submit();
    }, [task.base]);
    await evil.waitForURL(/console\/api\/login/);
    await evil.close();
  }
  await show(page, "/", "after the other site"); // one is still logged in
  const { locations, keys } = await ask("made");
  check(!locations.includes("custom-evil") && !keys.includes("evil"), "another site", `has made something: ${locations}, ${keys}`);

  // Logging out ends the login, not only the page.
  page.where = "log out";
  const cookie = (await page.context().cookies()).find((c) => c.httpOnly);
  await page.getByRole("button", { name: "log out" }).click();
  await page.getByRole("button", { name: "Log in" }).waitFor();
  const stale = await fetch(`${task.base}/console/api/me`, { headers: { Cookie: `${cookie.name}=${cookie.value}` } });
  check(stale.status === 401, "a login that ended", `answers ${stale.status}`);
  await page.goBack();
  await page.getByRole("button", { name: "Log in" }).waitFor();

  // A key that is disabled elsewhere ends the login of an open page.
  await logIn(page, reader.id, reader.secret);
  await page.locator(".main h1").waitFor();
  await page.evaluate(() => { globalThis.sameProgram = true; });
  const begun = Date.now();
  await ask("disable", reader.id);
  await page.getByRole("button", { name: "Log in" }).waitFor();
  check(await page.evaluate(() => globalThis.sameProgram), "a disabled key", "was noticed only by loading the page again");
  log(`an open page ended ${Date.now() - begun} ms after its key was disabled`);

  // An administrator has the buttons.
  await logIn(page, admin.id, admin.secret);
  await page.locator(".main h1").waitFor();
  await show(page, "/access");
  await page.locator(".main button:visible", { hasText: "…" }).nth(1).waitFor(); // of a key
  await accessible(page, "access as administrator");
  await picture(page, "access-keys");

  // Who is logged in: one's own login is marked, and those of others can be ended, one or all.
  await ask("enable", reader.id);
  const others = [];
  for (let i = 0; i < 3; i++) {
    const other = await open(browser, { expected: /status of (401|403|400)/ });
    other.where = `reader ${i}`;
    await other.goto(`${task.base}/console/queues`);
    await logIn(other, reader.id, reader.secret);
    await other.locator(".main h1").waitFor();
    others.push(other);
  }
  page.where = "logins";
  const rows = page.getByRole("table", { name: "Logins" }).locator("tbody tr");
  const readers = rows.filter({ hasText: "support" });
  await readers.nth(2).waitFor();
  const texts = await rows.allInnerTexts();
  check(texts.length === 4 && texts.filter((t) => t.includes("this login")).length === 1, page.where, `has the rows ${texts.join(" | ")}`);
  check(texts.every((t) => t.includes("127.0.0.1")), page.where, `does not tell the address: ${texts.join(" | ")}`);
  check((await readers.filter({ hasText: "this login" }).count()) === 0, page.where, "marks the login of somebody else");
  await accessible(page, "logins");
  await picture(page, "logins");
  await readers.nth(0).getByRole("button", { name: "End …" }).click();
  await accessible(page, "end a login");
  await picture(page, "logins-end");
  await page.getByRole("button", { name: "End the login" }).click();
  await others[0].getByRole("button", { name: "Log in" }).waitFor();
  await readers.nth(2).waitFor({ state: "detached" });
  check((await others[1].locator(".main h1").count()) === 1, "the other logins", "ended, too");
  await readers.nth(0).getByRole("button", { name: "End all 2 …" }).click();
  await page.getByLabel("Type support to go on").fill("support");
  await picture(page, "logins-end-all");
  await page.getByRole("button", { name: "End them all" }).click();
  for (const other of others) await other.getByRole("button", { name: "Log in" }).waitFor();
  await readers.nth(0).waitFor({ state: "detached" });
  if (task.pictures) {
    for (const [scheme, width] of [["dark", 1440], ["light", 390], ["dark", 390]]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await fits(page, "logins");
      await picture(page, `logins-${scheme}-${width}`);
    }
  }
  await rows.filter({ hasText: "this login" }).getByRole("button", { name: "End …" }).click();
  await page.getByRole("button", { name: "End the login" }).click();
  await page.getByRole("button", { name: "Log in" }).waitFor();
});

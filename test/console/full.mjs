// A page when too many are open.

import { accessible, ask, check, fits, open, picture, show, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  const page = await open(browser, { expected: /status of 429/ });
  await page.goto("about:blank");
  await show(page, "/fleets", "another page"); // asks for no stream
  page.where = "full";
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  const told = page.getByRole("alert");
  await told.getByText("2 event streams are open, which is the limit; close some, or raise --max-streams").waitFor();
  check((await page.getByText(/No connection/).count()) === 0, "full", "says that there is no connection");
  await fits(page, "full");
  await accessible(page, "full");
  await picture(page, "full");
  await ask("end");
  await told.waitFor({ state: "detached" });
  await page.getByText("Nothing runs here yet").waitFor();
});

// The pages of a server on which there is nothing yet: each says so, and what to do.

import { accessible, check, fits, open, picture, show, task, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  for (const { scheme, width } of task.passes) {
    const page = await open(browser, { scheme, width });
    for (const to of ["/", "/world", "/quality", "/rules", "/webhooks", "/queues", "/matchmaking", "/fleets", "/hosts", "/sessions", "/players", "/crashes", "/events", "/webhooks", "/access", "/tickets"]) {
      const where = `empty-${to.slice(1) || "now"}-${scheme}-${width}`;
      await show(page, to, where);
      await fits(page, where);
      await accessible(page, where);
      await picture(page, where);
      check((await page.locator(".main p:visible, .main .cmd:visible, .main tr:visible").count()) > 0, where, "says nothing");
    }
    await page.context().close();
  }
});

// A game session's page has the log of its game server as it grows, and what its process uses.

import { accessible, ask, check, fits, open, picture, settled, show, task, withBrowser } from "./browser.mjs";

const { id } = task.about;

await withBrowser(async (browser) => {
  for (const [scheme, width] of [["light", 1440], ["dark", 1440], ["dark", 390]]) {
    const page = await open(browser, { scheme, width });
    await show(page, `/sessions?${new URLSearchParams({ id })}`, "log");
    const log = page.getByRole("region", { name: /^The log/ });
    await log.getByText("game session started").waitFor();
    await page.getByText("every 10 s").or(page.getByLabel("Processor")).first().waitFor();
    await settled(page);
    check(!(await log.innerText()).includes(`player-of-${scheme}-${width}`), page.where, "has a line that was not written yet");
    await ask("join", `player-of-${scheme}-${width}`);
    await log.getByText(`player-of-${scheme}-${width}`).first().waitFor(); // it grows by itself
    const bottom = await log.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    check(bottom < 4, page.where, `is ${bottom} px from its end`);
    await accessible(page, "log");
    await fits(page, "log");
    await picture(page, `log-${scheme}-${width}`);
    await log.scrollIntoViewIfNeeded();
    await picture(page, `log-${scheme}-${width}-scrolled`);
    if (scheme === "dark" && width === 390) {
      await page.getByLabel("Processor").first().waitFor(); // the agent measures every 10 s
      await page.getByLabel("Processor").first().scrollIntoViewIfNeeded();
      await picture(page, `load-${scheme}-${width}`);

      // These charts are of ten minutes, whatever range was chosen on another page.
      for (const range of ["15m", "7d"]) {
        await show(page, `/sessions?${new URLSearchParams({ id, range })}`, `log, range ${range}`);
        const chart = page.locator(".charted", { has: page.getByLabel("Processor") });
        const over = chart.locator(".u-over");
        await over.scrollIntoViewIfNeeded();
        const { width: all, height } = await over.boundingBox();
        const seconds = async (x) => {
          await over.hover({ position: { x, y: height / 2 } });
          await settled(page); // the values at the pointer are shown
          const [h, m, s] = (await chart.getByText(/from \d\d:\d\d:\d\d/).innerText()).match(/\d\d/g).map(Number);
          return 3600 * h + 60 * m + s;
        };
        const middle = await seconds(all / 2), shown = (86_400 + (await seconds(all - 1)) - middle) % 86_400;
        check(shown >= 240 && shown <= 360, page.where, `has ${shown} s in the right half of its chart`);
      }
      await ask("end");
      await page.getByText("get-game-session-log ").waitFor(); // what is stored is shown, and how to get all of it
      await page.getByRole("region", { name: /^The log/ }).getByText(`player-of-${scheme}-${width}`).first().waitFor();
      await accessible(page, "log of what has ended");
      await picture(page, `log-ended-${scheme}-${width}`);
    }
  }
});

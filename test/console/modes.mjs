// Pages for those who have chosen colors of their own, and for those who want no motion.

import { accessible, call, check, fits, log, open, picture, settled, show, view, withBrowser } from "./browser.mjs";

/** Returns what cannot be told from what is behind it: glyphs, lines, what is chosen, borders of controls. */
const vanished = () => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c[3] > 200) return c;
    }
    return rgb("Canvas");
  };
  const out = [];
  const shown = [...document.querySelectorAll(".shell *, [role=dialog] *")].filter((e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
  for (const e of shown) {
    const s = getComputedStyle(e), what = `${e.tagName.toLowerCase()}.${e.getAttribute("class") ?? ""} in ${e.closest("[class]")?.getAttribute("class")}`;
    if (e instanceof SVGElement && ["path", "rect", "circle", "line"].includes(e.tagName) && !e.matches(".hit, .clear, .grid, .behind, .hatch-line, .hatch-line *, .land, pattern *, defs *, .flow, .reach")) {
      const paints = [s.fill, s.stroke].filter((p) => p !== "none" && !p.startsWith("url") && rgb(p)[3] > 0);
      const on = behind(e.ownerSVGElement.parentElement);
      if (paints.length && paints.every((p) => contrast(rgb(p), on) < 2.5)) out.push(`${what}: ${paints} on ${on}`);
    }
    if (e.matches("td a[aria-current]") && Number(s.fontWeight) < 600) out.push(`${what}: is chosen, and cannot be told from others`);
    if (e.matches(":not(td a)[aria-current]:not(.mark), tr.sel td, [role=option][aria-selected=true], .chip[aria-pressed=true]") && contrast(rgb(s.backgroundColor), behind(e.parentElement.closest("tr") ?? e.parentElement)) < 1.5) out.push(`${what}: is chosen, and cannot be told from others`);
    if (e.matches("button.btn, .input") && contrast(rgb(s.borderTopColor), behind(e)) < 1.5 && contrast(rgb(s.backgroundColor), behind(e.parentElement)) < 1.5) out.push(`${what}: has no border`);
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && !(e instanceof SVGElement) && contrast(rgb(s.color), behind(e)) < 3) out.push(`${what}: ${e.textContent.slice(0, 30)}`);
  }
  return [...new Set(out)];
};

/** Returns what moves, or would when it is touched. */
const moving = () => {
  const out = document.getAnimations().filter((a) => a.effect.getKeyframes().some((k) => k.transform || k.left || k.top || k.width)).map((a) => `an animation of ${a.effect.target.className}`);
  for (const e of document.querySelectorAll("*")) {
    const s = getComputedStyle(e);
    if (s.transitionDuration.split(",").some((d) => parseFloat(d) > 0)) out.push(`a transition of ${e.tagName.toLowerCase()}.${e.getAttribute("class")}`);
    if (s.scrollBehavior === "smooth") out.push(`scrolling of ${e.tagName.toLowerCase()}`);
  }
  return [...new Set(out)];
};

await withBrowser(async (browser) => {
  const { sessions } = await view("sessions");
  const fleets = (await call("DescribeFleetAttributes")).FleetAttributes.map((f) => f.FleetId);
  const of = (page, values) => `${page}?${new URLSearchParams(values)}`;
  const pages = {
    now: "/", world: "/world", queue: of("/queues", { name: "crowded" }), placement: of("/queues", { name: "crowded", placement: "waits-1" }), matchmaker: of("/matchmaking", { name: "duels" }), ticket: of("/tickets", { id: "lonely" }), quality: of("/quality", { name: "demo" }), rules: of("/rules", { name: "duels" }),
    fleets: "/fleets", fleet: of("/fleets", { id: fleets[0] }), hosts: "/hosts", sessions: of("/sessions", { state: "ACTIVE" }), session: of("/sessions", { id: sessions[0].id }), events: "/events", crashes: "/crashes", webhooks: "/webhooks", access: "/access", api: of("/operations", { operation: "CreateFleet" }),
  };
  for (const scheme of ["light", "dark"]) {
    const page = await open(browser, { scheme, forcedColors: "active", reducedMotion: "reduce", width: scheme === "light" ? 1440 : 390, expected: /status of 404/ });
    for (const [name, to] of Object.entries(pages)) {
      const where = `forced-${name}-${scheme}`;
      await show(page, to, where);
      for (const what of (await page.evaluate(vanished)).slice(0, 4)) check(false, where, `not seen: ${what}`);
      for (const what of (await page.evaluate(moving)).slice(0, 4)) check(false, where, `moves: ${what}`);
      await fits(page, where);
      await accessible(page, where);
      await picture(page, where);
      // Where the focus is.
      await page.evaluate(() => document.querySelector(".skip").focus());
      for (let i = 0; i < 30; i++) {
        await page.keyboard.press("Tab");
        const unseen = await page.evaluate(() => {
          const e = document.activeElement, s = getComputedStyle(e.closest(".editor") ?? e);
          return e === document.body || (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && s.outlineColor !== getComputedStyle(document.body).backgroundColor) ? "" : `${e.tagName.toLowerCase()}.${e.className}`;
        });
        check(!unseen, where, `where the focus is cannot be seen on ${unseen}`);
      }
    }
    // What is chosen: a row, a hit of the search; a dialog.
    await show(page, "/matchmaking", `forced-chosen-${scheme}`);
    await page.locator(".tablebox").focus();
    await page.keyboard.press("j");
    await page.keyboard.press("/");
    await page.keyboard.type("lonely");
    await page.getByRole("option").first().waitFor();
    for (const what of await page.evaluate(vanished)) check(false, "what is chosen", `not seen: ${what}`);
    for (const what of await page.evaluate(moving)) check(false, "the search", `moves: ${what}`);
    await picture(page, `forced-search-${scheme}`);
    await page.keyboard.press("Escape");
    await settled(page);
    await picture(page, `forced-row-${scheme}`);
    await page.context().close();
  }
  log(`${Object.keys(pages).length} pages`);
});

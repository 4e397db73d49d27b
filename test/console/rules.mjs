// The rules lab, as a designer uses it.

import { accessible, call, check, fits, log, long, open, picture, show, withBrowser } from "./browser.mjs";

const body = `{
  "ruleLanguageVersion": "1.0",
  "playerAttributes": [{"name": "skill", "type": "number", "default": 1500}],
  "teams": [{"name": "side", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}],
  "rules": [
    {"name": "Close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 20}
  ],
  "expansions": [{"target": "rules[Close].maxDistance", "steps": [{"waitTimeSeconds": 300, "value": 400}]}]
}`;

await withBrowser(async (browser) => {
  await call("CreateMatchmakingRuleSet", { Name: "lab", RuleSetBody: body });
  await call("CreateMatchmakingConfiguration", { Name: "labor", RuleSetName: "lab", RequestTimeoutSeconds: 60, AcceptanceRequired: false, FlexMatchMode: "STANDALONE" });
  // A simulation that follows a cancelled one may find its place still taken for a moment.
  const page = await open(browser, { expected: /status of 503/ });
  await show(page, "/rules?name=lab&rule=Close", "rules");
  const text = page.getByLabel("Rule set body"), verdict = page.locator(".verdict");
  await verdict.getByText("Valid: 1 rule").waitFor();
  const at = await text.evaluate((el) => el.value.slice(0, el.selectionStart).split("\n").length);
  check(at === 6, "a link to a rule", `leads to line ${at}`);
  check(await page.getByText("never reached by labor").count(), "steps", "one after the timeout is not told");

  await text.fill(body.replace("batchDistance", "batchDistanse"));
  await verdict.getByText("1 error").waitFor();
  await page.locator(".problems button").click();
  const marked = await page.evaluate(() => {
    const mark = document.querySelector(".mark.bad").getBoundingClientRect(), paper = document.querySelector(".paper").getBoundingClientRect();
    return { line: Math.round((mark.top - paper.top - 8) / 18) + 1, width: mark.width };
  });
  check(marked.line === 6 && marked.width > 60, "the mark of an error", JSON.stringify(marked));
  for (const name of ["Simulate", "Apply to labor …"]) check(await page.getByRole("button", { name }).isDisabled(), "with an error", `${name} can be clicked`);
  await accessible(page, "rules with an error");
  await picture(page, "rules-error");

  await text.fill(body.replace('"maxDistance": 20', '"maxDistance": 400'));
  await verdict.getByText("Valid").waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("progressbar").getByText(/run \d+ of 10/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("minutes of play").fill("0"); // the first of its steps: 5
  const done = page.locator(".figures");
  for (const end = Date.now() + long; !(await done.count()) && Date.now() < end; ) {
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.locator(".figures, .alert").first().waitFor({ timeout: 150_000 }); // a simulation ends after two minutes
  }
  const words = await page.locator(".words").innerText();
  check(/wait of nine in ten tickets is shorter/.test(words) && /skill spread in nine of ten matches is wider/.test(words), "the result", words);
  const limits = await page.locator(".histograms", { hasText: "Close" }).locator("line.limit").count();
  check(limits >= 1, "the distribution", "has no limit");
  log(words);
  await fits(page, "rules with a result");
  await accessible(page, "rules with a result");
  await picture(page, "rules-result");

  await page.getByRole("button", { name: "Apply to labor …" }).click();
  const dialog = page.getByRole("dialog");
  check(/"maxDistance": 400/.test(await dialog.locator(".diff .new").innerText()), "the dialog", "does not show the new line");
  check(/update-matchmaking-configuration --name labor --rule-set-name lab-2/.test(await dialog.innerText()), "the dialog", "does not tell the command");
  await accessible(page, "apply");
  await picture(page, "rules-apply");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/name=lab-2/);
  const { Configurations: [used] } = await call("DescribeMatchmakingConfigurations", { Names: ["labor"] });
  check(used.RuleSetName === "lab-2", "the configuration", `uses ${used.RuleSetName}`);
  const { RuleSets: [made] } = await call("DescribeMatchmakingRuleSets", { Names: ["lab-2"] });
  check(made.RuleSetBody === body.replace('"maxDistance": 20', '"maxDistance": 400'), "the rule set", made.RuleSetBody);

  // From nothing: a kind of game, a rule of one's own, a simulation, and a configuration that uses it.
  await show(page, "/rules", "the rule sets");
  await page.getByRole("link", { name: "New rule set …" }).click();
  await page.getByRole("link", { name: /Two even teams/ }).waitFor();
  page.where = "kinds of game";
  await fits(page, "kinds of game");
  await accessible(page, "kinds of game");
  await picture(page, "rules-kinds");
  for (const name of [/An empty page/, /Two even teams/]) {
    await page.getByRole("link", { name }).click();
    await verdict.getByText("Valid").waitFor();
    check(await page.getByRole("button", { name: "Create …" }).isEnabled(), `${name}`, "cannot be created as it is");
    if (`${name}`.includes("empty")) await page.getByRole("link", { name: "choose another" }).click();
  }
  const begun = await text.inputValue();
  await text.fill("");
  await verdict.getByText("error").waitFor();
  for (const name of ["Simulate", "Create …"]) check(await page.getByRole("button", { name }).isDisabled(), "an empty text", `${name} can be clicked`);
  await page.getByRole("button", { name: "Begin again" }).click();
  check((await text.inputValue()) === begun, "Begin again", "does not bring back the template");
  const mine = begun.replaceAll(/(minPlayers|maxPlayers)": 4/g, '$1": 2');
  await text.fill(mine);
  await verdict.getByText("Valid: 3 rules, 4 players").waitFor();
  await page.getByLabel("minutes of play").fill("0");
  for (const end = Date.now() + long; !(await done.count()) && Date.now() < end; ) {
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.locator(".figures, .alert").first().waitFor({ timeout: 150_000 }); // a simulation ends after two minutes
  }
  check((await done.locator("th").allInnerTexts()).join() === "Measure,Mean,95 % interval", "the result", (await done.locator("th").allInnerTexts()).join());
  check((await page.locator(".histograms").count()) > 2, "the result", "has no distributions");
  await fits(page, "a new rule set with a result");
  await accessible(page, "a new rule set with a result");
  await picture(page, "rules-new");
  await page.getByRole("button", { name: "Create …" }).click();
  await dialog.getByLabel("Name of the rule set").fill("pairs");
  await dialog.getByLabel("Name of the configuration").fill("pairing");
  await dialog.getByLabel("Seconds until a ticket times out").fill("45");
  check(/create-matchmaking-configuration --name pairing --rule-set-name pairs --request-timeout-seconds 45 --no-acceptance-required --flex-match-mode STANDALONE/.test(await dialog.innerText()), "the dialog", await dialog.innerText());
  await fits(page, "create");
  await accessible(page, "create");
  await picture(page, "rules-create");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/matchmaking\?name=pairing/);
  const { Configurations: [fresh] } = await call("DescribeMatchmakingConfigurations", { Names: ["pairing"] });
  check(fresh.RuleSetName === "pairs" && fresh.RequestTimeoutSeconds === 45 && fresh.FlexMatchMode === "STANDALONE", "the new configuration", JSON.stringify(fresh));
  const { RuleSets: [own] } = await call("DescribeMatchmakingRuleSets", { Names: ["pairs"] });
  check(own.RuleSetBody === mine, "the new rule set", own.RuleSetBody);
  await show(page, "/rules?new=teams", "after it was created");
  check((await text.inputValue()) === begun, "a new draft", "has the text of the last");
});

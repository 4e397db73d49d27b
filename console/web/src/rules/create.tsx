// A rule set from nothing: the kind of game, the lab, then what uses it.

import { signal, type Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { all, call, may, read } from "../core/api";
import { go, to } from "../core/route";
import { quote, shortID } from "../core/text";
import { ask } from "../ui/act";
import { Glyph } from "../ui/glyph";
import { A, Command, Head } from "../ui/parts";
import { remember } from "./draft";
import { Lab } from "./lab";
import type { Configuration, Template } from "./types";

/** The choice of a template, or the lab with the one that was chosen. */
export function Create({ kind, names, configurations }: { kind: string; names: string[]; configurations: Configuration[] }) {
  const [templates, setTemplates] = useState<Template[]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    read<Template[]>("/console/api/rules/templates").then(setTemplates, (e: Error) => setProblem(e.message));
  }, []);
  const chosen = templates?.find((t) => t.kind === kind);
  if (chosen) {
    return (
      <Lab
        key={kind} of={{ name: "", title: "New rule set", was: chosen.body, draft: `new ${kind}` }} configurations={configurations}
        about={<>begun with “{chosen.title}”; <A to={to("/rules", { new: "yes" })}>choose another</A></>}
        actions={(text, ready) => may("CreateMatchmakingRuleSet") && <button type="button" class="btn" disabled={!ready} onClick={() => create(chosen, text, names, configurations)}>Create …</button>}
      />
    );
  }
  return (
    <>
      <Head title="New rule set" question="What kind of game is it?" />
      {problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>The templates cannot be shown: {problem}</span></div>}
      {!templates && !problem && <div class="skel" />}
      <div class="kinds">
        {templates?.map((t) => (
          <A key={t.kind} to={to("/rules", { new: t.kind })} class="panel kind">
            <b>{t.title}</b>
            <span>{t.text}</span>
          </A>
        ))}
      </div>
    </>
  );
}

/** What becomes of a new rule set. */
interface Plan {
  name: string;
  /** The configuration that uses it: "" none, "+" a new one. */
  user: string;
  /** Of a new configuration. */
  configuration: string;
  timeout: number;
  queue: string; // its ARN; "" leaves placing to the game
}

/** Returns a name that is not taken. */
function free(name: string, names: string[]): string {
  for (let n = 1; ; n++) {
    const one = n === 1 ? name : `${name}-${n}`;
    if (!names.includes(one)) return one;
  }
}

function create(template: Template, text: string, names: string[], configurations: Configuration[]): void {
  const name = free(template.kind === "empty" ? "rules" : template.kind, names);
  const plan = signal<Plan>({ name, user: may("CreateMatchmakingConfiguration") ? "+" : "", configuration: free(name, configurations.map((c) => c.Name)), timeout: 60, queue: "" });
  ask({
    title: "Create the rule set?",
    effect: "Rule sets do not change. Players are matched by it as soon as a configuration uses it.",
    verb: "Create", command: "",
    form: <Form plan={plan} configurations={configurations} />,
    run: async () => {
      const p = plan.value;
      await call("CreateMatchmakingRuleSet", { Name: p.name, RuleSetBody: text });
      const used = p.user === "+" ? p.configuration : p.user;
      try {
        if (p.user === "+") await call("CreateMatchmakingConfiguration", newConfiguration(p));
        else if (p.user) await call("UpdateMatchmakingConfiguration", { Name: p.user, RuleSetName: p.name });
      } catch (e) {
        throw new Error(`Rule set ${p.name} was created, but configuration ${used} does not use it: ${(e as Error).message}`);
      } finally {
        remember(`new ${template.kind}`, null);
      }
      go(used ? to("/matchmaking", { name: used }) : to("/rules", { name: p.name }));
      return used ? `${used} uses rule set ${p.name}.` : `Rule set ${p.name} was created.`;
    },
  });
}

const newConfiguration = (p: Plan): Record<string, unknown> => ({
  Name: p.configuration, RuleSetName: p.name, RequestTimeoutSeconds: p.timeout, AcceptanceRequired: false,
  ...(p.queue ? { FlexMatchMode: "WITH_QUEUE", GameSessionQueueArns: [p.queue] } : { FlexMatchMode: "STANDALONE" }),
});

/** Returns the commands that do the same. */
function commands(p: Plan): string {
  const aws = `aws gamelift --endpoint-url ${location.origin}`;
  const made = `${aws} create-matchmaking-rule-set --name ${quote(p.name)} --rule-set-body file://${quote(p.name)}.json`;
  if (p.user === "+") {
    return `${made}\n${aws} create-matchmaking-configuration --name ${quote(p.configuration)} --rule-set-name ${quote(p.name)} --request-timeout-seconds ${p.timeout} --no-acceptance-required ${p.queue ? `--flex-match-mode WITH_QUEUE --game-session-queue-arns ${p.queue}` : "--flex-match-mode STANDALONE"}`;
  }
  return p.user ? `${made}\n${aws} update-matchmaking-configuration --name ${quote(p.user)} --rule-set-name ${quote(p.name)}` : made;
}

function Form({ plan, configurations }: { plan: Signal<Plan>; configurations: Configuration[] }) {
  const [queues, setQueues] = useState<{ GameSessionQueueArn: string }[]>([]);
  useEffect(() => {
    if (may("DescribeGameSessionQueues")) all<{ GameSessionQueueArn: string }>("DescribeGameSessionQueues", "GameSessionQueues").then(setQueues, () => undefined); // without them the game places matches
  }, []);
  const p = plan.value;
  const set = (change: Partial<Plan>): void => {
    plan.value = { ...plan.peek(), ...change };
  };
  return (
    <>
      <label class="field">
        <span>Name of the rule set</span>
        <input class="input" value={p.name} maxLength={128} pattern="[a-zA-Z0-9.-]*" onInput={(e) => set({ name: e.currentTarget.value })} />
      </label>
      <label class="field">
        <span>What uses it</span>
        <select class="input" value={p.user} onChange={(e) => set({ user: e.currentTarget.value })}>
          {may("CreateMatchmakingConfiguration") && <option value="+">a new configuration</option>}
          {may("UpdateMatchmakingConfiguration") && configurations.map((c) => <option key={c.Name} value={c.Name}>{c.Name}, in place of {c.RuleSetName}</option>)}
          <option value="">nothing yet</option>
        </select>
      </label>
      {p.user === "+" && (
        <div class="cols2">
          <label class="field">
            <span>Name of the configuration</span>
            <input class="input" value={p.configuration} maxLength={128} pattern="[a-zA-Z0-9.-]*" onInput={(e) => set({ configuration: e.currentTarget.value })} />
          </label>
          <label class="field">
            <span>Seconds until a ticket times out</span>
            <input class="input" type="number" min={1} max={43_200} value={p.timeout} onInput={(e) => set({ timeout: Number(e.currentTarget.value) })} />
          </label>
          <label class="field">
            <span>Where matches are played</span>
            <select class="input" value={p.queue} onChange={(e) => set({ queue: e.currentTarget.value })}>
              <option value="">the game places them itself</option>
              {queues.map((q) => <option key={q.GameSessionQueueArn} value={q.GameSessionQueueArn}>queue {shortID(q.GameSessionQueueArn)}</option>)}
            </select>
          </label>
        </div>
      )}
      <Command text={commands(p)} />
    </>
  );
}

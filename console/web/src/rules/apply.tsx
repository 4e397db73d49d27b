// What is done with an edit of a rule set.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { call, may } from "../core/api";
import { go, to } from "../core/route";
import { ask } from "../ui/act";
import { Command } from "../ui/parts";
import { diff, excerpt, type Line } from "./diff";
import { remember } from "./draft";
import type { Configuration } from "./types";

/** Returns a name for the next version: ranked-2 after ranked, ranked-3 after ranked-2. */
function next(name: string, names: string[]): string {
  const stem = /^(.*?)(?:-(\d+))?$/.exec(name)!;
  for (let n = Number(stem[2] ?? 1) + 1; ; n++) {
    const one = `${stem[1]!.slice(0, 120)}-${n}`;
    if (!names.includes(one)) return one;
  }
}

/** Makes the edit a rule set of its own, which a configuration then uses. */
export function Apply({ name, was, text, names, users, ready }: { name: string; was: string; text: string; names: string[]; users: Configuration[]; ready: boolean }) {
  if (!may("CreateMatchmakingRuleSet")) return null;
  const start = (u: Configuration | undefined): void => {
    const fresh = signal(next(name, names));
    ask({
      title: u ? `Apply to configuration ${u.Name}?` : "Save as a rule set?",
      effect: u ? `Rule sets do not change: the edit becomes a new one, which ${u.Name} uses for all later matches, also of the tickets that wait now. ${name} stays.` : `The edit becomes a new rule set. ${name} stays.`,
      verb: u ? "Apply" : "Save", command: "",
      form: <ApplyForm fresh={fresh} was={was} text={text} user={u?.Name} />,
      run: async () => {
        const made = fresh.value;
        await call("CreateMatchmakingRuleSet", { Name: made, RuleSetBody: text });
        if (u) {
          try {
            await call("UpdateMatchmakingConfiguration", { Name: u.Name, RuleSetName: made });
          } catch (e) {
            throw new Error(`Rule set ${made} was created, but ${u.Name} still uses ${name}: ${(e as Error).message}`);
          }
        }
        remember(name, null);
        go(to("/rules", { name: made }));
        return u ? `${u.Name} uses rule set ${made}.` : `Rule set ${made} was created.`;
      },
    });
  };
  const applicable = may("UpdateMatchmakingConfiguration") ? users : [];
  if (applicable.length === 0) return <button type="button" class="btn" disabled={!ready} onClick={() => start(undefined)}>Save as …</button>;
  return <>{applicable.slice(0, 3).map((u) => <button key={u.Name} type="button" class="btn" disabled={!ready} title={`Apply to configuration ${u.Name}`} onClick={() => start(u)}>Apply to {u.Name.length > 24 ? `${u.Name.slice(0, 23)}…` : u.Name} …</button>)}</>;
}

function ApplyForm({ fresh, was, text, user }: { fresh: { value: string }; was: string; text: string; user: string | undefined }) {
  const shown = useMemo(() => excerpt(diff(was, text)), [was, text]);
  const sign = (l: Line): string => (l.kind === "old" ? "-" : l.kind === "new" ? "+" : " ");
  const aws = `aws gamelift --endpoint-url ${location.origin}`;
  return (
    <>
      <div class="diff" role="region" aria-label="What changes" tabIndex={0}>
        {shown.map((l, i) => (l ? <div key={i} class={l.kind}>{sign(l)} {l.text}</div> : <div key={i} class="dim">  …</div>))}
      </div>
      <label class="field">
        <span>Name of the new rule set</span>
        <input class="input" value={fresh.value} maxLength={128} pattern="[a-zA-Z0-9.-]*" onInput={(e) => (fresh.value = e.currentTarget.value)} />
      </label>
      <Command text={`${aws} create-matchmaking-rule-set --name ${fresh.value} --rule-set-body file://${fresh.value}.json${user ? `\n${aws} update-matchmaking-configuration --name ${user} --rule-set-name ${fresh.value}` : ""}`} />
    </>
  );
}

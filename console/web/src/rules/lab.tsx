// The rules lab: a rule set in an editor, what it does as players wait, and beside it a
// simulation.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../core/api";
import { param } from "../core/route";
import { many, seconds } from "../core/text";
import { Glyph } from "../ui/glyph";
import { Head, Panel } from "../ui/parts";
import { digits } from "./charts";
import { remember, remembered } from "./draft";
import { Editor, type Goal } from "./editor";
import { Trial } from "./trial";
import type { Checked, Configuration } from "./types";

/** What is edited. */
export interface Subject {
  /** Of the rule set; "" if it is a new one. */
  name: string;
  title: string;
  /** The text that it begins with. */
  was: string;
  /** Names the edit, which is kept while the tab is open. */
  draft: string;
}

/** A rule set's text, what is wrong with it, and a simulation of it. actions returns what can be done with a text, ready
 *  if it is one to make a rule set of. */
export function Lab({ of: { name, title, was, draft }, about, configurations, actions }: { of: Subject; about: ComponentChildren; configurations: Configuration[]; actions: (text: string, ready: boolean) => ComponentChildren }) {
  const users = configurations.filter((c) => c.RuleSetName === name);
  const [text, setText] = useState(remembered(draft) ?? was);
  const [checked, setChecked] = useState<{ text: string; of: Checked }>();
  const [problem, setProblem] = useState("");
  const [goal, setGoal] = useState<Goal | null>(null);
  const edit = (next: string): void => {
    setText(next);
    remember(draft, next === was ? null : next);
  };
  useEffect(() => {
    let over = false;
    const wait = setTimeout(() => {
      send<Checked>("POST", "/console/api/rules/check", { body: text })
        .then((of) => {
          if (over) return;
          setChecked({ text, of });
          setProblem("");
        })
        .catch((e: Error) => !over && setProblem(e.message));
    }, checked ? 200 : 0);
    return () => {
      over = true;
      clearTimeout(wait);
    };
  }, [text]);
  const find = (line: number, column = 1): void => setGoal((g) => ({ line, column, turn: (g?.turn ?? 0) + 1 }));
  const rule = param("rule");
  useEffect(() => {
    const at = checked?.of.rules.find((r) => r.name === rule);
    if (at && !goal) find(at.line);
  }, [checked?.of, rule]);
  const c = checked?.of;
  const valid = useRef<Checked>();
  if (c?.valid) valid.current = c;
  const current = checked?.text === text;
  const problems = current && c ? [...c.errors.map((p) => ({ ...p, bad: true })), ...c.warnings.map((p) => ({ ...p, bad: false }))] : [];
  const changed = text !== was;
  return (
    <>
      <Head title={title} question={name ? "What would this change do?" : "Who may play with whom?"}>
        <span class="soft by">{about}</span>
      </Head>
      <div class="lab">
        <div class="stack">
          <Panel
            title={changed ? `${title}, edited` : title}
            right={<span class="row">
              {changed && <button type="button" class="btn" onClick={() => edit(was)}>{name ? "Discard the edit" : "Begin again"}</button>}
              {actions(text, (changed || !name) && current && !!c?.valid)}
            </span>}
          >
            <div class="stack tight">
              <Editor text={text} was={name ? was : text} problems={problems} goal={goal} set={edit} />
              <div class="verdict" role="status">
                {problem ? <><Glyph tone="fail" /><span>Not checked: {problem}</span></>
                  : !c || !current ? <span class="dim">checking …</span>
                  : c.valid ? <><Glyph tone="ok" /><span>Valid: {many(c.rules.length, "rule")}, {c.levels[0]!.least === c.levels[0]!.most ? many(c.levels[0]!.most, "player") : `${c.levels[0]!.least} to ${c.levels[0]!.most} players`}{c.warnings.length > 0 && `, ${many(c.warnings.length, "warning")}`}</span></>
                  : <><Glyph tone="fail" /><span>{many(c.errors.length, "error")}</span></>}
              </div>
              {problems.length > 0 && (
                <ul class="problems">
                  {problems.slice(0, 12).map((p) => (
                    <li key={`${p.line}:${p.column}:${p.message}`}>
                      <button type="button" onClick={() => find(p.line, p.column)}>
                        <Glyph tone={p.bad ? "fail" : "warn"} size={10} />
                        <span class="mono">{p.line}:{p.column}</span>
                        <span>{p.member && <code>{p.member}</code>} {p.message}</span>
                      </button>
                    </li>
                  ))}
                  {problems.length > 12 && <li class="dim">and {problems.length - 12} more</li>}
                </ul>
              )}
            </div>
          </Panel>
          {c?.valid && <Levels c={c} users={users} find={find} />}
        </div>
        <Trial name={name} was={name ? was : undefined} text={text} checked={current && c?.valid ? c : undefined} last={valid.current} configurations={configurations} />
      </div>
    </>
  );
}

/** What changes while players wait. */
function Levels({ c, users, find }: { c: Checked; users: Configuration[]; find: (line: number) => void }) {
  const soonest = users.length ? Math.min(...users.map((u) => u.RequestTimeoutSeconds)) : Infinity;
  return (
    <Panel title="As players wait" note={c.levels.length === 1 ? "nothing changes" : undefined}>
      <div class="levels">
        {c.levels.map((l) => {
          const by = users.filter((u) => u.RequestTimeoutSeconds <= l.from_seconds);
          return (
            <>
              <span class="num">{l.from_seconds === 0 ? "from the start" : `after ${seconds(l.from_seconds)}`}</span>
              <span>
                {l.from_seconds === 0 && <>{l.least === l.most ? many(l.most, "player") : `${l.least} to ${l.most} players`}{c.rules.filter((r) => r.limit !== undefined).map((r) => <>, <button type="button" class="link" onClick={() => find(r.line)}>{r.name}</button> {digits(r.limit!)}</>)}</>}
                {l.changes.map((x, i) => <>{i > 0 && ", "}<button type="button" class="link" onClick={() => find(x.line)}>{x.what}</button> {x.old !== undefined && x.new !== undefined ? `${digits(x.old)} → ${digits(x.new)}` : "changes"}</>)}
                {l.from_seconds >= soonest && <span class="c-warn"> <Glyph tone="warn" size={10} /> never reached by {by.map((u) => u.Name).join(", ")}: tickets time out after {seconds(by[0]!.RequestTimeoutSeconds)}</span>}
              </span>
            </>
          );
        })}
      </div>
    </Panel>
  );
}

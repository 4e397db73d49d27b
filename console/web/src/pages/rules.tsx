// Rules lab: what would this change do?

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { all, call, Failure, lines, may, send } from "../core/api";
import { go, param, to } from "../core/route";
import { count, many, seconds } from "../core/text";
import { diff, excerpt, type Line } from "../rules/diff";
import { digits, Figures, Histograms } from "../rules/charts";
import { Editor, type Goal } from "../rules/editor";
import { Players, type Chosen } from "../rules/form";
import type { Checked, Configuration, Progress, Result, RuleSet } from "../rules/types";
import { ask } from "../ui/act";
import { Glyph } from "../ui/glyph";
import { A, Ago, Command, Empty, Head, Panel } from "../ui/parts";
import { Table } from "../ui/table";

export function Rules() {
  const [sets, setSets] = useState<RuleSet[]>();
  const [configurations, setConfigurations] = useState<Configuration[]>([]);
  const [problem, setProblem] = useState("");
  const name = param("name");
  useEffect(() => {
    Promise.all([all<RuleSet>("DescribeMatchmakingRuleSets", "RuleSets"), may("DescribeMatchmakingConfigurations") ? all<Configuration>("DescribeMatchmakingConfigurations", "Configurations") : []])
      .then(([s, c]) => {
        setSets(s);
        setConfigurations(c);
      })
      .catch((e: Error) => setProblem(e.message));
  }, [name]);
  if (problem) return <><Head title="Rules" question="What would this change do?" /><div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>The rule sets cannot be shown: {problem}</span></div></>;
  if (!sets) return <><Head title="Rules" question="What would this change do?" /><div class="skel" /></>;
  const chosen = sets.find((s) => s.RuleSetName === name);
  if (chosen) return <Lab key={name} set={chosen} names={sets.map((s) => s.RuleSetName)} configurations={configurations} />;
  return <List sets={sets} configurations={configurations} missing={name} />;
}

function List({ sets, configurations, missing }: { sets: RuleSet[]; configurations: Configuration[]; missing: string }) {
  const users = (s: RuleSet): Configuration[] => configurations.filter((c) => c.RuleSetName === s.RuleSetName);
  return (
    <>
      <Head title="Rules" question="Who may play with whom, and what would a change do?" />
      {missing && <div class="alert b-warn" role="alert"><Glyph tone="warn" /><span>Rule set {missing} does not exist (any more).</span></div>}
      {sets.length === 0 ? (
        <div class="panel">
          <Empty command={`aws gamelift --endpoint-url ${location.origin} create-matchmaking-rule-set --name duel --rule-set-body file://duel.json`}>There is no rule set. It says how large teams are and who may play with whom.</Empty>
        </div>
      ) : (
        <Panel bare>
          <Table
            label="Rule sets" rows={sets} id={(s) => s.RuleSetName} to={(s) => to("/rules", { name: s.RuleSetName })}
            columns={[
              { key: "name", title: "Rule set", value: (s) => s.RuleSetName, cell: (s) => <A to={to("/rules", { name: s.RuleSetName })}>{s.RuleSetName}</A> },
              { key: "used", title: "Used by", value: (s) => users(s).length, cell: (s) => users(s).map((c, i) => <>{i > 0 && ", "}<A to={to("/matchmaking", { name: c.Name })}>{c.Name}</A></>) },
              { key: "lines", title: "Lines", num: true, wide: true, value: (s) => s.RuleSetBody.split("\n").length, cell: (s) => count(s.RuleSetBody.split("\n").length) },
              { key: "created", title: "Created", num: true, wide: true, value: (s) => s.CreationTime, cell: (s) => <Ago at={new Date(s.CreationTime * 1000).toISOString()} /> },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

const remembered = (name: string): string | null => {
  try {
    return sessionStorage.getItem(`rules ${name}`);
  } catch {
    return null;
  }
};

function remember(name: string, text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(`rules ${name}`);
    else sessionStorage.setItem(`rules ${name}`, text);
  } catch {
    // without storage the edit lasts as long as the page
  }
}

/** Returns a body that can be read: one without line breaks is set in lines. */
function readable(body: string): string {
  if (body.trim().includes("\n")) return body;
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Lab({ set, names, configurations }: { set: RuleSet; names: string[]; configurations: Configuration[] }) {
  const name = set.RuleSetName;
  const was = useMemo(() => readable(set.RuleSetBody), [set]);
  const users = configurations.filter((c) => c.RuleSetName === name);
  const [text, setText] = useState(remembered(name) ?? was);
  const [checked, setChecked] = useState<{ text: string; of: Checked }>();
  const [problem, setProblem] = useState("");
  const [goal, setGoal] = useState<Goal | null>(null);
  const edit = (next: string): void => {
    setText(next);
    remember(name, next === was ? null : next);
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
      <Head title={name} question="What would this change do?">
        <span class="soft by">{users.length ? <>used by {users.map((u, i) => <>{i > 0 && ", "}<A to={to("/matchmaking", { name: u.Name })}>{u.Name}</A></>)}</> : "used by no configuration"}</span>
      </Head>
      <div class="lab">
        <div class="stack">
          <Panel
            title={changed ? `${name}, edited` : name}
            right={<span class="row">
              {changed && <button type="button" class="btn" onClick={() => edit(was)}>Discard the edit</button>}
              <Apply name={name} was={was} text={text} names={names} users={users} ready={changed && current && !!c?.valid} />
            </span>}
          >
            <div class="stack tight">
              <Editor text={text} was={was} problems={problems} goal={goal} set={edit} />
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
        <Trial name={name} was={was} text={text} checked={current && c?.valid ? c : undefined} last={valid.current} configurations={configurations} />
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

type State = { kind: "idle" } | { kind: "running"; at: Progress | null } | { kind: "failed"; text: string } | { kind: "done"; result: Result; of: Chosen; text: string };

/** The players, the simulation and its result. */
function Trial({ name, was, text, checked, last, configurations }: { name: string; was: string; text: string; checked: Checked | undefined; last: Checked | undefined; configurations: Configuration[] }) {
  const [state, setState] = useState<State>({ kind: "idle" });
  const stop = useRef<AbortController | null>(null);
  const chosen = useRef<Chosen | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async (): Promise<void> => {
    const of = chosen.current!;
    const abort = new AbortController();
    stop.current = abort;
    setState({ kind: "running", at: null });
    let ended = false;
    try {
      await lines("/console/api/simulations", abort.signal, (line) => {
        const l = line as { progress?: Progress; result?: Result; error?: string };
        if (l.progress) setState({ kind: "running", at: l.progress });
        if (l.error) throw new Error(l.error);
        if (l.result) {
          ended = true;
          setState({ kind: "done", result: l.result, of, text });
        }
      }, { a: was, b: text, ...of.request });
      if (!ended) throw new Error("the connection ended before the simulation did");
    } catch (e) {
      if (abort.signal.aborted) setState({ kind: "idle" });
      else setState({ kind: "failed", text: (e as Failure).message });
    }
  };
  const running = state.kind === "running";
  const same = text === was;
  return (
    <div class="stack">
      <Panel title="Play it" note="both rule sets on the same tickets">
        <div class="stack">
          {last && <Players name={name} checked={last} configurations={configurations} set={(c) => (chosen.current = c)} />}
          <div class="row wrap">
            {running ? (
              <button type="button" class="btn" onClick={() => stop.current?.abort()}>Cancel</button>
            ) : (
              <button type="button" class="btn first" disabled={!checked} onClick={() => void run()}>Simulate</button>
            )}
            {running ? (
              <div class="grow progress" role="progressbar" aria-valuenow={Math.round(100 * (state.at?.done ?? 0))} aria-valuemin={0} aria-valuemax={100}>
                <div class="track"><div style={{ width: `${100 * (state.at?.done ?? 0)}%` }} /></div>
                <span class="dim">{state.at ? `run ${state.at.run} of ${state.at.runs}${state.at.left_seconds ? `, about ${seconds(Math.ceil(state.at.left_seconds))} left` : ""}` : "starting …"}</span>
              </div>
            ) : (
              <span class="dim">{!checked ? "The rule set has errors." : same ? "Nothing is edited yet: both sides are the same." : ""}</span>
            )}
          </div>
          {state.kind === "failed" && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{state.text}</span></div>}
        </div>
      </Panel>
      {state.kind === "done" && <Outcome state={state} stale={state.text !== text} />}
    </div>
  );
}

function Outcome({ state: { result: r, of }, stale }: { state: { result: Result; of: Chosen }; stale: boolean }) {
  const traced = "since" in of.request;
  return (
    <>
      <Panel title="What it does" note={`${many(r.a.tickets.arrived, "ticket")} in ${seconds(r.a.for_seconds)} of play${r.runs > 1 ? `, ${r.runs} ${traced ? "stretches" : "runs"}` : ""}; took ${seconds(r.took_seconds)}`}>
        <div class="stack">
          {stale && <p class="c-warn"><Glyph tone="warn" /> The text has been edited since.</p>}
          {r.early && <p class="c-warn"><Glyph tone="warn" /> The time ran out; this is of {many(r.runs, "run")}.</p>}
          {r.cut && <p class="c-warn"><Glyph tone="warn" /> There were more tickets; these are the oldest {count(r.a.tickets.arrived)}.</p>}
          <div class="words">
            {r.gains && <><Glyph tone="ok" /><p><b>Gain.</b> {r.gains}</p></>}
            {r.losses && <><Glyph tone="warn" /><p><b>Loss.</b> {r.losses}</p></>}
            {r.unclear && <><Glyph tone="idle" /><p class="soft">{r.unclear}</p></>}
            {!r.gains && !r.losses && !r.unclear && <><Glyph tone="idle" /><p>Both do the same.</p></>}
          </div>
          <Figures rows={r.rows} />
        </div>
      </Panel>
      <Panel title="How often" note="share of the tickets or matches; upper row now, lower row edited">
        <div class="pairs">{r.charts.map((p) => <Histograms key={p.name} of={p} />)}</div>
      </Panel>
      <Panel title="The same in a shell">
        <div class="stack">
          <p class="soft">now.json and edited.json are the two rule sets{of.players ? ", players.json is the text below" : ""}.</p>
          {of.commands.map((c) => <Command key={c} text={c} />)}
          {of.players && <details><summary>players.json</summary><Command text={of.players} /></details>}
        </div>
      </Panel>
    </>
  );
}

/** Returns a name for the next version: ranked-2 after ranked, ranked-3 after ranked-2. */
function next(name: string, names: string[]): string {
  const stem = /^(.*?)(?:-(\d+))?$/.exec(name)!;
  for (let n = Number(stem[2] ?? 1) + 1; ; n++) {
    const one = `${stem[1]!.slice(0, 120)}-${n}`;
    if (!names.includes(one)) return one;
  }
}

/** Makes the edit a rule set of its own, which a configuration then uses. */
function Apply({ name, was, text, names, users, ready }: { name: string; was: string; text: string; names: string[]; users: Configuration[]; ready: boolean }) {
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

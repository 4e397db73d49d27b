// A simulation: the players, the run and its result.

import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, lines } from "../core/api";
import { count, many, seconds } from "../core/text";
import { Glyph } from "../ui/glyph";
import { Command, Panel } from "../ui/parts";
import { Figures, Histograms } from "./charts";
import { Players, type Chosen } from "./form";
import type { Checked, Configuration, Progress, Result } from "./types";

type State = { kind: "idle" } | { kind: "running"; at: Progress | null } | { kind: "failed"; text: string } | { kind: "done"; result: Result; of: Chosen; text: string };

/** The players, the simulation and its result. Without was, the text is played alone. */
export function Trial({ name, was, text, checked, last, configurations }: { name: string; was: string | undefined; text: string; checked: Checked | undefined; last: Checked | undefined; configurations: Configuration[] }) {
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
      }, { ...(was === undefined ? {} : { a: was }), b: text, ...of.request });
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
      <Panel title="Play it" note={was === undefined ? "on simulated players" : "both rule sets on the same tickets"}>
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
      {state.kind === "done" && <Outcome state={state} stale={state.text !== text} alone={was === undefined} />}
    </div>
  );
}

function Outcome({ state: { result: r, of }, stale, alone }: { state: { result: Result; of: Chosen }; stale: boolean; alone: boolean }) {
  const traced = "since" in of.request;
  return (
    <>
      <Panel title="What it does" note={`${many(r.a.tickets.arrived, "ticket")} in ${seconds(r.a.for_seconds)} of play${r.runs > 1 ? `, ${r.runs} ${traced ? "stretches" : "runs"}` : ""}; took ${seconds(r.took_seconds)}`}>
        <div class="stack">
          {stale && <p class="c-warn"><Glyph tone="warn" /> The text has been edited since.</p>}
          {r.early && <p class="c-warn"><Glyph tone="warn" /> The time ran out; this is of {many(r.runs, "run")}.</p>}
          {r.cut && <p class="c-warn"><Glyph tone="warn" /> There were more tickets; these are the oldest {count(r.a.tickets.arrived)}.</p>}
          {!alone && (
            <div class="words">
              {r.gains && <><Glyph tone="ok" /><p><b>Gain.</b> {r.gains}</p></>}
              {r.losses && <><Glyph tone="warn" /><p><b>Loss.</b> {r.losses}</p></>}
              {r.unclear && <><Glyph tone="idle" /><p class="soft">{r.unclear}</p></>}
              {!r.gains && !r.losses && !r.unclear && <><Glyph tone="idle" /><p>Both do the same.</p></>}
            </div>
          )}
          <Figures rows={r.rows} alone={alone} />
        </div>
      </Panel>
      <Panel title="How often" note={alone ? "share of the tickets or matches" : "share of the tickets or matches; upper row now, lower row edited"}>
        <div class="pairs">{r.charts.map((p) => <Histograms key={p.name} of={p} alone={alone} />)}</div>
      </Panel>
      <Panel title="The same in a shell">
        <div class="stack">
          <p class="soft">{alone ? "rules.json is the rule set" : "now.json and edited.json are the two rule sets"}{of.players ? ", players.json is the text below" : ""}.</p>
          {of.commands.map((c) => <Command key={c} text={c} />)}
          {of.players && <details><summary>players.json</summary><Command text={of.players} /></details>}
        </div>
      </Panel>
    </>
  );
}

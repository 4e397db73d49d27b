// Whose tickets a simulation plays: drawn players, or those of a configuration.

import { useEffect, useState } from "preact/hooks";
import { param } from "../core/route";
import { Glyph } from "../ui/glyph";
import { specification, settings, usual, type Sliders } from "./players";
import type { Checked, Configuration } from "./types";

/** What a simulation plays. */
export interface Chosen {
  request: Record<string, unknown>;
  players: string; // the specification as text
  commands: string[];
}

const spans: [string, number][] = [["last hour", 1], ["last 6 h", 6], ["last 24 h", 24]];

/** The choice of tickets for the rule set name, "" for a new one. It calls set with each. */
export function Players({ name, checked, configurations, set }: { name: string; checked: Checked; configurations: Configuration[]; set: (c: Chosen) => void }) {
  const users = configurations.filter((c) => c.RuleSetName === name);
  const [traced, setTraced] = useState(0); // hours back; 0 draws players
  const [configuration, setConfiguration] = useState(param("configuration") || (users[0]?.Name ?? ""));
  const [moved, setMoved] = useState<Partial<Sliders>>({});
  const [typed, setTyped] = useState<string | null>(null);
  const [runs, setRuns] = useState(5);
  const c = configurations.find((o) => o.Name === configuration);
  const usually = usual(checked.attributes);
  const s: Sliders = { ...usually, ...moved, spread: { ...usually.spread, ...moved.spread } };
  const largest = Math.max(1, ...checked.teams.map((t) => t.max));
  const drawn = traced ? { name: configuration, matchmaking: settings(c) } : specification(s, checked.attributes, largest, c);
  const text = typed ?? JSON.stringify(drawn, null, 2);
  let spec: unknown;
  let wrong = "";
  try {
    spec = JSON.parse(text);
  } catch (e) {
    wrong = (e as Error).message;
  }
  useEffect(() => {
    const line = name ? `muster simulate --compare now.json edited.json --players players.json --runs ${runs} --seed 1` : "muster simulate --ruleset rules.json --players players.json --seed 1";
    set({
      request: { players: spec, runs, seed: 1, ...(traced ? { configuration, since: new Date(Date.now() - traced * 3_600_000).toISOString() } : { minutes: s.minutes, ...(configuration ? { configuration } : {}) }) },
      players: text,
      commands: traced ? [`muster tickets export ${configuration} --last ${traced}h --out trace.jsonl`, `${line} --trace trace.jsonl`] : [`${line} --for ${s.minutes}m`],
    });
  });
  const move = (change: Partial<Sliders>): void => {
    setTyped(null);
    setMoved({ ...moved, ...change });
  };
  return (
    <div class="stack">
      <div class="chips" role="group" aria-label="Which tickets">
        <button type="button" class="chip" aria-pressed={traced === 0} onClick={() => { setTraced(0); setTyped(null); }}>drawn players</button>
        {configuration && spans.map(([title, hours]) => (
          <button key={hours} type="button" class="chip" aria-pressed={traced === hours} onClick={() => { setTraced(hours); setTyped(null); }}>{title} of {configuration}</button>
        ))}
      </div>
      {configurations.length > (name ? 1 : 0) && (
        <label class="field">
          <span>Timeout and acceptance as in configuration</span>
          <select class="input" value={configuration} onChange={(e) => { setConfiguration(e.currentTarget.value); setTyped(null); }}>
            {!users.length && <option value="">none of them</option>}
            {configurations.map((o) => <option key={o.Name} value={o.Name}>{o.Name}{o.RuleSetName === name ? "" : ` (uses ${o.RuleSetName})`}</option>)}
          </select>
        </label>
      )}
      {!traced && (
        <div class="sliders">
          <Slider title="players a minute" value={s.perMinute} from={5} to={2000} log set={(v) => move({ perMinute: v })} />
          <Slider title="minutes of play" value={s.minutes} from={5} to={240} log set={(v) => move({ minutes: v })} />
          <Slider title="players in parties" unit="%" value={s.parties} from={0} to={90} set={(v) => move({ parties: v })} />
          {checked.attributes.filter((a) => a.type === "number").slice(0, 4).map((a) => (
            <Slider key={a.name} title={`spread of ${a.name}`} value={s.spread[a.name]!} from={0} to={Math.max(10, Math.round(usually.spread[a.name]! * 3))} set={(v) => move({ spread: { ...moved.spread, [a.name]: v } })} />
          ))}
          <Slider title="regions" value={s.regions} from={1} to={3} set={(v) => move({ regions: v })} />
          <Slider title="latency to the own region" unit="ms" value={s.latency} from={10} to={150} set={(v) => move({ latency: v })} />
        </div>
      )}
      <details>
        <summary>{traced ? "how players behave, as text" : "the players, as text"}</summary>
        <textarea class="input" rows={14} aria-label="Specification of the players" spellcheck={false} value={text} onInput={(e) => setTyped(e.currentTarget.value)} />
        {wrong && <p class="c-fail"><Glyph tone="fail" /> {wrong}</p>}
      </details>
      <label class="row">
        <span class="soft">{traced ? "stretches" : "runs"}</span>
        <select class="input small" value={String(runs)} onChange={(e) => setRuns(Number(e.currentTarget.value))}>
          {[1, 3, 5, 10, 20].map((n) => <option key={n} value={String(n)}>{n}</option>)}
        </select>
        <span class="dim">{runs > 1 ? "more of them, narrower intervals" : "no interval"}</span>
      </label>
    </div>
  );
}

/** A number that is moved; with log, a step is a share of it. */
function Slider({ title, unit, value, from, to, log, set }: { title: string; unit?: string; value: number; from: number; to: number; log?: boolean; set: (v: number) => void }) {
  const steps = 100;
  const place = log ? Math.round((Math.log(value / from) / Math.log(to / from)) * steps) : value;
  const round = (v: number): number => (v >= 100 ? Math.round(v / 10) * 10 : Math.round(v));
  return (
    <label class="slider">
      <span class="soft">{title}</span>
      <span class="num">{value}{unit && ` ${unit}`}</span>
      <input
        type="range" min={log ? 0 : from} max={log ? steps : to} step={log ? 1 : Math.max(1, Math.round((to - from) / 200))} value={place} aria-valuetext={`${value}${unit ? ` ${unit}` : ""}`}
        onInput={(e) => set(log ? Math.min(to, round(from * (to / from) ** (Number(e.currentTarget.value) / steps))) : Number(e.currentTarget.value))}
      />
    </label>
  );
}

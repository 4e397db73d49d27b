// Match quality: are matches fair?

import { useLive } from "../core/live";
import { param, to } from "../core/route";
import { count, many, moment, seconds, time } from "../core/text";
import { Toned, type Tone } from "../ui/glyph";
import { Histogram } from "../ui/histogram";
import { A, Empty, Head, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";

interface Spread {
  n: number;
  median: number;
  low: number;
  high: number;
  p90: number;
  counts: number[];
}

interface Measure {
  key: string;
  kind: string;
  name: string;
  unit?: string;
  step: number;
  limits?: { at: number; at_least?: boolean; after_ms?: number }[];
  now: Spread;
  before?: Spread;
  change?: { clear: boolean; by: number };
}

interface QualityView {
  name: string;
  rule_set: string;
  before?: string;
  changed?: string;
  matches: number;
  earlier: number;
  skipped?: number;
  bounded?: boolean;
  measures: Measure[];
  since: string;
}

export function Quality() {
  const name = param("name");
  return name ? <One name={name} /> : <List />;
}

function List() {
  const live = useLive<{ matchmakers: { name: string; rule_set: string; done: number }[] }>("matchmakers", {}, 1000);
  return (
    <>
      <Head title="Match quality" question="Are matches fair?" />
      <Show live={live} what="The list of configurations">
        {(v) =>
          v.matchmakers.length === 0 ? (
            <div class="panel">
              <Empty command={`aws gamelift --endpoint-url ${location.origin} create-matchmaking-rule-set --name duel --rule-set-body file://duel.json`}>There is no matchmaking configuration. It begins with a rule set.</Empty>
            </div>
          ) : (
            <Panel bare>
              <Table
                label="Configurations" rows={v.matchmakers} id={(m) => m.name} to={(m) => to("/quality", { name: m.name })}
                columns={[
                  { key: "name", title: "Configuration", value: (m) => m.name, cell: (m) => <A to={to("/quality", { name: m.name })}>{m.name}</A> },
                  { key: "rules", title: "Rule set", value: (m) => m.rule_set, cell: (m) => m.rule_set },
                  { key: "done", title: "Tickets matched in 1 h", num: true, value: (m) => m.done, cell: (m) => count(m.done) },
                ]}
              />
            </Panel>
          )
        }
      </Show>
    </>
  );
}

function One({ name }: { name: string }) {
  const live = useLive<QualityView>("quality", { name }, 1000);
  return (
    <>
      <Head title={name} question="Are matches fair?">
        <A to={to("/matchmaking", { name })} class="btn">Why tickets wait</A>
      </Head>
      <Show live={live} what={`The quality of ${name}`}>{(v) => (v.measures.length ? <Board v={v} /> : <div class="panel"><Empty>No match was made since {moment(v.since)}. Backfills do not count.</Empty></div>)}</Show>
    </>
  );
}

const titles: Record<string, (m: Measure) => string> = {
  rule: (m) => m.name,
  teams: (m) => `Teams: ${m.name}`,
  spread: (m) => `Spread: ${m.name}`,
  latency: () => "Latency",
  wait: () => "Wait",
};

const abouts: Record<string, (m: Measure) => string> = {
  rule: () => "what the rule compares with its limit",
  teams: (m) => `how far apart the teams' means of ${m.name} are`,
  spread: (m) => `highest ${m.name} in the match minus the lowest`,
  latency: () => "the slowest player's to the game's location",
  wait: () => "the longest of the match's tickets",
};

const shown = (m: Measure, v: number): string => (m.unit === "s" ? (v ? seconds(v).replace(".0 s", " s") : "0 s") : `${plain(v)}${m.unit ? ` ${m.unit}` : ""}`);
const plain = (v: number): string => (Math.abs(v) >= 100 || Number.isInteger(v) ? count(Math.round(v)) : v.toPrecision(2).replace(/\.0$/, ""));
const limitText = (m: Measure, l: NonNullable<Measure["limits"]>[number]): string => `limit ${shown(m, l.at)}${l.after_ms ? ` after ${seconds(l.after_ms / 1000).replace(".0 ", " ")}` : ""}`;

/** What the legend has for the limits of a measure: that they are drawn, or the first one if all are beyond the histogram. */
function LimitKey({ m }: { m: Measure }) {
  const limits = m.limits ?? [];
  if (limits.some((l) => l.at <= m.step * m.now.counts.length)) return <span><i class="key bg-limit" />limit of the rule</span>;
  return limits[0] ? <span class="dim">{limitText(m, limits[0])}, far beyond</span> : null;
}

/** What became of a measure; smaller is better in all of them. */
function verdict(m: Measure): { tone: Tone; text: string } {
  if (!m.change || !m.before) return { tone: "idle", text: "" };
  if (m.now.n < 10 || m.before.n < 10) return { tone: "idle", text: `too few matches to compare: ${m.now.n} and ${m.before.n}` };
  if (!m.change.clear) return { tone: "idle", text: "no clear difference" };
  const share = m.before.median ? ` (${m.change.by > 0 ? "+" : "−"}${Math.round(Math.abs(100 * m.change.by) / m.before.median)} %)` : "";
  return { tone: m.change.by > 0 ? "warn" : "ok", text: `${m.change.by > 0 ? "higher" : "lower"} by ${shown(m, Math.abs(m.change.by))}${share}` };
}

function Board({ v }: { v: QualityView }) {
  const clear = v.measures.filter((m) => m.change?.clear && verdict(m).tone !== "idle");
  return (
    <>
      <Panel>
        <div class="stack">
          <p>
            {many(v.matches, "match", "matches")} by rule set <b>{v.rule_set}</b> in the last hour
            {v.before ? <>, and {many(v.earlier, "match", "matches")} by <b>{v.before}</b> before it; the first by the new one at {time(v.changed)}.</> : "; it has not been changed in that time."}
            {v.bounded && " Only the newest 1,000 are known."}
            {!!v.skipped && ` ${many(v.skipped, "match was", "matches were")} not measured, as too many came at once.`}
          </p>
          {v.before && (
            <div class="row wrap">
              {clear.length === 0 ? <span class="soft">No clear difference in any measure: the intervals of the medians overlap.</span> : clear.map((m) => <Toned key={m.key} tone={verdict(m).tone}>{titles[m.kind]!(m)}: {verdict(m).text}</Toned>)}
            </div>
          )}
        </div>
      </Panel>
      <div class="cols2">
        {v.measures.map((m) => (
          <Panel key={m.key} title={titles[m.kind]!(m)} note={abouts[m.kind]!(m)}>
            <Histogram
              label={titles[m.kind]!(m)} step={m.step} show={(x) => shown(m, x)} height={170}
              limits={(m.limits ?? []).slice(0, 4).map((l) => ({ at: l.at, text: limitText(m, l) }))}
              main={{ title: v.rule_set, counts: m.now.counts }} other={m.before && { title: v.before!, counts: m.before.counts }}
            />
            <div class="legend">
              <span><i class="key bg-accent" />{v.rule_set}: median {shown(m, m.now.median)}, n {count(m.now.n)}</span>
              {m.before && <span><i class="key bg-outline" />{v.before}: {shown(m, m.before.median)}, n {count(m.before.n)}</span>}
              <LimitKey m={m} />
            </div>
          </Panel>
        ))}
      </div>
      <Panel title="Measures" bare>
        <Table
          label="Measures" rows={v.measures} id={(m) => m.key} most={640}
          columns={[
            { key: "measure", title: "Measure", cell: (m) => titles[m.kind]!(m) },
            { key: "n", title: "n", num: true, wide: true, value: (m) => m.now.n, cell: (m) => count(m.now.n) },
            { key: "median", title: "Median", num: true, cell: (m) => (m.now.n ? shown(m, m.now.median) : "–") },
            { key: "interval", title: "95 % interval", num: true, wide: true, cell: (m) => (m.now.n ? `${shown(m, m.now.low)} to ${shown(m, m.now.high)}` : "–") },
            { key: "p90", title: "9 of 10 below", num: true, wide: true, cell: (m) => (m.now.n ? shown(m, m.now.p90) : "–") },
            { key: "limit", title: "Limit", num: true, wide: true, cell: (m) => (m.limits?.[0] ? shown(m, m.limits[0].at) : "") },
            ...(v.before ? [
              { key: "before", title: "Before", num: true, cell: (m: Measure) => (m.before?.n ? shown(m, m.before.median) : "–") },
              { key: "change", title: "Change", cell: (m: Measure) => (verdict(m).text ? <Toned tone={verdict(m).tone}>{verdict(m).text}</Toned> : "") },
            ] : []),
          ]}
          foot="One value for each match; backfills do not count. The interval is of the median."
        />
      </Panel>
    </>
  );
}

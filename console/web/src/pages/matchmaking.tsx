// Matchmaking: are rules or players the limit?

import { view } from "../core/api";
import { useAsked } from "../core/asked";
import { useLive } from "../core/live";
import { param, to } from "../core/route";
import { count, many, seconds, shortID } from "../core/text";
import { Chart } from "../ui/chart";
import { Glyph } from "../ui/glyph";
import { A, AsOf, Computing, Empty, Facts, Head, Panel, Show } from "../ui/parts";
import { Ranges, ranged, rangeText } from "../ui/range";
import { every, Spark, type Series } from "../ui/spark";
import { Table } from "../ui/table";
import { Tickets, type TicketRow } from "../ui/tickets";
import { Bounded, type Bound } from "../ui/bounds";
import { Ignored, type Undeclared } from "../ui/undeclared";

interface RuleLoad {
  rule?: string;
  reason?: string;
  pairs?: number;
  only?: number;
  tickets: number;
}

interface Overview {
  at: string;
  waiting: number;
  players: number;
  ages: { under_ms?: number; tickets: number }[];
  levels: number[];
  counted: number; // tickets whose data was checked
  never?: { code: string; name?: string; text: string; tickets: number }[];
  undeclared?: Undeclared[];
  bounds?: Bound[];
  lacking?: { rule: string; string: string; tickets: number }[];
  looked_at: number;
  pairs: number;
  free: number;
  rules?: RuleLoad[];
  short: number;
  lacks: number;
  broken?: RuleLoad[];
  coming?: { in_ms: number; matches: number; tickets: number; players: number }[];
  left: number; // of ahead
  ahead: { tickets: number; until_ms: number; cut?: boolean };
}

/** How long tickets were in a stage. */
interface Stage {
  quantiles: Record<string, number | null>;
  waits: Series;
}

interface Matchmaker {
  name: string;
  rule_set: string;
  mode: string;
  queues?: string[];
  timeout_ms: number;
  acceptance: boolean;
  counts: Record<string, number>;
  series: Series;
  match: Stage;
  accept?: Stage;
  place?: Stage;
  open: TicketRow[];
  open_all: number;
  ended: TicketRow[];
}

export function Matchmaking() {
  const name = param("name");
  return name ? <One name={name} /> : <List />;
}

function List() {
  const live = useLive<{ matchmakers: { name: string; rule_set: string; open: number; done: number; failed: number; p50: number | null; p90: number | null; p90_place: number | null; spark: Series }[] }>("matchmakers", ranged(), 1000);
  return (
    <>
      <Head title="Matchmaking" question="Do players find a match, and how soon?"><Ranges /></Head>
      <Show live={live} what="The list of matchmaking configurations">
        {(v) =>
          v.matchmakers.length === 0 ? (
            <div class="panel">
              <Empty command={[`aws gamelift --endpoint-url ${location.origin} create-matchmaking-rule-set --name duel --rule-set-body file://duel.json`, `aws gamelift --endpoint-url ${location.origin} create-matchmaking-configuration --name duel --rule-set-name duel --request-timeout-seconds 120 --no-acceptance-required --game-session-queue-arns QUEUE-ARN`]}>
                There is no matchmaking configuration. It needs a rule set, which says who plays with whom, and a queue.
              </Empty>
            </div>
          ) : (
            <Panel bare>
              <Table
                label="Matchmaking configurations" rows={v.matchmakers} id={(m) => m.name} to={(m) => to("/matchmaking", { name: m.name })}
                columns={[
                  { key: "name", title: "Configuration", value: (m) => m.name, cell: (m) => <A to={to("/matchmaking", { name: m.name })}>{m.name}</A> },
                  { key: "rules", title: "Rule set", wide: true, value: (m) => m.rule_set, cell: (m) => <A to={to("/rules", { name: m.rule_set })}>{m.rule_set}</A> },
                  { key: "open", title: "Tickets open", num: true, value: (m) => m.open, cell: (m) => count(m.open) },
                  { key: "done", title: "Matched", num: true, value: (m) => m.done, cell: (m) => count(m.done) },
                  { key: "failed", title: "Without a match", num: true, value: (m) => m.failed, cell: (m) => (m.failed ? <span class="c-fail">{count(m.failed)}</span> : "0") },
                  { key: "p50", title: "Match p50", num: true, wide: true, value: (m) => m.p50 ?? undefined, cell: (m) => seconds(m.p50) },
                  { key: "p90", title: "Match p90", num: true, value: (m) => m.p90 ?? undefined, cell: (m) => seconds(m.p90) },
                  { key: "place", title: "Place p90", num: true, wide: true, value: (m) => m.p90_place ?? undefined, cell: (m) => seconds(m.p90_place) },
                  { key: "spark", title: `Last ${rangeText()}`, wide: true, cell: (m) => <div class="cell-spark"><Spark series={m.spark} name="COMPLETED" label={`matched in the last ${rangeText()}: ${m.done}`} /></div> },
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
  const live = useLive<Matchmaker>("matchmaker", ranged({ name }), 1000);
  const { data: why, problem } = useAsked((signal) => view<Overview>("matchmaker-why", { name }, signal), `why ${name}`, 2000);
  return (
    <>
      <Head title={name} question="Are rules or players the limit?"><Ranges /></Head>
      <Show live={live} what={`Matchmaking configuration ${name}`}>
        {(v) => (
          <>
            <Panel title={`From ticket to game, in the last ${rangeText()}`}><Funnel v={v} /></Panel>
            <div class="cols2">
              <Panel title="Why tickets wait now" note={why?.waiting ? <>{many(why.waiting, "ticket")}, {many(why.players, "player")}<AsOf at={why.at} /></> : undefined}>
                {why ? <Why v={why} placing={v.open.filter((t) => t.status === "PLACING").length} queue={v.queues?.[0]} rules={v.rule_set} /> : <Computing problem={problem} />}
              </Panel>
              <div class="stack">
                <Waits title="Wait until matched" of={v.match} />
                {v.accept && <Waits title="From the match until all have accepted" of={v.accept} />}
                {v.place && <Waits title={`From ${v.accept ? "acceptance" : "the match"} to the game`} of={v.place} />}
              </div>
            </div>
            <Panel title="Open tickets" note={v.open_all > v.open.length ? `the ${v.open.length} longest waiting of ${count(v.open_all)}` : undefined} bare>
              {v.open.length ? <Tickets rows={v.open} label="Open tickets" /> : <Empty>No ticket is open.</Empty>}
            </Panel>
            {v.ended.length > 0 && <Panel title="Ended tickets" note="the newest 100" bare><Tickets rows={v.ended} label="Ended tickets" ended /></Panel>}
            <Panel title="Configuration">
              <Facts of={[
                ["rule set", <A to={to("/rules", { name: v.rule_set })}>{v.rule_set}</A>], ["mode", v.mode], ["times out after", seconds(v.timeout_ms / 1000)], ["acceptance", v.acceptance ? "required" : "not required"],
                ["queue", v.queues?.map((q) => <A to={to("/queues", { name: shortID(q) })}>{shortID(q)}</A>)],
              ]} />
            </Panel>
          </>
        )}
      </Show>
    </>
  );
}

/** How long a stage takes, by time. */
function Waits({ title, of }: { title: string; of: Stage }) {
  const within = of.quantiles["p90"];
  return (
    <Panel title={title} note={`${typeof within === "number" ? `9 of 10 within ${seconds(within)}; ` : ""}each ${every(of.waits)}`}>
      <Chart label={title} series={of.waits} unit={seconds} lines={[{ key: "p99", title: "p99", color: "control", band: "p90" }, { key: "p90", title: "p90", color: "busy", band: "p50" }, { key: "p50", title: "p50", color: "accent" }]} />
    </Panel>
  );
}

function Funnel({ v }: { v: Matchmaker }) {
  const c = v.counts;
  const created = c["created"] ?? 0, placing = c["PLACING"] ?? 0, completed = c["COMPLETED"] ?? 0;
  const asked = c["REQUIRES_ACCEPTANCE"] ?? 0;
  const found = v.acceptance ? asked : Math.max(placing, completed);
  const accepted = Math.max(placing, completed);
  const stages: [string, number, string][] = [
    ["created", created, `${count(v.open_all)} still open`],
    [v.acceptance ? "in a proposed match" : "matched", found, `${count((c["TIMED_OUT"] ?? 0) + (c["CANCELLED"] ?? 0))} timed out or were canceled`],
    ...(v.acceptance ? [["accepted by all", accepted, `${count(Math.max(0, found - accepted))} declined or too late`] as [string, number, string]] : []),
    ["in a game", completed, `${count(c["FAILED"] ?? 0)} failed`],
  ];
  const top = Math.max(1, ...stages.map((s) => s[1]));
  return (
    <div class={`funnel of${stages.length}`}>
      {stages.map(([title, n, note]) => (
        <div class="stage" key={title}>
          <span class="soft">{title}</span>
          <b>{count(n)}</b>
          <div class="track"><div style={{ width: `${(n / top) * 100}%` }} /></div>
          <span class="dim">{note}</span>
        </div>
      ))}
    </div>
  );
}

function Why({ v, placing, queue, rules: ruleSet }: { v: Overview; placing: number; queue?: string; rules: string }) {
  if (v.waiting === 0 && placing > 0) return <p>{many(placing, "ticket has a match and waits", "tickets have a match and wait")} for a place: {queue && <A to={to("/queues", { name: shortID(queue) })}>the queue tells why</A>}.</p>;
  if (v.waiting === 0) return <p class="dim">No ticket waits for a match.</p>;
  const rules = (v.rules ?? []).slice(0, 8);
  const top = Math.max(1, ...rules.map((r) => r.pairs ?? 0));
  const next = v.coming?.[0];
  const share = (n: number): string => `${Math.round((100 * n) / Math.max(1, v.pairs))} %`; // of the pairs that were compared
  const few = v.short > 0 && v.short >= v.looked_at / 2;
  const missing = `around ${count(v.short)} of ${count(v.looked_at)} tickets, ${many(v.lacks, "player is", "players are")} missing for the smallest match.`;
  return (
    <div class="stack">
      <p>
        {few && v.free >= v.pairs / 2
          ? `Players are the limit: ${missing}`
          : rules.length
            ? `Rules are the limit: they keep ${share(v.pairs - v.free)} of the pairs of tickets apart${few ? `; ${missing}` : "."}`
            : next && !next.in_ms && v.left < next.tickets
              ? "Nothing keeps these tickets apart; the next pass can match them."
              : `Rules are the limit: any two of these tickets could play, but ${next ? "few" : "no"} teams of enough players keep all rules.`}
      </p>
      {few && (v.lacking ?? []).slice(0, 4).map((l) => (
        <p key={l.rule}>Players with <b>{l.string}</b> are missing around {count(l.tickets)} of them (<A to={to("/rules", { name: ruleSet, rule: l.rule })} title="the rule in its rule set">{l.rule}</A>).</p>
      ))}
      {rules.length === 0 && (v.broken ?? []).length > 0 && (
        <div class="loads">
          {v.broken!.map((b) => (
            <>
              <span>{b.rule ? <A to={to("/rules", { name: ruleSet, rule: b.rule })} title="the rule in its rule set">{b.rule}</A> : b.reason}</span>
              <div class="track" role="img" aria-label={`${b.tickets} tickets`}><div class="only" style={{ width: `${(b.tickets / Math.max(1, v.looked_at)) * 100}%` }} /></div>
              <span class="num">refuses the best teams of <b>{count(b.tickets)}</b> of {many(v.looked_at, "ticket")}</span>
            </>
          ))}
        </div>
      )}
      {rules.length > 0 && (
        <div class="loads">
          {rules.map((r) => (
            <>
              <span>{r.rule ? <A to={to("/rules", { name: ruleSet, rule: r.rule })} title="the rule in its rule set">{r.rule}</A> : r.reason}</span>
              <div class="track" role="img" aria-label={`${share(r.pairs ?? 0)} of pairs kept apart, ${share(r.only ?? 0)} by nothing else`}>
                <div class="only" style={{ width: `${((r.only ?? 0) / top) * 100}%` }} />
                <div class="also" style={{ width: `${(((r.pairs ?? 0) - (r.only ?? 0)) / top) * 100}%` }} />
              </div>
              <span class="num">{share(r.pairs ?? 0)} of pairs, <b>{share(r.only ?? 0)}</b> alone</span>
            </>
          ))}
        </div>
      )}
      {(v.never ?? []).map((n) => (
        <div class="alert b-fail" key={n.code + (n.name ?? "")}>
          <Glyph tone="fail" />
          <span>{many(n.tickets, "ticket")} can never be matched: {n.text}</span>
        </div>
      ))}
      <Ignored of={v.undeclared} />
      <Bounded of={v.bounds} />
      <p class="soft">
        {next ? `If nobody came or went: ${many(next.matches, "match", "matches")} of ${many(next.players, "player")} ${next.in_ms ? `in ${seconds(next.in_ms / 1000)}` : "now"}; ` : `If nobody came or went, nobody would be matched${v.ahead.cut ? ` within ${seconds(v.ahead.until_ms / 1000)}` : ""}; `}
        {v.ahead.tickets < v.waiting ? `${count(v.left)} of the ${many(v.ahead.tickets, "oldest ticket")}` : many(v.left, "ticket")} would still wait.
      </p>
      {v.looked_at < v.waiting && v.looked_at > 0 && (
        <p class="dim">
          A sample: {many(v.looked_at, "ticket")} of {count(v.waiting)}, chosen evenly by age, in {many(v.pairs, "pair")} with others
          {v.counted < v.waiting && `; the data of ${count(v.counted)} was checked`}.
        </p>
      )}
    </div>
  );
}

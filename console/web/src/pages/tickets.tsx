// Ticket: what happened to this player? (Temporal's timelines.)

import { useRef } from "preact/hooks";
import { call, may, view } from "../core/api";
import { useAsked } from "../core/asked";
import { clock, useLive } from "../core/live";
import { param, to } from "../core/route";
import { count, many, middle, quote, seconds, shortID } from "../core/text";
import { ask } from "../ui/act";
import { Bounded, type Bound } from "../ui/bounds";
import { Glyph, Status } from "../ui/glyph";
import { A, AsOf, Computing, Empty, Facts, Head, ID, Panel, Show } from "../ui/parts";
import { figure, Staircase, type Dot, type Stairs } from "../ui/stairs";
import { Ignored, type Undeclared } from "../ui/undeclared";
import { useWidth } from "../ui/width";

interface Blocking {
  rule?: string;
  type?: string;
  reason?: string;
  tickets: number;
  only: number;
  nearest?: number;
  limit?: number;
}

interface Breach {
  rule: string;
  value: number;
  limit: number;
  at_least?: boolean;
}

interface Miss extends Breach {
  ticket_id: string;
  players: number;
  in_ms?: number;
}

/** How many players with a string are missing for a rule that counts them. */
interface Shortage {
  rule: string;
  string: string;
  has: number;
  needs: number;
}

interface Waiting {
  at: string;
  players: number;
  waited_ms: number;
  level: number;
  levels: number;
  next_step?: { level: number; in_ms: number; changes?: string[] };
  never?: { code: string; player?: string; name?: string; text: string }[];
  alone?: { text: string }[];
  undeclared?: Undeclared[];
  bounds?: Bound[];
  others: number;
  compared: number;
  compatible: number;
  blocking?: Blocking[];
  misses?: Miss[];
  expansions?: Stairs[];
  nearest?: { tickets: string[]; players: number; smallest: number; full: number; missing_smallest: number; match?: boolean; broken?: string[]; breaches?: Breach[]; teams?: string; lacks?: Shortage[]; rejected?: { rule?: string; reason?: string; tickets: number }[] };
  ahead: { until_ms: number; cut?: boolean };
  would?: { at: string; in_ms: number; level: number; tickets: string[]; players: number };
}

interface TicketView {
  ticket: {
    id: string;
    configuration: string;
    status: string;
    reason?: string;
    message?: string;
    started: string;
    ended?: string;
    deadline: string;
    members: { p: string; t?: string; a?: string }[];
    match_id?: string;
    game_session_id?: string;
    backfill?: boolean;
    ip_address?: string;
    port?: number;
    rules?: { rule: string; passed: number; failed: number }[];
  };
  match?: { id: string; created: string; accepted?: string; tickets: string[]; level?: number; rules?: { rule: string; passed: number; failed: number }[]; players: number; result?: string; ended?: string };
}

interface Explained {
  waiting?: Waiting;
  late?: Waiting; // of a ticket that timed out: at that age, among those that wait now
}

export function Tickets() {
  const id = param("id");
  if (!id) {
    return (
      <>
        <Head title="Tickets" />
        <div class="panel"><Empty>Tickets are listed on the page of their matchmaking configuration; / finds one by its id.</Empty></div>
      </>
    );
  }
  return <One id={id} />;
}

function One({ id }: { id: string }) {
  const live = useLive<TicketView>("ticket", { id }, 1000);
  const t = live.data.value?.ticket;
  const open = t && !t.ended;
  return (
    <>
      <Head title={<ID id={id} most={48} />} question="What happened to this player?">
        {open && may("StopMatchmaking") && !t.backfill && <button type="button" class="btn ends" onClick={() => stop(id)}>Cancel …</button>}
      </Head>
      <Show live={live} what={`Ticket ${id}`}>{(v) => <Body v={v} />}</Show>
    </>
  );
}

/** Returns an explanation with the times as they are now. */
function aged(w: Waiting): Waiting {
  const age = Math.max(0, clock.value - Date.parse(w.at));
  const left = <T extends { in_ms?: number }>(of: T): T => (of.in_ms === undefined ? of : { ...of, in_ms: Math.max(0, of.in_ms - age) });
  return { ...w, waited_ms: w.waited_ms + age, next_step: w.next_step && left(w.next_step), misses: w.misses?.map(left), would: w.would && left(w.would) };
}

/** Reports whether a ticket has an explanation: it waits, or has timed out. */
const explained = (status: string): boolean => status === "QUEUED" || status === "SEARCHING" || status === "TIMED_OUT";

function Body({ v }: { v: TicketView }) {
  const t = v.ticket;
  const { data: why, problem } = useAsked<Explained>(async (signal) => (explained(t.status) ? view("ticket-why", { id: t.id }, signal) : {}), `why ${t.id} ${t.status}`, 2000);
  const waiting = explained(t.status) && why?.waiting ? aged(why.waiting) : undefined, late = why?.late;
  const w = waiting ?? late;
  const end = t.ended ? Date.parse(t.ended) : clock.value;
  return (
    <>
      <Panel>
        <div class="stack">
          <div class="row wrap">
            <Status of={t.status} kind="ticket" />
            <span class="soft">{t.ended ? "after" : "for"} {seconds((end - Date.parse(t.started)) / 1000)}</span>
            <span class="soft">in <A to={to("/matchmaking", { name: t.configuration })}>{t.configuration}</A></span>
            {w && <span class="soft">level {w.level} of {w.levels}</span>}
            <span class="soft">{t.backfill ? "backfill" : many(t.members.length, "player")}</span>
          </div>
          <Steps v={v} step={waiting?.next_step} />
          {t.message && <p>{t.message}</p>}
        </div>
      </Panel>
      {(w?.never ?? []).map((c) => (
        <div class="alert b-fail" role="alert" key={c.text}>
          <Glyph tone="fail" />
          <span>This ticket {late ? "could" : "can"} never be matched: {c.text}</span>
        </div>
      ))}
      {(w?.alone ?? []).map((c) => (
        <div class="alert b-warn" key={c.text}>
          <Glyph tone="warn" />
          <span>By itself: {c.text}</span>
        </div>
      ))}
      <Ignored of={w?.undeclared} whose="this ticket" />
      <Bounded of={w?.bounds} />
      {explained(t.status) && !w && (!why || problem) && <Panel title={t.ended ? "Why it was not matched" : "Why it waits"}><Computing problem={problem} /></Panel>}
      {w && !w.never?.length && <Near w={w} late={!!late} />}
      {w && !w.never?.length && <Expansions w={w} until={Date.parse(t.deadline) - Date.parse(t.started)} />}
      <div class="cols2">
        <Panel title="Players">
          <div class="events">
            {t.members.map((m) => (
              <>
                <Glyph tone={m.a === "ACCEPT" ? "ok" : m.a === "REJECT" ? "fail" : "idle"} />
                <A to={to("/players", { id: m.p })}>{m.p}</A>
                <span class="text">{[m.t && `team ${m.t}`, m.a === "ACCEPT" ? "accepted" : m.a === "REJECT" ? "declined" : ""].filter(Boolean).join(", ")}</span>
              </>
            ))}
          </div>
        </Panel>
        <Panel title="Match">
          {v.match ? (
            <Facts of={[
              ["match", <ID id={v.match.id} most={40} />],
              ["players", String(v.match.players)],
              ["tickets", v.match.tickets.map((o) => <div><A to={to("/tickets", { id: o })} class="mono">{o}</A></div>)],
              ["expansion level", v.match.level ? String(v.match.level) : "0, no rule was relaxed"],
              ["rules met", v.match.rules?.map((r) => r.rule).join(", ")],
              ["result", v.match.result],
              ["game session", t.game_session_id && <ID id={t.game_session_id} to={to("/sessions", { id: t.game_session_id })} text={shortID(t.game_session_id)} />],
              ["address", t.ip_address && `${t.ip_address}:${t.port}`],
            ]} />
          ) : (
            <p class="dim">{t.ended ? "It was in no match." : "None yet."}</p>
          )}
        </Panel>
      </div>
    </>
  );
}

/** The steps that the ticket has taken, as a line of glyphs. */
function Steps({ v, step }: { v: TicketView; step?: Waiting["next_step"] }) {
  const t = v.ticket;
  const start = Date.parse(t.started), end = t.ended ? Date.parse(t.ended) : clock.value, total = Math.max(t.ended ? 1 : 1000, (t.ended ? end : Math.max(end, step ? clock.value + step.in_ms : end)) - start);
  const { box, width: seen } = useWidth<HTMLDivElement>();
  const width = Math.max(480, seen || 1000);
  const x = (at: number): number => 8 + ((at - start) / total) * (width - 16);
  const marks: { at: number; tone: "ok" | "busy" | "hold" | "warn" | "fail" | "idle"; text: string; bare?: boolean }[] = [{ at: start, tone: "busy", text: "created" }];
  if (v.match) marks.push({ at: Date.parse(v.match.created), tone: "hold", text: "matched" });
  if (v.match?.accepted) marks.push({ at: Date.parse(v.match.accepted), tone: "hold", text: "accepted" });
  if (t.ended) marks.push({ at: end, tone: t.status === "COMPLETED" ? "ok" : t.status === "CANCELLED" ? "idle" : "fail", text: t.status === "COMPLETED" ? "in a game" : t.status.toLowerCase().replaceAll("_", " ") });
  else marks.push({ at: end, tone: "busy", text: "now" });
  if (step) marks.push({ at: clock.value + step.in_ms, tone: "idle", text: `${step.changes?.join(", ") ?? "next step"} relaxes in ${seconds(step.in_ms / 1000)}`, bare: true });
  return (
    <div class="hero" ref={box} tabIndex={0} role="region" aria-label="Its steps"><svg width={width} height="52" role="img" aria-label={marks.map((m) => `${m.text} after ${seconds((m.at - start) / 1000)}`).join(", ")}>
      <line x1={x(start)} x2={x(end)} y1="14" y2="14" stroke="var(--busy)" stroke-width="3" />
      {step && <line x1={x(end)} x2={x(clock.value + step.in_ms)} y1="14" y2="14" stroke="var(--control)" stroke-width="2" stroke-dasharray="4 4" />}
      {marks.map((m, i) => (
        <g key={i}>
          <svg x={Math.max(0, Math.min(width - 16, x(m.at) - 8))} y="6" width="16" height="16" viewBox="-2 -2 16 16"><circle cx="6" cy="6" r="8" class="behind" /><Glyph tone={m.tone} /></svg>
          <text class="axis" x={x(m.at) < 150 ? Math.max(0, x(m.at) - 8) : x(m.at)} y={i % 2 ? 46 : 34} text-anchor={x(m.at) < 150 ? "start" : x(m.at) > width - 200 ? "end" : "middle"}>{m.text}{i > 0 && !m.bare ? `, ${seconds((m.at - start) / 1000)}` : ""}</text>
        </g>
      ))}
    </svg></div>
  );
}

/** Why the ticket waits: who is near, and what keeps the others apart. */
function Near({ w, late }: { w: Waiting; late: boolean }) {
  const n = w.nearest;
  const top = Math.max(1, ...(w.blocking ?? []).map((b) => b.tickets));
  return (
    <Panel title={late ? "Why it was not matched" : "Why it waits"} note={late ? "at its age then, among the tickets that wait now" : w.others > 0 && <>{many(w.others, "other ticket waits", "other tickets wait")}<AsOf at={w.at} /></>}>
      <div class="stack">
        <p>
          {w.others === 0
            ? `Nobody else waits${late ? " now" : ""}. ${n ? `The smallest match has ${many(n.smallest, "player")}.` : ""}`
            : n && n.missing_smallest > 0
              ? `The largest group around it has ${many(n.players, "player")}; the smallest match has ${n.smallest}: ${many(n.missing_smallest, "player is", "players are")} missing.`
              : n?.broken?.length
                ? `There are enough players, but the best teams would break ${n.broken.map((rule) => broken(rule, n.breaches)).join(", ")}.`
                : late ? "Among those who wait now it could be matched." : "There are enough players near it; the next pass can match it."}
        </p>
        {(n?.lacks ?? []).map((l) => (
          <p key={l.rule}>{many(l.needs - l.has, "player is", "players are")} missing with <b>{l.string}</b>: {l.rule} needs {l.needs} in the match, and the group has {l.has}.</p>
        ))}
        {w.compared > 0 && <p class="soft">{w.compatible} of {many(w.compared, "other ticket")}{w.compared < w.others && `, chosen evenly by age from ${count(w.others)},`} could play with it, if each is compared alone.</p>}
        {(w.blocking ?? []).length > 0 && (
          <div class="loads">
            {w.blocking!.map((b) => (
              <>
                <span>{b.rule ?? b.reason} {b.type && <span class="dim">{b.type}</span>}</span>
                <div class="track" role="img" aria-label={`${b.tickets} tickets, ${b.only} by this alone`}>
                  <div class="only" style={{ width: `${(b.only / top) * 100}%` }} />
                  <div class="also" style={{ width: `${((b.tickets - b.only) / top) * 100}%` }} />
                </div>
                <span class="num">
                  keeps {many(b.tickets, "ticket")} apart{b.nearest !== undefined && b.limit !== undefined && `; the nearest has ${figure(b.nearest)}, the limit is ${figure(b.limit)}`}
                </span>
              </>
            ))}
          </div>
        )}
        {(w.misses ?? []).length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="Near misses">
            <table class="plain" aria-label="Tickets that one rule alone keeps apart">
              <thead><tr><th scope="col">Near misses</th><th scope="col">Kept apart by</th><th scope="col" class="num">Value</th><th scope="col" class="num">Limit</th><th scope="col">May play</th></tr></thead>
              <tbody>
                {w.misses!.map((m) => (
                  <tr key={m.ticket_id}>
                    <td><A to={to("/tickets", { id: m.ticket_id })} class="mono" title={m.ticket_id}>{middle(m.ticket_id, 26)}</A>{m.players > 1 && <span class="dim"> {many(m.players, "player")}</span>}</td>
                    <td>{m.rule}</td>
                    <td class="num">{figure(m.value)}</td>
                    <td class="num">{m.at_least ? "at least " : ""}{figure(m.limit)}</td>
                    <td>{m.in_ms === undefined ? <span class="dim">never: the rule does not relax so far</span> : `in ${seconds(m.in_ms / 1000)}`}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {n && n.tickets.length > 1 && <p class="soft">Nearest group: {n.tickets.slice(1, 9).map((id) => <><A to={to("/tickets", { id })} class="mono" title={id}>{middle(id, 20)}</A> </>)}{n.tickets.length > 9 && `and ${n.tickets.length - 9} more`}</p>}
        {!late && <p class="soft">
          {w.would ? `If nobody came or went it would be matched ${w.would.in_ms ? `in ${seconds(w.would.in_ms / 1000)}` : "now"}, with ${many(w.would.players, "player")}, at level ${w.would.level}.` : `If nobody came or went, it would not be matched${w.ahead.cut ? ` within ${seconds(w.ahead.until_ms / 1000)}` : ""}.`}
          {w.next_step && ` In ${seconds(w.next_step.in_ms / 1000)} ${w.next_step.changes?.join(", ") ?? "a rule"} relaxes.`}
        </p>}
      </div>
    </Panel>
  );
}

/** Returns a rule that the best teams break, with its number. */
function broken(rule: string, breaches: Breach[] = []): string {
  const b = breaches.find((o) => o.rule === rule);
  return b ? `${rule} (${figure(b.value)}; the limit is ${b.at_least ? "at least " : ""}${figure(b.limit)})` : rule;
}

/** The limits that expansion steps change, as the ticket waits. */
function Expansions({ w, until }: { w: Waiting; until: number }) {
  const seen = useRef<Record<string, { at: number; value: number }[]>>({});
  const dots = (rule: string): Dot[] => [
    ...(w.misses ?? []).filter((m) => m.rule === rule).map((m) => ({ value: m.value, in: m.in_ms, text: `ticket ${m.ticket_id}: ${figure(m.value)}, ${m.in_ms === undefined ? "never allowed" : `allowed in ${seconds(m.in_ms / 1000)}`}` })),
    ...(w.nearest?.breaches ?? []).filter((b) => b.rule === rule).map((b) => ({ value: b.value, text: `the best teams: ${figure(b.value)}, the limit is ${figure(b.limit)}` })),
  ];
  const rules = (w.expansions ?? []).map((of) => ({ of, dots: dots(of.rule) })).sort((a, b) => Number(b.dots.length > 0) - Number(a.dots.length > 0)).slice(0, 4);
  for (const { of, dots } of rules) {
    const all = (seen.current[of.rule] ??= []);
    if (dots[0] && w.waited_ms > (all.at(-1)?.at ?? 0)) all.push({ at: w.waited_ms, value: dots[0].value });
    if (all.length > 600) all.splice(0, 300);
  }
  if (rules.length === 0) return null;
  return (
    <Panel title={rules.length === 1 ? `${rules[0]!.of.rule}: its limit as the ticket waits` : "Limits as the ticket waits"} right={
      <div class="legend">
        <span><i class="key bg-stair" />limit, dashed: to come</span>
        <span><i class="key bg-dot" />another ticket, or the best teams</span>
        <span><i class="key bg-goal" />allowed then</span>
      </div>
    }>
      <div class={rules.length > 1 ? "cols2" : ""}>
        {rules.map(({ of, dots }) => (
          <div key={of.rule}>
            {rules.length > 1 && <b>{of.rule}</b>}
            <Staircase of={of} waited={w.waited_ms} dots={dots} seen={seen.current[of.rule] ?? []} until={until} />
          </div>
        ))}
      </div>
    </Panel>
  );
}

function stop(id: string): void {
  ask({
    title: "Cancel this ticket?", verb: "Cancel the ticket", destroys: true,
    effect: "Its players are told that matchmaking was canceled.",
    command: `aws gamelift stop-matchmaking --ticket-id ${quote(id)}`,
    run: async () => {
      await call("StopMatchmaking", { TicketId: id });
      return "The ticket was canceled.";
    },
  });
}

// Events: what happened, and who did what?

import { useEffect, useState } from "preact/hooks";
import { lines, me, may, read } from "../core/api";
import { paused } from "../core/live";
import { useAsked } from "../core/asked";
import { param, setParams, to } from "../core/route";
import { count, moment, time, words } from "../core/text";
import { A, Empty, Head, Panel } from "../ui/parts";
import { Table } from "../ui/table";
import { Glyph } from "../ui/glyph";

interface Event {
  seq: number;
  time: string;
  code: string;
  fleet_id?: string;
  location?: string;
  compute_name?: string;
  process_id?: string;
  game_session_id?: string;
  resource?: string;
  message?: string;
  principal?: string;
}

const most = 2000;

export function Events() {
  const audit = param("show") === "audit";
  return (
    <>
      <Head title="Events" question={audit ? "Who did what?" : "What happened?"}>
        {may("muster:ReadAudit") && (
          <span class="chips">
            <button type="button" class="chip" aria-pressed={!audit} onClick={() => setParams({ show: "" })}>Events</button>
            <button type="button" class="chip" aria-pressed={audit} onClick={() => setParams({ show: "audit" })}>Audit</button>
          </span>
        )}
      </Head>
      {audit ? <Audit /> : <Tail />}
    </>
  );
}

/** The newest events, as they come. */
function Tail() {
  const fleet = param("fleet"), session = param("session"), filter = param("filter");
  const [all, setAll] = useState<Event[]>([]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let over = false;
    let seq = 0, pause = 500, timer = 0, frame = 0;
    let fresh: Event[] = [];
    const show = (): void => {
      frame = 0;
      if (paused.peek()) {
        frame = window.setTimeout(show, 250);
        return;
      }
      const next = fresh;
      fresh = [];
      if (next.length) setAll((old) => [...next.reverse(), ...old].slice(0, most));
    };
    const open = async (): Promise<void> => {
      const q = new URLSearchParams({ follow: "true", ...(seq ? { after: String(seq) } : { last: "200" }), ...(fleet && { fleet }), ...(session && { session }) });
      try {
        await lines(`/console/api/events?${q}`, stop.signal, (line) => {
          const e = line as Event;
          seq = e.seq;
          pause = 500;
          fresh.push(e);
          if (!frame) frame = window.setTimeout(show, 100);
        });
      } catch (e) {
        if (over) return;
        setProblem((e as Error).message);
      }
      if (over) return;
      timer = window.setTimeout(() => { setProblem(""); void open(); }, pause * (0.75 + Math.random() / 2));
      pause = Math.min(2 * pause, 15_000);
    };
    setAll([]);
    void open();
    return () => {
      over = true;
      stop.abort();
      clearTimeout(timer);
      clearTimeout(frame);
    };
  }, [fleet, session]);
  const text = filter.toLowerCase();
  const rows = text ? all.filter((e) => `${e.code} ${words(e.code)} ${e.message ?? ""} ${e.game_session_id ?? ""} ${e.resource ?? ""} ${e.fleet_id ?? ""}`.toLowerCase().includes(text)) : all;
  return (
    <>
      <div class="row wrap">
        <input class="input small" type="search" aria-label="Filter" placeholder="filter" value={filter} onInput={(e) => setParams({ filter: e.currentTarget.value })} />
        {(fleet || session) && <span class="soft">of {fleet || session} · <A to="/events">all events</A></span>}
      </div>
      {problem && <div class="alert b-warn" role="alert"><Glyph tone="warn" /><span>{problem}; trying again</span></div>}
      {rows.length === 0 ? (
        <div class="panel"><Empty command={`muster events --follow --endpoint ${location.origin}`}>No event {filter ? `has “${filter}” in it` : "has happened yet"}. The command follows them in a terminal.</Empty></div>
      ) : (
        <Panel bare>
          <Table
            label="Events" rows={rows} id={(e) => String(e.seq)} foot={`the newest ${count(rows.length)}`}
            columns={[
              { key: "time", title: "Time", value: (e) => e.seq, cell: (e) => <time class="mono" title={moment(e.time)}>{time(e.time)}</time> },
              { key: "code", title: "What", value: (e) => e.code, cell: (e) => words(e.code) },
              { key: "about", title: "About", cell: (e) => (e.game_session_id ? <A to={to("/sessions", { id: e.game_session_id })} class="mono">{e.game_session_id.slice(-12)}</A> : e.fleet_id ? <A to={to("/fleets", { id: e.fleet_id })} class="mono">{e.fleet_id.slice(-12)}</A> : <span class="mono">{(e.resource ?? "").slice(-36)}</span>) },
              { key: "message", title: "", cell: (e) => <span class="soft" title={e.message}>{e.message}</span> },
              { key: "who", title: "By", wide: true, value: (e) => e.principal, cell: (e) => <span class="soft">{e.principal}</span> },
              { key: "seq", title: "Seq", num: true, wide: true, value: (e) => e.seq, cell: (e) => <span class="dim">{e.seq}</span> },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

interface AuditRecord {
  seq: number;
  time: string;
  door: string;
  action: string;
  resources?: string[];
  key_id?: string;
  key_name?: string;
  claimed_key_id?: string;
  source?: string;
  outcome: string;
  count?: number;
}

/** The audit log, newest first. */
function Audit() {
  const { data, problem } = useAsked(() => read<{ records: AuditRecord[] }>("/admin/v1/audit?newest=true&limit=1000"), "audit", 3000);
  return (
    <>
      {problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{problem}</span></div>}
      {data && (data.records.length === 0 ? (
        <div class="panel"><Empty>Nothing has been recorded yet{me.value?.local ? ": changes are recorded as they are made" : ""}.</Empty></div>
      ) : (
        <Panel bare>
          <Table
            label="Audit log" rows={data.records} id={(r) => String(r.seq)} foot={`the newest ${count(data.records.length)}; muster admin audit list has all`}
            columns={[
              { key: "time", title: "Time", value: (r) => r.seq, cell: (r) => <time class="mono">{moment(r.time)}</time> },
              { key: "who", title: "Who", value: (r) => r.key_name ?? r.claimed_key_id, cell: (r) => r.key_name ?? <span class="soft">{r.claimed_key_id ? `claims ${r.claimed_key_id}` : "nobody known"}</span> },
              { key: "action", title: "Action", value: (r) => r.action, cell: (r) => r.action + (r.count ? ` × ${r.count}` : "") },
              { key: "what", title: "On", cell: (r) => <span class="mono" title={r.resources?.join(" ")}>{(r.resources ?? []).map((o) => o.split(":").slice(5).join(":") || o).join(" ")}</span> },
              { key: "outcome", title: "Outcome", value: (r) => r.outcome, cell: (r) => <span class="st"><Glyph tone={r.outcome === "ok" ? "ok" : "fail"} />{r.outcome}</span> },
              { key: "source", title: "From", wide: true, value: (r) => r.source, cell: (r) => <span class="mono">{r.source}</span> },
            ]}
          />
        </Panel>
      ))}
    </>
  );
}

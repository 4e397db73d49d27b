// Webhooks: does everyone hear what happened? (Stripe's list of attempts: what was sent, what
// came back, and again.)

import { may, me, read, send, server } from "../core/api";
import { useAsked } from "../core/asked";
import { param, setParams, to } from "../core/route";
import { count, many, moment, quote, seconds, words } from "../core/text";
import { ask } from "../ui/act";
import { Glyph, Toned, type Tone } from "../ui/glyph";
import { A, Ago, Empty, Facts, Head, ID, Panel } from "../ui/parts";
import { Table } from "../ui/table";
import { hint } from "../ui/tip";

interface Sink {
  name: string;
  kind: string;
  url?: string;
  topics: string[];
  in_flight: number;
  max_attempts: number;
  seq: number;
  lag_seconds: number;
  failures: number;
  attempts: { delivered: number; failed: number; refused: number; dead: number };
  dead_letters: number;
  subscriptions?: { topic: string; status: string; changed: string }[];
}

interface Delivery {
  at: string;
  seq: number;
  event_id: string;
  code: string;
  detail_type: string;
  topic?: string;
  try: number;
  again?: boolean;
  took_ms: number;
  result: "delivered" | "failed" | "refused";
  error?: string;
  dead?: boolean;
}

interface Dead {
  seq: number;
  event_id: string;
  detail_type: string;
  topic?: string;
  error: string;
  attempts: number;
  time: string;
  again?: boolean;
}

const mayChange = (): boolean => may("UpdateGameSessionQueue");
const mayTell = (): boolean => may("muster:ReadPlayerSessionIds");

export function Webhooks() {
  const sinks = useAsked(async () => (await read<{ sinks: Sink[] }>("/notify/sinks")).sinks, "sinks", 2000);
  const all = sinks.data;
  const name = param("name") || (all?.length === 1 ? all[0]!.name : "");
  const one = all?.find((s) => s.name === name);
  return (
    <>
      <Head title="Webhooks" question="Does everyone hear what happened?" />
      {sinks.problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>The sinks cannot be shown: {sinks.problem}</span></div>}
      {all?.length === 0 && (
        <div class="panel">
          <Empty command={`muster serve --sinks sinks.yaml`}>Nobody is told. A sink in the configuration gets a JSON message when a placement or a match succeeds or fails.</Empty>
        </div>
      )}
      {!!all?.length && (
        <Panel bare>
          <Table
            label="Sinks" rows={all} id={(s) => s.name} to={(s) => to("/webhooks", { name: s.name })} most={420}
            columns={[
              { key: "name", title: "Sink", value: (s) => s.name, cell: (s) => <Toned tone={stateOf(s).tone}><A to={to("/webhooks", { name: s.name })} aria-current={s.name === name ? "true" : undefined}>{s.name}</A></Toned> },
              { key: "state", title: "State", cell: (s) => stateOf(s).text },
              { key: "last", title: "Last attempts", wide: true, cell: (s) => <Strip sink={s.name} /> },
              { key: "delivered", title: "Delivered", num: true, value: (s) => s.attempts.delivered, cell: (s) => count(s.attempts.delivered) },
              { key: "failed", title: "Failed", num: true, wide: true, value: (s) => s.attempts.failed + s.attempts.refused, cell: (s) => count(s.attempts.failed + s.attempts.refused) },
              { key: "dead", title: "Dead letters", num: true, value: (s) => s.dead_letters, cell: (s) => (s.dead_letters ? <span class="c-fail">{count(s.dead_letters)}</span> : "0") },
              { key: "url", title: "To", wide: true, cell: (s) => <span class="mono">{s.url ?? s.kind}</span> },
            ]}
          />
        </Panel>
      )}
      {name && all && !one && <div class="panel"><Empty>The configuration has no sink {name}.</Empty></div>}
      {one && <One sink={one} key={one.name} again={sinks.again} />}
    </>
  );
}

/** How a sink is, in a glyph and in words. */
function stateOf(s: Sink): { tone: Tone; text: string } {
  const open = (s.subscriptions ?? []).filter((x) => x.status !== "CONFIRMED");
  if (s.failures >= 3) return { tone: "fail", text: `does not answer: ${many(s.failures, "failure")} in a row, ${seconds(s.lag_seconds)} behind` };
  if (s.failures > 0) return { tone: "warn", text: `${many(s.failures, "failure")} in a row, ${seconds(s.lag_seconds)} behind` };
  if (open.length) return { tone: "hold", text: `${many(open.length, "subscription")} not confirmed` };
  if (s.dead_letters > 0) return { tone: "warn", text: `answers; some messages were given up${s.lag_seconds > 2 ? `, ${seconds(s.lag_seconds)} behind` : ""}` };
  if (s.lag_seconds > 2) return { tone: "busy", text: `${seconds(s.lag_seconds)} behind` };
  return s.attempts.delivered ? { tone: "ok", text: "hears everything" } : { tone: "idle", text: "nothing was sent yet" };
}

const tones: Record<string, Tone> = { delivered: "ok", failed: "warn", refused: "fail" };

/** The last attempts as bars: color and height say what came of them. */
function Strip({ sink }: { sink: string }) {
  const made = useDeliveries(sink).data ?? [];
  const shown = made.slice(0, 40).reverse();
  const bad = made.slice(0, 40).filter((d) => d.result !== "delivered").length;
  return (
    <svg class="strip" width="200" height="20" role="img" aria-label={`the last ${shown.length} attempts, ${bad} not delivered`}>
      {shown.map((d, i) => (
        <rect
          key={d.at + d.seq} class={`f-${tones[d.result]}`} x={(40 - shown.length + i) * 5} y={d.result === "delivered" ? 8 : d.result === "failed" ? 4 : 0} width="4" height={d.result === "delivered" ? 12 : d.result === "failed" ? 16 : 20} rx="1"
          onMouseMove={(e) => hint(e, `${moment(d.at)}\n${words(d.code)}, try ${d.try}: ${d.result} in ${d.took_ms} ms${d.error ? `\n${d.error}` : ""}`)} onMouseLeave={() => hint(null)}
        />
      ))}
    </svg>
  );
}

const useDeliveries = (sink: string) => useAsked(async () => (await read<{ deliveries: Delivery[] }>(`/notify/deliveries?${new URLSearchParams({ sink })}`)).deliveries, sink, 2000);

function curl(path: string): string {
  const sigv4 = `--aws-sigv4 aws:amz:${me.value!.region}:gamelift --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"`;
  return `curl -X POST ${sigv4} ${quote(server + path)}`;
}

function One({ sink, again }: { sink: Sink; again: () => void }) {
  const made = useDeliveries(sink.name);
  const dead = useAsked(async () => (mayTell() ? (await read<{ dead_letters: Dead[] }>(`/notify/dead-letters?${new URLSearchParams({ sink: sink.name, limit: "1000" })}`)).dead_letters : []), `dead ${sink.name}`, 3000);
  const redeliver = (d?: Dead): void => {
    const path = `/notify/redeliver?${new URLSearchParams({ sink: sink.name, ...(d ? { seq: String(d.seq) } : {}) })}`;
    ask({
      title: d ? `Deliver message ${d.seq} again` : `Deliver all dead letters of ${sink.name} again`,
      effect: d ? `${sink.name} is sent the message once more. If it takes it, the dead letter is gone.` : `${sink.name} is sent ${many(sink.dead_letters, "message")} once more each, beside what is new. Those that it takes are gone from here.`,
      command: `muster webhooks again ${quote(sink.name)}${d ? ` ${d.seq}` : ""} --endpoint ${location.origin}`, verb: "Deliver again", type: !d && sink.dead_letters > 1 ? sink.name : undefined,
      run: async () => {
        const r = await send<{ redelivering: number }>("POST", path);
        dead.again();
        again();
        return `${many(r.redelivering, "message is", "messages are")} delivered again.`;
      },
    });
  };
  const subscribe = (): void => {
    const path = `/notify/subscribe?${new URLSearchParams({ sink: sink.name })}`;
    ask({ title: `Subscribe ${sink.name} anew`, effect: "The endpoint is asked to confirm its subscriptions again; until it has, it is told nothing.", command: curl(path), verb: "Subscribe anew", run: async () => { await send("POST", path); again(); return "The endpoint is being asked."; } });
  };
  const state = stateOf(sink);
  return (
    <>
      <Panel
        title={<Toned tone={state.tone}>{sink.name}</Toned>} note={state.text}
        right={
          <span class="row wrap">
            {mayChange() && sink.kind === "sns" && <button type="button" class="btn" onClick={subscribe}>Subscribe anew …</button>}
            {mayChange() && sink.dead_letters > 0 && <button type="button" class="btn first" onClick={() => redeliver()}>Deliver all again …</button>}
          </span>
        }
      >
        <Facts of={[
          ["to", sink.url && <ID id={sink.url} most={72} />], ["kind", sink.kind], ["topics", sink.topics.includes("*") ? "everything" : sink.topics.map((t) => <div class="mono" key={t}>{t}</div>)],
          ["attempts", `${count(sink.attempts.delivered)} delivered, ${count(sink.attempts.failed)} without an answer, ${count(sink.attempts.refused)} refused, since the node that delivers was started`],
          ["position", `event ${count(sink.seq)}${sink.lag_seconds ? `, ${seconds(sink.lag_seconds)} behind` : ""}`], ["gives up after", `${sink.max_attempts} attempts, or 3 refusals`],
          ...(sink.subscriptions ?? []).map((s) => [`topic ${s.topic.split(":").pop()}`, <Toned tone={s.status === "CONFIRMED" ? "ok" : "hold"}>{s.status} since {moment(s.changed)}</Toned>] as [string, preact.ComponentChildren]),
        ]} />
      </Panel>
      <Panel title="Dead letters" note="messages that were given up; kept for 14 days" bare>
        {!mayTell() ? <Empty>Your role may not read messages, which contain ids of player sessions. There are {many(sink.dead_letters, "dead letter")}.</Empty>
          : dead.problem ? <Empty>{dead.problem}</Empty>
          : !dead.data?.length ? <Empty>None: every message has been taken.</Empty> : (
            <Table
              label="Dead letters" rows={dead.data} id={(d) => d.event_id} most={420}
              columns={[
                { key: "seq", title: "Event", num: true, value: (d) => d.seq, cell: (d) => d.seq },
                { key: "what", title: "Message", wide: true, value: (d) => d.detail_type, cell: (d) => d.detail_type.replace("GameLift ", "") },
                { key: "reason", title: "Why", value: (d) => d.error, cell: (d) => (d.again ? <Toned tone="busy">is being delivered again</Toned> : <Toned tone="fail">{d.error}</Toned>) },
                { key: "tries", title: "Attempts", num: true, wide: true, value: (d) => d.attempts, cell: (d) => d.attempts },
                { key: "time", title: "Last", num: true, value: (d) => d.time, cell: (d) => <Ago at={d.time} /> },
                ...(mayChange() ? [{ key: "act", title: "", cell: (d: Dead) => <button type="button" class="btn small" disabled={d.again} onClick={() => redeliver(d)}>Again …</button> }] : []),
              ]}
            />
          )}
      </Panel>
      <Panel title="Last attempts" note="the newest 100" right={param("all") ? <button type="button" class="btn" onClick={() => setParams({ all: "" })}>Failed ones only</button> : <button type="button" class="btn" aria-pressed="false" onClick={() => setParams({ all: "1" })}>All</button>} bare>
        <Attempts made={(made.data ?? []).filter((d) => param("all") || d.result !== "delivered")} every={!!param("all")} known={made.data?.length ?? 0} />
      </Panel>
    </>
  );
}

function Attempts({ made, every, known }: { made: Delivery[]; every: boolean; known: number }) {
  if (made.length === 0) return <Empty>{every || known === 0 ? "Nothing was sent since the node that delivers was started." : `The last ${count(known)} were delivered at once.`}</Empty>;
  return (
    <Table
      label="Last attempts" rows={made} id={(d) => d.event_id + d.at} most={420}
      columns={[
        { key: "at", title: "When", num: true, cell: (d) => <Ago at={d.at} /> },
        { key: "what", title: "Message", value: (d) => d.code, cell: (d) => words(d.code) },
        { key: "result", title: "Result", value: (d) => d.result, cell: (d) => <Toned tone={tones[d.result]!}>{d.result}{d.dead ? ", given up" : ""}</Toned> },
        { key: "try", title: "Try", num: true, wide: true, cell: (d) => <>{d.try}{d.again ? " again" : ""}</> },
        { key: "took", title: "Took", num: true, wide: true, value: (d) => d.took_ms, cell: (d) => seconds(d.took_ms / 1000) },
        { key: "why", title: "Why", wide: true, cell: (d) => <span class="soft">{d.error ?? ""}</span> },
      ]}
    />
  );
}

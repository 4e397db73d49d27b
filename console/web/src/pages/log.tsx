// What the process of a game session writes and uses: the end of its log, as it grows, and its
// processor and memory in the last minutes.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { read } from "../core/api";
import { useAsked } from "../core/asked";
import { useLive } from "../core/live";
import { count } from "../core/text";
import { Chart } from "../ui/chart";
import { Empty, Panel, Show } from "../ui/parts";
import type { Series } from "../ui/spark";

interface Log {
  why?: string;
  ended?: boolean;
  stored?: boolean;
  process?: string;
  streams: { name: string; text: string; end?: number }[];
}

interface Used {
  at: string;
  cpu_millis: number;
  memory_mib: number;
}

/** The end of the log of a game session's process, or of what is stored of it. */
export function SessionLog({ id }: { id: string }) {
  const live = useLive<Log>("session-log", { id }, 1000);
  const [chosen, setChosen] = useState("");
  const [follow, setFollow] = useState(true);
  const { streams = [], stored = false } = live.data.value ?? {};
  const shown = streams.find((s) => s.name === chosen) ?? streams.find((s) => s.text) ?? streams[0];
  return (
    <Panel title="Log" note={stored ? "the end of what its process has written" : "the end of what its process writes"} bare right={streams.length > 0 && (
      <span class="row">
        {streams.length > 1 && streams.map((s) => (
          <button type="button" class="chip" key={s.name} aria-pressed={s === shown} onClick={() => setChosen(s.name)}>{s.name}</button>
        ))}
        {!stored && <button type="button" class="chip" aria-pressed={follow} onClick={() => setFollow(!follow)}>follow</button>}
      </span>
    )}>
      <Show live={live} what="The log" height={160}>
        {(l) => (
          <>
            {l.why && <Empty>{l.why}</Empty>}
            {!l.why && shown && (shown.text ? <Text text={shown.text} follow={follow} name={shown.name} /> : <Empty>It has written nothing{streams.length > 1 && ` to its ${shown.name === "errors" ? "standard error" : "standard output"}`}{!l.stored && " yet"}.</Empty>)}
            {l.stored && <Empty command={`aws gamelift --endpoint-url ${location.origin} get-game-session-log --game-session-id ${id} --save-as log.zip`}>All of its log, with the files that it named, is kept for 14 days:</Empty>}
          </>
        )}
      </Show>
    </Panel>
  );
}

/** Text that grows at its end, which stays in view. */
function Text({ text, follow, name }: { text: string; follow: boolean; name: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follow]);
  return (
    <div class="log" ref={box} tabIndex={0} role="region" aria-label={`The log: ${name}`}>
      <pre>{text}</pre>
    </div>
  );
}

const minutes = 10; // of measurements

/** What the process used in the last minutes. */
export function SessionLoad({ id }: { id: string }) {
  const { data, problem } = useAsked(() => read<{ data: { why?: string; used: Used[] } }>(`/console/api/views/session-load?${new URLSearchParams({ id })}`), `load ${id}`, 10_000);
  const used = data?.data.used ?? [];
  const series = seriesOf(used);
  const last = used.at(-1);
  return (
    <Panel title="Processor and memory" note={last && `${share(last.cpu_millis)} of a processor, ${mib(last.memory_mib)} now`}>
      {problem ? <p class="dim">{problem}</p>
        : !data ? <div class="skel" ref={(e) => { if (e) e.style.height = "120px"; }} />
        : data.data.why ? <p class="soft">{data.data.why}</p>
        : !series ? <p class="dim">Nothing has been measured yet; it is, every 10 s.</p>
        : (
          <div class="cols2">
            <Chart label="Processor" series={series} height={110} length={minutes * 60} unit={share} lines={[{ key: "cpu", title: "of one processor", color: "accent" }]} />
            <Chart label="Memory" series={series} height={110} length={minutes * 60} unit={mib} lines={[{ key: "memory", title: "memory", color: "busy" }]} />
          </div>
        )}
    </Panel>
  );
}

const share = (n: number): string => `${(n / 10).toFixed(n > 0 && n < 100 ? 1 : 0)} %`;
const mib = (n: number): string => `${count(Math.round(n))} MiB`;

/** Returns the last measurements as values at equal steps; nothing for none. */
function seriesOf(used: Used[]): Series | undefined {
  const step = 10_000, n = (minutes * 60_000) / step + 1, last = used.at(-1);
  if (!last) return undefined;
  const first = Date.parse(last.at) - (n - 1) * step, from = new Date(first).toISOString();
  const values = { cpu: new Array<number | null>(n).fill(null), memory: new Array<number | null>(n).fill(null) };
  for (const u of used) {
    const i = Math.round((Date.parse(u.at) - first) / step);
    if (i < 0) continue;
    values.cpu[i] = u.cpu_millis;
    values.memory[i] = u.memory_mib;
  }
  return { from, begun: from, step_ms: step, values };
}

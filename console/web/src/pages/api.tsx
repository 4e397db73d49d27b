// API: how is this done from code? Each operation as a form, with the lines that do the same.

import { useEffect, useState } from "preact/hooks";
import { call, Failure, may, me, read } from "../core/api";
import { param, setParams, to } from "../core/route";
import { quote } from "../core/text";
import { ask } from "../ui/act";
import { Glyph } from "../ui/glyph";
import { A, Command, Head, Panel } from "../ui/parts";

interface Member {
  name: string;
  required?: boolean;
  type: string;
  values?: string[];
  rule?: string;
}

interface Operation {
  name: string;
  family: string;
  input: Member[];
  errors: string[];
}

const words = (name: string): string[] => name.replace(/EC2/g, "Ec2").replace(/URL/g, "Url").replace(/([a-z0-9])([A-Z])/g, "$1 $2").split(" ").map((w) => w.toLowerCase());
const changes = (name: string): boolean => !/^(Describe|Get|List|Search|Resolve|Validate)/.test(name);

export function API() {
  const [all, setAll] = useState<Operation[]>([]);
  const [problem, setProblem] = useState("");
  const [filter, setFilter] = useState("");
  useEffect(() => {
    read<Operation[]>("/console/api/operations").then(setAll).catch((e: Error) => setProblem(e.message));
  }, []);
  const name = param("operation");
  const shown = all.filter((o) => o.name.toLowerCase().includes(filter.toLowerCase().replaceAll(/[-_ ]/g, "")));
  const chosen = all.find((o) => o.name === name);
  return (
    <>
      <Head title="API" question="How is this done from code?">
        <input class="input small" type="search" aria-label="Filter operations" placeholder="filter operations" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
      </Head>
      {problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{problem}</span></div>}
      <div class="split">
        <nav class="panel list" aria-label="Operations">
          {shown.map((o) => (
            <A key={o.name} to={to("/operations", { operation: o.name })} aria-current={o.name === name ? "page" : undefined}>{o.name}</A>
          ))}
        </nav>
        {chosen ? <Form key={chosen.name} o={chosen} /> : <Panel><p class="soft">{all.length} operations of the Amazon GameLift API, as this server answers them. Choose one: its members are explained, it can be called from here, and the lines for a shell, Python and Go are written as you type.</p></Panel>}
      </div>
    </>
  );
}

function example(o: Operation): string {
  const value = (m: Member): unknown => (m.values?.[0] ?? (m.type === "integer" || m.type === "long" ? 1 : m.type === "boolean" ? false : m.type.startsWith("list") ? [] : m.type === "structure" || m.type.startsWith("map") ? {} : ""));
  return JSON.stringify(Object.fromEntries(o.input.filter((m) => m.required).map((m) => [m.name, value(m)])), null, 2);
}

function Form({ o }: { o: Operation }) {
  const [text, setText] = useState(param("input") || example(o));
  const [answer, setAnswer] = useState<{ text: string; bad: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  let input: unknown;
  let wrong = "";
  try {
    input = JSON.parse(text || "{}");
  } catch (e) {
    wrong = (e as Error).message;
  }
  const line = wrong ? "" : JSON.stringify(input);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      setAnswer({ text: JSON.stringify(await call(o.name, input), null, 2), bad: false });
    } catch (e) {
      const f = e as Failure;
      setAnswer({ text: `${f.code ? `${f.code}: ` : ""}${f.message}${f.request ? `\nrequest ${f.request}` : ""}`, bad: true });
    }
    setBusy(false);
  };
  const cli = `aws gamelift ${words(o.name).join("-")} --endpoint-url ${location.origin}${line === "{}" ? "" : ` \\\n  --cli-input-json ${quote(line)}`}`;
  const python = `gamelift = boto3.client("gamelift", ${me.value?.regions ? `region_name="${me.value.region}", ` : ""}endpoint_url="${location.origin}")\ngamelift.${words(o.name).join("_")}(**json.loads(${JSON.stringify(line)}))`;
  const go = `client := gamelift.NewFromConfig(cfg, func(o *gamelift.Options) { ${me.value?.regions ? `o.Region = "${me.value.region}"; ` : ""}o.BaseEndpoint = aws.String("${location.origin}") })\nout, err := client.${o.name}(ctx, &gamelift.${o.name}Input{${o.input.filter((m) => m.required).map((m) => `${m.name}: …`).join(", ")}})`;
  return (
    <div class="stack">
      <Panel title={o.name} note={o.family}>
        <div class="stack">
          <label class="field">
            <span>Input, as JSON</span>
            <textarea class="input" rows={Math.min(16, Math.max(5, text.split("\n").length + 1))} spellcheck={false} value={text} onInput={(e) => { setText(e.currentTarget.value); setParams({ input: e.currentTarget.value }); }} />
          </label>
          {wrong && <div class="alert b-warn" role="alert"><Glyph tone="warn" /><span>{wrong}</span></div>}
          <div class="row">
            {may(o.name) ? (
              <button type="button" class={`btn ${changes(o.name) ? "" : "first"}`} disabled={busy || !!wrong} onClick={() => (changes(o.name) ? ask({ title: `Call ${o.name}?`, verb: "Call", effect: "It changes something on this server.", command: cli, destroys: /^(Delete|Terminate|Deregister|Stop)/.test(o.name), run }) : void run())}>
                Call{changes(o.name) ? " …" : ""}
              </button>
            ) : (
              <span class="soft">Your role may not call this.</span>
            )}
          </div>
          {answer && (
            <div class={`alert ${answer.bad ? "b-fail" : ""}`} role="status">
              <Glyph tone={answer.bad ? "fail" : "ok"} />
              <pre class="grow">{answer.text}</pre>
            </div>
          )}
        </div>
      </Panel>
      <Panel title="The same from a shell, Python and Go">
        <div class="stack">
          <Command text={cli} />
          <Command text={python} />
          <Command text={go} />
        </div>
      </Panel>
      <Panel title="Members" bare>
        <div class="tablebox" tabIndex={0} role="region" aria-label="Members of the input">
          <table>
            <thead><tr><th scope="col">Member</th><th scope="col">Type</th><th scope="col">Rule</th></tr></thead>
            <tbody>
              {o.input.map((m) => (
                <tr key={m.name}>
                  <td><code>{m.name}</code>{m.required && <span class="soft"> required</span>}</td>
                  <td>{m.type}</td>
                  <td class="soft" title={m.rule ?? m.values?.join(", ")}>{m.rule ?? m.values?.join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      {o.errors.length > 0 && <p class="dim">Errors: {o.errors.join(", ")}</p>}
    </div>
  );
}

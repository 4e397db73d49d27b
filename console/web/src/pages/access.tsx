// Access: who may do what?

import { may, me, read, send } from "../core/api";
import { useAsked } from "../core/asked";
import { to } from "../core/route";
import { quote } from "../core/text";
import { ask } from "../ui/act";
import { Glyph, Toned } from "../ui/glyph";
import { A, Ago, Command, Empty, Facts, Head, ID, Panel } from "../ui/parts";
import { Table } from "../ui/table";

interface Key {
  id: string;
  name: string;
  role: string;
  scope?: { resources?: string[]; tags?: Record<string, string> };
  created: string;
  expires?: string;
  status: string;
  last_used?: string;
  secret?: string;
}

interface Login {
  id: string;
  key_id: string;
  name: string;
  issuer?: string;
  role: string;
  scope?: string;
  from?: string;
  created: string;
  expires: string;
  last_seen: string;
}

const roles: [string, string][] = [
  ["admin", "everything"],
  ["operator", "everything except managing keys, reading the audit log and remote access"],
  ["game-backend", "game sessions, placements, matchmaking, players, and reading"],
  ["game-server", "what a game server needs: compute, token and connection"],
  ["player-data", "the stored data of players, for game servers"],
  ["remote-shell", "shells on machines, and reading"],
  ["read-only", "reading, except what grants access"],
];

export function Access() {
  const { data, problem, again } = useAsked(() => read<{ keys: Key[] }>("/admin/v1/keys"), "keys", 3000);
  const who = me.value!;
  return (
    <>
      <Head title="Access" question="Who may do what?">
        {may("muster:ManageKeys") && <button type="button" class="btn first" onClick={() => create(again)}>Create a key …</button>}
      </Head>
      {who.local && <div class="alert"><Glyph tone="hold" /><span>This is <code>muster local</code>: whoever is on this machine may do everything, with or without a key.</span></div>}
      {problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{problem}</span></div>}
      {data && (data.keys.length === 0 ? (
        <div class="panel"><Empty command="muster admin keys create backend --role game-backend">There is no access key.</Empty></div>
      ) : (
        <Panel bare>
          <Table
            label="Access keys" rows={data.keys} id={(k) => k.id} ended={(k) => k.status !== "ENABLED"}
            columns={[
              { key: "name", title: "Name", value: (k) => k.name, cell: (k) => k.name },
              { key: "role", title: "Role", value: (k) => k.role, cell: (k) => k.role },
              { key: "status", title: "State", value: (k) => k.status, cell: (k) => <Toned tone={k.status === "ENABLED" ? "ok" : "idle"}>{k.status.toLowerCase()}</Toned> },
              { key: "id", title: "Access key id", cell: (k) => <ID id={k.id} /> },
              { key: "scope", title: "Scope", wide: true, cell: (k) => <span class="soft">{[...(k.scope?.resources ?? []), ...Object.entries(k.scope?.tags ?? {}).map(([t, v]) => `${t}=${v}`)].join(", ") || "everything"}</span> },
              { key: "used", title: "Last used", num: true, value: (k) => k.last_used ? Date.parse(k.last_used) : 0, cell: (k) => (k.last_used ? <Ago at={k.last_used} /> : "never") },
              { key: "expires", title: "Ends", wide: true, num: true, cell: (k) => k.expires?.slice(0, 10) ?? "never" },
              { key: "act", title: "", cell: (k) => (
                <span class="row">
                  {k.status !== "EXPIRED" && <button type="button" class="chip" onClick={() => enable(k, k.status !== "ENABLED", again)}>{k.status === "ENABLED" ? "Disable …" : "Enable …"}</button>}
                  <button type="button" class="chip" onClick={() => remove(k, again)}>Delete …</button>
                </span>
              ) },
            ]}
          />
        </Panel>
      ))}
      {!who.local && may("muster:ReadKeys") && <Logins />}
      <Panel title="Roles"><Facts of={roles} /></Panel>
      <p class="soft">What keys were used for is in the <A to={to("/events", { show: "audit" })}>audit log</A>.</p>
    </>
  );
}

/** Who is logged in to the console. */
function Logins() {
  const { data, problem, again } = useAsked(() => read<{ logins: Login[] }>("/admin/v1/logins"), "logins", 3000);
  if (problem) return <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{problem}</span></div>;
  if (!data) return null;
  const own = me.value!.login, of = (l: Login): number => data.logins.filter((o) => o.key_id === l.key_id).length;
  return (
    <Panel title="Logins" note="to the console; they end after 12 hours at the latest" bare>
      {data.logins.length === 0 ? <Empty command="muster admin logins list">Nobody is logged in to the console.</Empty> : (
        <Table
          label="Logins" rows={data.logins} id={(l) => l.id} most={420}
          columns={[
            { key: "name", title: "Name", value: (l) => l.name, cell: (l) => <span>{l.name}{l.id === own && <span class="dim"> · this login</span>}</span> },
            { key: "role", title: "Role", value: (l) => l.role, cell: (l) => <span title={l.scope}>{l.role}{l.scope && ", scoped"}</span> },
            { key: "by", title: "By", wide: true, value: (l) => l.issuer ?? "", cell: (l) => (l.issuer ? <span title={`${l.issuer}, ${l.key_id}`}>{host(l.issuer)}</span> : <ID id={l.key_id} />) },
            { key: "from", title: "From", wide: true, value: (l) => l.from ?? "", cell: (l) => <span class="mono">{l.from ?? "not known"}</span> },
            { key: "since", title: "Since", num: true, wide: true, value: (l) => Date.parse(l.created), cell: (l) => <Ago at={l.created} /> },
            { key: "seen", title: "Last seen", num: true, value: (l) => Date.parse(l.last_seen), cell: (l) => <Ago at={l.last_seen} /> },
            { key: "act", title: "", cell: (l) => may("muster:EndLogins") && (
              <span class="row">
                <button type="button" class="chip" onClick={() => end(l, l.id, 1, again)}>End …</button>
                {of(l) > 1 && <button type="button" class="chip" onClick={() => end(l, l.key_id, of(l), again)}>End all {of(l)} …</button>}
              </span>
            ) },
          ]}
        />
      )}
    </Panel>
  );
}

/** Returns the host in a URL. */
function host(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

/** Ends a login, or all of a person or key: id is what the server ends. */
function end(l: Login, id: string, n: number, then: () => void): void {
  const own = n > 1 ? l.key_id === me.value!.key_id : l.id === me.value!.login;
  ask({
    title: n > 1 ? `End all ${n} logins of ${l.name}?` : `End this login of ${l.name}?`, verb: n > 1 ? "End them all" : "End the login", destroys: true,
    ...(n > 1 && { type: l.name }),
    effect: (own ? "You are logged out. " : "Its pages ask to log in again. ")
      + (l.issuer ? "The account stays as it is: to keep somebody out, remove the account or its group at the identity provider." : "The access key stays valid: to keep somebody out, disable the key."),
    command: `muster admin logins end ${quote(id)}`,
    run: async () => {
      const { ended } = await send<{ ended: number }>("DELETE", `/admin/v1/logins/${encodeURIComponent(id)}`);
      then();
      return `${ended === 1 ? "A login" : `${ended} logins`} of ${l.name} ended.`;
    },
  });
}

function create(then: () => void): void {
  let name = "", role = "read-only", days = 90;
  ask({
    title: "Create an access key", verb: "Create", effect: "The secret is shown once.", command: "",
    form: (
      <>
        <label class="field"><span>Name: what it is for</span><input class="input" onInput={(e) => (name = e.currentTarget.value)} /></label>
        <label class="field">
          <span>Role</span>
          <select class="input" onChange={(e) => (role = e.currentTarget.value)}>{roles.map(([r, what]) => <option value={r} selected={r === role}>{r}: {what}</option>)}</select>
        </label>
        <label class="field"><span>Ends after days, 0 never</span><input class="input" type="number" min="0" value={days} onInput={(e) => (days = Number(e.currentTarget.value))} /></label>
      </>
    ),
    run: async () => {
      const k = await send<Key>("POST", "/admin/v1/keys", { name, role, ...(days > 0 && { expires: new Date(Date.now() + days * 86_400_000).toISOString() }) });
      then();
      ask({
        title: `The key ${k.name}`, verb: "Done", effect: "The secret is not shown again.", command: "",
        form: <Command text={`export AWS_ACCESS_KEY_ID=${k.id}\nexport AWS_SECRET_ACCESS_KEY=${k.secret}\nexport AWS_DEFAULT_REGION=${me.value!.region}`} />,
        run: async () => undefined,
      });
    },
  });
}

function enable(k: Key, on: boolean, then: () => void): void {
  ask({
    title: on ? `Enable ${k.name}?` : `Disable ${k.name}?`, verb: on ? "Enable" : "Disable", destroys: !on,
    effect: on ? "Requests signed with it are accepted again." : "Requests signed with it are refused from then on, and whoever logged in with it is logged out.",
    command: `muster admin keys ${on ? "enable" : "disable"} ${quote(k.id)}`,
    run: async () => {
      await send("POST", `/admin/v1/keys/${encodeURIComponent(k.id)}/${on ? "enable" : "disable"}`);
      then();
      return `${k.name} is ${on ? "enabled" : "disabled"}.`;
    },
  });
}

function remove(k: Key, then: () => void): void {
  ask({
    title: `Delete ${k.name}?`, verb: "Delete the key", destroys: true, type: k.name,
    effect: "It cannot be brought back. Whatever uses it is refused from then on.", command: `muster admin keys delete ${quote(k.id)}`,
    run: async () => {
      await send("DELETE", `/admin/v1/keys/${encodeURIComponent(k.id)}`);
      then();
      return `${k.name} was deleted.`;
    },
  });
}


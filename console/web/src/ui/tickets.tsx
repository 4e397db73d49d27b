// A table of tickets.

import { to } from "../core/route";
import { seconds, shortID } from "../core/text";
import { Status } from "./glyph";
import { A, Ago, ID } from "./parts";
import { Table } from "./table";

/** A ticket in a list. */
export interface TicketRow {
  id: string;
  configuration: string;
  status: string;
  started: string;
  ended?: string;
  players: string[];
  backfill?: boolean;
  reason?: string;
  match?: string;
  session?: string;
}

/** Tickets, open or ended; with one, they are of one player, whose name is left out. */
export function Tickets({ rows, label, ended, one }: { rows: TicketRow[]; label: string; ended?: boolean; one?: boolean }) {
  return (
    <Table
      label={label} rows={rows} id={(t) => t.id} to={(t) => to("/tickets", { id: t.id })} most={420}
      columns={[
        { key: "id", title: "Ticket", cell: (t) => <ID id={t.id} to={to("/tickets", { id: t.id })} most={26} /> },
        { key: "status", title: "Status", value: (t) => t.status, cell: (t) => <Status of={t.status} kind="ticket" /> },
        { key: "started", title: ended ? "Waited" : "Waits", num: true, value: (t) => (t.ended ? Date.parse(t.ended) - Date.parse(t.started) : -Date.parse(t.started)), cell: (t) => (t.ended ? seconds((Date.parse(t.ended) - Date.parse(t.started)) / 1000) : <Ago at={t.started} />) },
        ...(one ? [] : [{ key: "players", title: "Players", wide: true, cell: (t: TicketRow) => <>{t.backfill && <span class="dim">backfill </span>}{t.players.slice(0, 3).map((p) => <><A to={to("/players", { id: p })}>{p.length > 20 ? `${p.slice(0, 8)}…${p.slice(-4)}` : p}</A> </>)}{t.players.length > 3 && `+${t.players.length - 3}`}</> }]),
        { key: "session", title: "Game session", wide: true, cell: (t) => (t.session ? <A to={to("/sessions", { id: t.session })} class="mono">{shortID(t.session).slice(-12)}</A> : <span class="soft">{t.reason}</span>) },
      ]}
    />
  );
}

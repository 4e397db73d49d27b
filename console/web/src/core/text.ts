// Figures and times for people.

/** Returns a number with separators of thousands. */
export const count = (n: number): string => n.toLocaleString("en-US");

/** Returns a number and a noun in the number that fits. */
export const many = (n: number, one: string, more = one + "s"): string => `${count(n)} ${n === 1 ? one : more}`;

/** Returns a duration in seconds as people say it: 340 ms, 4.2 s, 31 s, 12 min, 3.5 h, 4 d. */
export function seconds(s: number | null | undefined): string {
  if (s === null || s === undefined || !Number.isFinite(s)) return "–";
  const a = Math.abs(s);
  if (a < 1) return `${Math.round(s * 1000)} ms`;
  if (a < 10) return `${s.toFixed(1)} s`;
  if (a < 120) return `${Math.round(s)} s`;
  if (a < 7200) return `${Math.round(s / 60)} min`;
  if (a < 172_800) return `${(s / 3600).toFixed(1)} h`;
  return `${Math.round(s / 86_400)} d`;
}

/** Returns how long ago a time was, at a moment in milliseconds. */
export function ago(at: string | undefined, now: number): string {
  if (!at) return "–";
  const s = (now - Date.parse(at)) / 1000;
  return s < 1 ? "now" : seconds(s < 10 ? Math.round(s) : s).replace(".0 s", " s");
}

const two = (n: number): string => String(n).padStart(2, "0");

/** Returns the time of day here, to the second. */
export function time(at: string | number | undefined): string {
  if (at === undefined || at === "") return "–";
  const d = new Date(at);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** Returns the day and time here. */
export function moment(at: string | number | undefined): string {
  if (at === undefined || at === "") return "–";
  const d = new Date(at);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time(at)}`;
}

/** Returns the time in UTC, for titles. */
export const utc = (at: string | number | undefined): string => (at ? new Date(at).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC") : "");

/** Returns the last part of an ARN, which people know things by. */
export const shortID = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

/** Returns a long id without its middle. */
export const middle = (id: string, most = 22): string => (id.length <= most ? id : `${id.slice(0, Math.ceil(most / 2) - 1)}…${id.slice(-(Math.floor(most / 2) - 1))}`);

/** Returns a code such as SERVER_PROCESS_CRASHED in words. */
export const words = (code: string): string => code.toLowerCase().replaceAll("_", " ");

/** Returns text as one word of a shell. */
export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

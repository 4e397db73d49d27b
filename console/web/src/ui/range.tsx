// How far back the charts of a page go. It is part of the address, and stays when one goes on
// to another page.

import { param, setParams } from "../core/route";

/** The ranges, shortest first, by their names in addresses, and as they are said. */
const ranges: [name: string, text: string, seconds: number][] = [["15m", "15 min", 900], ["1h", "hour", 3600], ["24h", "24 hours", 86_400], ["7d", "7 days", 604_800]];

const usual = "1h";

const chosen = (): string => param("range") || usual;

/** Parameters of a view that has series of the chosen range. */
export const ranged = (params: Record<string, string> = {}): Record<string, string> => (param("range") ? { ...params, range: param("range") } : params);

/** Returns the chosen range in words, after "in the last". */
export const rangeText = (): string => ranges.find(([name]) => name === chosen())?.[1] ?? chosen();

/** Returns the length of the chosen range in seconds. */
export const rangeSeconds = (): number => ranges.find(([name]) => name === chosen())?.[2] ?? 3600;

const choose = (name: string): void => setParams({ range: name === usual ? "" : name });

/** Chooses the next longer range, or the next shorter one, on a page that has ranges. */
export function stepRange(by: 1 | -1): void {
  if (!document.querySelector(".ranges")) return;
  const next = ranges[ranges.findIndex(([name]) => name === chosen()) + by];
  if (next) choose(next[0]);
}

/** The choice, for the head of a page. */
export function Ranges() {
  return (
    <div class="ranges" role="group" aria-label="Charts of the last">
      {ranges.map(([name, text]) => (
        <button type="button" key={name} aria-pressed={chosen() === name} title={`the last ${text} (keys [ and ])`} onClick={() => choose(name)}>
          {name.replace("m", " min").replace("h", " h").replace("d", " d")}
        </button>
      ))}
    </div>
  );
}

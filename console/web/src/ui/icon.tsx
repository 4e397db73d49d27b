// Line icons of 16 by 16.

const paths = {
  now: "M2 9h3l2-6 3 10 2-4h2",
  world: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 1 0 0-13ZM1.5 8h13M8 1.5c4 4 4 9 0 13M8 1.5c-4 4-4 9 0 13",
  queues: "M2 4h9M2 8h12M2 12h6",
  matchmaking: "M5.5 7a2.5 2.5 0 1 0 0-5 2.5 2.5 0 1 0 0 5ZM10.5 14a2.5 2.5 0 1 0 0-5 2.5 2.5 0 1 0 0 5ZM7.2 6.5l1.8 3",
  quality: "M2 14V9h3v5M6.500 14V3h3v11M11 14V7h3v7",
  fleets: "M2 2h5v5H2ZM9 2h5v5H9ZM2 9h5v5H2ZM9 9h5v5H9Z",
  sessions: "M2 5h12v6a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2ZM5 8v2M4 9h2M11 9h.01",
  players: "M8 7.5a3 3 0 1 0 0-6 3 3 0 1 0 0 6ZM2.5 14.5a5.5 5.5 0 0 1 11 0",
  crashes: "M8 1.5 14.5 13.5H1.5ZM8 6v3.5M8 11.5h.01",
  events: "M3 3h10M3 6.3h10M3 9.6h10M3 13h6",
  rules: "M3 2h7l3 3v9H3ZM5.5 8h5M5.5 11h5",
  webhooks: "M5 11a3 3 0 1 1-1-5.8M8 3a3 3 0 1 1 2.6 4.5L8 12M6.5 13H12a2.5 2.5 0 1 0-1-4.8",
  access: "M10.5 6.5a3 3 0 1 0-3 3M7.5 9.5 2 15M4.5 12.5l1.5 1.5",
  api: "M5 4 1.5 8 5 12M11 4l3.5 4-3.5 4M9 3 7 13",
  hosts: "M2 3h12v4H2ZM2 9h12v4H2ZM4.5 5h.01M4.5 11h.01",
  copy: "M5 5h9v9H5ZM11 5V2H2v9h3",
  done: "M2.5 8.5 6 12l7.5-8",
  close: "M3 3l10 10M13 3 3 13",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 1 0 0 10ZM11 11l3.5 3.5",
  pause: "M5 3v10M11 3v10",
  play: "M4 2.5 13 8l-9 5.500Z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 1 0 0-6ZM8 1v1M8 14v1M1 8h1M14 8h1M3 3l.7.7M12.3 12.300l.7.7M3 13l.7-.7M12.3 3.7 13 3",
  out: "M6 2H2.500v12H6M10 5l3.5 3-3.5 3M13 8H6",
  help: "M8 14.500a6.5 6.5 0 1 0 0-13 6.5 6.5 0 1 0 0 13ZM6 6.200a2 2 0 1 1 2.8 1.900c-.6.3-.8.7-.8 1.400M8 11.700h.01",
  docs: "M8 4c-1.500-1-3.500-1.500-6-1.500v10c2.500 0 4.500.5 6 1.500 1.500-1 3.500-1.500 6-1.500v-10c-2.500 0-4.500.5-6 1.500ZM8 4v10",
  logo: "M2 14V3l6 6 6-6v11",
} as const;

export type IconName = keyof typeof paths;

/** A line icon; it is not read aloud. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

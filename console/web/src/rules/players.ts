// Simulated players: what the sliders of the rules lab stand for, as a specification that
// muster simulate reads too.

import type { Attribute, Configuration } from "./types";

/** What the sliders say. */
export interface Sliders {
  perMinute: number;
  minutes: number;
  parties: number; // % of players who come with others
  regions: number;
  latency: number; // ms, median to the own region
  spread: Record<string, number>; // by number attribute: standard deviation
}

/** Returns the middle of a number attribute. */
export const middleOf = (a: Attribute): number => (typeof a.default === "number" && a.default !== 0 ? Math.abs(a.default) : 1500);

/** Returns what the sliders say before anybody moves them. */
export const usual = (attributes: Attribute[]): Sliders => ({
  perMinute: 120, minutes: 30, parties: 30, regions: 2, latency: 35,
  spread: Object.fromEntries(attributes.filter((a) => a.type === "number").map((a) => [a.name, Math.round(middleOf(a) / 5)])),
});

const regions = ["eu-west-1", "us-east-1", "ap-northeast-1"];
const weights = [[1], [0.6, 0.4], [0.5, 0.35, 0.15]];

/** Returns the settings of a configuration that a simulation follows. */
export function settings(c: Configuration | undefined): Record<string, unknown> {
  if (!c) return {};
  return {
    request_timeout_seconds: c.RequestTimeoutSeconds,
    ...(c.AcceptanceRequired ? { acceptance_required: true, acceptance_timeout_seconds: c.AcceptanceTimeoutSeconds ?? 60 } : {}),
    ...(c.AdditionalPlayerCount ? { additional_player_count: c.AdditionalPlayerCount } : {}),
    ...(c.BackfillMode === "AUTOMATIC" ? { backfill: "AUTOMATIC" } : {}),
  };
}

function attribute(a: Attribute, s: Sliders): Record<string, unknown> | undefined {
  const words = a.words.length ? a.words : [];
  const even = (list: string[]): Record<string, number> => Object.fromEntries((list.length ? list : ["any"]).map((w) => [w, 1]));
  switch (a.type) {
    case "number":
      return { number: { normal: { mean: middleOf(a), sd: s.spread[a.name] ?? middleOf(a) / 5 }, min: 0 }, party_spread: Math.round((s.spread[a.name] ?? 0) / 4) };
    case "string":
      if (a.weights) return { string: a.weights, party: "each" };
      return { string: even(typeof a.default === "string" && !words.includes(a.default) ? [...words, a.default] : words) };
    case "string_list":
      if (a.weights) return { string_list: { from: a.weights }, party: "each" };
      return { string_list: { from: even(words.length ? words : ((a.default as string[] | undefined) ?? [])) } };
    default: {
      const keys = Object.keys((a.default as Record<string, number> | undefined) ?? {});
      return keys.length ? { string_number_map: Object.fromEntries(keys.map((k) => [k, { uniform: [0, 100] }])) } : undefined;
    }
  }
}

/** Returns the specification for what the sliders say. largest is the largest party that a team can hold. */
export function specification(s: Sliders, attributes: Attribute[], largest: number, c: Configuration | undefined): unknown {
  const sizes = [2, 3, 5].filter((n) => n <= largest);
  const parties: Record<string, number> = { 1: 100 - (sizes.length ? s.parties : 0) };
  for (const n of sizes) parties[n] = Math.round((s.parties / sizes.length / n) * 10) / 10; // the same number of players in each size
  const tickets = Object.values(parties).reduce((a, b) => a + b, 0);
  const players = Object.entries(parties).reduce((sum, [n, w]) => sum + Number(n) * w, 0);
  const drawn = Object.fromEntries(attributes.flatMap((a) => {
    const one = attribute(a, s);
    return one ? [[a.name, one]] : [];
  }));
  return {
    name: "drawn players",
    matchmaking: settings(c),
    populations: weights[s.regions - 1]!.map((share, i) => ({
      name: regions[i],
      tickets_per_minute: Math.round(s.perMinute * share * (tickets / players) * 100) / 100,
      parties,
      attributes: drawn,
      latency_ms: Object.fromEntries(regions.slice(0, s.regions).map((r, n) => [
        r, n === i ? { lognormal: { median: s.latency, sigma: 0.35 }, max: 400 } : { normal: { mean: s.latency + 80 * Math.abs(n - i), sd: 20 }, min: s.latency },
      ])),
      ...(c?.AcceptanceRequired ? { accept: 0.95, answer_seconds: { uniform: [1, 8] } } : {}),
    })),
  };
}

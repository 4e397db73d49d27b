// What the server says of rule sets and simulations.

export interface RuleSet {
  RuleSetName: string;
  RuleSetBody: string;
  CreationTime: number;
}

/** A rule set to begin with. */
export interface Template {
  kind: string;
  title: string;
  text: string;
  body: string;
}

export interface Configuration {
  Name: string;
  RuleSetName: string;
  RequestTimeoutSeconds: number;
  AcceptanceRequired?: boolean;
  AcceptanceTimeoutSeconds?: number;
  AdditionalPlayerCount?: number;
  BackfillMode?: string;
}

export interface Problem {
  line: number;
  column: number;
  code?: string;
  member?: string;
  message: string;
}

export interface Attribute {
  name: string;
  type: string;
  default?: unknown;
  words: string[];
  weights?: Record<string, number>; // how often players have which word, where rules count them
}

export interface Level {
  from_seconds: number;
  least: number;
  most: number;
  changes: { what: string; line: number; old?: number; new?: number }[];
}

export interface Checked {
  valid: boolean;
  errors: Problem[];
  warnings: Problem[];
  teams: { name: string; min: number; max: number; quantity: number }[];
  rules: { name: string; type: string; line: number; limit?: number }[];
  attributes: Attribute[];
  levels: Level[];
  latency: boolean;
}

export interface Interval {
  low: number;
  high: number;
}

export interface Row {
  name: string;
  unit?: string;
  a: number;
  b: number;
  delta: number;
  a_interval?: Interval;
  b_interval?: Interval;
  delta_interval?: Interval;
  b_is?: string;
}

export interface Pair {
  name: string;
  unit?: string;
  step: number;
  a: number[];
  b: number[];
  count: [number, number];
  limit?: (number | null)[];
  over: [number, number];
}

export interface Result {
  a: { tickets: { arrived: number }; for_seconds: number };
  runs: number;
  rows: Row[];
  charts: Pair[];
  gains: string;
  losses: string;
  unclear: string;
  took_seconds: number;
  early: boolean;
  cut: boolean;
}

export interface Progress {
  done: number;
  left_seconds?: number;
  run: number;
  runs: number;
  in_play: number;
}

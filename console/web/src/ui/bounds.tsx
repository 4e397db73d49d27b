import { Glyph } from "./glyph";

/** How often a bound of the effort ended searches or passes of a configuration lately. */
export interface Bound {
  code: string;
  text: string;
}

/** A warning for each bound because of which tickets may wait. */
export function Bounded({ of }: { of?: Bound[] }) {
  return (
    <>
      {(of ?? []).map((b) => (
        <div class="alert b-warn" key={b.code}>
          <Glyph tone="warn" />
          <span>{b.text}</span>
        </div>
      ))}
    </>
  );
}

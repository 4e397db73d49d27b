import { many } from "../core/text";
import { Glyph } from "./glyph";

/** An attribute that tickets bring and the rule set does not declare. */
export interface Undeclared {
  attribute: string;
  tickets: number;
  nearest?: string;
}

/** A warning for each attribute that no rule reads, with what may have been meant. */
export function Ignored({ of, whose }: { of?: Undeclared[]; whose?: string }) {
  return (
    <>
      {(of ?? []).map((u) => (
        <div class="alert b-warn" key={u.attribute}>
          <Glyph tone="warn" />
          <span>The rule set does not declare the attribute <b>{u.attribute}</b> of {whose ?? many(u.tickets, "ticket")}, so no rule reads it{u.nearest && <>. Did you mean <b>{u.nearest}</b>?</>}</span>
        </div>
      ))}
    </>
  );
}

/**
 * `Compare` is the page that draws one metric of several populations: their strength, or a training
 * curve.
 */
import { useGet } from "../../api/useGet";
import { query, setQuery, to } from "../../address";
import { Empty, Shown } from "../../ui/state";
import { Overlay } from "./Overlay";

export function Compare() {
  const populations = useGet("/v1/populations", { query: { limit: 500 } });
  return (
    <>
      <h1>Compare</h1>
      <Shown query={populations} what="populations">
        {(list) => {
          const names = list.items.map((one) => one.id);
          if (names.length === 0) {
            return (
              <Empty title="Nothing to compare yet">
                <p>
                  <a href={to(["populations"])}>Populations</a> come first.
                </p>
              </Empty>
            );
          }
          const asked = query.value.getAll("population");
          const chosen = asked.length ? asked : names.slice(0, 2);
          const flip = (name: string) =>
            setQuery({
              population: chosen.includes(name)
                ? chosen.filter((one) => one !== name)
                : [...chosen, name],
            });
          return (
            <>
              <div class="chips" role="group" aria-label="Populations">
                {[...new Set([...names, ...chosen])].map((name) => (
                  <button
                    key={name}
                    aria-pressed={chosen.includes(name)}
                    onClick={() => flip(name)}
                  >
                    {name}
                  </button>
                ))}
              </div>
              {list.next && (
                <p class="note">
                  The first {list.items.length} populations; others by the address.
                </p>
              )}
              <Overlay
                names={chosen}
                about={
                  new Map(
                    list.items.map(({ id, status, summary }) => [
                      id,
                      { members: status.members.length, game: summary.game },
                    ]),
                  )
                }
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** `ExportGames` saves all games that a list asks for, not only those of its page. */
import { useState } from "preact/hooks";
import { ServiceProblem } from "../api/client";
import { gameRows, type Game } from "../matchResults";
import { csv } from "../ui/csv";
import { saveFile } from "../ui/Downloads";

/** More games than this are better had from the command line. */
const MOST = 20_000;

/** A page of games. */
export interface GamePage {
  items: Game[];
  next: string | null;
}

/** page: asks for the page of a cursor */
export function ExportGames({
  name,
  page,
}: {
  name: string;
  page: (cursor: string | undefined) => Promise<GamePage>;
}) {
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  const save = async (kind: "csv" | "json") => {
    setBusy(true);
    try {
      const games: Game[] = [];
      let cursor: string | null | undefined;
      do {
        setSaid(`${games.length} games read …`);
        const found = await page(cursor ?? undefined);
        games.push(...found.items);
        cursor = found.next;
      } while (cursor && games.length < MOST);
      const { columns, rows } = gameRows(games);
      if (kind === "csv") saveFile(`${name}.csv`, csv(columns, rows), "text/csv");
      else saveFile(`${name}.json`, JSON.stringify(games, null, 1), "application/json");
      setSaid(`${games.length} games saved${cursor ? "; there are more, so choose fewer" : ""}`);
    } catch (error) {
      if (!(error instanceof ServiceProblem)) throw error;
      setSaid(error.message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="downloads">
      <span>All of these games as</span>
      <button disabled={busy} onClick={() => void save("csv")}>
        CSV
      </button>
      <button disabled={busy} onClick={() => void save("json")}>
        JSON
      </button>
      <small role="status">{said}</small>
    </div>
  );
}

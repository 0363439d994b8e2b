/** `WinMatrix` is the tab with the win matrix of a population. */
import { useGet } from "../../api/useGet";
import { Shown } from "../../ui/state";
import { WinMatrixFigure } from "../WinMatrixFigure";

export function WinMatrix({ name, everyMs }: { name: string; everyMs: number }) {
  const found = useGet(
    "/v1/win-matrix",
    { query: { population: name } },
    { everyMs, population: name },
  );
  return (
    <Shown query={found} what="the win matrix">
      {(report) => <WinMatrixFigure report={report} />}
    </Shown>
  );
}

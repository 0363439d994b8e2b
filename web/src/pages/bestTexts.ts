/** This file says what may be claimed of the best of a population, as `arena league` does. */
import type { BestOfMany, FreshStrength, Objective, RatingReport } from "../api/reports";
import { interval } from "../format";
import { bestOf, countedIn } from "../strength";

const MIN_GAMES = 30;

/** What is said of the best of one role. match: the newest match of its fresh games */
export interface BestText {
  text: string;
  match: number | null;
}

export function bestTexts(report: RatingReport): BestText[] {
  return bestOf(report).map(({ name, role, id }) => {
    const best = report.players.find((row) => row.id === id);
    if (!best) {
      const needed = `it takes ${MIN_GAMES} evaluation games and weights that are still there`;
      return { text: `${name}: none yet; ${needed}.`, match: null };
    }
    const claim = report.best_of_many[role];
    const among = claim
      ? `its ${claim.candidates} snapshots that play and have ${MIN_GAMES} games or more`
      : `those with ${MIN_GAMES} games or more`;
    const chosen = `${name} is ${best.player}: the highest lower end of ${among}.`;
    if (!claim) return { text: chosen, match: null };
    const claims = [chosen, manyText(claim, report.objective), freshText(claim, best.player)];
    return { text: claims.filter(Boolean).join(" "), match: claim.fresh.at(-1) ?? null };
  });
}

function manyText(claim: BestOfMany, objective: Objective): string {
  if (claim.low === null || claim.may_be_best === null) return "";
  const { amount, format } = countedIn(objective);
  const own =
    claim.own_low === null ? "" : `it is at least ${amount(format(claim.own_low))}, and `;
  const best = `the best of them (${claim.low_of}) at least ${amount(format(claim.low))}`;
  const least = `${own}${best} (95 %, for all of them at once)`;
  const may = `${claim.may_be_best} of ${claim.candidates} may be the best`;
  const untrained = claim.may_be_untrained ? ", an untrained one among them" : "";
  const random = claim.may_be_random ? "; so may random" : "";
  return `Chosen among ${claim.candidates}: ${least}; ${may}${untrained}${random}.`;
}

function freshText({ fresh_strength: found }: BestOfMany, label: string): string {
  if (!found) return `Without fresh games; play them: arena match ${label} random --fresh`;
  const of = found.matches > 1 ? ` of all ${found.matches} fresh matches` : "";
  return `Fresh games${of} ${found.seated}: ${strengthText(found)}.`;
}

function strengthText({ objective, value, low, high, units }: FreshStrength): string {
  const { amount, format } = countedIn(objective);
  const ends = interval(low, high, format) || "without bounds";
  const closed = low !== null && high !== null;
  const number = value !== null && closed ? `${format(value)} ${ends}` : ends;
  const counted = { win: "games", margin: "units", return: "seeds" }[objective];
  return `${amount(number)}, ${units} ${counted}`;
}

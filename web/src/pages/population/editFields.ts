/**
 * The values of a population that the form of edits has a field for. Which hyperparameters there
 * are, the service tells: none is named here.
 */
export interface EditField {
  key: string;
  title: string;
  note: string;
}

/** What a running training takes without a new start. */
export const LIVE_FIELDS: readonly EditField[] = [
  {
    key: "stop_at_frames",
    title: "Stop at frames",
    note: "frames on each member's own clock",
  },
  {
    key: "pbt.period_frames",
    title: "PBT period",
    note: "frames between two rounds of a member",
  },
  {
    key: "evaluation.share",
    title: "Evaluation share",
    note: "0 to 1 of all games: between frozen snapshots, for the ratings",
  },
  {
    key: "snapshots.every_frames",
    title: "Snapshot every",
    note: "frames between two snapshots of a member",
  },
  {
    key: "snapshots.keep_newest",
    title: "Newest snapshots kept",
    note: "how many of the newest keep their weights",
  },
  {
    key: "snapshots.thinned_every",
    title: "Older snapshots kept",
    note: "every n-th of the older ones keeps its weights",
  },
];

/** What starts the trainer of a running training again. */
export const RULE_FIELDS: readonly EditField[] = [
  { key: "pbt.enabled", title: "PBT", note: "true or false: hold rounds at all" },
  {
    key: "pbt.top_share",
    title: "Top share",
    note: "0 to 1: the members that keep everything, and that losers copy from",
  },
  {
    key: "pbt.copy_significance",
    title: "Copy significance",
    note: "at most this chance that a copy follows luck alone",
  },
  { key: "pbt.min_games", title: "Games to be ranked", note: "of a member, since its last copy" },
  {
    key: "pbt.mutation_probability",
    title: "Mutation probability",
    note: "0 to 1, of each value in each round",
  },
  {
    key: "pbt.mutation_factor",
    title: "Mutation factor",
    note: "a value is multiplied or divided by it",
  },
  {
    key: "matchmaking.past_share",
    title: "Share of the past",
    note: "0 to 1: opponents' seats that frozen snapshots take",
  },
];

/** Returns a field for each hyperparameter that members have, as the service names them. */
export function hyperparameterFields(keys: readonly string[]): EditField[] {
  return keys.map((key) => {
    const name = key.slice(key.indexOf(".") + 1);
    const words = name.replaceAll(/[._]/g, " ").replace(/\bcoef\b/, "coefficient");
    return {
      key,
      title: words.charAt(0).toUpperCase() + words.slice(1),
      note: "of every member that has it, in place of its own",
    };
  });
}

/**
 * This file says what each training curve is: its unit, and a sentence. All of it is pure. The
 * names are those that a training writes (`pbt.population.curves`).
 */

export interface Metric {
  /** Of the values; "" of a plain number. */
  unit: string;
  says: string;
}

const METRICS: Readonly<Record<string, Metric>> = {
  win_rate: {
    unit: "share of games",
    says: "Games won, draws as halves, of the newest training games: the number that PBT ranks by.",
  },
  margin: {
    unit: "margin a game",
    says: "Half of what the member returned more than its opponents: the number that PBT ranks by.",
  },
  return: {
    unit: "return a game",
    says: "Mean return, without shaping, of the training games since the update before.",
  },
  points: {
    unit: "points a game",
    says: "Mean points, as the game counts them, of the training games since the update before.",
  },
  td_error: {
    unit: "value",
    says: "Mean distance of DQN's targets from the values of the actions taken.",
  },
  entropy: {
    unit: "nats",
    says: "Mean entropy of the policy: high where it tries many actions, 0 where it plays one.",
  },
  frames_per_s: {
    unit: "frames/s",
    says: "Frames that the member was trained on, by time, since the update before.",
  },
  lag_mean: {
    unit: "versions",
    says: "Mean policy lag: updates between the choice of an action and its use in an update.",
  },
  lag_median: { unit: "versions", says: "The policy lag that half of the update's rows do not exceed." },
  lag_p95: { unit: "versions", says: "The policy lag that 95 % of the update's rows do not exceed." },
  lag_max: { unit: "versions", says: "The largest policy lag of a row in the update." },
  round_lag_max: {
    unit: "learning phases",
    says: "In rounds: the most learning phases between acting and training of a row in the update.",
  },
  round_lag_min: {
    unit: "learning phases",
    says: "In rounds: the fewest learning phases between acting and training of a row.",
  },
  kl: {
    unit: "nats",
    says: "How far an update trains from the policy that acted: mean estimate of KL(mu || pi).",
  },
  magnet_kl: {
    unit: "nats",
    says: "How far the policy is from its magnet, an average of its own weights: KL(pi || magnet).",
  },
  clip_fraction: {
    unit: "share of steps",
    says: "Steps with a ratio of probabilities outside of the clip; many mean too large updates.",
  },
  policy_loss: {
    unit: "",
    says: "Mean loss of the policy; its size says little, a jump can mean trouble.",
  },
  value_loss: { unit: "return²", says: "Mean squared error of the value estimates." },
  value: { unit: "return", says: "Mean value estimate: what the member expects from here on." },
  explained_variance: {
    unit: "share",
    says: "Share of the targets' variance that the value estimates explain; 1 is all, 0 is none.",
  },
  grad_norm: { unit: "", says: "Mean norm of the gradient before clipping." },
  rows: { unit: "steps", says: "Valid steps of the batch of an update." },
  version: { unit: "versions", says: "Number of updates that the weights have had." },
  skipped_steps: {
    unit: "optimiser steps",
    says: "Steps that the optimiser left out since loss or gradient was not finite.",
  },
  learning_rate: {
    unit: "",
    says: "Step size of the optimiser, as in force at the update; PBT changes it.",
  },
  entropy_coef: {
    unit: "",
    says: "Weight of the entropy in the loss, as in force at the update; PBT changes it.",
  },
  adam_beta1: {
    unit: "",
    says: "Memory of the optimiser's mean gradient, as in force at the update; PBT changes it.",
  },
  epsilon_end: {
    unit: "share of actions",
    says: "Actions that DQN takes at random in the end, as in force; PBT changes it.",
  },
};

const SHAPING = "shaping.";

/** Returns what a training curve is; of an unknown one, that the training wrote it. */
export function metricOf(key: string): Metric {
  if (key.startsWith(SHAPING))
    return {
      unit: "",
      says: `Weight of the reward term ${key.slice(SHAPING.length)}, as in force; PBT changes it.`,
    };
  return METRICS[key] ?? { unit: "", says: "A number that the training wrote with each update." };
}

/** Returns a name with its unit: "entropy (nats)". */
export function withUnit(key: string): string {
  const { unit } = metricOf(key);
  return unit ? `${key} (${unit})` : key;
}

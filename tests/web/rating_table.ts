/**
 * Prints the rating table of a population with the types that were generated:
 * `node rating_table.js URL TOKEN POPULATION`.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "../generated/schema";

declare const process: { argv: string[] };

const [baseUrl = "", token, population = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const { data, error } = await client.GET("/v1/ratings", { params: { query: { population } } });
if (!data) throw new Error(error.detail);
if (data.objective !== "win") throw new Error(`found ${data.objective}; expected a table of Elo`);
const rows: components["schemas"]["EloRatedBody"][] = data.players;
for (const { rank, player, elo, games } of rows)
  console.log([rank ?? "None", player, elo === null ? "?" : Math.round(elo), games].join(" "));

/** These are short names of types of the OpenAPI document, for the assessment of a population. */
import type { Got, Schemas } from "./client";

export type Assessment = Got<"/v1/populations/{name}/assessment">;
/** The short form of an assessment, for the list of populations. */
export type Summary = Schemas["PopulationSummaryBody"];
export type Conclusion = Assessment["conclusion"];
/** What strength is counted in. */
export type Unit = Assessment["unit"];
export type Finding = Schemas["FindingBody"];
export type MemberRow = Schemas["MemberAssessmentBody"];

/**
 * The root path of the service: "" or, below a path of another site, that path, such as "/arena".
 * The service writes it into the page.
 */
export const ROOT = globalThis.document?.documentElement?.dataset.root ?? "";

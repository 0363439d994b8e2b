import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const page = { hidden: false };

beforeEach(() => {
  vi.stubGlobal("location", new URL("http://service/app/populations"));
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("document", page);
  vi.useFakeTimers();
  page.hidden = false;
});
afterEach(() => vi.useRealTimers());

describe("an answer that ends in the middle", () => {
  const cut = [
    () => new Response('{"items": ['),
    () =>
      new Response(
        new ReadableStream({ start: (stream) => stream.error(new TypeError("network error")) }),
      ),
  ];
  it.each(cut)("is as good as none, and said so", async (answer) => {
    const { get, change, ServiceProblem } = await import("../src/api/client");
    vi.stubGlobal("fetch", async () => answer());
    for (const asked of [get("/v1/populations"), change("post", "/v1/session/codes")]) {
      const problem: unknown = await asked.catch((error: unknown) => error);
      expect(problem).toBeInstanceOf(ServiceProblem);
      expect(problem).toMatchObject({ status: 0, title: "The service does not answer" });
    }
  });
  it("is no problem when the page itself took the question back", async () => {
    const { get } = await import("../src/api/client");
    const taken = new DOMException("taken back", "AbortError");
    vi.stubGlobal(
      "fetch",
      async () => new Response(new ReadableStream({ start: (stream) => stream.error(taken) })),
    );
    await expect(get("/v1/populations")).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("what was answered once", () => {
  it("is there at once for the same question, and for no other one", async () => {
    const { get, remembered } = await import("../src/api/client");
    const place = { path: { name: "demo" }, query: { keys: "entropy" } };
    const metrics = "/v1/populations/{name}/metrics";
    expect(remembered(metrics, place)).toBeUndefined();
    vi.stubGlobal(
      "fetch",
      async () =>
        new Response('{"members": {}, "keys": ["entropy"]}', { headers: { etag: '"1"' } }),
    );
    const answer = await get(metrics, place);
    expect(remembered(metrics, place)).toBe(answer);
    expect(remembered(metrics, { ...place, query: { keys: "kl" } })).toBeUndefined();
  });
  it("is forgotten when the thing is gone, and when something was deleted", async () => {
    const { change, get, remembered } = await import("../src/api/client");
    const place = { path: { name: "old" } };
    const lineage = "/v1/populations/{name}/hyperparameters";
    const there = async () =>
      new Response('{"start": {}, "members": {}}', { headers: { etag: '"1"' } });
    for (const going of [
      () => get(lineage, place).catch(() => null),
      () => change("delete", "/v1/populations/{name}", place).catch(() => null),
    ]) {
      vi.stubGlobal("fetch", there);
      await get(lineage, place);
      expect(remembered(lineage, place)).toBeDefined();
      vi.stubGlobal(
        "fetch",
        async (_: string, init: RequestInit) =>
          new Response("{}", { status: init.method === "DELETE" ? 202 : 404 }),
      );
      await going();
      expect(remembered(lineage, place)).toBeUndefined();
    }
  });
  it("is not shown of a population itself: its tag is only a revision", async () => {
    const { get, remembered } = await import("../src/api/client");
    const place = { path: { name: "demo" } };
    vi.stubGlobal(
      "fetch",
      async () => new Response('{"id": "demo"}', { headers: { etag: '"7"' } }),
    );
    await get("/v1/populations/{name}", place);
    expect(remembered("/v1/populations/{name}", place)).toBeUndefined();
  });
});

describe("a view", () => {
  async function begun(answers: (boolean | Error)[], everyMs = 0) {
    const { asking } = await import("../src/api/useGet");
    const ask = vi.fn(async () => {
      const answer = answers.shift() ?? true;
      if (answer instanceof Error) throw answer;
      return answer;
    });
    return { ask, ...asking(ask, everyMs) };
  }

  it("asks every so often, and soon after events, however many", async () => {
    const { ask, now, soon, end } = await begun([], 5000);
    await now();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(ask).toHaveBeenCalledTimes(4);
    for (let event = 0; event < 50; event += 1) soon();
    await vi.advanceTimersByTimeAsync(200);
    expect(ask).toHaveBeenCalledTimes(5);
    end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ask).toHaveBeenCalledTimes(5);
  });
  it("asks again without an answer, also when it waits for events only", async () => {
    const { ask, now } = await begun([false, false, true]);
    await now();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ask).toHaveBeenCalledTimes(3);
  });
  it("goes on after any error", async () => {
    const { ask, now, soon } = await begun([new TypeError("of the page itself")]);
    await expect(now()).rejects.toThrow("of the page itself");
    soon();
    await vi.advanceTimersByTimeAsync(1000);
    expect(ask).toHaveBeenCalledTimes(2);
  });
  it("that is hidden asks nothing", async () => {
    const { ask, now, soon } = await begun([], 5000);
    await now();
    page.hidden = true;
    for (let second = 0; second < 60; second += 1) {
      soon();
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(ask).toHaveBeenCalledTimes(1);
    page.hidden = false;
    soon();
    await vi.advanceTimersByTimeAsync(200);
    expect(ask).toHaveBeenCalledTimes(2);
  });
});

// The details of one event, or of one request that left none: draws what the API says and offers what it calls possible.
"use strict";

import { clock, count, make, outcomeOf, timeOf } from "./dom.js";

/** Pairs of a name and a value; pairs without a value are left out. */
function facts(pairs, kind = "") {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", { class: kind }, shown.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function section(title, small, ...children) {
  return make("section", {}, make("h3", {}, title, small && make("small", {}, small)), ...children);
}

const code = (value) => make("pre", { tabindex: "0" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));

function bodyOf(body) {
  if (!body) return make("p", { class: "soft" }, "no longer kept");
  return [code(body.text), body.cut && make("p", { class: "soft" }, "only the beginning is shown")];
}

/** A button for an act; where it is not possible it says why. */
function button(word, may, press, kind = "") {
  if (!may) return null;
  return make("button", { type: "button", class: kind, disabled: !may.possible, title: may.told, onclick: press }, word);
}

const actLines = (acts) => (acts ?? []).map((act) => make("p", { class: "soft" },
  `${clock(act.at)} ${act.act} by ${act.by}${act.why ? `: ${act.why}` : ""}`));

function attempts(effect) {
  if (!effect.history.length) {
    return effect.attempts > 0
      ? make("p", { class: "soft" }, `${count(effect.attempts, "attempt")} before this process was started`)
      : make("p", { class: "soft" }, "no attempt yet");
  }
  const row = (one) => make("tr", {},
    make("td", {}, timeOf(one.at)), make("td", {}, one.attempt ?? ""), make("td", {}, outcomeOf(one.outcome)),
    make("td", {}, one.status ?? ""), make("td", {}, one.ms === undefined ? "" : `${one.ms} ms`),
    make("td", {}, one.settlement ?? ""), make("td", {}, one.error ?? ""));
  const head = ["time", "no.", "outcome", "status", "took", "then", ""].map((text) => make("th", {}, text));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, effect.history.map(row))));
}

function effectCard(effect, act) {
  const press = (verb) => () => act(verb, effect.key, `${effect.rule}/${effect.effect} to ${effect.destination}`);
  return make("div", { class: "card", "data-effect": effect.effect },
    make("div", { class: "line" }, outcomeOf(effect.state), make("b", {}, `${effect.rule}/${effect.effect}`),
      make("span", { class: "soft" }, `to ${effect.destination}`)),
    (effect.reason || effect.last_error) && make("p", { class: "why" }, effect.reason ?? effect.last_error),
    make("div", { class: "acts" }, button("Retry", effect.may?.retry, press("retry")),
      button("Resend", effect.may?.resend, press("resend"), "danger"), button("Discard", effect.may?.discard, press("discard"), "danger")),
    attempts(effect), actLines(effect.acts),
    make("details", {}, make("summary", {}, "Request and key"),
      facts([
        ["request", `${effect.request.method} ${effect.request.url}`], ["content type", effect.request.content_type],
        ["idempotency key", `${effect.idempotency_key}${effect.generation ? ` (generation ${effect.generation})` : ""}`],
        ["created", clock(effect.created_at)], ["due", clock(effect.due_at)], ["given up after", effect.state === "open" && clock(effect.give_up_at)],
        ["may have acted since", clock(effect.maybe_sent_at)], ["last status", effect.last_status], ["last error", effect.last_error],
        ["finished", clock(effect.finished_at)],
      ]), bodyOf(effect.request.body)));
}

function rules(event) {
  const kept = event.rules.map((rule) => make("div", { class: rule.skipped ? "rule off" : "rule" },
    make("b", {}, rule.rule), make("span", {}, rule.skipped ? `skipped: ${rule.skipped}` : "applied")));
  const now = (event.plan?.rules ?? []).map((rule) => make("div", { class: rule.matches ? "rule" : "rule off" },
    make("b", {}, rule.rule), make("span", {}, rule.why)));
  return section("Rules", null,
    kept.length ? kept : make("p", { class: "soft" }, "no rule applied"),
    make("details", {}, make("summary", {}, "What each rule of the configuration says of it now"),
      now.length ? now : make("p", { class: "soft" }, event.no_plan ?? "there is none for this source")));
}

/** Updates and guards of a plan, one line each. */
export function updatesOf(plan) {
  const part = (name, value) => value && Object.keys(value).length ? `${name} ${JSON.stringify(value)}` : null;
  const of = (rule) => [
    ...rule.guards.map((guard) => make("p", { class: "mono" }, part("guard", guard))),
    ...rule.updates.map((update) => make("p", { class: "mono" }, [
      `${update.table} ${JSON.stringify(update.key)}`, part("set", update.set), part("add", update.add),
      update.remove?.length ? `remove ${update.remove.join(", ")}` : null, update.condition ? `if ${update.condition.expression}` : null,
    ].filter(Boolean).join("; "))),
  ];
  return (plan?.rules ?? []).flatMap((rule) => {
    const lines = of(rule);
    return lines.length ? [make("p", {}, make("b", {}, rule.rule)), ...lines] : [];
  });
}

function requestCard(request, open) {
  return make("details", { class: "card", open },
    make("summary", {}, `${clock(request.at)}: ${request.status}${request.replayed ? ", replayed" : ""}`
      + `${request.reason ? `, ${request.reason}` : ""}, ${request.milliseconds} ms`),
    facts([["request", `${request.method} ${request.path}`], ["body", `${request.bytes} bytes`], ["likely", request.likely]]),
    facts(request.headers, "headers"));
}

function top(title, close, pairs) {
  return [
    make("div", { class: "top" }, make("h2", {}, title),
      make("button", { type: "button", class: "quiet", onclick: close, "aria-label": "Close", title: "esc" }, "\u2715")),
    make("div", { class: "sum" }, pairs),
  ];
}

/** `offers`: `close()`, `again(event)`, `act(verb, key, what)`. */
export function eventDetail(event, offers) {
  const press = (verb) => () => offers.act(verb, event.key, `${event.type} ${event.id}`);
  const listed = event.outcome === "failed" || event.outcome === "held";
  const updates = updatesOf(event.plan?.plan);
  return [
    ...top(event.type || event.id, offers.close, [outcomeOf(event.outcome), make("span", {}, event.source), timeOf(event.received_at),
      make("span", { class: "mono" }, event.id), event.scope && make("span", {}, event.scope)]),
    event.why && make("p", { class: "why" }, event.why),
    make("div", { class: "acts" },
      make("button", { type: "button", title: "p", onclick: () => offers.again(event), disabled: !event.body?.raw }, "Plan or send again"),
      event.outcome === "held" ? button("Release", event.may.release, press("release"))
        : event.outcome !== "applied" && button("Replay", event.may.replay, press("replay")),
      listed && button("Discard", event.may.discard, press("discard"), "danger")),
    actLines(event.acts),
    section("Effects", null, event.outbox.length ? event.outbox.map((effect) => effectCard(effect, offers.act))
      : make("p", { class: "soft" }, "none")),
    rules(event),
    updates.length ? section("Updates", "as the rules have it now", ...updates) : null,
    event.response && section("Answer", "to the provider", code(event.response)),
    section("Body", event.content_type, bodyOf(event.body)),
    section("Requests", event.requests.length ? "the latest first" : "from before this process was started",
      event.requests.map((request, at) => requestCard(request, at === 0))),
    section("Stored", null, facts([["key", event.key], ["occurred", clock(event.occurred_at)], ["expires", clock(event.expires_at)]])),
  ];
}

export function requestDetail(request, offers) {
  return [
    ...top(`${request.method} ${request.path}`, offers.close, [outcomeOf(request.outcome), make("span", {}, `${request.status}`),
      timeOf(request.at), make("span", {}, request.source)]),
    request.reason && make("p", { class: "why refused" }, request.reason, request.likely && `: ${request.likely}`),
    section("Request", null, requestCard(request, true)),
    section("Body", `${request.bytes} bytes; not stored`, bodyOf(request.body)),
    request.events.length ? section("Events", null, request.events.map((line) => code(line))) : null,
  ];
}

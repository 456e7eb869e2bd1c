// What a person sends and does: an event of one's own making, and acts that are asked for before they are done.
"use strict";

import { ask, find, make, query, toast } from "./dom.js";
import { updatesOf } from "./detail.js";

const send = find("#send form"), box = find("#ask form");
let sources = [], seen = {}, sampled = "", id = null, pending = null, changed = () => {};

/** What the configuration has, and which types were seen. */
export function know(configuration, kinds) {
  sources = configuration.sources ?? sources;
  seen = kinds ?? seen;
}

export const whenChanged = (then) => { changed = then; };

function fill() {
  const of = sources.find((source) => source.name === send.source.value);
  const kinds = new Set([...(of?.kinds ?? []).filter((kind) => !kind.includes("*")), ...(seen[send.source.value] ?? [])]);
  find("#kinds").replaceChildren(...[...kinds].map((kind) => make("option", { value: kind })));
  if (!kinds.has(send.kind.value) && kinds.size) [send.kind.value] = kinds;
}

async function sample() {
  try {
    const made = await ask(`sample?${query({ source: send.source.value, kind: send.kind.value })}`);
    send.body.value = sampled = made.body;
    id = made.id;
    say([], false);
  } catch (error) {
    say([error.message], true);
  }
}

function say(lines, bad) {
  const result = find("#send-result");
  result.classList.toggle("bad", bad);
  result.replaceChildren(...lines.map((line) => (typeof line === "string" ? make("p", {}, line) : line)));
}

/** Opens the form; with an event, its body is what is sent. */
export async function openSend(event) {
  const names = sources.map((source) => source.name);
  send.source.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
  say([], false);
  if (event) {
    send.source.value = event.source;
    send.kind.value = event.type;
    send.body.value = event.body.raw;
    sampled = "";
    id = event.id;
    fill();
    send.kind.value = event.type;
  } else {
    fill();
  }
  find("#send").showModal();
  if (!event && (send.body.value === "" || send.body.value === sampled)) await sample();
}

/** What both buttons send. */
function wanted() {
  const { source, kind, body } = send;
  return { source: source.value, kind: kind.value, id, body: body.value };
}

async function plan() {
  try {
    const planned = await ask("plan", wanted());
    const effects = (planned.plan?.rules ?? []).flatMap((rule) => rule.effects.map((effect) => make("p", { class: "mono" },
      `effect ${rule.rule}/${effect.name}: ${effect.method} ${effect.url} ${JSON.stringify(effect.body)}`)));
    say([
      make("p", {}, make("b", {}, `Decision: ${planned.decision}${planned.reason ? `: ${planned.reason}` : ""}`)),
      ...planned.rules.map((rule) => make("p", { class: rule.matches ? "" : "soft" }, `${rule.rule}: ${rule.why}`)),
      ...updatesOf(planned.plan), ...effects,
    ], planned.decision === "fail");
  } catch (error) {
    say([error.message], true);
  }
}

async function deliver() {
  const times = Number(send.times.value) || 1;
  const press = find("#send-do");
  press.disabled = true;
  try {
    const sent = await ask("send", { ...wanted(), times, concurrently: send.concurrently.checked, spoilt: send.spoilt.value });
    say(sent.answers.map((answer) => (answer.error
      ?? `${answer.status} ${answer.outcome ?? ""}${answer.replayed ? ", replayed" : ""}, ${answer.milliseconds} ms`)),
    sent.answers.some((answer) => !(answer.status < 300)));
    changed();
  } catch (error) {
    say([error.message], true);
  }
  press.disabled = false;
}

/** Asks what an act would do, shows it, and does it when it is confirmed. */
export async function openAsk(verb, key, what) {
  pending = { act: verb === "release" ? "replay" : verb, key, release: verb === "release" };
  find("h2", box).textContent = `${verb[0].toUpperCase()}${verb.slice(1)} ${what}`;
  find("#ask-do").textContent = verb[0].toUpperCase() + verb.slice(1);
  find(".render", box).hidden = verb !== "resend";
  box.render.checked = false;
  box.reason.value = "";
  find("#ask").showModal();
  await would();
}

const request = (yes) => ({ ...pending, yes, render: box.render.checked, reason: box.reason.value || null });

async function would() {
  const told = find(".told", box), refusal = find(".result", box), press = find("#ask-do");
  refusal.textContent = told.textContent = "";
  press.disabled = true;
  try {
    const answer = await ask("act", request(false));
    told.textContent = answer.told;
    press.disabled = !answer.possible;
  } catch (error) {
    told.textContent = error.message;
  }
}

async function perform() {
  const refusal = find(".result", box);
  try {
    const answer = await ask("act", request(true));
    if (!answer.done) throw new Error(answer.told);
    find("#ask").close();
    toast(answer.told);
    changed();
  } catch (error) {
    refusal.textContent = error.message;
    refusal.classList.add("bad");
  }
}

for (const form of [send, box]) form.addEventListener("submit", (event) => event.preventDefault());
for (const close of document.querySelectorAll("[data-close]")) close.addEventListener("click", () => close.closest("dialog").close());
send.source.addEventListener("change", () => { fill(); sample(); });
send.kind.addEventListener("change", () => { if (send.body.value === sampled) sample(); });
find("#sample").addEventListener("click", sample);
find("#plan-do").addEventListener("click", plan);
find("#send-do").addEventListener("click", deliver);
find("#ask-do").addEventListener("click", perform);
box.render.addEventListener("change", would);

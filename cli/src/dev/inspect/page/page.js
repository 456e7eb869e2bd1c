// The list, the picture, the keys: asks every second what is new and draws that.
"use strict";

import { ask, clock, count, find, make, outcomeOf, query, timeOf, toast } from "./dom.js";
import { eventDetail, requestDetail } from "./detail.js";
import { know, openAsk, openSend, whenChanged } from "./forms.js";

const SPANS = [[10, "10 min"], [60, "1 h"], [1440, "24 h"]];
const KINDS = ["new", "duplicates", "failed", "refused"];
const needs = (row) => row.listed || row.effects?.parked || row.effects?.dead;
const TABS = [
  ["All", () => true], ["Needs a person", needs], ["Effects open", (row) => row.effects?.open],
  ["Repeated", (row) => row.came > 1], ["Refused", (row) => row.request && row.outcome !== "handshake"],
];
const rows = find("#rows"), detail = find("#detail"), filter = find("#find");
let list = { rows: [] }, shown = [], known = new Set(), tab = 0, span = SPANS[0][0], picked = null, last = null, drawn = "", timer;

const name = (row) => row.key ?? `request ${row.request}`;

// --- The list ---

function rowOf(row) {
  const effects = Object.entries(row.effects ?? {}).map(([state, number]) => make("span", { class: `tag ${state}` }, count(number, state, state)));
  return make("li", { class: "row", id: `row ${name(row)}`, tabindex: "-1", onclick: () => pick(name(row)) },
    timeOf(row.at), outcomeOf(row.outcome),
    make("div", { class: "what" },
      make("div", {}, make("span", { class: "kind" }, row.type || row.id || "request"), make("span", { class: "source" }, row.source)),
      make("div", { class: "sub" }, row.id && make("span", { class: "id" }, row.id), row.why ? ` ${row.why}` : "")),
    make("div", { class: "side" }, row.came > 1 && make("span", { class: "tag", title: `again at ${clock(row.latest)}` }, `came ${row.came} times`),
      row.status && make("span", { class: "tag" }, row.status), effects));
}

function draw() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row) => [row.source, row.type, row.id, row.outcome, row.why].join(" ").toLowerCase();
  const found = list.rows.filter((row) => words.every((word) => text(row).includes(word)));
  find("#tabs").replaceChildren(...TABS.map(([title, wanted], at) => make("button",
    { type: "button", "aria-pressed": String(at === tab), onclick: () => { tab = at; draw(); } },
    title, make("b", {}, found.filter(wanted).length))));
  shown = found.filter(TABS[tab][1]);
  const focused = rows.contains(document.activeElement);
  rows.replaceChildren(...shown.map((row) => {
    const element = rowOf(row);
    if (known.size && !known.has(name(row))) element.classList.add("fresh");
    if (name(row) === last) element.classList.add("picked");
    return element;
  }));
  known = new Set(list.rows.map(name));
  if (focused) element(last)?.focus({ preventScroll: true });
  const empty = find("#empty");
  empty.hidden = shown.length > 0;
  empty.textContent = list.rows.length ? "Nothing here." : `Nothing yet. Press s to send an event, or point a provider at\n${list.url ?? ""}/webhooks/SOURCE`;
}

const element = (key) => document.getElementById(`row ${key}`);

function picture(buckets, now) {
  const sums = KINDS.map((_, at) => buckets.reduce((sum, bucket) => sum + bucket[at], 0));
  const most = Math.max(1, ...buckets.map((bucket) => bucket.reduce((sum, part) => sum + part, 0)));
  find(".bars").replaceChildren(...buckets.map((bucket) => {
    const bar = make("div", { class: "bar", title: KINDS.map((kind, at) => `${bucket[at]} ${kind}`).join(", ") });
    bucket.forEach((part, at) => {
      if (!part) return;
      const piece = make("i", { class: KINDS[at] });
      piece.style.height = `${(100 * part) / most}%`;
      bar.append(piece);
    });
    return bar;
  }));
  find("#axis-from").textContent = clock(new Date(Date.parse(now) - buckets.length * span * 1000).toISOString());
  find("#axis-sum").textContent = `${sums[0]} new, ${count(sums[1], "duplicate")}, ${sums[2]} failed or held, ${sums[3]} refused`;
  find(".spans").replaceChildren(...SPANS.map(([seconds, title]) => make("button",
    { type: "button", "aria-pressed": String(seconds === span), onclick: () => { span = seconds; look(); } }, title)));
}

// --- Looking again and again ---

async function look() {
  clearTimeout(timer);
  const state = find("#state");
  try {
    const told = await ask(`list?${query({ mark: list.mark ?? "", span })}`);
    picture(told.picture, told.now);
    state.className = "state live";
    state.textContent = "live";
    if (told.rows) {
      list = told;
      know(told.configuration, told.kinds);
      notice(told.configuration);
      draw();
    }
    if (picked) await open();
  } catch (error) {
    state.className = "state lost";
    state.textContent = "oncehook dev does not answer";
    list.mark = "";
  }
  timer = setTimeout(look, document.hidden ? 5000 : 1000);
}

function notice(configuration) {
  const element = find("#notice");
  element.hidden = !configuration.mistakes && !configuration.changed;
  element.textContent = configuration.mistakes ?? `${configuration.file} was changed: plans, retries and replays here go by it, what comes in by the `
    + "one that oncehook dev was started with. Start it again.";
}

// --- One event ---

async function open() {
  const key = picked;
  try {
    const number = key.startsWith("request ") ? key.slice(8) : null;
    const told = number ? await ask(`request?${query({ number })}`) : await ask(`event?${query({ key })}`);
    if (key !== picked || JSON.stringify(told) === drawn) return;
    // What was unfolded stays so.
    const unfolded = [...detail.querySelectorAll("details")].map((one) => one.open);
    const same = drawn !== "" && detail.dataset.key === key;
    drawn = JSON.stringify(told);
    detail.dataset.key = key;
    const offers = { close, again: openSend, act: openAsk };
    detail.replaceChildren(...(number ? requestDetail(told, offers) : eventDetail(told, offers)).flat().filter(Boolean));
    if (same) [...detail.querySelectorAll("details")].forEach((one, at) => { one.open = unfolded[at] ?? one.open; });
    detail.hidden = false;
    find("main").classList.add("open");
    if (!same) detail.scrollTop = 0;
  } catch (error) {
    toast(error.message, true);
    close();
  }
}

function pick(key) {
  picked = last = key;
  drawn = "";
  for (const row of rows.children) row.classList.toggle("picked", row.id === `row ${key}`);
  element(key)?.scrollIntoView({ block: "nearest" });
  open().then(() => { if (matchMedia("(max-width: 60rem)").matches) scrollTo(0, 0); });
}

function close() {
  picked = null;
  drawn = "";
  detail.hidden = true;
  find("main").classList.remove("open");
  element(last)?.focus({ preventScroll: true });
}

// --- Keys ---

function step(by) {
  const at = shown.findIndex((row) => name(row) === last);
  const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
  if (next) pick(name(next));
}

/** Presses the first button of these words in the details. */
function press(...words) {
  const found = [...detail.querySelectorAll(".acts button:not(:disabled)")].find((one) => words.includes(one.textContent));
  if (found) found.click();
}

const KEYS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  g: () => step(-Infinity), G: () => step(Infinity),
  Enter: () => (picked ? detail.focus() : step(1)), Escape: close, "/": () => filter.focus(), s: () => openSend(),
  p: () => press("Plan or send again"), r: () => press("Retry", "Replay", "Release"), "?": () => find("#help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
  if (event.target === filter) {
    if (event.key === "Escape") { filter.value = ""; filter.blur(); draw(); }
    if (event.key === "Enter") { filter.blur(); step(0); }
    return;
  }
  const inDetail = detail.contains(event.target) && ["Enter", "ArrowDown", "ArrowUp"].includes(event.key);
  const act = KEYS[event.key];
  if (!act || inDetail || (event.key === "Enter" && event.target.closest("button"))) return;
  event.preventDefault();
  act();
});
filter.addEventListener("input", draw);
find("#send-open").addEventListener("click", () => openSend());
find("#help-open").addEventListener("click", () => find("#help").showModal());
document.addEventListener("visibilitychange", look);
whenChanged(look);
look();

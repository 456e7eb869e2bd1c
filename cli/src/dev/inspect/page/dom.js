// Elements, and the API behind the page. What comes from events is only ever set as text.
"use strict";

export const find = (selector, within = document) => within.querySelector(selector);

/** An element; children are elements or text, and what is null or false is left out. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Asks the API; fails with the words that it answers with. */
export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", "oncehook-inspect": "1" },
    body: JSON.stringify(body),
  };
  const response = await fetch(`api/${path}`, options);
  const value = await response.json();
  if (!response.ok) throw new Error(value.error ?? `status ${response.status}`);
  return value;
}

export const query = (values) => new URLSearchParams(values).toString();

const two = (number) => String(number).padStart(2, "0");

/** The time of day here; with the date if it is not today's. */
export function clock(text) {
  if (!text) return "";
  const at = new Date(text), now = new Date();
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

export const timeOf = (text) => make("time", { datetime: text, title: text }, clock(text));

/** "1 duplicate", "2 duplicates". */
export const count = (number, one, more = `${one}s`) => `${number} ${number === 1 ? one : more}`;

export const outcomeOf = (word) => make("span", { class: `outcome ${(word ?? "").split(" ")[0]}` }, word ?? "");

let hiding;

export function toast(text, bad = false) {
  const element = find("#toast");
  element.textContent = text;
  element.classList.toggle("bad", bad);
  element.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { element.hidden = true; }, bad ? 9000 : 4000);
}

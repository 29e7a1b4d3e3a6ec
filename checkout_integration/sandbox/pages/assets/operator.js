// The operator's page. It reads the control API and writes to it (docs/sandbox.md), as a program can; it stores nothing.
// The address's hash says what is shown: nothing for all, or one order, project or exchange, such as #/order/<id>.

const SHOWN = 50;
let ordersShown = 10; // SHOWN of them once somebody asks for more: what follows them stays within reach
const PATIENCE = 2; // seconds that a button waits until what it queued was delivered

// The settings of a project, by heading: name, label, and what may be entered: "text", "number", or values with their words.
const YES_NO = (yes, no) => ({ true: yes, false: no });
const SETTINGS = {
  Notifications: [
    ["webhook_url", "Webhook URL", "text"],
    ["mode", "Webhook mode", { default: "default", pre_approval: "pre-approval" }],
    ["retry_interval", "Seconds between attempts", "number"],
    ["retry_limit", "Further attempts", "number"],
    ["retry_schedule", "Seconds before each further attempt, in the place of interval and number", "numbers"],
    ["attempt_timeout", "Seconds to wait for an answer", "number"],
    ["tells_expiry", "expires_at of notifications", YES_NO("sent", "empty")],
  ],
  Money: [
    ["live", "Payments", YES_NO("live", "test")],
    ["activated", "Account for live requests", YES_NO("activated", "not activated: 402")],
    ["currency", "Currency of products", "text"],
    ["virtual_currency_price", "Price of a unit of virtual currency", "number"],
    ["vat_payer", "VAT is paid by", { nobody: "nobody", buyer: "buyer", seller: "seller" }],
    ["charge_currency", "Currency of customers' cards, empty is the order's", "text"],
    ["charge_rate", "Rate of the cards' currency", "number"],
  ],
  Form: [
    ["title", "Seller's name", "text"],
    ["agreement_number", "Number of the agreement", "text"],
    ["success_url", "Return URL after success", "text"],
    ["fail_url", "Return URL after failure", "text"],
    ["dynamic_urls", "Return URLs in requests", YES_NO("allowed", "refused")],
    ["ask_billing_address", "Billing address", YES_NO("a field of the form", "not on the form")],
  ],
  Access: [
    ["secret_key", "New secret key", "text"],
    ["suspended", "Project", YES_NO("suspended: 403", "in good standing")],
    ["invalid_status", "Answer to invalid data", { 400: "400", 422: "422" }],
  ],
};
const POINTS = {
  api: "Answers of the API",
  list: "The transaction list",
  notification: "Notifications",
  validation: "The question user.validate",
};
const TONES = { processed: "good", created: "open", pending: "open" };

const byId = (id) => document.getElementById(id);
const words = (name) => name.replaceAll("_", " ");
const money = (amount, currency) => `${amount.toLocaleString("en", { minimumFractionDigits: 2 })} ${currency}`;
const timeOf = (moment) => moment.slice(11, 19);

// Every value is text or an attribute, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "onsubmit") made[name] = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat());
  return made;
}

const number = (text) => element("span", { class: "number" }, text);
const soft = (...children) => element("p", { class: "soft" }, ...children);
const code = (text) => element("code", {}, text);
const badge = (tone, text) => element("span", { class: `badge ${tone}` }, text);
const statusBadge = (status) => badge(status >= 200 && status < 400 ? "good" : "bad", String(status || "no response"));

function table(label, headings, rows) {
  const head = element("tr", {}, headings.map((heading) => element("th", {}, heading)));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell))));
  const parts = [element("thead", {}, head), element("tbody", {}, body)];
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, element("table", {}, parts));
}

function section(id, heading, ...children) {
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, heading), ...children);
}

function options(select, texts, chosen = select.value) {
  select.replaceChildren(...Object.entries(texts).map(([value, text]) => element("option", { value }, text)));
  if (chosen in texts) select.value = chosen;
}

async function request(path, method = "GET", body = undefined) {
  const json = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`/_sandbox/${path}`, { method, ...json });
  const text = await response.text();
  const content = JSON.parse(text);
  if (!response.ok) throw new Error([content.message, content.details].filter(Boolean).join(": "));
  return { content, text };
}

const read = async (path) => (await request(path)).content;

// Run what a button does, wait until its notifications were sent, and show everything anew; focus stays where it was.
async function act(done, ...parts) {
  byId("message").replaceChildren();
  byId("problem").replaceChildren();
  try {
    await request(...parts);
    await request("deliver", "POST", { timeout: PATIENCE });
    await show();
    byId("message").replaceChildren(element("p", { class: "notice good" }, done));
  } catch (error) {
    byId("problem").replaceChildren(element("p", { class: "notice" }, `Not possible: ${error.message}.`));
  }
}

// JSON with line breaks, its numbers as they were sent: a number of JavaScript could round money.
function readable(text, part = (content) => content) {
  const exact = (name, value, { source } = {}) => (typeof value === "number" && JSON.rawJSON ? JSON.rawJSON(source) : value);
  try {
    return JSON.stringify(part(JSON.parse(text, exact)), null, 2);
  } catch {
    return text;
  }
}

const pre = (text, label) => (text ? element("pre", { tabindex: "0", "aria-label": label }, text) : soft("No body."));

// --- Orders

const notifications = (order) =>
  order.notifications.map((sent) => {
    const answer = sent.answer === null ? "" : ` (${sent.answer || "no response"}, try ${sent.delivery_try})`;
    return element("div", {}, `${sent.event}: ${sent.state}${answer}`);
  });

const orderButtons = (order) =>
  order.actions.map((action) => {
    const name = action[0].toUpperCase() + action.slice(1);
    const body = action === "cancel" ? { after_payment: true } : {};
    const press = () => act(`${name}: done.`, `orders/${order.id}/${action}`, "POST", body);
    return element("button", { class: "small", type: "button", id: `${action}-${order.id}`, onclick: press }, name);
  });

function orderRow(order) {
  const id = code(order.id.slice(0, 8));
  const link = order.reversal ? [id, element("br"), element("span", { class: "soft" }, "list item")] : element("a", { href: `#/order/${order.id}`, id: `order-${order.id}` }, id);
  return [
    link,
    number(`${order.created_at.slice(5, 10)} ${timeOf(order.created_at)}`),
    element("div", { class: "text" }, order.description.length > 60 ? `${order.description.slice(0, 59)}…` : order.description),
    number(money(order.amount, order.currency)),
    badge(TONES[order.status] ?? "bad", order.status),
    element("div", { class: "text" }, notifications(order)),
    element("div", { class: "actions" }, orderButtons(order)),
  ];
}

async function showOrders() {
  const { count, orders } = await read("orders");
  const headings = ["Order", "Created", "For", "Amount", "Status", "Notifications", "Actions"];
  const rows = orders.slice(0, ordersShown).map(orderRow);
  const shown = [table("Table of orders", headings, rows), soft(`The newest ${rows.length} of ${count}.`)];
  const more = () => {
    ordersShown = SHOWN;
    return open();
  };
  if (rows.length < Math.min(orders.length, SHOWN)) shown.push(element("button", { type: "button", id: "more", onclick: more }, "Show more orders"));
  const none = [soft("No orders yet. Make one with POST /api/v1/order, or buy in the shop.")];
  byId("order-table").replaceChildren(...(rows.length ? shown : none));
}

function refundForm(order) {
  const amount = element("input", { id: "amount", inputmode: "decimal", value: String(order.refundable) });
  const reason = element("input", { id: "reason", value: "Requested" });
  const press = (event) => {
    event.preventDefault();
    act("Refunded.", `orders/${order.id}/refund`, "POST", { amount: amount.value, reason: reason.value });
  };
  const fields = [
    element("div", { class: "field" }, element("label", { for: "amount" }, `Amount in ${order.charge_currency}`), amount),
    element("div", { class: "field" }, element("label", { for: "reason" }, "Reason"), reason),
  ];
  return section("refunding", "Refund in part", element("form", { class: "row", onsubmit: press }, fields, element("button", { type: "submit" }, "Refund this amount")));
}

async function orderDetail(id) {
  const { content: order, text } = await request(`orders/${id}`);
  const customer = element("p", {}, element("a", { href: order.payment_form_url }, "The customer’s page"));
  const tiles = [section("acts", "Actions", element("div", { class: "row" }, orderButtons(order)), customer)];
  if (order.actions.includes("refund")) tiles.push(refundForm(order));
  const facts = soft(code(order.id), " · ", badge(TONES[order.status] ?? "bad", order.status), ` · ${money(order.amount, order.currency)}`);
  const sent = order.notifications.length ? notifications(order) : [soft("Nothing yet.")];
  return {
    heading: order.description,
    parts: [
      facts,
      element("div", { class: "tiles" }, tiles),
      section("notifications", "Notifications to the merchant", ...sent),
      section("document", "As listed", pre(readable(text, (content) => content.document), "The order as listed")),
    ],
  };
}

// --- Projects

function projectTile(project) {
  const id = project.project_id;
  const facts = soft(`${project.live ? "live" : "test"} · ${project.mode.replace("_", "-")} · notifications go to`, element("br"), code(project.webhook_url || "nowhere"));
  return section(`project-${id}`, `Project ${id}`, facts, element("a", { class: "button", href: `#/project/${id}` }, `Settings of ${id}`));
}

function settingField(project, [name, label, kind]) {
  const value = String(project[name] ?? "");
  const choices = typeof kind === "object";
  const field = choices ? element("select", { id: name }) : element("input", { id: name, value, autocomplete: "off" });
  if (choices) options(field, kind, value);
  if (kind === "number") field.inputMode = "decimal";
  if (name === "secret_key") field.placeholder = "empty keeps the old one";
  if (kind === "numbers") field.placeholder = "60, 600, 3600";
  return element("div", { class: "field" }, element("label", { for: name }, label), field);
}

// The value of a field as JSON has it; a text that is no number stays a text, and the project says so.
function valueOf(text, kind) {
  const asNumber = (part) => (part.trim() === "" || Number.isNaN(Number(part)) ? part : Number(part));
  if (kind === "numbers") return text.split(/[\s,]+/).filter(Boolean).map(asNumber);
  if (text === "true" || text === "false") return text === "true";
  return kind === "number" || (typeof kind === "object" && 400 in kind) ? asNumber(text) : text.trim();
}

async function projectDetail(id) {
  const project = await read(`project/${encodeURIComponent(id)}`);
  const settings = Object.values(SETTINGS).flat();
  const groups = Object.entries(SETTINGS).map(([heading, rows]) => {
    const fields = element("div", { class: "columns" }, rows.map((row) => settingField(project, row)));
    return element("fieldset", {}, element("legend", {}, heading), fields);
  });
  const press = (event) => {
    event.preventDefault();
    const entered = settings.filter(([name]) => byId(name).value !== String(project[name] ?? ""));
    const changes = Object.fromEntries(entered.map(([name, , kind]) => [name, valueOf(byId(name).value, kind)]));
    act("Saved.", `project/${encodeURIComponent(id)}`, "PATCH", changes);
  };
  const note = element("p", { class: "soft after" }, "A change does not affect existing orders: each uses the secret, the webhook URL, live or test, and the card's currency from the time when it was created.");
  const save = element("button", { class: "primary", type: "submit" }, "Save settings");
  return { heading: `Project ${id}`, parts: [element("form", { class: "card", onsubmit: press }, groups, save, note)] };
}

async function showProjects() {
  const { profile, projects } = await read("projects");
  byId("profile").textContent = profile;
  byId("projects").replaceChildren(...projects.map(projectTile));
  options(byId("testing-project"), Object.fromEntries(projects.map(({ project_id: id }) => [id, id])));
}

// --- Clock

// A length of time in its two largest units; nothing for less than half a minute.
function inWords(milliseconds) {
  let minutes = Math.round(milliseconds / 60_000);
  const said = [];
  for (const [unit, length] of [["day", 1440], ["hour", 60], ["minute", 1]]) {
    const count = Math.floor(minutes / length);
    minutes -= count * length;
    if (count) said.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  return said.slice(0, 2).join(" ");
}

async function showClock() {
  const { now, running } = await read("clock");
  const ahead = inWords(Math.max(0, new Date(now) - Date.now()));
  byId("now").textContent = `${now.slice(0, 19)}Z`;
  byId("running").value = running ? "yes" : "no";
  byId("ahead").hidden = !ahead;
  byId("ahead").querySelector("strong").textContent = `${ahead} ahead of real time.`;
}

async function backToRealTime() {
  const { now } = await read("clock");
  await act("The clock shows real time.", "clock", "POST", { back: Math.max(0, new Date(now) - Date.now()) / 1000 });
}

// --- Testing cases, faults, run log

async function showTesting() {
  const { cases, trials } = await read("testing");
  options(byId("testing-case"), Object.fromEntries(cases.map((name) => [name, words(name)])));
  const rows = trials.map((trial) => [
    timeOf(trial.at),
    words(trial.case),
    trial.event,
    trial.expected,
    `${trial.status || "no response"} ${trial.code}`,
    trial.passed ? badge("good", "as expected") : badge("bad", "not as expected"),
  ]);
  const headings = ["Time", "Case", "Sent", "Expected", "Response", "Verdict"];
  byId("trials").replaceChildren(rows.length ? table("Results of testing cases", headings, rows) : soft("No case was run yet."));
}

let kinds = {};
let subjects = {};

async function offerFaults() {
  ({ kinds, subjects } = await read("faults/kinds"));
  const groups = Object.entries(kinds).map(([point, texts]) => {
    const choices = Object.entries(texts).map(([kind, text]) => element("option", { value: `${point}:${kind}` }, `${words(kind)}: ${text.replaceAll("`", "")}`));
    return element("optgroup", { label: POINTS[point] }, choices);
  });
  byId("fault").replaceChildren(...groups);
  offerSubjects();
}

function offerSubjects() {
  const [point] = byId("fault").value.split(":");
  const names = subjects[point].map((name) => [name, name]);
  options(byId("fault-subject"), { "": "all of them", ...Object.fromEntries(names) });
}

// The settings that a rule's kind uses, and the others that differ from the default.
function usedSettings(rule) {
  const used = [...kinds[rule.point][rule.kind].matchAll(/`(seconds|number|status|target)`/g)].map(([, name]) => name);
  if (rule.skip !== 0) used.push("skip");
  if (rule.probability !== 1) used.push("probability");
  return [...new Set(used)].map((name) => `${name} ${rule[name]}`).join(", ");
}

async function showFaults() {
  const { rules } = await read("faults");
  const rows = rules.map((rule) => [
    POINTS[rule.point],
    words(rule.kind),
    rule.subject || "all of them",
    usedSettings(rule),
    `${rule.struck} of ${rule.times ?? "any number"}`,
    rule.times !== null && rule.struck >= rule.times ? badge("", "used up") : badge("bad", "on"),
  ]);
  const off = () => act("All faults are off.", "faults", "PUT", { rules: [] });
  const shown = [
    table("Faults that are switched on", ["Where", "What", "Only for", "With", "Times used", "State"], rows),
    element("p", { class: "after" }, element("button", { type: "button", onclick: off }, "Switch all off")),
  ];
  byId("rules").replaceChildren(...(rows.length ? shown : [soft("No fault is on.")]));
}

function switchOn() {
  const [point, kind] = byId("fault").value.split(":");
  const rule = { point, kind, subject: byId("fault-subject").value, target: byId("fault-target").value.trim() };
  for (const name of ["times", "seconds", "number", "status"]) {
    const { value } = byId(`fault-${name}`);
    if (value !== "") rule[name] = Number(value);
  }
  return act("The fault is on.", "faults", "POST", rule);
}

function logEntry(entry) {
  const way = entry.direction === "out" ? "→ merchant" : "← request";
  const line = [code(timeOf(entry.at)), " ", element("span", { class: "soft" }, way), ` ${entry.method} `, code(entry.url), " ", statusBadge(entry.status), " ", element("span", { class: "soft" }, entry.note)];
  const bodies = [entry.request, entry.answer].filter(Boolean).map((text) => element("pre", {}, text));
  const link = element("a", { href: `#/log/${entry.number}` }, `Open exchange ${entry.number}`);
  return element("details", {}, element("summary", {}, line), bodies, element("p", {}, link));
}

async function showLog() {
  const { entries } = await read("log");
  const newest = entries.slice(-SHOWN).reverse().map(logEntry);
  byId("entries").replaceChildren(...(newest.length ? newest : [soft("Nothing was requested or sent yet.")]));
}

async function exchangeDetail(number) {
  const entry = (await read("log")).entries.find((other) => String(other.number) === number);
  if (!entry) throw new Error("no such exchange: the log has the newest ones only");
  const version = entry.version ? `version ${entry.version}` : "no version header";
  const facts = [entry.note, entry.direction === "in" ? version : ""].filter(Boolean).join(" · ");
  const way = entry.direction === "out" ? "to the merchant" : "to the service";
  return {
    heading: `Exchange ${number}`,
    parts: [
      soft(`${entry.at} · ${way} · ${entry.method} `, code(entry.url), " · ", statusBadge(entry.status)),
      soft(facts),
      section("request", "Request", pre(readable(entry.request), "Body of the request")),
      section("response", "Response", pre(readable(entry.answer), "Body of the response")),
    ],
  };
}

// --- The page

const DETAILS = { order: orderDetail, project: projectDetail, log: exchangeDetail };

async function show() {
  const focused = document.activeElement?.id;
  const [, kind, id] = location.hash.split("/").map(decodeURIComponent);
  const detail = DETAILS[kind] && (await DETAILS[kind](id));
  await showClock();
  if (detail) byId("detail").replaceChildren(...detail.parts);
  else await Promise.all([showProjects(), showTesting(), showFaults(), showOrders(), showLog()]);
  byId("heading").textContent = detail?.heading ?? "Operator";
  document.title = detail?.heading ?? "Operator";
  byId("detail").hidden = !detail;
  byId("back").hidden = !detail;
  byId("overview").hidden = Boolean(detail);
  // A button that is gone gives its focus to the order, or to the heading.
  const next = focused && (byId(focused) ?? byId(focused.replace(/^[a-z]+-/, "order-")) ?? byId("heading"));
  if (next) next.focus({ preventScroll: true });
}

async function open() {
  byId("message").replaceChildren();
  byId("problem").replaceChildren();
  try {
    await show();
  } catch (error) {
    byId("detail").replaceChildren(soft(element("a", { class: "button", href: "#" }, "Back to the operator")));
    byId("detail").hidden = false;
    byId("overview").hidden = true;
    byId("problem").replaceChildren(element("p", { class: "notice" }, `Not possible: ${error.message}.`));
  }
}

const onSubmit = (id, press) =>
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    press();
  });

onSubmit("advance-form", () => act("The clock has moved.", "clock", "POST", { advance: Number(byId("advance").value) }));
onSubmit("running-form", () => act("The clock is set.", "clock", "POST", { running: byId("running").value === "yes" }));
onSubmit("testing-form", () =>
  act("The case was run.", `testing/${byId("testing-case").value}`, "POST", {
    project_id: byId("testing-project").value,
    external_id: byId("testing-user").value,
  }),
);
onSubmit("fault-form", switchOn);
byId("fault").addEventListener("change", offerSubjects);
byId("real-time").addEventListener("click", backToRealTime);
byId("reload").addEventListener("click", open);
window.addEventListener("hashchange", async () => {
  await open();
  byId("heading").focus();
  window.scrollTo(0, 0);
});
await offerFaults();
await open();

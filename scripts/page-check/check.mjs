// Checks of a page in a browser without a network. Each defect is one line; no line means that the page passes.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const NARROW = { width: 390, height: 800 };
const WIDE = { width: 1300, height: 900 };
// Width of a printed page of A4 within its margins.
const PAPER = { width: 718, height: 1000 };
const ALL = [[NARROW, "light"], [NARROW, "dark"], [WIDE, "light"], [WIDE, "dark"]];
// Seconds of CPU time within which the browser must have loaded a page. Elapsed time would count other programs, too.
const PROMPT = 1;
/** A single size and theme, for a quick check. */
export const ONE = [ALL[0]];
// Number of tab stops that are checked; these are enough to show that each one leads to the next.
const MOST_TABS = 400;

/**
 * Returns all defects of the page in a file. Default: at all sizes and in all themes. With `pictures`, a path without
 * its end, it writes screenshots for people to look at.
 */
export async function check(browser, file, looks = ALL, pictures = null) {
  const wrong = new Set();
  const loads = [];
  const picture = async (page, name) => pictures && (await page.screenshot({ path: `${pictures}-${name}.png`, fullPage: true }));
  for (const [viewport, colorScheme] of looks) {
    const where = `${viewport.width} px, ${colorScheme}`;
    await visit(browser, file, { viewport, colorScheme, offline: true }, wrong, async (page, load) => {
      loads.push(load);
      await picture(page, `${viewport.width}-${colorScheme}`);
      for (const line of await page.evaluate(shape)) wrong.add(line);
      for (const line of await page.evaluate(overlaps)) wrong.add(`${line} (${where})`);
      for (const line of await page.evaluate(overflow)) wrong.add(`${line} (${where})`);
      for (const line of await accessible(page)) wrong.add(`${line} (${where})`);
      // The keyboard is checked at one size and in one theme, because the markup is always the same.
      if (viewport === NARROW && colorScheme === "light") for (const line of await keyboard(page)) wrong.add(line);
      if (viewport === WIDE && colorScheme === "light") for (const line of await script(page)) wrong.add(line);
    });
  }
  await visit(browser, file, { viewport: PAPER, offline: true }, wrong, async (page) => {
    await page.emulateMedia({ media: "print" });
    await picture(page, "print");
    for (const line of await page.evaluate(overflow)) wrong.add(`${line} (print)`);
    for (const line of await page.evaluate(printed)) wrong.add(line);
  });
  await visit(browser, file, { viewport: WIDE, offline: true, javaScriptEnabled: false }, wrong, async (page) => {
    for (const line of await page.evaluate(still)) wrong.add(line);
  });
  const load = Math.min(...loads);
  if (load > PROMPT) wrong.add(`the page takes ${load.toFixed(2)} s of CPU time`);
  return [...wrong];
}

/**
 * Opens the page and calls `look` with it and the seconds of CPU time that it took to load. Console warnings, script
 * errors, requests and policy violations are defects.
 */
async function visit(browser, file, options, wrong, look) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const url = pathToFileURL(file).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.add(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.add(`script error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !/^(data|blob):/.test(request.url())) wrong.add(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`policy violated: ${event.effectiveDirective} ${event.blockedURI}`));
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable");
  await page.goto(url);
  // Of all threads of the renderer, in which only this page runs.
  const { metrics } = await devtools.send("Performance.getMetrics");
  await page.waitForTimeout(100);
  await look(page, metrics.find(({ name }) => name === "ProcessTime").value);
  for (const line of await page.evaluate(() => window.violations ?? [])) wrong.add(line);
  await context.close();
}

/** Checks names, titles, units, headings, landmarks and ids. Runs in the page. */
function shape() {
  const wrong = [];
  const words = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent.trim() ?? "").join(" ").trim();
  const name = (of) => of.getAttribute("aria-label")?.trim() || words(of.getAttribute("aria-labelledby") ?? "");
  for (const image of document.querySelectorAll("[role=img], svg")) {
    const id = image.closest("[id]")?.id ?? "?";
    if (image.matches("svg") && image.getAttribute("role") !== "img" && image.getAttribute("aria-hidden") !== "true") wrong.push(`an svg in #${id} is no image`);
    else if (image.getAttribute("role") === "img" && !name(image)) wrong.push(`a picture in #${id} has no name`);
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const id = chart.closest("figure")?.id ?? "?";
    const titles = [...chart.querySelectorAll("text.title")].map((text) => text.textContent.trim());
    if (titles.length === 0 || titles.some((title) => !title)) wrong.push(`a chart in #${id} has no axis title`);
    const text = [...chart.querySelectorAll("text")].map((t) => t.textContent).join(" ");
    if (!/×|\b(ns|µs|ms|s)\b|\d[kMG]?\/s|per second|\b([KMGT]i)?B\b|%|number|count/.test(text)) wrong.push(`a chart in #${id} has no unit`);
    if (/NaN|undefined|Infinity/.test(chart.outerHTML)) wrong.push(`a chart in #${id} has a number that is none`);
  }
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) wrong.push(`heading “${heading.textContent}” skips a level`);
    before = level;
  }
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not exactly one h1");
  for (const landmark of ["header", "nav", "main", "footer"]) {
    if (document.querySelectorAll(`body > ${landmark}`).length !== 1) wrong.push(`not exactly one ${landmark}`);
  }
  for (const region of document.querySelectorAll("[role=region], nav, body section")) if (!name(region)) wrong.push(`a region has no name: ${region.outerHTML.slice(0, 80)}`);
  for (const table of document.querySelectorAll("main table")) {
    if (table.querySelector("thead th:not([scope=col]), tbody th:not([scope^=row])") && !table.closest(".live")) wrong.push("a heading of a table has no scope");
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) wrong.push(`id ${id} is there twice`);
  for (const link of document.querySelectorAll("a[href]")) {
    const target = link.getAttribute("href");
    if (!target.startsWith("#")) wrong.push(`a link leaves the page: ${target}`);
    else if (!document.getElementById(target.slice(1))) wrong.push(`a link leads nowhere: ${target}`);
  }
  if (document.querySelector("body [style]:not(.live *)")) wrong.push("an element has a style attribute");
  return wrong;
}

/** Returns the elements that make the page scroll sideways. Runs in the page. */
function overflow() {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const wide = [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > clientWidth + 1 && !e.closest(".scroll"));
  return [`the page scrolls sideways, ${scrollWidth} px: ${wide.slice(0, 2).map((e) => e.outerHTML.slice(0, 100)).join(" | ")}`];
}

/** Returns labels of a chart that lie upon each other or outside of it. Runs in the page. */
function overlaps() {
  const wrong = [];
  for (const chart of document.querySelectorAll("svg.chart:not(:has(.flame))")) {
    const frame = chart.getBoundingClientRect();
    if (frame.width === 0) continue;
    const id = chart.closest("figure")?.id ?? "?";
    const labels = [...chart.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => [text.textContent, text.getBoundingClientRect()]);
    labels.forEach(([one, a], at) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1) wrong.push(`the label “${one}” in #${id} is cut`);
      for (const [other, b] of labels.slice(at + 1)) {
        // The box of a text is higher than its letters.
        const [x, y] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
        if (x > 1 && y > a.height / 3) wrong.push(`the labels “${one}” and “${other}” in #${id} overlap`);
      }
    });
  }
  return wrong;
}

/** Returns cells of tables that a printed page cuts or leaves out. Runs in the page. */
function printed() {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  for (const cell of document.querySelectorAll("main :is(th, td):not(.live *)")) {
    const { right, width: own } = cell.getBoundingClientRect();
    if (right > width + 1 || own === 0) wrong.push(`print cuts the cell “${cell.textContent.trim().slice(0, 40)}” of #${cell.closest("[id]")?.id}`);
  }
  return wrong.slice(0, 5);
}

/** Checks what the page's script does: sorting, the variant under focus, the highlight, and the download. */
async function script(page) {
  const wrong = [];
  const heading = page.locator("main table.sort thead th.n button").first();
  if (await heading.count()) {
    const order = () => page.evaluate(() => [...document.querySelector("main table.sort:has(th.n)").tBodies[0].rows].map((row) => row.textContent));
    const before = await order();
    await heading.click();
    const down = await order();
    await heading.click();
    const up = await order();
    if (before.length > 2 && down.join() === up.join()) wrong.push("a column does not sort");
    if ([...before].sort().join() !== [...up].sort().join()) wrong.push("sorting loses rows");
  }
  const variant = page.locator("main tr.v a").first();
  if (await variant.count()) {
    await variant.focus();
    const told = await page.locator("#info").innerText();
    if (!/litelab run/.test(told) || told.split("\n").length < 4) wrong.push(`the focused variant is described as “${told}”`);
    await page.keyboard.press("Enter");
    if ((await page.locator(".v.on").count()) < 2) wrong.push("a chosen variant is not highlighted everywhere");
    await page.keyboard.press("Escape");
    if ((await page.locator(".v.on").count()) > 0 || (await page.locator("#info").isVisible())) wrong.push("Escape does not end the highlight");
  }
  const button = page.locator("#csv");
  if (await button.count()) {
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
    if (lines[0] !== "scenario,variant,durability,metric,round,value" || lines.length < 3) wrong.push(`the CSV file begins with ${lines[0]} and has ${lines.length} lines`);
  }
  return wrong;
}

/** Checks that charts are visible without scripts. Runs in the page. */
function still() {
  const wrong = [];
  for (const chart of document.querySelectorAll("svg.chart")) {
    if (chart.closest("details")) chart.closest("details").open = true;
    const box = chart.getBoundingClientRect();
    if (box.width < 100 || box.height < 30) wrong.push(`without scripts a chart in #${chart.closest("figure")?.id} is not seen`);
  }
  if (document.querySelector(".live")) wrong.push("scripts ran where they are off");
  return wrong;
}

async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => `axe ${id}: ${help}: ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary.replace(/\s+/g, " ").slice(0, 160)}`);
}

/** Checks that the tab key reaches every link and region in order. */
async function keyboard(page) {
  await page.evaluate((most) => {
    const all = document.querySelectorAll("a[href], button, summary, [tabindex='0']");
    window.stops = [...all].filter((stop) => stop.checkVisibility()).slice(0, most);
    document.activeElement?.blur();
  }, MOST_TABS);
  const count = await page.evaluate(() => window.stops.length);
  for (let at = 0; at < count; at++) {
    await page.keyboard.press("Tab");
    const missed = await page.evaluate((at) => (document.activeElement === window.stops[at] ? "" : window.stops[at].outerHTML.slice(0, 100)), at);
    if (missed) return [`the tab key does not reach number ${at + 1}: ${missed}`];
  }
  return count > 0 ? [] : ["nothing can be reached by the tab key"];
}

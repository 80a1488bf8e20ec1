// PAGES: pages of litelab, separated by line feeds. CHROMIUM: the browser.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

import { check, ONE } from "./check.mjs";

const pages = (process.env.PAGES ?? "").split("\n").filter(Boolean);
let browser;
let folder;

before(async () => {
  // The sandbox does not start as root, and only litelab's own pages are opened.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  folder = mkdtempSync(join(tmpdir(), "litelab-page-"));
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("there are pages", () => assert.notEqual(pages.length, 0));

for (const page of pages) {
  const pictures = process.env.PICTURES && join(process.env.PICTURES, basename(page, ".html"));
  test(basename(page), async () => assert.deepEqual(await check(browser, page, undefined, pictures), []));
}

// Negative controls: a page with this defect inserted, and the message that the check must report.
const NEGATIVE = [
  ["an inline script", "</main>", "<script>document.title = 'x'</script></main>", /policy violated: script-src/],
  ["a handler", "<main ", "<main onfocus=\"x()\" ", /policy violated: script-src/],
  ["a style attribute", "<footer>", "<footer style=\"color: red\">", /policy violated: style-src|console error/],
  ["an error", null, "throw Error('broken')", /script error: broken/],
  ["a slow page", null, "for (let i = 0; i < 3e9; i++);", /s of CPU time/],
  ["a request", "</main>", "<img alt=\"x\" src=\"https://example.org/x.png\"></main>", /policy violated: img-src/],
  ["a picture without a name", "</main>", "<svg role=\"img\" viewBox=\"0 0 9 9\"></svg></main>", /has no name/],
  ["a chart without axis titles", / class="title"/g, "", /has no axis title/],
  ["a heading that skips a level", "</main>", "<h2>two</h2><h4>four</h4></main>", /skips a level/],
  ["a wide line", "</main>", `<pre>${"x".repeat(300)}</pre></main>`, /scrolls sideways/],
  ["labels upon each other", "</main>", `<svg class="chart" role="img" aria-label="x" viewBox="0 0 440 90"><text x="9" y="40">one</text><text x="12" y="40">two</text></svg></main>`, /“one” and “two” in .* overlap/],
  ["a link out", "</main>", "<a href=\"https://example.org\">x</a></main>", /leaves the page/],
  ["a region that the keyboard cannot scroll", "</main>", `<div class="scroll" role="region" aria-label="x"><pre>${"x".repeat(300)}</pre></div></main>`, /axe scrollable-region-focusable/],
  ["a list that is none", "</main>", "<ul><p>x</p></ul></main>", /axe list/],
  ["a key trap", "</main>", "<a href=\"#main\" tabindex=\"5\">x</a></main>", /tab key/],
];

for (const [what, from, to, expected] of NEGATIVE) {
  test(`negative control: ${what}`, async () => {
    const page = readFileSync(pages[0], "utf8");
    // No place: a script, without the policy that forbids it.
    const bad = from ? page.replace(from, () => to) : page.replace(/<meta http-equiv[^>]*>/, "").replace("</main>", `<script>${to}</script></main>`);
    assert.notEqual(bad, page, "the page has no such place");
    const file = join(folder, "bad.html");
    writeFileSync(file, bad);
    const wrong = await check(browser, file, ONE);
    assert.ok(wrong.some((line) => expected.test(line)), `${expected} is not among ${JSON.stringify(wrong, null, 1)}`);
  });
}

import { chromium } from "playwright-core";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const [out, file, ...modes] = process.argv.slice(2);
for (const mode of modes) {
  const [width, scheme, clip] = mode.split(":");
  const context = await browser.newContext({ viewport: { width: +width, height: 900 }, colorScheme: scheme, offline: true });
  const page = await context.newPage();
  page.on("console", (m) => console.log("console", m.type(), m.text()));
  page.on("pageerror", (e) => console.log("pageerror", e.message));
  await page.goto("file://" + file);
  await page.waitForTimeout(300);
  console.log(mode, await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth, document.documentElement.scrollHeight]));
  if (clip && clip.startsWith("#")) await page.locator(clip).screenshot({ path: `${out}-${width}-${scheme}-${clip.slice(1)}.png` });
  else { if (clip) await page.evaluate((y) => scrollTo(0, +y), clip); await page.screenshot({ path: `${out}-${width}-${scheme}${clip ? "-" + clip : ""}.png`, fullPage: false }); }
  await context.close();
}
await browser.close();

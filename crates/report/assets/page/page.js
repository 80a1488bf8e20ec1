// The page is complete without this script. It adds: columns to sort by, the values and settings of the variant under
// the cursor or the keyboard's focus, a click that highlights a variant everywhere, and the values by round as CSV.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const text = (element) => element?.textContent.trim().replace(/\s+/g, " ") ?? "";
  const make = (name, content, parent) => {
    const element = document.createElement(name);
    element.textContent = content;
    parent?.append(element);
    return element;
  };

  // A cell as a number in base units: `45.9k/s ±7 %`, `1.28 ms`, `4.00 MiB`; null for other text.
  const factors = { k: 1e3, M: 1e6, G: 1e9, ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  const value = (cell) => {
    const found = /^(?:max of \d+: )?([\d.]+(?:e[+-]?\d+)?)\s?(?:([kMG])(?=\s|\/|$)|(ns|µs|ms|s|KiB|MiB|GiB|TiB)\b)?/.exec(text(cell));
    return found && Number(found[1]) * (factors[found[2] ?? found[3]] ?? 1);
  };

  const sort = (table, heading, column) => {
    const descending = heading.getAttribute("aria-sort") !== "descending";
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const compare = (a, b) => {
      const [x, y] = [a, b].map((row) => row.cells[column]);
      const [v, w] = [value(x), value(y)];
      // Cells without a number come last in both directions.
      if ((v === null) !== (w === null)) return v === null ? 1 : -1;
      const order = v === null ? text(x).localeCompare(text(y)) : v - w;
      return descending ? -order : order;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
  };
  for (const table of all("table.sort")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = make("button", text(heading));
      button.type = "button";
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heading, column));
    });
  }

  // A variant is known by its class: `v v12`.
  const variant = (target) => {
    const element = target.closest?.(".v");
    return element && { element, name: [...element.classList].find((name) => /^v[\w-]*\d+$/.test(name)) };
  };
  const info = document.getElementById("info");
  const describe = ({ element, name }) => {
    const scenario = element.closest("section.scenario");
    const side = element.closest(".pair > div") ?? scenario;
    const rows = all(`tr.${name}`, side);
    const heads = (row) => all("thead th", row.closest("table")).map(text);
    const cells = (row) => [...row.cells].map((cell, at) => [heads(row)[at], text(cell)]).filter(([head, cell]) => head && cell && cell !== "–" && head !== "bar" && head !== "by round");
    const keep = (selector) => rows.filter((row) => row.closest(selector));
    const values = [...keep("table.bars"), ...keep("table.sort")].flatMap((row) => cells(row).filter(([head], at) => row.cells[at]?.tagName === "TD" || head === "durability"));
    const settings = keep("table.variants");
    const shared = text(side.querySelector("details.settings > p > code:not(.again)"));
    info.replaceChildren();
    make("b", settings.length ? text(settings[0].cells[0]) : text(element), info);
    const list = make("dl", "", info);
    const seen = new Set();
    for (const [head, cell] of [...values, ...settings.flatMap((row) => cells(row).slice(1)), ["settings of all", shared], ["again", text(side.querySelector("code.again"))]]) {
      if (!cell || seen.has(head) || (head === "durability" && seen.size === 0)) continue;
      seen.add(head);
      const pair = make("div", "", list);
      make("dt", head, pair);
      make("dd", cell, pair);
    }
    info.hidden = false;
  };
  let picked = null;
  const pick = (name) => {
    picked = picked === name ? null : name;
    for (const element of all(".v.on")) element.classList.remove("on");
    if (picked) for (const element of all(`.${picked}`)) element.classList.add("on");
  };
  const show = (event) => {
    const found = variant(event.target);
    if (found) describe(found);
    else if (!picked) info.hidden = true;
  };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("click", (event) => {
    const found = variant(event.target);
    const link = event.target.closest?.("a");
    if (!found || link?.classList.contains("mark") || event.target.closest?.("button, summary")) return;
    event.preventDefault();
    pick(found.name);
    describe(found);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (picked) pick(picked);
    info.hidden = true;
  });

  // Wide tables have a shadow at the side on which more columns are.
  for (const region of all(".scroll")) {
    const mark = () => {
      region.classList.toggle("more-left", region.scrollLeft > 1);
      region.classList.toggle("more-right", region.scrollLeft + region.clientWidth < region.scrollWidth - 1);
    };
    region.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(region);
  }

  // A link to a place in a closed part of the page opens it.
  const open = () => {
    for (let part = document.getElementById(location.hash.slice(1)); part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  };
  addEventListener("hashchange", open);
  open();

  const button = document.getElementById("csv");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const { scenarios } = JSON.parse(document.getElementById("data").textContent);
    const quote = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell);
    const lines = [["scenario", "variant", "durability", "metric", "round", "value"]];
    for (const { name, metrics, variants } of scenarios) {
      for (const [label, durability, values] of variants) {
        values.forEach((rounds, metric) => rounds.forEach((value, round) => value !== null && lines.push([name, label, durability, metrics[metric], round + 1, value])));
      }
    }
    const link = make("a", "");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(quote).join(",")).join("\n") + "\n"], { type: "text/csv" }));
    link.download = `${document.title.split(":")[0]}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
})();

// Pictures over time become charts to zoom into, with one cursor for all of a scenario. Without this script the sketches
// that stand in their place are complete.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const prefixes = { bytes: [[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]], "per second": [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]], ns: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]] };
  const text = (value, unit) => {
    if (value == null) return "–";
    const [by, after] = prefixes[unit].find(([by]) => Math.abs(value) >= by) ?? prefixes[unit].at(-1);
    return Number((value / by).toPrecision(3)) + after;
  };
  // Ticks of bytes stand at powers of two.
  const powers = Array.from({ length: 50 }, (_, power) => 2 ** power);
  const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
  const charts = [];

  const marks = (numbers) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.lineWidth = 2 * devicePixelRatio;
    numbers.marks.forEach((seconds, line) => {
      if (!u.series[line + 1].show) return;
      ctx.strokeStyle = css("--line-" + (line + 1));
      ctx.beginPath();
      for (const at of seconds) {
        const x = u.valToPos(at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        // A lane for each line, at the top, where they do not cover a log that is empty.
        ctx.moveTo(x, bbox.top + (line * 8 + 1) * devicePixelRatio);
        ctx.lineTo(x, bbox.top + (line * 8 + 7) * devicePixelRatio);
      }
      ctx.stroke();
    });
    ctx.restore();
  };

  const draw = (chart) => {
    const { figure, group, numbers } = chart;
    chart.plot?.destroy();
    const axis = { stroke: css("--ink"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const series = numbers.series.map(({ name }, line) => ({
      label: name, stroke: css("--line-" + (line + 1)), width: 1.5, dash: dashes[line], points: { show: false },
      value: (u, value) => text(value, numbers.unit),
    }));
    const plot = new uPlot({
      width: figure.clientWidth, height: 230,
      cursor: { sync: { key: group }, points: { size: 6 } },
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, high > 0 ? high * (numbers.marks.length ? 1.3 : 1.05) : 1] } },
      series: [{ label: "time (s)", value: (u, value) => (value == null ? "–" : value + " s") }, ...series],
      axes: [
        { ...axis, label: "time since the start (s)", labelSize: 18, size: 32 },
        { ...axis, label: numbers.quantity + " (" + (numbers.unit === "ns" ? "time" : numbers.unit) + ")", labelSize: 18, size: 74, ...(numbers.unit === "bytes" ? { incrs: powers } : {}), values: (u, all) => all.map((value) => text(value, numbers.unit)) },
      ],
      hooks: { draw: numbers.marks.length ? [marks(numbers)] : [] },
    }, [numbers.seconds, ...numbers.series.map(({ values }) => values)], chart.place);
    const wrap = plot.root.querySelector(".u-wrap");
    wrap.setAttribute("role", "img");
    wrap.setAttribute("aria-label", figure.querySelector("svg > title").textContent + ". " + figure.querySelector("svg > desc").textContent);
    // What a click on the legend does, a key does.
    plot.root.querySelectorAll(".u-legend .u-series").forEach((row, line) => {
      const cell = row.querySelector("th");
      cell.setAttribute("scope", "row");
      if (line === 0) return;
      const name = cell.querySelector(".u-label");
      name.tabIndex = 0;
      name.setAttribute("role", "button");
      name.setAttribute("aria-pressed", "true");
      const shown = () => name.setAttribute("aria-pressed", String(plot.series[line].show));
      cell.addEventListener("click", shown);
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        plot.setSeries(line, { show: !plot.series[line].show });
        shown();
      });
    });
    chart.plot = plot;
  };

  for (const data of document.querySelectorAll("script[data-figure]")) {
    const figure = document.getElementById(data.dataset.figure);
    const place = document.createElement("div");
    place.className = "live";
    figure.querySelector("svg").after(place);
    figure.classList.add("has-live");
    charts.push({ figure, place, group: data.dataset.group, numbers: JSON.parse(data.textContent), plot: null });
  }
  // A chart in a part of the page that is closed has no width: it is drawn when the part opens.
  const all = () => charts.filter(({ figure }) => figure.clientWidth > 0).forEach(draw);
  all();
  for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => charts.filter(({ figure, plot }) => !plot && part.contains(figure) && figure.clientWidth > 0).forEach(draw));
  dark.addEventListener("change", all);
  new ResizeObserver(() => {
    for (const { plot, figure } of charts) {
      if (plot && figure.clientWidth > 0 && plot.width !== figure.clientWidth) plot.setSize({ width: figure.clientWidth, height: 230 });
    }
  }).observe(document.querySelector("main"));
})();

// Everything that is shown follows from the data and from these choices; the span is the part of a run in seconds, or all of it.
const chosen = { objective: data.objectives.indexOf("mixed"), controller: 0, case: null, span: null };

const percent = (share) => (share * 100).toFixed(1);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const regret = (c, controller = chosen.controller) => c.regrets[chosen.objective][controller];
const bar = (share) => `<span class="bar" style="width:${(share * 6).toFixed(2)}em"></span>`;
// From light to dark: no regret to all.
const colour = (share) => `hsl(8 75% ${(93 - 62 * Math.sqrt(share)).toFixed(0)}%)`;

function showScores() {
    const metrics = Object.keys(data.scores[0].missing);
    const of = (score) => score.objectives[chosen.objective];
    const order = data.scores.map((score, index) => [score, index]).sort((a, b) => of(a[0]).mean - of(b[0]).mean);
    const rows = order.map(([score, index]) =>
        row(
            [escaped(score.controller), bar(of(score).mean), percent(of(score).mean), percent(of(score).worst), of(score).best_in,
                ...metrics.map((metric) => percent(score.missing[metric]))],
            goes(`controller-${index}`, index === chosen.controller)));
    const names = ["controller", "", "mean", "worst", "best in", ...metrics];
    element("scores").innerHTML = `${head(names)}<tbody>${rows.join("")}</tbody>`;
}

// Cases by rate and round trip, both logarithmic.
function showMap() {
    const [width, height, left, bottom] = [620, 420, 60, 40];
    const scale = (low, high, from, to) => (value) => from + (to - from) * Math.log(value / low) / Math.log(high / low);
    const x = scale(0.5, 10000, left, width - 24);
    const y = scale(1, 1000, height - bottom, 26);
    const tick = (value, at, vertical) => vertical
        ? `<line x1="${left}" x2="${width}" y1="${at}" y2="${at}"/><text x="${left - 6}" y="${at + 4}" text-anchor="end">${value}</text>`
        : `<line x1="${at}" x2="${at}" y1="0" y2="${height - bottom}"/><text x="${at}" y="${height - bottom + 16}" text-anchor="middle">${value}</text>`;
    const ticks = [1, 10, 100, 1000, 10000].map((value) => tick(value, x(value), false)).join("") +
        [1, 10, 100, 1000].map((value) => tick(value, y(value), true)).join("");
    const points = [...data.cases].sort((a, b) => regret(a) - regret(b)).map((c) =>
        `<circle cx="${x(c.rate).toFixed(1)}" cy="${y(c.rtt).toFixed(1)}" r="${(4 + 5 * regret(c)).toFixed(1)}" fill="${colour(regret(c))}"` +
        `${goes(`case-${c.number}`, c.number === chosen.case)}><title>${escaped(c.name)}: ${percent(regret(c))} %</title></circle>`);
    element("map").innerHTML =
        `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Regret by rate and round-trip time">${ticks}` +
        `<text x="${width - 10}" y="${height - 6}" text-anchor="end">Mbit/s</text><text x="4" y="12">RTT, ms</text>${points.join("")}</svg>`;
    const sample = [0, 0.25, 0.5, 1].map((share) =>
        `<svg viewBox="0 0 20 20" style="width:1.2em;vertical-align:middle"><circle cx="10" cy="10" r="${4 + 5 * share}" fill="${colour(share)}"/></svg> ${share * 100} %`);
    element("legend").innerHTML = `Each point is a case. Regret: ${sample.join(" &nbsp; ")}`;
}

// The mean regret in each kind of path, for each dimension.
function showKinds() {
    const groups = new Map();
    const enter = (dimension, kind, c) => {
        const key = `${dimension}\n${kind}`;
        groups.set(key, [...(groups.get(key) || []), regret(c)]);
    };
    const decade = (value, unit) => {
        const low = 10 ** Math.floor(Math.log10(value) + 1e-9);
        return `${low} to ${low * 10} ${unit}`;
    };
    for (const c of data.cases) {
        enter("rate", decade(c.rate, "Mbit/s"), c);
        enter("round trip", decade(c.rtt, "ms"), c);
        data.dimensions.forEach((dimension, index) => enter(dimension, c.kinds[index], c));
    }
    const place = (key) => {
        const [dimension, kind] = key.split("\n");
        return [["rate", "round trip", ...data.dimensions].indexOf(dimension), parseFloat(kind) || 0];
    };
    const keys = [...groups.keys()].sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1] || a.localeCompare(b));
    let before = "";
    const rows = keys.map((key) => {
        const [dimension, kind] = key.split("\n");
        const values = groups.get(key);
        const cells = [dimension === before ? "" : escaped(dimension), escaped(kind), values.length, percent(mean(values)), bar(mean(values))];
        before = dimension;
        return row(cells, "", 2);
    });
    element("kinds").innerHTML = `${head(["dimension", "kind", "cases", "mean regret", ""], 2)}<tbody>${rows.join("")}</tbody>`;
}

function showCases() {
    const words = element("filter").value.toLowerCase();
    const found = data.cases.filter((c) => c.name.toLowerCase().includes(words)).sort((a, b) => regret(b) - regret(a));
    const rows = found.map((c) =>
        row([percent(regret(c)), bar(regret(c)), escaped(c.name)], goes(`case-${c.number}`, c.number === chosen.case), 3));
    element("cases").innerHTML = `${head(["regret", "", "case"], 3)}<tbody>${rows.join("")}</tbody>`;
}

// The colours of Okabe and Ito, which most people can tell apart.
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#7f7f7f"];
const lineColour = (controller) => colours[controller % colours.length];

// Throughput over time: each controller's line.
function courses(c) {
    const curves = c.courses.map(({ window, throughput }, controller) => ({
        name: data.controllers[controller],
        colour: lineColour(controller),
        mark: controller === chosen.controller ? "bold" : "line",
        points: throughput.map((rate, index) => [(index + 0.5) * window, rate]),
    }));
    return { seconds: c.courses[0].window * c.courses[0].throughput.length, panels: [{ label: "Throughput, Mbit/s", curves, bands: [] }] };
}

function showDetails() {
    const c = data.cases.find((c) => c.number === chosen.case);
    if (!c) {
        element("details").innerHTML = '<p class="note">Click a case to see what every controller did in it.</p>';
        return;
    }
    const metrics = Object.keys(c.metrics[0]);
    const order = data.controllers.map((_, index) => index).sort((a, b) => regret(c, a) - regret(c, b));
    const rows = order.map((index) =>
        row([`<span style="color:${lineColour(index)}">&#9632;</span> ${escaped(data.controllers[index])}`, percent(regret(c, index)), ...metrics.map((metric) => number(c.metrics[index][metric]))],
            goes(`controller-${index}`, index === chosen.controller)));
    const names = ["controller", "regret", ...metrics.map((metric) => `${metric} ${data.units[metric]}`.trim())];
    element("details").innerHTML =
        `<h3>${escaped(c.name)}</h3><div class="wide"><table>${head(names)}<tbody>${rows.join("")}</tbody></table></div><div id="courses"></div>` +
        `<p class="note">As a scenario, for <code>pcc lab run FILE --seed ${c.number} --out plots</code>:</p><pre>${escaped(c.scenario)}</pre>`;
    const { seconds, panels } = courses(c);
    showLines(element("courses"), panels, seconds, chosen);
}

function show() {
    document.querySelectorAll(".chosen").forEach((place) => { place.textContent = data.controllers[chosen.controller]; });
    element("objective").value = chosen.objective;
    element("controller").value = chosen.controller;
    [showScores, showMap, showKinds, showCases, showDetails].forEach((part) => part());
}

// Where a click leads: controller-2, case-137. A case can be linked to.
function go(where) {
    const [what, value] = where.split("-");
    if (what === "controller" || what === "case") {
        chosen[what] = Number(value);
        chosen.span = what === "case" ? null : chosen.span;
        show();
    }
    if (what === "case") {
        history.replaceState(null, "", `#${where}`);
    }
}

element("title").textContent = data.title;
element("objective").innerHTML = options(data.objectives);
element("controller").innerHTML = options(data.controllers);
for (const what of ["objective", "controller"]) {
    element(what).addEventListener("change", (event) => { chosen[what] = Number(event.target.value); show(); });
}
element("filter").addEventListener("input", showCases);
listenToClicks(go);
show();
go(location.hash.slice(1));

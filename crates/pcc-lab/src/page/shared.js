"use strict";
// What all pages share: data, text, tables, choices by click, and lines over time.
const data = JSON.parse(document.getElementById("data").textContent);

const element = (id) => document.getElementById(id);
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
// The first columns of a table may be names; the others are numbers.
const cells = (tag, values, names) => values.map((value, index) => `<${tag}${index < names ? ' class="name"' : ""}>${value}</${tag}>`).join("");
const row = (values, attributes = "", names = 1) => `<tr${attributes}>${cells("td", values, names)}</tr>`;
const head = (values, names = 1) => `<thead><tr>${cells("th", values.map(escaped), names)}</tr></thead>`;
const options = (names) => names.map((name, index) => `<option value="${index}">${escaped(name)}</option>`).join("");

// What leads somewhere when it is clicked, such as to case-137.
const goes = (where, selected) => ` tabindex="0" data-go="${where}"${selected ? ' class="selected"' : ""}`;
function listenToClicks(go) {
    const target = (event) => event.target.closest("[data-go]");
    document.addEventListener("click", (event) => { if (target(event)) go(target(event).dataset.go); });
    document.addEventListener("keydown", (event) => { if (event.key === "Enter" && target(event)) go(target(event).dataset.go); });
}

// The value of a line at a time, undefined outside of it.
function valueAt(points, time) {
    const next = points.findIndex((point) => point[0] >= time);
    if (next < 0 || (next === 0 && points[0][0] > time)) {
        return undefined;
    }
    if (next === 0) {
        return points[0][1];
    }
    const [[t0, v0], [t1, v1]] = [points[next - 1], points[next]];
    return v0 + (v1 - v0) * (time - t0) / (t1 - t0);
}

// The part of a curve in a span; a line goes on to the ends of it.
function part(curve, [from, to]) {
    const inside = curve.points.filter(([time]) => time >= from && time <= to);
    const ends = isLine(curve) ? [from, to].map((time) => [[time, valueAt(curve.points, time)]].filter(([, value]) => value !== undefined)) : [[], []];
    return [...ends[0], ...inside, ...ends[1]];
}

const isLine = (curve) => !["dots", "up", "down"].includes(curve.mark);
const lineStyles = { line: 'stroke-width="1.4"', thin: 'stroke-width="0.7" opacity="0.6"', dashed: 'stroke-width="1.2" stroke-dasharray="8 4"', bold: 'stroke-width="2.5"' };
const shapes = {
    dots: (x, y) => `M${x} ${y}h0`,
    up: (x, y) => `M${x - 2.5} ${y + 2.5}l2.5 -5l2.5 5z`,
    down: (x, y) => `M${x - 2.5} ${y - 2.5}l2.5 5l2.5 -5z`,
};

// Draws panels over a shared time into an element. A panel has a label, curves (name, colour, mark, points in seconds and values) and
// coloured bands. `view.span` is the part of the time that is shown, or null for all `seconds`; it outlives the element.
function showLines(host, panels, seconds, view) {
    const { width, height, left, bottom, top } = { width: Math.max(host.clientWidth, 320), height: 220, left: 50, bottom: 24, top: 8 };
    const [from, to] = view.span || [0, seconds];
    const round = (value) => Math.round(value * 10) / 10;
    const x = (time) => round(left + (width - left) * (time - from) / (to - from));

    const drawn = panels.map((panel) => {
        const parts = panel.curves.map((curve) => part(curve, [from, to]));
        const named = parts.filter((_, index) => panel.curves[index].name).flat();
        const most = named.reduce((most, [, value]) => Math.max(most, value), 1e-9) * 1.05;
        const y = (value) => round(height - bottom - (height - bottom - top) * value / most);
        const curves = panel.curves.map((curve, index) => isLine(curve)
            ? `<polyline points="${parts[index].map(([time, value]) => `${x(time)},${y(value)}`).join(" ")}" fill="none" stroke="${curve.colour}" ${lineStyles[curve.mark]}/>`
            : `<path d="${parts[index].map(([time, value]) => shapes[curve.mark](x(time), y(value))).join("")}" fill="${curve.colour}" ` +
              `stroke="${curve.colour}" stroke-linecap="round" ${curve.mark === "dots" ? 'stroke-width="3"' : ""}/>`);
        const bands = panel.bands.filter((band) => band[1] > from && band[0] < to).map(([begin, end, colour]) =>
            `<rect class="band" x="${x(Math.max(begin, from))}" width="${round(x(Math.min(end, to)) - x(Math.max(begin, from)))}" y="${top}" height="${height - bottom - top}" fill="${colour}"/>`);
        const marks = [0, 0.5, 1].map((share) => most * share / 1.05).map((value) =>
            `<line x1="${left}" x2="${width}" y1="${y(value)}" y2="${y(value)}"/><text x="${left - 5}" y="${y(value) + 4}" text-anchor="end">${number(value)}</text>`);
        const times = [0, 0.25, 0.5, 0.75, 1].map((share) => from + (to - from) * share).map((time, index) =>
            `<text x="${x(time)}" y="${height - 6}" text-anchor="${["start", "middle", "middle", "middle", "end"][index]}">${time.toFixed(2)} s</text>`);
        const names = panel.curves.filter((curve) => curve.name).map((curve) => `<b style="color:${curve.colour}">${escaped(curve.name)}</b>`);
        return `<p class="note">${escaped(panel.label)}: ${names.join(", ")}</p>` +
            `<svg class="lines" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(panel.label)} over time">${bands.join("")}` +
            `<rect class="drawn" y="${top}" height="${height - bottom - top}" width="0"/>${marks.join("")}${times.join("")}` +
            `${[...curves].reverse().join("")}<line class="there" x1="-1" x2="-1" y1="${top}" y2="${height - bottom}"/></svg>`;
    });
    host.innerHTML = `<p class="note there">Point at a time to read it; drag to zoom, double-click to see all of the run.</p>${drawn.join("")}`;

    const at = (event) => {
        const box = host.querySelector("svg").getBoundingClientRect();
        return Math.min(width, Math.max(left, (event.clientX - box.left) * width / box.width));
    };
    const timeAt = (place) => from + (to - from) * (place - left) / (width - left);
    const set = (selector, values) => host.querySelectorAll(selector).forEach((part) => Object.entries(values).forEach(([name, value]) => part.setAttribute(name, value)));
    let begun = null;
    host.onpointerdown = (event) => { if (event.target.closest("svg")) { begun = at(event); event.preventDefault(); } };
    host.onpointermove = (event) => {
        if (!event.target.closest("svg")) {
            return;
        }
        const time = timeAt(at(event));
        const read = panels.map((panel) => {
            const values = panel.curves.filter((curve) => curve.name && isLine(curve)).map((curve) => [curve, valueAt(curve.points, time)]);
            const known = values.filter(([, value]) => value !== undefined);
            return known.length === 0 ? "" : `; ${escaped(panel.label)}: ` +
                known.map(([curve, value]) => `<b style="color:${curve.colour}">${escaped(curve.name)}</b> ${number(value)}`).join(", ");
        });
        host.querySelector("p.there").innerHTML = `${time.toFixed(2)} s${read.join("")}`;
        set("line.there", { x1: at(event), x2: at(event) });
        if (begun !== null) {
            set("rect.drawn", { x: Math.min(begun, at(event)), width: Math.abs(begun - at(event)) });
        }
    };
    const show = (span) => { view.span = span; showLines(host, panels, seconds, view); };
    host.onpointerup = (event) => {
        const [first, last] = [begun, at(event)].sort((a, b) => a - b).map(timeAt);
        // There is nothing to see in less than a few points.
        if (begun !== null && last - first > seconds / 200) {
            show([first, last]);
        }
        begun = null;
    };
    host.ondblclick = () => show(null);
}

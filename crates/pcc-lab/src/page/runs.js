// Everything that is shown follows from the data and from these choices; the span is the part of a run in seconds, or all of it.
const chosen = { run: 0, span: null };

function showTable() {
    const [headings, ...rows] = data.table.rows;
    const { names } = data.table;
    // A line of the table leads to the first run of its case.
    const runOf = (cells) => data.runs.findIndex((run) => run.labels.every((label, index) => label === cells[index]));
    const lines = rows.map((cells) => {
        const run = runOf(cells);
        const selected = run >= 0 && run === runOf(data.runs[chosen.run].labels);
        return row(cells.map(escaped), run < 0 ? "" : goes(`run-${run}`, selected), names);
    });
    element("table").innerHTML = `${head(headings, names)}<tbody>${lines.join("")}</tbody>`;
}

function show() {
    const run = data.runs[chosen.run];
    element("run").value = chosen.run;
    element("bands").hidden = run.panels.every((panel) => panel.bands.length === 0);
    showTable();
    showLines(element("lines"), run.panels, run.seconds, chosen);
}

// Where a click leads: run-2. A run can be linked to.
function go(where) {
    const [what, index] = where.split("-");
    if (what === "run" && data.runs[index]) {
        Object.assign(chosen, { run: Number(index), span: null });
        history.replaceState(null, "", `#${where}`);
        show();
    }
}

document.title = element("heading").textContent = data.title || "Runs of a scenario";
element("seeds").textContent = data.seeds;
element("notes").textContent = data.table.notes;
element("run").innerHTML = options(data.runs.map((run) => [...run.labels, `seed ${run.seed}`].join(", ")));
element("run").addEventListener("change", (event) => go(`run-${event.target.value}`));
listenToClicks(go);
show();
go(location.hash.slice(1));

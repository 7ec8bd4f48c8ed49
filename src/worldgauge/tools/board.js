"use strict";

// Sort a table by a column: numbers by size, best first, words by letter; what has no value comes last.
for (const table of document.querySelectorAll(".ranks")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const byMean = new Map([...body.rows].map((row, place) => [row, place])); // as written: where ranks tie, the mean decides
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const first = head.dataset.better === "higher" ? "descending" : "ascending";
      const order = now === null ? first : now === "ascending" ? "descending" : "ascending";
      const sign = order === "ascending" ? 1 : -1;
      const value = (row) => row.cells[column].dataset.value;
      const rows = [...body.rows].sort((a, b) => {
        const x = value(a), y = value(b);
        const last = (row) => row.dataset.flagged !== undefined; // a flagged row is never above another
        if (last(a) !== last(b)) return last(a) - last(b);
        if (x === y) return byMean.get(a) - byMean.get(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        const numbers = !Number.isNaN(Number(x)) && !Number.isNaN(Number(y));
        return sign * (numbers ? Number(x) - Number(y) : x.localeCompare(y));
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...rows);
    });
  });
}

// Filters hide rows of all tables.
const filters = Object.fromEntries([...document.querySelectorAll("[data-filter]")].map((one) => [one.dataset.filter, one]));
const filter = () => {
  const most = Number(filters.parameters.value || Infinity), least = Number(filters.rate.value || 0);
  let shown = 0, all = 0;
  for (const row of document.querySelectorAll(".ranks tbody tr")) {
    const { control, licence, parameters, rate } = row.dataset;
    const keep =
      (!filters.control.value || filters.control.value === control) &&
      (!filters.licence.value || filters.licence.value === licence) &&
      (most === Infinity || (Number(parameters) > 0 && Number(parameters) <= most)) &&
      (least === 0 || (rate !== "" && Number(rate) >= least)) &&
      (filters.baselines.checked || !row.classList.contains("baseline"));
    row.classList.toggle("gone", !keep);
    shown += keep;
    all += 1;
  }
  document.querySelector("[data-shown]").textContent = shown === all ? "" : `${shown} of ${all} results`;
};
for (const one of Object.values(filters)) one.addEventListener("input", filter);
filter();

// Any two: the paired difference that was computed with the ranks.
for (const box of document.querySelectorAll("[data-versus]")) {
  const pairs = JSON.parse(box.querySelector("script").textContent);
  const side = (name) => box.querySelector(`[data-side="${name}"]`);
  const text = (value) => (value > 0 ? "+" : "") + String(Number(value.toPrecision(4))).replace("-", "−");
  const show = () => {
    const a = side("a").value, b = side("b").value;
    const found = pairs.find((one) => (one.a === a && one.b === b) || (one.a === b && one.b === a));
    let said = a === b ? "Choose two." : "They share no task with a value.";
    if (found) {
      const sign = found.a === a ? 1 : -1;
      const ends = found.low === null ? [] : [sign * found.low, sign * found.high].sort((x, y) => x - y);
      const interval = ends.length ? ` [${text(ends[0])}, ${text(ends[1])}]` : "";
      const p = found.p === null ? "" : `, p ${found.p < 0.001 ? "< 0.001" : "= " + found.p.toFixed(3)} corrected for all tested pairs`;
      const open = found.p === null ? "This pair is not tested." : "The difference is not significant.";
      const verdict = found.clear ? `${found.ahead} is better.` : open;
      said = `${a} minus ${b}: ${text(sign * found.mean)}${interval}${p}, on ${found.n} shared tasks in ${found.clusters} clusters. ${verdict}`;
    }
    box.querySelector("output").textContent = said;
  };
  for (const name of ["a", "b"]) side(name).addEventListener("input", show);
  show();
}

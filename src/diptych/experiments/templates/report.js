"use strict";
// Sort a table by any column whose cells carry a value, or by their text.
for (const table of document.querySelectorAll("table.sortable")) {
  const leaves = [];
  const [first, second] = table.tHead.rows;
  let next = 0;
  for (const head of first.cells) {
    if (head.rowSpan > 1) leaves.push(head);
    else for (let i = 0; i < head.colSpan; i += 1) leaves.push(second.cells[next++]);
  }
  const valueOf = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  leaves.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.ariaSort !== "descending";
      leaves.forEach((each) => each.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [valueOf(a, column), valueOf(b, column)];
        const order = isNaN(x) || isNaN(y) ? y.localeCompare(x) : y - x;
        return down ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
// Point at a method in a chart or at its name to see it alone.
const marked = document.querySelectorAll("[data-method]");
for (const item of marked) {
  const show = (only) => marked.forEach((each) => {
    const same = each.dataset.method === item.dataset.method;
    each.classList.toggle("dimmed", only && !same && !each.matches("span"));
    each.classList.toggle("alone", only && same);
  });
  item.addEventListener("mouseenter", () => show(true));
  item.addEventListener("mouseleave", () => show(false));
}

"use strict";
// Adds to a page that is whole without it: sorting, filtering, choosing and copying the rows of a
// series. It reads what the tables show and asks for nothing.

// What a cell says, as a number where it is one.
const read = (cell) => {
  const text = cell.textContent.replace(/^[★~]\s*/, "").trim();
  const plain = text.replace(/,/g, "").replace(/x$/, "");
  return text !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : text;
};

// A condition over axes and columns, in the language of --filter: `block >= 128 && n == 1M`. Whole
// numbers divide as there, and a name that is neither a column nor a value is an error.
const condition = (text, names, known) => {
  const tokens = text.match(/\s+|"[^"]*"|[A-Za-z_]\w*(?:\.[xyz])?|\d+(?:\.\d+)?(?:[KMG](?![\w.]))?(?:x\d+)*|&&|\|\||<<|[<>=!]=|[<>()+\-*\/%!]|./g) || [];
  const words = tokens.filter((token) => !/^\s+$/.test(token));
  let at = 0;
  const fail = (message) => { throw new Error(message); };
  const factors = { K: 1024, M: 1048576, G: 1073741824 };
  const component = (value, axis) => Number(String(value).split("x")["xyz".indexOf(axis)] ?? 1);
  const named = (word) => {
    const column = names.indexOf(word);
    if (column >= 0) return (row) => read(row.cells[column]);
    const [name, axis] = [word.slice(0, -2), word.slice(-1)];
    if (word.at(-2) === "." && names.includes(name)) {
      const of = names.indexOf(name);
      return (row) => component(read(row.cells[of]), axis);
    }
    if (!known.has(word)) fail(`${word} is neither a column nor a value; columns: ${names.join(", ")}`);
    return () => word;
  };
  const one = () => {
    const word = words[at++];
    if (word === undefined) fail("the condition ends too early");
    if (word === "(") {
      const inner = either();
      if (words[at++] !== ")") fail("expected )");
      return inner;
    }
    if (word === "!") { const inner = one(); return (row) => !inner(row); }
    if (word === "-") { const inner = one(); return (row) => -inner(row); }
    if (word.length > 1 && word.startsWith('"')) return () => word.slice(1, -1);
    if (/^\d+x/.test(word)) return () => word;
    if (/^\d/.test(word)) {
      const last = word.slice(-1);
      const value = factors[last] ? Number(word.slice(0, -1)) * factors[last] : Number(word);
      return () => value;
    }
    return /^[A-Za-z_]/.test(word) ? named(word) : fail("unexpected " + word);
  };
  const chain = (next, table, once) => () => {
    let left = next();
    for (let count = 0; Object.hasOwn(table, words[at] ?? ""); count += 1) {
      if (once && count > 0) fail("comparisons do not chain: join them by &&");
      const apply = table[words[at++]];
      const [a, b] = [left, next()];
      left = (row) => apply(a(row), b(row));
    }
    return left;
  };
  const whole = (a, b) => Number.isInteger(a) && Number.isInteger(b);
  const divided = (a, b) => (whole(a, b) ? Math.trunc(a / b) : a / b);
  const product = chain(one, { "*": (a, b) => a * b, "/": divided, "%": (a, b) => a % b });
  const sum = chain(product, { "+": (a, b) => a + b, "-": (a, b) => a - b });
  const shift = chain(sum, { "<<": (a, b) => a * 2 ** b });
  const comparison = chain(shift, {
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
    "==": (a, b) => a === b, "!=": (a, b) => a !== b,
  }, true);
  const both = chain(comparison, { "&&": (a, b) => a && b });
  const either = chain(both, { "||": (a, b) => a || b });
  const found = either();
  if (at < words.length) fail("unexpected " + words[at]);
  return found;
};

const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// Sorts by a column; a second time the other way round.
const sortable = (table) => {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = element("button", { type: "button", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = [...table.tBodies[0].rows].map((row) => [read(row.cells[column]), row]);
      // Numbers first, in either direction: what has no value is never the best.
      keyed.sort(([a], [b]) => {
        const [x, y] = [typeof a === "number", typeof b === "number"];
        if (x !== y) return x ? -1 : 1;
        const order = x ? a - b : a.localeCompare(b);
        return up ? order : -order;
      });
      table.tBodies[0].append(...keyed.map(([, row]) => row));
    });
  });
};

// A pointer over a cell is told what one over its heading is: what is behind the value.
const explained = (table) => table.addEventListener("pointerover", (event) => {
  const cell = event.target.closest("td");
  const behind = cell && table.tHead.rows[0].cells[cell.cellIndex].title;
  if (behind) cell.title = behind;
});

// Text for a spreadsheet; what it would take for a formula is quoted by an apostrophe.
const csv = (table) => {
  const field = (cell) => {
    const text = cell.textContent.trim();
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) && text !== "-" ? "'" + text : text;
    return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  };
  const rows = [...table.rows].filter((row) => !row.hidden);
  return rows.map((row) => [...row.cells].filter((cell) => !cell.hidden).map(field).join(",")).join("\n");
};

const tools = (table) => {
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent.replace(/\s*\[.*\]$/, ""));
  const rows = [...table.tBodies[0].rows];
  const values = new Set(rows.flatMap((row) => [...row.cells].map(read)));
  const said = element("output", {});
  const search = element("input", { type: "search", placeholder: "filter, such as block >= 128 && n == 1M" });
  search.setAttribute("aria-label", "Filter the rows");
  search.addEventListener("input", () => {
    try {
      const keeps = search.value.trim() === "" ? () => true : condition(search.value, names, values);
      rows.forEach((row) => { row.hidden = !keeps(row); });
      const kept = rows.filter((row) => !row.hidden).length;
      said.textContent = kept === rows.length ? "" : `${kept} of ${rows.length} rows`;
      search.removeAttribute("aria-invalid");
    } catch (error) {
      said.textContent = error.message;
      search.setAttribute("aria-invalid", "true");
    }
  });
  const copy = element("button", { type: "button", textContent: "Copy as CSV" });
  copy.addEventListener("click", () => {
    const area = element("textarea", { value: csv(table) });
    document.body.append(area);
    area.select();
    said.textContent = document.execCommand("copy") ? "copied" : "this browser does not copy";
    area.remove();
    copy.focus();
  });
  const chooser = element("details", {}, element("summary", { textContent: "Columns" }));
  const boxes = element("div", { className: "chooser" });
  heads.forEach((head, column) => {
    const box = element("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      for (const row of table.rows) row.cells[column].hidden = !box.checked;
    });
    boxes.append(element("label", {}, box, " " + head.textContent));
  });
  chooser.append(boxes);
  table.parentElement.before(element("div", { className: "tools" }, search, copy, said), chooser);
};

for (const table of document.querySelectorAll("table.rows")) { tools(table); sortable(table); explained(table); }
for (const table of document.querySelectorAll("table.section")) { sortable(table); explained(table); }
// What a link leads to may lie in something folded.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
};
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

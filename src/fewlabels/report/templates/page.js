"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  root.classList.add("js");

  // Light and dark: the system's, until the button says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.querySelector(".theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const recall = () => { try { return localStorage.getItem("fewlabels-theme"); } catch { return null; } };
  const remember = (value) => { try { localStorage.setItem("fewlabels-theme", value); } catch { /* a page from disk may not store */ } };
  const tell = () => theme.setAttribute("aria-pressed", String(isDark()));
  if (recall()) root.dataset.theme = recall();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    tell();
  });
  system.addEventListener("change", tell);
  tell();

  // Charts: the pointer or the arrow keys read the values off the table below.
  for (const chart of all(".chart")) {
    const plot = chart.querySelector(".plot"), area = chart.querySelector(".area");
    const cursor = chart.querySelector(".cursor"), readout = chart.querySelector(".readout");
    const heads = all("thead th", chart).map((cell) => cell.textContent);
    const rows = all("tbody tr", chart).map((row) => ({ at: Number(row.dataset.at), cells: all("td", row).map((c) => c.textContent) }));
    const unit = chart.querySelector(".title .unit") ? " %" : "";
    let current = null;
    const show = (index) => {
      current = Math.min(Math.max(index, 0), rows.length - 1);
      const { at, cells } = rows[current];
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, `${at}%`);
      cursor.classList.add("on");
      const values = cells.slice(1).map((value, i) => (value && heads.length > 2 ? `${heads[i + 1]} ${value}${unit}` : value && value + unit));
      readout.textContent = `${heads[0].toLowerCase()} ${cells[0]}: ${values.filter(Boolean).join(", ") || "–"}`;
    };
    const hide = () => { cursor.classList.remove("on"); readout.textContent = ""; current = null; };
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${chart.querySelector(".title").textContent}: left and right arrow keys read the values`);
    plot.addEventListener("pointermove", (event) => {
      const box = area.getBoundingClientRect();
      const at = (100 * (event.clientX - box.left)) / box.width;
      let nearest = 0;
      rows.forEach((row, i) => { if (Math.abs(row.at - at) < Math.abs(rows[nearest].at - at)) nearest = i; });
      show(nearest);
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const start = current ?? rows.length;
      const to = { ArrowLeft: start - 1, ArrowRight: current === null ? 0 : start + 1, Home: 0, End: rows.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined) return;
      event.preventDefault();
      show(to);
    });
  }

  // Galleries: filters hide, the order sorts, and a line says what is left.
  const FIRST = 48;
  for (const part of all(".pictures")) {
    const form = part.querySelector(".filters"), list = part.querySelector(".gallery");
    const status = part.querySelector(".count"), more = part.querySelector(".more");
    const drawn = all("li", list);
    let whole = false;
    const apply = () => {
      const wanted = Object.fromEntries(new FormData(form));
      const limit = Number(wanted.doubt) / 100;
      form.querySelector("output").textContent = `${wanted.doubt} %`;
      const found = drawn.filter((item) =>
        (!wanted.label || item.dataset.label === wanted.label)
        && (!wanted.state || item.dataset.state === wanted.state)
        && Number(item.dataset.sure) <= limit);
      const sign = { doubt: 1, sure: -1 }[wanted.order] ?? 0;
      const sorted = sign ? [...found].sort((a, b) => sign * (a.dataset.sure - b.dataset.sure)) : found;
      const seen = new Set(whole ? sorted : sorted.slice(0, FIRST));
      for (const item of drawn) item.hidden = !seen.has(item);
      list.append(...sorted, ...drawn.filter((item) => !found.includes(item)));
      const wrong = found.filter((item) => item.dataset.state === "wrong").length;
      const known = found.some((item) => item.dataset.state !== "unknown");
      status.textContent = found.length
        ? `${seen.size} of ${found.length}${found.length < drawn.length ? " matching" : ""} images shown${known ? `; ${wrong} of the ${found.length} labelled wrongly` : ""}`
        : "No image is like this: loosen a filter";
      more.hidden = seen.size === found.length;
      more.textContent = `Show all ${found.length}`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => { whole = false; setTimeout(apply); });
    more.addEventListener("click", () => {
      const next = all("li[hidden]", list)[0];
      whole = true;
      apply();
      if (next) { next.tabIndex = -1; next.focus({ preventScroll: true }); }
    });
    apply();
  }

  // Commands: copied where the browser allows it, selected where it does not.
  for (const button of all(".copy")) {
    const code = button.parentElement.querySelector("code"), words = button.innerHTML;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.innerHTML = words; }, 2000);
    });
  }

  // A link to a run opens it. Paper shows what is open.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const home = target && target.closest("details.run");
    if (home) { home.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();

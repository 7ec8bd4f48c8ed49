// The viewer: runs with their progress, a list of any number of tasks, and one task with its films in step.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const ROW = 34;
  const ENDS = ["left", "scored", "skipped", "failed", "not scored"];
  const state = { groups: [], group: null, tasks: null, order: [], sort: null, task: null, frame: 0 };

  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const ask = async (path, fields = {}) => {
    const answer = await fetch(`${path}?${new URLSearchParams(fields)}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  };
  const tell = (error) => {
    $("trouble").hidden = !error;
    $("trouble").textContent = error ? String(error.message || error) : "";
  };
  const guarded = (act) => async (...given) => {
    try { await act(...given); } catch (error) { tell(error); }
  };
  const number = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(4))).replace("-", "−"));
  const colour = (k) => `k${(k % 9) + 1}`;
  const swatch = (kind) => make("span", "", `swatch ${kind}`);

  // the address: which group, task, frame and metric
  const wanted = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const address = (fields) => `#${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== ""))}`;
  const here = (fields) => address({ g: state.group, m: state.tasks && state.tasks.metric, t: state.task && state.task.task, i: state.task ? state.frame : null, ...fields });
  const keep = () => history.replaceState(null, "", here({}));

  // the list of runs
  const showGroups = () => {
    const place = $("groups");
    const cards = state.groups.map((group) => {
      const card = make("article", null, "card");
      const title = make("h3");
      const link = make("a", `${group.suite}${group.place === "." ? "" : ` in ${group.place}`}`);
      link.href = address({ g: group.id });
      title.append(link);
      if (group.votable) {
        const vote = make("a", "vote blind", "muted");
        vote.href = `/vote?${new URLSearchParams({ g: group.id })}`;
        title.append(vote);
      }
      card.append(title);
      for (const run of group.runs) {
        const line = make("div", null, "run");
        const who = make("span", run.label, "who");
        if (run.kind === "reference") who.append(make("span", "reference", "chip"));
        const meter = make("span", null, "meter");
        meter.setAttribute("role", "img");
        const ended = run.scored + run.unscored + run.skipped + run.failed;
        meter.setAttribute("aria-label", `${ended} of ${run.expected} tasks have ended`);
        for (const [kind, count] of [["done", run.scored + run.unscored], ["failed", run.failed], ["skipped", run.skipped]]) {
          const part = make("i", null, kind);
          part.style.width = `${run.expected ? (100 * count) / run.expected : 0}%`;
          meter.append(part);
        }
        const words = [`${ended} of ${run.expected}`];
        if (run.failed) words.push(`${run.failed} failed`);
        if (run.skipped) words.push(`${run.skipped} skipped`);
        line.append(who, meter, make("span", words.join(", "), "told"));
        card.append(line);
      }
      return card;
    });
    place.replaceChildren(...(cards.length ? cards : [make("p", "No runs here yet. They appear as soon as one starts.", "muted")]));
  };

  const look = async () => {
    const found = await (await ask("/api/runs")).json();
    $("where").textContent = found.root;
    state.groups = found.groups;
    if (!state.group) showGroups();
    if (found.problems.length) tell(`Not shown: ${found.problems.join("; ")}`);
    const now = found.groups.find((one) => one.id === state.group);
    if (now && state.tasks && now.stamp !== state.tasks.stamp) await loadTasks(state.tasks.metric);
  };

  // the list of tasks: only the rows in view are in the document
  const loadTasks = async (metric) => {
    const top = $("body").scrollTop;
    state.tasks = await (await ask("/api/tasks", { g: state.group, m: metric || "" })).json();
    state.flags = new Set(state.tasks.flags);
    state.names = state.tasks.tasks.map((one) => one.toLowerCase());
    fillTools();
    arrange();
    $("body").scrollTop = top;
  };

  const fill = (select, values, chosen, first) => {
    const options = (first === undefined ? [] : [["", first]]).concat(values.map((one) => [one, one]));
    select.replaceChildren(...options.map(([value, text]) => {
      const option = make("option", text);
      option.value = value;
      option.selected = value === chosen;
      return option;
    }));
  };

  const fillTools = () => {
    const { metrics, metric, subjects, columns, cells } = state.tasks;
    fill($("metric"), metrics.map((one) => one.name), metric);
    const labels = subjects.map((one) => one.label);
    fill($("a"), labels, $("a").value, "–");
    fill($("b"), labels, $("b").value, "–");
    const chosen = Object.fromEntries([...$("filters").querySelectorAll("select")].map((one) => [one.dataset.column, one.value]));
    $("filters").replaceChildren(...columns.flatMap((name, k) => {
      const values = [...new Set(cells[k])].sort((x, y) => x.localeCompare(y, undefined, { numeric: true }));
      if (values.length < 2 || values.length > 24) return [];
      const label = make("label", `${name} `);
      const select = make("select");
      select.dataset.column = name;
      fill(select, values, chosen[name] || "", "any");
      select.addEventListener("change", arrange);
      label.append(select);
      return [label];
    }));
  };

  const difference = () => {
    const labels = state.tasks.subjects.map((one) => one.label);
    const [a, b] = [labels.indexOf($("a").value), labels.indexOf($("b").value)];
    if (a < 0 || b < 0 || a === b) return null;
    const [x, y] = [state.tasks.values[a], state.tasks.values[b]];
    return x.map((value, n) => (value === null || y[n] === null ? null : value - y[n]));
  };

  const columnsShown = () => {
    const { subjects, columns, metrics, metric, values, ends } = state.tasks;
    const better = (metrics.find((one) => one.name === metric) || {}).better;
    const shown = [{ name: "task", key: state.tasks.tasks, width: "minmax(150px, 2fr)", px: 150 }];
    const narrow = $("grid").clientWidth < 560; // there, scores matter more than what the filters and the name tell
    if (narrow) Object.assign(shown[0], { width: "minmax(110px, 2fr)", px: 110 });
    if (columns.length && !narrow) shown.push({ name: columns.join(", "), key: state.tasks.tasks.map((_, n) => state.tasks.cells.map((c) => c[n]).filter(Boolean).join(", ")), width: "minmax(110px, 1fr)", px: 110 });
    subjects.forEach((one, k) => shown.push({ name: one.label, key: values[k], ends: ends[k], better, width: "minmax(84px, 150px)", px: 84 }));
    const apart = difference();
    if (apart) shown.push({ name: `${$("a").value} − ${$("b").value}`, key: apart, better, width: "minmax(110px, 170px)", px: 110 });
    return shown;
  };

  const arrange = () => {
    const { tasks, columns, cells } = state.tasks;
    const find = $("find").value.trim().toLowerCase();
    const filters = [...$("filters").querySelectorAll("select")].filter((one) => one.value).map((one) => [cells[columns.indexOf(one.dataset.column)], one.value]);
    const only = $("flagged").checked;
    const order = [];
    for (let n = 0; n < tasks.length; n += 1) {
      if (find && !state.names[n].includes(find)) continue;
      if (only && !state.flags.has(tasks[n])) continue;
      if (filters.some(([values, value]) => values[n] !== value)) continue;
      order.push(n);
    }
    state.shown = columnsShown();
    if (state.sort) {
      const column = state.shown.find((one) => one.name === state.sort.name);
      if (column) {
        const sign = state.sort.down ? -1 : 1;
        const key = column.key;
        order.sort((x, y) => {
          if (key[x] === key[y]) return x - y;
          if (key[x] === null) return 1;
          if (key[y] === null) return -1;
          return sign * (typeof key[x] === "number" ? key[x] - key[y] : String(key[x]).localeCompare(String(key[y]), undefined, { numeric: true }));
        });
      }
    }
    state.order = order;
    $("shown").textContent = order.length === tasks.length ? `${tasks.length} tasks` : `${order.length} of ${tasks.length} tasks`;
    drawHead();
    $("grid").style.setProperty("--rows", `${order.length * ROW}px`);
    $("space").style.height = `${order.length * ROW}px`;
    drawRows();
  };

  const drawHead = () => {
    const template = `30px ${state.shown.map((one) => one.width).join(" ")}`;
    const wide = state.shown.reduce((sum, one) => sum + one.px + 10, 60);
    for (const one of [$("grid")]) {
      one.style.setProperty("--wide", `${wide}px`);
      one.dataset.template = template;
    }
    $("head").style.gridTemplateColumns = template;
    $("head").replaceChildren(make("span"), ...state.shown.map((column) => {
      const cell = make("span", null, column.better !== undefined ? "num" : "");
      cell.setAttribute("role", "columnheader");
      const mark = state.sort && state.sort.name === column.name ? (state.sort.down ? " ▾" : " ▴") : "";
      const button = make("button", `${column.name}${mark}`);
      button.type = "button";
      button.title = column.name;
      if (mark) button.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
      button.addEventListener("click", () => {
        const worst = column.better === "lower"; // the worst first
        state.sort = state.sort && state.sort.name === column.name ? { name: column.name, down: !state.sort.down } : { name: column.name, down: worst };
        arrange();
        $("body").scrollTop = 0;
      });
      cell.append(button);
      return cell;
    }));
  };

  const drawRows = () => {
    const body = $("body");
    const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 6);
    const last = Math.min(state.order.length, Math.ceil((body.scrollTop + body.clientHeight) / ROW) + 6);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const n = state.order[at];
      const name = state.tasks.tasks[n];
      const row = make("div", null, "row");
      row.setAttribute("role", "row");
      row.style.top = `${at * ROW}px`;
      row.style.gridTemplateColumns = $("grid").dataset.template;
      row.dataset.task = name;
      if (state.task && state.task.task === name) row.setAttribute("aria-selected", "true");
      const star = make("button", "⚑", "star");
      star.type = "button";
      star.setAttribute("aria-pressed", state.flags.has(name));
      star.setAttribute("aria-label", `Flag ${name}`);
      star.addEventListener("click", (event) => { event.stopPropagation(); flag(name); });
      row.append(star);
      for (const column of state.shown) {
        const value = column.key[n];
        if (column.better === undefined) {
          const cell = make("span", value);
          cell.title = value;
          row.append(cell);
          continue;
        }
        const end = column.ends ? ENDS[Number(column.ends[n])] : "scored";
        const cell = value === null && end !== "scored" ? make("span", end, `num end ${end === "failed" ? "failed" : ""}`) : make("span", number(value), "num");
        row.append(cell);
      }
      row.addEventListener("click", () => { location.hash = address({ g: state.group, m: state.tasks.metric, t: name }); });
      rows.push(row);
    }
    $("rows").replaceChildren(...rows);
  };

  const flag = guarded(async (name) => {
    const on = !state.flags.has(name);
    const answer = await fetch("/api/flag", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ g: state.group, t: name, on }) });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    state.flags[on ? "add" : "delete"](name);
    drawRows();
    showFlag();
  });
  const showFlag = () => { if (state.task) $("flag").setAttribute("aria-pressed", state.flags.has(state.task.task)); };

  // one task
  const images = new Map();
  const frameUrl = (name, frame, apart) => `/frame?${new URLSearchParams({ g: state.group, t: state.task.task, c: name, i: frame, ...(apart ? { d: 1 } : {}) })}`;
  const picture = (url) => {
    if (!images.has(url)) {
      const image = new Image();
      images.set(url, new Promise((done, fail) => { image.onload = () => done(image); image.onerror = () => fail(new Error("a frame cannot be read")); }));
      image.src = url;
      if (images.size > 400) images.delete(images.keys().next().value);
    }
    return images.get(url);
  };

  const openTask = async (name, frame) => {
    stop();
    state.film = null;
    state.task = await (await ask("/api/task", { g: state.group, t: name })).json();
    const task = state.task;
    $("task").hidden = false;
    $("taskname").textContent = name;
    $("asked").textContent = task.asked;
    $("asked").hidden = !task.asked;
    showFlag();
    drawTiles();
    drawCurves();
    drawScores();
    $("notes").replaceChildren(...task.notes.map((one) => make("li", one)));
    const moves = task.frames > 0;
    $("controls").hidden = !moves;
    $("scrub").max = Math.max(0, task.frames - 1);
    $("diff").parentElement.hidden = !task.truth;
    drawRows();
    if (moves) await seek(frame);
  };

  const colourOf = (name) => {
    const at = state.tasks.subjects.findIndex((one) => one.label === name);
    return at < 0 ? "k0" : colour(at);
  };

  const drawTiles = () => {
    const task = state.task;
    const tiles = [];
    for (const apart of [false, true]) {
      if (apart && !($("diff").checked && task.truth)) continue;
      for (const clip of task.clips) {
        if (apart && clip.name === task.truth) continue;
        const figure = make("figure");
        const caption = make("figcaption");
        caption.append(swatch(colourOf(clip.name)), make("span", apart ? `${clip.name} − truth` : clip.name));
        const canvas = make("canvas");
        [canvas.width, canvas.height] = [clip.width, clip.height];
        Object.assign(canvas.dataset, { name: clip.name, apart: apart ? "1" : "" });
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", caption.textContent);
        figure.append(caption, canvas);
        tiles.push(figure);
      }
    }
    for (const answer of task.answers) {
      const figure = make("figure");
      const caption = make("figcaption");
      caption.append(swatch(colourOf(answer.name)), make("span", answer.verdict ? `${answer.name}: ${answer.verdict}` : answer.name));
      figure.append(caption);
      if (answer.picture) {
        const image = make("img");
        image.alt = `answer of ${answer.name}`;
        image.src = `/plate?${new URLSearchParams({ g: state.group, t: task.task, c: answer.name })}`;
        figure.append(image);
      }
      if (answer.text) figure.append(make("pre", answer.text));
      for (const reason of answer.reasons) figure.append(make("p", reason, "note"));
      tiles.push(figure);
    }
    $("tiles").replaceChildren(...tiles);
  };

  const SVG = "http://www.w3.org/2000/svg";
  const drawCurves = () => {
    const task = state.task;
    $("curves").replaceChildren(...task.curves.slice(0, 6).map((curve) => {
      const figure = make("figure");
      figure.append(make("figcaption", curve.unit && curve.unit !== "1" ? `${curve.metric} [${curve.unit}]` : curve.metric));
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", "0 0 1000 100");
      svg.setAttribute("preserveAspectRatio", "none");
      const points = Object.values(curve.lines).flat().filter((one) => one[1] !== null);
      const low = Math.min(0, ...points.map((one) => one[1]));
      const high = Math.max(...points.map((one) => one[1]), low + 1e-9);
      const last = Math.max(1, task.frames - 1);
      for (const [name, line] of Object.entries(curve.lines)) {
        const path = document.createElementNS(SVG, "polyline");
        path.setAttribute("class", `line ${colourOf(name)}`);
        path.setAttribute("points", line.filter((one) => one[1] !== null).map(([at, value]) => `${((1000 * at) / last).toFixed(1)},${(96 - (92 * (value - low)) / (high - low)).toFixed(1)}`).join(" "));
        svg.append(path);
      }
      const now = document.createElementNS(SVG, "line");
      now.setAttribute("class", "now");
      now.setAttribute("y1", "0");
      now.setAttribute("y2", "100");
      svg.append(now);
      svg.addEventListener("click", (event) => {
        const box = svg.getBoundingClientRect();
        seek(Math.round(((event.clientX - box.left) / box.width) * last));
      });
      figure.append(svg);
      return figure;
    }));
  };

  const drawScores = () => {
    const { metrics, rows } = state.task;
    const head = make("tr");
    head.append(make("th", "subject"), ...metrics.map((one) => make("th", `${one.name}${{ higher: " ↑", lower: " ↓" }[one.better] || ""}`)));
    const top = make("thead");
    top.append(head);
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr");
      const who = make("th", null, "who");
      who.scope = "row";
      who.append(swatch(colourOf(row.label)), row.label);
      line.append(who, ...(row.end === "scored" ? row.values.map((one) => make("td", number(one))) : [Object.assign(make("td", row.end), { colSpan: Math.max(1, metrics.length) })]));
      body.append(line);
    }
    $("scores").replaceChildren(top, body);
  };

  const mark = (frame) => {
    const task = state.task;
    state.frame = frame;
    $("scrub").value = frame;
    $("frame").textContent = `frame ${frame} of ${task.frames - 1}, ${(frame / (task.fps || 1)).toFixed(2)} s`;
    const at = (1000 * frame) / Math.max(1, task.frames - 1);
    for (const line of document.querySelectorAll("#curves .now")) {
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
    }
  };

  // All tiles change together: a frame is drawn when every tile has its own.
  const seek = guarded(async (frame) => {
    const task = state.task;
    if (!task || !task.frames) return;
    const wanted = Math.max(0, Math.min(task.frames - 1, frame));
    mark(wanted);
    const canvases = [...document.querySelectorAll("#tiles canvas")];
    const found = await Promise.all(canvases.map((one) => picture(frameUrl(one.dataset.name, wanted, one.dataset.apart))));
    if (state.task !== task || state.frame !== wanted || state.playing) return;
    found.forEach((image, k) => canvases[k].getContext("2d").drawImage(image, 0, 0, canvases[k].width, canvases[k].height));
    $("tiles").dataset.frame = wanted;
    keep();
    for (const near of [wanted + 1, wanted - 1]) {
      if (near >= 0 && near < task.frames) canvases.forEach((one) => picture(frameUrl(one.dataset.name, near, one.dataset.apart)).catch(() => {}));
    }
  });

  const stop = () => {
    state.playing = false;
    $("play").textContent = "▶ Play";
    if (state.film) state.film.video.pause();
  };

  const openFilm = async () => {
    const fields = { g: state.group, t: state.task.task };
    const facts = await (await ask("/api/film", fields)).json();
    const video = document.createElement("video");
    video.muted = true;
    video.src = URL.createObjectURL(await (await ask("/film.mp4", fields)).blob());
    await new Promise((done, fail) => { video.onloadeddata = done; video.onerror = () => fail(new Error("the film cannot be played")); });
    return { ...facts, video };
  };

  const drawFilm = () => {
    const { film } = state;
    const shown = Math.min(film.frames - 1, Math.floor(film.video.currentTime * film.fps + 1e-3));
    for (const canvas of document.querySelectorAll("#tiles canvas")) {
      const at = film.names.indexOf(canvas.dataset.name);
      if (at < 0 || canvas.dataset.apart) continue;
      const [width, height] = film.tile;
      const [x, y] = [(at % film.columns) * width, Math.floor(at / film.columns) * (height + film.strip) + film.strip];
      canvas.getContext("2d").drawImage(film.video, x, y, width, height, 0, 0, canvas.width, canvas.height);
    }
    mark(Math.min(state.task.frames - 1, shown * film.step));
  };

  const play = guarded(async () => {
    if (state.playing) {
      stop();
      await seek(state.frame);
      return;
    }
    const task = state.task;
    if (!task || !task.frames) return;
    state.playing = true;
    $("play").textContent = "…";
    if (!state.film) state.film = await openFilm();
    if (state.task !== task || !state.playing) return;
    $("play").textContent = "❚❚ Pause";
    const { film } = state;
    const start = state.frame >= task.frames - film.step ? 0 : state.frame;
    film.video.currentTime = (Math.floor(start / film.step) + 0.01) / film.fps;
    film.video.playbackRate = Number($("speed").value);
    await film.video.play();
    const turn = () => {
      if (!state.playing || state.film !== film) return;
      drawFilm();
      if (film.video.ended) { stop(); seek(state.frame); } else requestAnimationFrame(turn);
    };
    turn();
  });

  const closeTask = () => {
    stop();
    state.task = null;
    $("task").hidden = true;
    if (state.tasks) drawRows();
  };

  const neighbour = (by) => {
    if (!state.tasks || !state.order.length) return;
    const at = state.task ? state.order.indexOf(state.tasks.tasks.indexOf(state.task.task)) : -1;
    const n = state.order[Math.max(0, Math.min(state.order.length - 1, at + by))];
    location.hash = address({ g: state.group, m: state.tasks.metric, t: state.tasks.tasks[n] });
  };

  const route = guarded(async () => {
    const to = wanted();
    tell("");
    $("home").hidden = Boolean(to.g);
    $("list").hidden = !to.g;
    if (!to.g) {
      closeTask();
      state.group = state.tasks = null;
      $("crumbs").replaceChildren();
      showGroups();
      await look();
      return;
    }
    if (state.group !== to.g) {
      closeTask();
      Object.assign(state, { group: to.g, tasks: null, sort: null });
      await loadTasks(to.m);
      const all = make("a", "All runs");
      all.href = "#";
      $("crumbs").replaceChildren(all, make("span", `${state.tasks.suite}${state.tasks.place === "." ? "" : ` in ${state.tasks.place}`}`));
    } else if (to.m && state.tasks.metric !== to.m) {
      await loadTasks(to.m);
    }
    if (!to.t) closeTask();
    else if (!state.task || state.task.task !== to.t) await openTask(to.t, Number(to.i) || 0);
    else if (to.i !== undefined && Number(to.i) !== state.frame) await seek(Number(to.i));
  });

  $("body").addEventListener("scroll", () => requestAnimationFrame(drawRows));
  $("metric").addEventListener("change", guarded(async () => { await loadTasks($("metric").value); keep(); }));
  for (const id of ["find", "a", "b", "flagged"]) $(id).addEventListener("input", () => { arrange(); $("body").scrollTop = 0; });
  $("scrub").addEventListener("input", () => { stop(); seek(Number($("scrub").value)); });
  $("play").addEventListener("click", play);
  $("back").addEventListener("click", () => { stop(); seek(state.frame - 1); });
  $("step").addEventListener("click", () => { stop(); seek(state.frame + 1); });
  $("speed").addEventListener("change", () => { if (state.film) state.film.video.playbackRate = Number($("speed").value); });
  $("diff").addEventListener("change", () => { stop(); drawTiles(); seek(state.frame); });
  $("flag").addEventListener("click", () => flag(state.task.task));
  $("close").addEventListener("click", () => { location.hash = address({ g: state.group, m: state.tasks.metric }); });
  $("prev").addEventListener("click", () => neighbour(-1));
  $("next").addEventListener("click", () => neighbour(1));
  $("link").addEventListener("click", guarded(async () => {
    keep();
    if (navigator.clipboard) await navigator.clipboard.writeText(location.href);
    $("link").textContent = "Copied";
    setTimeout(() => { $("link").textContent = "Link to this frame"; }, 1200);
  }));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input[type=search], input[type=text], select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const acts = {
      ArrowLeft: () => { stop(); seek(state.frame - far); },
      ArrowRight: () => { stop(); seek(state.frame + far); },
      Home: () => { stop(); seek(0); },
      End: () => { stop(); seek(state.task.frames - 1); },
      " ": play,
      d: () => $("diff").click(),
      f: () => flag(state.task.task),
      Escape: () => $("close").click(),
    };
    const lists = { j: () => neighbour(1), k: () => neighbour(-1) };
    const act = (state.task && acts[event.key]) || (state.tasks && lists[event.key]);
    if (!act || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    act();
  });
  addEventListener("hashchange", route);
  addEventListener("resize", () => { if (state.tasks) arrange(); });
  setInterval(() => { if (!document.hidden) look().catch((error) => tell(error.message === "Failed to fetch" ? "The viewer has ended." : error)); }, 2000);
  route();
  if (wanted().g) look().catch(tell);
})();

// The viewer: runs with their progress, a list of any number of tasks, and one task with its films in step.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const ROW = 38;
  const NARROW_ROW = 50; // with the group below the name
  const LETTER = 7.6;
  const ENDS = ["left", "scored", "skipped", "failed", "not scored"];
  const FLAG = "⚑";
  const CURVES = 6; // drawn until the reader chooses
  const state = { row: ROW, groups: null, group: null, tasks: null, order: [], sort: null, task: null, frame: 0, curves: {} };

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
  const number = (value) => (value === null || value === undefined ? "–" : Math.abs(value) < 5e-6 ? "0" : String(Number(value.toPrecision(4))).replace("-", "−"));
  const swatch = (kind) => make("span", "", `swatch ${kind}`);

  // the address: which group, task, frame and metric
  const wanted = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const address = (fields) => `#${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== ""))}`;
  const here = (fields) => address({ g: state.group, m: state.tasks && state.tasks.metric, t: state.task && state.task.task, i: state.task ? state.frame : null, ...fields });
  const keep = () => history.replaceState(null, "", here({}));

  // the list of runs
  const showGroups = () => {
    const place = $("groups");
    const cards = (state.groups || []).map((group) => {
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
        if (run.kind === "baseline") who.append(make("span", "baseline", "chip"));
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
    place.replaceChildren(...(cards.length ? cards : [make("p", state.groups ? "No runs here yet. They appear as soon as one starts." : "Reading the runs.", "muted")]));
  };

  let looking = null; // One look at a time: on a busy machine they would take all connections.
  const look = () => {
    looking = looking || lookOnce().finally(() => { looking = null; });
    return looking;
  };
  const lookOnce = async () => {
    const found = await (await ask("/api/runs")).json();
    $("where").textContent = found.root;
    state.groups = found.groups;
    if (!state.group) showGroups();
    if (found.problems.length) tell(`Not shown: ${found.problems.join("; ")}`);
    const now = found.groups.find((one) => one.id === state.group);
    if (now && state.tasks && now.stamp !== state.tasks.stamp) await loadTasks(state.tasks.metric);
    if (now && state.task && !state.playing && now.stamp !== state.taskStamp) await renewTask(now.stamp);
  };

  // the list of tasks: only the rows in view are in the document
  const loadTasks = async (metric) => {
    const top = $("grid").scrollTop;
    state.tasks = await (await ask("/api/tasks", { g: state.group, m: metric || "" })).json();
    state.flags = new Set(state.tasks.flags);
    state.names = state.tasks.tasks.map((one) => one.toLowerCase());
    fillTools();
    arrange();
    $("grid").scrollTop = top;
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
    const { metrics, metric, models, columns, cells } = state.tasks;
    fill($("metric"), metrics.map((one) => one.name), metric);
    const labels = models.map((one) => one.label);
    fill($("a"), labels, $("a").value, "–");
    fill($("b"), labels, $("b").value, "–");
    fill($("of"), labels, $("of").value, "any model");
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
    const labels = state.tasks.models.map((one) => one.label);
    const [a, b] = [labels.indexOf($("a").value), labels.indexOf($("b").value)];
    if (a < 0 || b < 0 || a === b) return null;
    const [x, y] = [state.tasks.values[a], state.tasks.values[b]];
    return x.map((value, n) => (value === null || y[n] === null ? null : value - y[n]));
  };

  // The middle of what does not fit two lines is left out: names of one family differ at their ends.
  const fit = (text, px) => {
    const most = 2 * Math.floor(px / LETTER) - 4;
    return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2))}…${text.slice(-Math.floor(most / 2) + 1)}`;
  };
  const roomFor = (texts, least, most) => Math.round(Math.min(most, Math.max(least, 0.65 * LETTER * texts.reduce((length, one) => Math.max(length, one.length), 0))));

  const columnsShown = () => {
    const { models, columns, metrics, metric, values, ends } = state.tasks;
    const better = (metrics.find((one) => one.name === metric) || {}).better;
    const room = roomFor(state.tasks.tasks, 150, 420);
    const shown = [{ name: "task", key: state.tasks.tasks, width: `minmax(${room}px, 2fr)`, px: room }];
    const narrow = $("grid").clientWidth < 560; // there, the group is told below the name
    const told = (n) => state.tasks.cells.map((c) => c[n]).filter(Boolean).join(", ");
    if (narrow) Object.assign(shown[0], { width: "minmax(160px, 2fr)", px: 160, under: columns.length ? told : null });
    else if (columns.length) {
      const key = state.tasks.tasks.map((_, n) => told(n));
      const px = roomFor(key, 110, 240);
      shown.push({ name: columns.join(", "), key, width: `minmax(${px}px, 1fr)`, px });
    }
    state.row = narrow && columns.length ? NARROW_ROW : ROW;
    models.forEach((one, k) => shown.push({ name: one.label, key: values[k], ends: ends[k], better, width: "minmax(84px, 150px)", px: 84 }));
    const apart = difference();
    if (apart) shown.push({ name: `${$("a").value} − ${$("b").value}`, key: apart, better, width: "minmax(110px, 170px)", px: 110 });
    return shown;
  };

  const arrange = () => {
    const { tasks, columns, cells } = state.tasks;
    const find = $("find").value.trim().toLowerCase();
    const filters = [...$("filters").querySelectorAll("select")].filter((one) => one.value).map((one) => [cells[columns.indexOf(one.dataset.column)], one.value]);
    const only = $("flagged").checked;
    const [low, high] = ["from", "to"].map((id, k) => ($(id).value === "" ? [-Infinity, Infinity][k] : Number($(id).value)));
    const of = state.tasks.models.findIndex((one) => one.label === $("of").value);
    const scores = low > -Infinity || high < Infinity ? (of < 0 ? state.tasks.values : [state.tasks.values[of]]) : null;
    const order = [];
    for (let n = 0; n < tasks.length; n += 1) {
      if (find && !state.names[n].includes(find)) continue;
      if (only && !state.flags.has(tasks[n])) continue;
      if (filters.some(([values, value]) => values[n] !== value)) continue;
      if (scores && !scores.some((values) => values[n] !== null && values[n] >= low && values[n] <= high)) continue;
      order.push(n);
    }
    state.shown = columnsShown();
    if (state.sort && state.sort.name === FLAG) {
      const flagged = (n) => (state.flags.has(tasks[n]) ? 0 : 1);
      order.sort((x, y) => (state.sort.down ? -1 : 1) * (flagged(x) - flagged(y)) || x - y);
    } else if (state.sort) {
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
    $("grid").style.setProperty("--row", `${state.row}px`);
    $("space").style.height = `${order.length * state.row}px`;
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
    const star = make("button", FLAG, "star");
    star.type = "button";
    star.title = "Flagged tasks first";
    if (state.sort && state.sort.name === FLAG) star.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
    star.addEventListener("click", () => {
      state.sort = { name: FLAG, down: Boolean(state.sort && state.sort.name === FLAG && !state.sort.down) };
      arrange();
      $("grid").scrollTop = 0;
    });
    $("head").replaceChildren(star, ...state.shown.map((column) => {
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
        $("grid").scrollTop = 0;
      });
      cell.append(button);
      return cell;
    }));
  };

  const drawRows = () => {
    const grid = $("grid");
    const first = Math.max(0, Math.floor(grid.scrollTop / state.row) - 6);
    const last = Math.min(state.order.length, Math.ceil((grid.scrollTop + grid.clientHeight) / state.row) + 6);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const n = state.order[at];
      const name = state.tasks.tasks[n];
      const row = make("div", null, "row");
      row.setAttribute("role", "row");
      row.style.top = `${at * state.row}px`;
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
          const under = column.under ? column.under(n) : "";
          const cell = make("span", null, column === state.shown[0] ? "name whole" : "name");
          cell.append(make("span", fit(value, column.px)));
          if (under) cell.append(make("small", under));
          cell.title = under ? `${value} (${under})` : value;
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
    state.taskStamp = state.tasks.stamp;
    state.task = await (await ask("/api/task", { g: state.group, t: name })).json();
    state.frame = frame;  // also where there are no frames yet
    $("task").hidden = false;
    $("taskname").textContent = name;
    showFlag();
    drawTask();
    drawRows();
    if (state.task.frames) await seek(frame);
  };

  const drawTask = () => {
    const task = state.task;
    $("asked").textContent = task.asked;
    $("asked").hidden = !task.asked;
    drawTiles();
    drawCurves();
    drawScores();
    $("notes").replaceChildren(...task.notes.map((one) => make("li", one)));
    $("controls").hidden = !task.frames;
    $("scrub").max = Math.max(0, task.frames - 1);
    $("diff").parentElement.hidden = !task.truth;
    $("exact").parentElement.hidden = !task.exact.length;
  };

  // What has grown meanwhile; frame, zoom of curves and the page's place stay.
  const renewTask = async (stamp) => {
    const before = state.task;
    const now = await (await ask("/api/task", { g: state.group, t: before.task })).json();
    if (state.task !== before || state.playing) return;
    state.taskStamp = stamp;
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    state.task = now;
    state.film = null;
    drawTask();
    if (now.frames) await seek(state.frame);
  };

  const colourOf = (name) => {
    const at = state.tasks.models.findIndex((one) => one.label === name);
    return at < 0 ? "k0" : state.tasks.models[at].look;
  };

  const drawTiles = () => {
    const task = state.task;
    const tiles = [];
    for (const apart of [false, true]) {
      if (apart && !($("diff").checked && task.truth)) continue;
      for (const clip of task.clips) {
        const exact = task.exact.includes(clip.name);
        if ((apart && (exact || clip.name === task.truth)) || (exact && !$("exact").checked)) continue;
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
    const shown = (curve, k) => state.curves[curve.metric] ?? k < CURVES;
    $("chosen").hidden = task.curves.length < 2;
    $("chosen").replaceChildren(...task.curves.map((curve, k) => {
      const label = make("label");
      const tick = make("input");
      tick.type = "checkbox";
      tick.checked = shown(curve, k);
      tick.addEventListener("change", () => { state.curves[curve.metric] = tick.checked; drawCurves(); mark(state.frame); });
      label.append(tick, curve.metric);
      return label;
    }));
    $("curves").replaceChildren(...task.curves.filter(shown).map((curve) => {
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
    head.append(make("th", "model"), ...metrics.map((one) => make("th", `${one.name}${{ higher: " ↑", lower: " ↓" }[one.better] || ""}`)));
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

  const exactShown = () => $("exact").checked && state.task.exact.length > 0;

  const openFilm = async () => {
    const fields = { g: state.group, t: state.task.task, ...(exactShown() ? { x: 1 } : {}) };
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
    // The picture of a video may change between two draws, so it is taken once for all tiles.
    const [width, height] = film.tile;
    film.still = film.still || new OffscreenCanvas(film.video.videoWidth, film.video.videoHeight);
    film.still.getContext("2d").drawImage(film.video, 0, 0);
    const tile = (context, at) => {
      const [x, y] = [(at % film.columns) * width, Math.floor(at / film.columns) * (height + film.strip) + film.strip];
      context.drawImage(film.still, x, y, width, height, 0, 0, context.canvas.width, context.canvas.height);
    };
    for (const canvas of document.querySelectorAll("#tiles canvas")) {
      const [at, truth] = [film.names.indexOf(canvas.dataset.name), film.names.indexOf(state.task.truth)];
      if (at < 0) continue;
      const context = canvas.getContext("2d");
      tile(context, at);
      if (!canvas.dataset.apart) continue;
      context.globalCompositeOperation = "difference";
      tile(context, truth);
      // Three times as bright, as in the pictures of a frame that stands.
      const once = new OffscreenCanvas(canvas.width, canvas.height);
      once.getContext("2d").drawImage(canvas, 0, 0);
      context.globalCompositeOperation = "lighter";
      context.drawImage(once, 0, 0);
      context.drawImage(once, 0, 0);
      context.globalCompositeOperation = "source-over";
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

  $("grid").addEventListener("scroll", () => requestAnimationFrame(drawRows));
  $("metric").addEventListener("change", guarded(async () => { await loadTasks($("metric").value); keep(); }));
  for (const id of ["find", "a", "b", "flagged", "of", "from", "to"]) $(id).addEventListener("input", () => { arrange(); $("grid").scrollTop = 0; });
  $("scrub").addEventListener("input", () => { stop(); seek(Number($("scrub").value)); });
  $("play").addEventListener("click", play);
  $("back").addEventListener("click", () => { stop(); seek(state.frame - 1); });
  $("step").addEventListener("click", () => { stop(); seek(state.frame + 1); });
  $("speed").addEventListener("change", () => { if (state.film) state.film.video.playbackRate = Number($("speed").value); });
  $("diff").addEventListener("change", () => {
    drawTiles();
    const apart = [...document.querySelectorAll('#tiles canvas[data-apart="1"]')];
    for (const one of [apart.at(-1), apart[0]]) if (one) one.parentElement.scrollIntoView({ block: "nearest", behavior: "instant" });
    if (!state.playing) seek(state.frame);
  });
  $("exact").addEventListener("change", () => { stop(); state.film = null; drawTiles(); seek(state.frame); });
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
    if (event.target.matches("input[type=search], input[type=text], input[type=number], select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const acts = {
      ArrowLeft: () => { stop(); seek(state.frame - far); },
      ArrowRight: () => { stop(); seek(state.frame + far); },
      Home: () => { stop(); seek(0); },
      End: () => { stop(); seek(state.task.frames - 1); },
      " ": play,
      d: () => $("diff").click(),
      x: () => { if (state.task.exact.length) $("exact").click(); },
      f: () => flag(state.task.task),
      Escape: () => $("close").click(),
    };
    const lists = { j: () => neighbour(1), k: () => neighbour(-1) };
    const act = (state.task && acts[event.key]) || (state.tasks && lists[event.key]);
    if (!act || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    act();
  });
  // One address after another: a slow earlier one must not close what a later one opened.
  let routed = route();
  addEventListener("hashchange", () => { routed = routed.then(route); });
  addEventListener("resize", () => { if (state.tasks) arrange(); });
  setInterval(() => { if (!document.hidden) look().catch((error) => tell(error.message === "Failed to fetch" ? "The viewer has ended." : error)); }, 2000);
  if (wanted().g) look().catch(tell);
})();

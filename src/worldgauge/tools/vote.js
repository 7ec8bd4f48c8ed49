// Blind votes: two answers side by side, played in step, a key for each choice.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const MOST_FRAMES = 60;
  const group = new URLSearchParams(location.search).get("g") || "";
  const state = { voter: "", pair: null, turn: 0 };

  const make = (tag, text) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const tell = (error) => {
    $("trouble").hidden = !error;
    $("trouble").textContent = error ? String(error.message || error) : "";
  };
  const guarded = (act) => async (...given) => {
    try { await act(...given); } catch (error) { tell(error); }
  };
  const ask = async (path, fields) => {
    const answer = await fetch(`${path}?${new URLSearchParams(fields)}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer.json();
  };
  const picture = (side, frame) => new Promise((done, fail) => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = () => fail(new Error("a frame cannot be read"));
    image.src = `/side?${new URLSearchParams({ g: group, p: state.pair.pair, s: side, i: frame })}`;
  });

  const show = async () => {
    const pair = state.pair;
    const places = [$("left"), $("right")];
    const step = Math.max(1, Math.ceil(pair.frames / MOST_FRAMES));
    const films = await Promise.all(pair.sides.map(async (side, k) => {
      if (side.text) {
        places[k].replaceChildren(make("pre", side.text));
        return [];
      }
      const frames = side.picture ? [0] : Array.from({ length: Math.ceil(pair.frames / step) }, (_, n) => n * step);
      return Promise.all(frames.map((frame) => picture(k, frame)));
    }));
    if (state.pair !== pair) return;
    const canvases = films.map((film, k) => {
      if (!film.length) return null;
      const canvas = make("canvas");
      [canvas.width, canvas.height] = [film[0].naturalWidth, film[0].naturalHeight];
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", k ? "right answer" : "left answer");
      places[k].replaceChildren(canvas);
      return canvas;
    });
    state.turn += 1;
    const turn = state.turn;
    const begin = performance.now();
    const length = Math.max(1, ...films.map((film) => film.length));
    const draw = (now) => {
      if (state.turn !== turn) return;
      const at = Math.floor(((now - begin) / 1000) * ((pair.fps || 20) / step));
      films.forEach((film, k) => { if (canvases[k]) canvases[k].getContext("2d").drawImage(film[Math.max(0, Math.min(at, film.length - 1))], 0, 0); });
      $("vote").dataset.ready = pair.pair;
      if (at < length) requestAnimationFrame(draw);
    };
    state.draw = show;
    requestAnimationFrame(draw);
  };

  const next = async () => {
    const pair = await ask("/api/pair", { g: group, voter: state.voter });
    $("count").textContent = `${pair.suite}: ${pair.mine} ${pair.mine === 1 ? "vote" : "votes"} of yours, ${pair.all} in all`;
    state.pair = pair.done ? null : pair;
    $("vote").hidden = pair.done;
    $("done").hidden = !pair.done;
    if (pair.done) return;
    $("about").textContent = pair.about;
    $("shown").hidden = !pair.shown;
    if (pair.shown) $("shown").firstElementChild.src = `/shown?${new URLSearchParams({ g: group, p: pair.pair })}`;
    $("asked").textContent = pair.asked;
    $("asked").hidden = !pair.asked;
    await show();
  };

  const choose = guarded(async (choice) => {
    const pair = state.pair;
    if (!pair || state.busy) return;
    state.busy = true;
    try {
      const answer = await fetch("/api/vote", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ g: group, p: pair.pair, voter: state.voter, choice }) });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      await next();
    } finally {
      state.busy = false;
    }
    if (!$("results").hidden) await results();
  });

  const share = (one) => (one.share === null ? "–" : `${Math.round(100 * one.share)} %`);
  const interval = (one) => (one.low === null ? "" : `${Math.round(100 * one.low)} to ${Math.round(100 * one.high)} %`);
  const table = (place, heads, rows) => {
    const head = make("tr");
    head.append(...heads.map((one) => make("th", one)));
    const top = make("thead");
    top.append(head);
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr");
      const who = make("th", row[0]);
      who.scope = "row";
      line.append(who, ...row.slice(1).map((one) => make("td", one)));
      body.append(line);
    }
    place.replaceChildren(top, body);
  };
  const results = async () => {
    const found = await ask("/api/tally", { g: group });
    table($("models"), ["model", "wins", "ties", "losses", "points", "95 % of wins"], found.models.map((one) => [one.label, one.wins, one.ties, one.losses, share(one), interval(one)]));
    table($("agreement"), ["agrees with people", "share", "95 %", "n", "left out"], found.agreement.map((one) => [one.name, share(one), interval(one), one.n, one.left_out]));
    $("results").hidden = false;
  };

  $("who").addEventListener("submit", guarded(async (event) => {
    event.preventDefault();
    tell("");
    state.voter = $("voter").value.trim();
    await next();
    $("enter").hidden = true;
  }));
  for (const button of document.querySelectorAll("[data-choice]")) button.addEventListener("click", () => choose(button.dataset.choice));
  $("again").addEventListener("click", guarded(show));
  $("tell").addEventListener("click", guarded(async () => { if ($("results").hidden) await results(); else $("results").hidden = true; }));
  document.addEventListener("keydown", (event) => {
    if (!state.pair || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const choice = { ArrowLeft: "first", ArrowRight: "second", ArrowDown: "tie" }[event.key];
    if (choice) { event.preventDefault(); choose(choice); }
    if (event.key === " " && !event.target.matches("button")) { event.preventDefault(); guarded(show)(); }
  });
})();

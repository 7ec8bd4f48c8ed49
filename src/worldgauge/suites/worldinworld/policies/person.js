// A person as the agent: shows the decision that is laid out, composes plans by keys or buttons, and sends what is done.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const ARROWS = { F: "↑", L: "↰", R: "↱" };
  const KEYS = { w: "F", ArrowUp: "F", a: "L", ArrowLeft: "L", d: "R", ArrowRight: "R" };
  const SIDES = ["front", "left", "back", "right"];
  const AGAIN_MS = 500;
  const state = { asked: null, plans: [], plan: "", sending: false };

  const make = (tag, text) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const tell = (error) => {
    $("trouble").hidden = !error;
    $("trouble").textContent = error ? String(error.message || error) : "";
  };
  const arrows = (steps) => [...steps].map((step) => ARROWS[step]).join(" ");
  const matches = () => {
    const typed = $("answer").value.trim().toLowerCase();
    return state.asked.choices.filter((one) => one.toLowerCase().includes(typed));
  };

  const draw = () => {
    const asked = state.asked;
    const several = asked.plans > 1;
    $("plans").textContent = several ? `Plan ${state.plans.length + 1} of up to ${asked.plans}` : "Plan";
    $("steps").textContent = arrows(state.plan) || "–";
    $("room").textContent = `${state.plan.length} of up to ${asked.length} steps` + (state.plans.length ? `; before it: ${state.plans.map(arrows).join(" | ")}` : "");
    $("undo").disabled = !state.plan && !state.plans.length;
    $("go").disabled = !state.plan && !state.plans.length;
    $("more").hidden = !several;
    $("more").disabled = !state.plan || state.plans.length + 1 >= asked.plans;
    for (const button of document.querySelectorAll("[data-step]")) button.disabled = state.plan.length >= asked.length;
  };
  const drawChoices = () => {
    $("choices").replaceChildren(...matches().map((one, k) => {
      const button = make("button", k < 9 ? `${k + 1} ${one}` : one);
      button.type = "button";
      button.addEventListener("click", () => choose(one));
      return button;
    }));
  };
  const choose = (one) => {
    $("answer").value = one;
    $("answer").focus();
    drawChoices();
  };

  const lay = async (asked) => {
    state.asked = asked;
    state.plans = [];
    state.plan = "";
    tell("");
    $("instruction").textContent = asked.instruction;
    const unit = asked.left === 1 ? asked.unit.replace(/s$/, "") : asked.unit;
    $("budget").textContent = asked.left === null ? "" : `${asked.left} of ${asked.total} ${unit} left`;
    $("notes").replaceChildren(...asked.notes.map((note) => make("li", note)));
    $("sought").hidden = !asked.pictures.includes("goal");
    const names = asked.pictures.includes("goal") ? [...SIDES, "goal"] : SIDES;
    $("compose").hidden = !asked.plans;
    $("legend").textContent = `Forward is ${asked.step}, a turn ${asked.angle}. W, A, D or arrows add a step, Backspace takes one away, Enter carries the plan out.`;
    $("say").hidden = !asked.answers;
    $("answer").value = "";
    $("saying").textContent = (asked.choices.length ? "Type a part of the word; a digit takes one of the first nine. " : "") + (asked.guesses ? "Sent alone it is your answer and ends the episode; sent with a plan it is a guess for now." : "It ends the episode.");
    drawChoices();
    $("ending").hidden = !asked.stops;
    $("stop").textContent = asked.stops;
    $("stop").append(" ", make("kbd", "X"));
    $("history").replaceChildren(...asked.history.map((one) => make("li", (arrows(one.steps) || "no step") + (one.bumped ? " – bumped into something" : ""))));
    $("earlier").hidden = !asked.history.length;
    draw();
    await Promise.all(names.map((name) => new Promise((done) => {
      const image = $(name);
      image.onload = image.onerror = done;
      image.src = `/picture?${new URLSearchParams({ turn: asked.turn, name })}`;
    })));
    if (state.asked !== asked) return;
    $("state").hidden = true;
    $("act").hidden = false;
    document.body.dataset.turn = asked.turn;
  };
  const leave = (words) => {
    state.asked = null;
    delete document.body.dataset.turn;
    $("act").hidden = true;
    $("state").hidden = false;
    $("state").textContent = words;
  };

  const OVER = {
    done: "That was the last episode. Thank you: the run is over, its scores are in the terminal.",
    stopped: "The run was stopped. The same command goes on with the episodes that are left; this one begins again.",
  };
  const look = async () => {
    let now;
    try {
      const answer = await fetch("/api/now");
      if (!answer.ok) throw new Error((await answer.text()).trim());
      now = await answer.json();
    } catch (error) {
      if (!state.over) leave(error instanceof TypeError ? "Nobody answers: the run is over or was stopped. The same command goes on with the episodes that are left; one that was half done begins again." : String(error.message));
      setTimeout(look, 4 * AGAIN_MS);
      return;
    }
    $("who").textContent = `you are ${now.who}`;
    $("count").textContent = now.episode ? `episode ${now.episode} of ${now.episodes}` : "";
    state.over = now.state in OVER;
    if (state.over) leave(OVER[now.state]);
    else if (now.state === "busy") { if (state.asked || !$("state").textContent) leave("Carried out. The next decision is being prepared."); }
    else if (!state.asked || state.asked.turn !== now.turn) await lay(now);
    setTimeout(look, state.over ? 4 * AGAIN_MS : AGAIN_MS);
  };

  const send = async (act) => {
    const asked = state.asked;
    if (!asked || state.sending || !document.body.dataset.turn) return;
    state.sending = true;
    try {
      const answer = await fetch("/api/act", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ turn: asked.turn, ...act }) });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      tell("");
      leave("Carried out. The next decision is being prepared.");
    } catch (error) {
      tell(error);
    } finally {
      state.sending = false;
    }
  };
  const step = (one) => {
    if (!state.asked || !state.asked.plans || state.plan.length >= state.asked.length) return;
    state.plan += one;
    draw();
  };
  const undo = () => {
    if (!state.plan && state.plans.length) state.plan = state.plans.pop();
    else state.plan = state.plan.slice(0, -1);
    draw();
  };
  const more = () => {
    if (!state.plan || state.plans.length + 1 >= state.asked.plans) return;
    state.plans.push(state.plan);
    state.plan = "";
    draw();
  };
  // What was typed, or the one label that it is a part of.
  const answered = () => {
    const typed = $("answer").value.trim();
    const found = typed && state.asked.choices.length ? matches() : [];
    return found.length === 1 ? found[0] : typed;
  };
  const go = () => {
    const plans = state.plan ? [...state.plans, state.plan] : state.plans;
    if (!plans.length) return;
    const guess = state.asked.guesses ? answered() : "";
    send(guess ? { plans, answer: guess } : { plans });
  };
  const say = () => send({ answer: answered() });

  for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", () => step(button.dataset.step));
  $("undo").addEventListener("click", undo);
  $("more").addEventListener("click", more);
  $("go").addEventListener("click", go);
  $("stop").addEventListener("click", () => send({ stop: true }));
  $("say").addEventListener("submit", (event) => { event.preventDefault(); say(); });
  $("answer").addEventListener("input", drawChoices);
  $("answer").addEventListener("keydown", (event) => {
    if (event.key === "Escape") $("answer").blur();
    const digit = Number(event.key);
    if (!state.asked || !state.asked.choices.length || !digit || digit > matches().length) return;
    event.preventDefault();
    choose(matches()[digit - 1]);
  });
  // A button that was clicked or touched gives the keys back, so that Enter does not press it again.
  document.addEventListener("click", (event) => { if (event.detail && event.target.closest("button")) event.target.closest("button").blur(); });
  document.addEventListener("keydown", (event) => {
    if (!state.asked || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, summary")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.target.matches("button") && (key === "Enter" || key === " ")) return;
    const acts = { Backspace: undo, z: undo, n: more, Enter: go, x: () => { if (state.asked.stops) send({ stop: true }); }, t: () => { if (state.asked.answers) $("answer").focus(); } };
    if (key in KEYS) step(KEYS[key]);
    else if (key in acts && (state.asked.plans || key === "x" || key === "t")) acts[key]();
    else return;
    event.preventDefault();
  });
  look();
})();

// Keeps the page as it is on the server: a socket says when something happens, the page is fetched
// again, and what is new is put in. Without a connection the page says so, and tries again.

import { expire } from "./clock.js";
import { flash, isSteady, problem, show } from "./patch.js";
import { notify } from "./notify.js";

const words = document.getElementById("words")?.dataset ?? {};
const say = (text) => {
  const region = document.getElementById("announce");
  if (region && text) region.textContent = text;
};

/** One line of what an agent wrote: what cannot be seen is said by its number, as on the cards. */
const visible = (text) =>
  [...text]
    .slice(0, 200)
    .join("")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
      const number = char.codePointAt(0).toString(16).toUpperCase();
      return `U+${number.padStart(4, "0")}`;
    });

// Where this page is to be had again. What a form led to is not, or not where it stands.
const elsewhere = { answers: null, secret: null, audit: "/audit" };
const page = document.documentElement.dataset.page;
const source = page in elsewhere ? elsewhere[page] : location.href;

let fetching = false;
let again = false;

/** Fetches this page again. While that goes on, however much happens is one more time. */
export const refresh = async () => {
  if (!source) return;
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    do {
      again = false;
      const answer = await fetch(source, { headers: { accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname === "/sign-in") location.reload();
      else if (answer.ok) show(await answer.text());
    } while (again);
  } catch {
    // The socket notices as well, and the page says that it is not connected.
  } finally {
    fetching = false;
  }
};

const connection = (state) => {
  const place = document.getElementById("connection");
  if (!place || place.dataset.state === state) return;
  place.dataset.state = state;
  place.textContent = state === "live" ? words.live : words.lost;
};

const heard = (message) => {
  const { type, payload } = message;
  if (type === "app_skill_confirmation_required") {
    const known = document.getElementById(`card-${payload.app_skill_id}`);
    if (!known) {
      const what = visible(payload.description);
      say(`${words.new} ${what}`);
      notify(what);
    }
  }
  if (type === "app_skill_confirmation_resolved" || type === "app_skill_confirmation_expired") {
    const card = document.getElementById(`card-${payload.app_skill_id}`);
    if (card) say(words.settled);
    // The server may be first to notice. What ran out stays to be seen, until the page is left.
    if (card && type === "app_skill_confirmation_expired") expire(card);
  }
  if (type === "signed_out") location.reload();
  refresh();
};

let wait = 500;
let socket = null;
const connect = () => {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(`${scheme}//${location.host}/api/ws?waiting=false`);
  socket.addEventListener("open", () => {
    wait = 500;
    connection("live");
    refresh();
  });
  socket.addEventListener("message", (event) => {
    try {
      heard(JSON.parse(event.data));
    } catch {
      refresh();
    }
  });
  socket.addEventListener("close", () => {
    connection("lost");
    setTimeout(connect, wait);
    wait = Math.min(wait * 2, 10_000);
  });
};

export const goLive = () => {
  if (!document.getElementById("connection")) return;
  window.addEventListener("offline", () => connection("lost"));
  window.addEventListener("online", () => {
    // A short break does not end the connection.
    if (socket?.readyState === WebSocket.OPEN) connection("live");
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  connect();
};

const send = async (form, button) => {
  const body = new URLSearchParams(new FormData(form, button));
  const buttons = form.querySelectorAll("button");
  for (const one of buttons) one.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    const html = await answer.text();
    if (!answer.ok) {
      say(`${words.failed} ${problem(html)}`);
      showProblem(form, problem(html));
      refresh();
      return;
    }
    if (show(html)) say(flash(html));
    else location.assign(answer.url);
  } catch {
    showProblem(form, words.lost);
  } finally {
    for (const one of buttons) one.disabled = false;
  }
};

const showProblem = (form, text) => {
  let place = form.querySelector(".problem");
  if (!place) {
    place = document.createElement("p");
    place.className = "problem";
    place.setAttribute("role", "alert");
    form.append(place);
  }
  place.textContent = text;
};

/** Answers are sent without leaving the page. Groups have a page for what was refused. */
export const sendForms = () => {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.answer")) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest?.("#inbox form button");
      // A press of a key has no place on the screen, and hits what has the focus.
      if (button && event.detail > 0 && !isSteady()) {
        event.preventDefault();
        event.stopPropagation();
      }
    },
    true,
  );
};

// Keys on the inbox: j and k choose a card, a approves it, r rejects it, e edits it, f shows it
// alone, ? says so. Nothing happens while somebody is writing.

const cards = () => [...document.querySelectorAll('.card[data-state="pending"]')];
const chosen = () => document.querySelector('.card[aria-current="true"]');

const choose = (card) => {
  if (!card) return;
  chosen()?.removeAttribute("aria-current");
  card.setAttribute("aria-current", "true");
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
};

const move = (by) => {
  const all = cards();
  const at = all.indexOf(chosen());
  choose(all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]);
};

const press = (say) => chosen()?.querySelector(`form.answer button[value="${say}"]`)?.click();

const reject = () => {
  const field = chosen()?.querySelector("textarea[name=feedback]");
  if (!field) return;
  field.dataset.rejects = "true";
  field.focus();
};

const edit = () => {
  const place = chosen()?.querySelector("details.edit");
  if (!place) return;
  place.open = true;
  place.querySelector("textarea").focus();
};

const help = () => document.getElementById("help")?.showModal();

const actions = {
  j: () => move(1),
  k: () => move(-1),
  a: () => press("approve"),
  r: reject,
  e: edit,
  f: () => chosen()?.querySelector("a.full")?.click(),
  "?": help,
};

const isWriting = (place) => place.closest?.("input, textarea, select, dialog");

export const listenToKeys = () => {
  const open = document.getElementById("help-open");
  if (open) {
    open.hidden = false;
    open.addEventListener("click", help);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = event.target;
    if (place.dataset?.rejects && event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      delete place.dataset.rejects;
      place.form.querySelector('button[value="reject"]').click();
      return;
    }
    if (event.key === "Escape" && isWriting(place)) {
      place.blur();
      choose(place.closest(".card"));
      return;
    }
    if (isWriting(place) || event.repeat) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("focusin", (event) => {
    const card = event.target.closest?.('.card[data-state="pending"]');
    if (card && card !== chosen()) {
      chosen()?.removeAttribute("aria-current");
      card.setAttribute("aria-current", "true");
    }
  });
};

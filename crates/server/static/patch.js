// Puts what is new of a page into the page that is shown, and leaves the rest as it is: what
// somebody is writing, has unfolded or is looking at stays where it is.

const parse = (html) => new DOMParser().parseFromString(html, "text/html");

// What a part of the page shows, in short: if that is the same, nothing is touched.
const signature = (part) => {
  const cards = part.querySelectorAll("[data-rev]");
  if (cards.length === 0) return part.textContent;
  return [...part.querySelectorAll("[id]")]
    .map((one) => `${one.id}:${one.dataset.rev ?? ""}`)
    .join(" ");
};

// Takes over what a person has put into a card.
const carryOver = (from, to) => {
  for (const field of from.querySelectorAll("textarea[id], select[id]")) {
    const same = to.querySelector(`#${CSS.escape(field.id)}`);
    if (same) same.value = field.value;
  }
  const unfolded = [...to.querySelectorAll("details")];
  [...from.querySelectorAll("details")].forEach((one, n) => {
    if (unfolded[n]) unfolded[n].open = one.open;
  });
};

const reuse = (part) => {
  for (const card of part.querySelectorAll(".card[data-rev]")) {
    const shown = document.getElementById(card.id);
    if (!shown) continue;
    if (shown.dataset.rev === card.dataset.rev) card.replaceWith(shown);
    else carryOver(shown, card);
  }
};

const scrolled = (part) => {
  const places = [...part.querySelectorAll("pre")].filter((one) => one.scrollTop > 0);
  return places.map((one) => [one, one.scrollTop]);
};

// Buttons move when cards come and go: for a moment a click may hit another than was meant.
let steadyAt = 0;
export const isSteady = () => performance.now() >= steadyAt;

const replacePart = (shown, fresh) => {
  if (signature(shown) === signature(fresh)) return false;
  const focused = document.activeElement?.id;
  const places = scrolled(shown);
  // What ran out while somebody looked at it stays, so that they see that it did.
  const expired = [...shown.querySelectorAll('.card[data-state="expired"]')];
  reuse(fresh);
  shown.replaceChildren(...fresh.childNodes);
  for (const card of expired) if (!document.getElementById(card.id)) shown.prepend(card);
  for (const [one, top] of places) one.scrollTop = top;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  steadyAt = performance.now() + 400;
  return true;
};

const takeHead = (fresh) => {
  document.title = fresh.title;
  const icon = document.querySelector("link[rel=icon]");
  const wanted = fresh.querySelector("link[rel=icon]")?.getAttribute("href");
  if (icon && wanted && icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
};

const takeTop = (fresh) => {
  const [shown, wanted] = [document.getElementById("top"), fresh.getElementById("top")];
  if (shown && wanted && shown.innerHTML !== wanted.innerHTML) shown.replaceWith(wanted);
  const banner = document.getElementById("halted");
  const freshBanner = fresh.getElementById("halted");
  if (banner && !freshBanner) banner.remove();
  if (!banner && freshBanner) document.getElementById("main").before(freshBanner);
  for (const name of ["waiting", "autonomous", "halted"]) {
    document.body.dataset[name] = fresh.body.dataset[name] ?? "";
  }
};

/** Shows a page that was fetched anew. */
export const show = (html) => {
  const fresh = parse(html);
  if (fresh.documentElement.dataset.page !== document.documentElement.dataset.page) return false;
  takeHead(fresh);
  takeTop(fresh);
  for (const shown of document.querySelectorAll("[data-live]")) {
    const wanted = fresh.getElementById(shown.id);
    if (wanted) replacePart(shown, wanted);
  }
  document.dispatchEvent(new Event("patched"));
  return true;
};

/** Shows what a form led to: what was done stands where it would stand on the new page. */
export const flash = (html) => {
  const wanted = parse(html).querySelector(".flash");
  document.querySelector("main > .flash")?.remove();
  if (!wanted) return "";
  document.getElementById("main").prepend(wanted);
  return wanted.textContent;
};

/** What went wrong, as the error page says it. */
export const problem = (html) => parse(html).getElementById("problem")?.textContent ?? "";

// Counts down how long a question can be answered. When that is over the card says so, and its
// buttons can no longer be pressed; the server refuses a late answer in any case.

const words = document.getElementById("words")?.dataset ?? {};

// How far this machine's clock is ahead of the server's, which is the one that counts.
let ahead = 0;
const learn = async () => {
  const answer = await fetch("/api/health").catch(() => null);
  const date = answer?.headers.get("date");
  if (date) ahead = Date.now() - Date.parse(date);
};

const two = (number) => String(number).padStart(2, "0");

const written = (seconds) => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
};

/** Shows that a question can no longer be answered. */
export const expire = (card) => {
  card.dataset.state = "expired";
  card.removeAttribute("aria-current");
  const time = card.querySelector("time.left");
  if (time) time.textContent = words.expired;
  for (const button of card.querySelectorAll("form button")) button.disabled = true;
};

const tick = () => {
  for (const time of document.querySelectorAll("time.left")) {
    const card = time.closest(".card");
    if (card?.dataset.state !== "pending") continue;
    const left = Date.parse(time.dateTime) - (Date.now() - ahead);
    if (left <= 0) {
      expire(card);
      continue;
    }
    time.textContent = written(Math.floor(left / 1000));
    time.classList.toggle("soon", left < 60_000);
  }
};

export const countDown = () => {
  learn().then(tick);
  tick();
  setInterval(tick, 500);
  document.addEventListener("patched", tick);
};

// Notifications of the browser, for those who asked for them, while they look elsewhere.

const words = document.getElementById("words")?.dataset ?? {};
const CHOSEN = "countersign-notify";

const isChosen = () => {
  try {
    return localStorage.getItem(CHOSEN) === "yes";
  } catch {
    return false;
  }
};

let worker = null;

/** Tells of a question, if that is wanted and nobody is looking. */
export const notify = (text) => {
  if (!document.hidden || !isChosen() || Notification.permission !== "granted") return;
  const how = { body: text, tag: "countersign", icon: "/static/icon/0.svg" };
  if (worker) worker.showNotification("Countersign", how);
  else new Notification("Countersign", how);
};

const shown = (button) => {
  button.textContent = words.notifyOn;
  button.disabled = true;
};

export const offerNotifications = () => {
  const button = document.getElementById("notify");
  if (!button || !("Notification" in window)) return;
  if ("serviceWorker" in navigator) {
    const registered = navigator.serviceWorker.register("/sw.js");
    registered.then((found) => (worker = found)).catch(() => {});
  }
  button.hidden = false;
  if (isChosen() && Notification.permission === "granted") return shown(button);
  button.addEventListener("click", async () => {
    const answer = await Notification.requestPermission();
    if (answer !== "granted") {
      button.textContent = words.notifyDenied;
      return;
    }
    localStorage.setItem(CHOSEN, "yes");
    shown(button);
  });
};

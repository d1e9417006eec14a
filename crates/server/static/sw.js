// Brings somebody who touches a notification to the inbox. It keeps and answers nothing: what is
// shown always comes from the server.

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const open = async () => {
    const pages = await self.clients.matchAll({ type: "window" });
    const page = pages.find((one) => new URL(one.url).origin === self.location.origin);
    if (page) return page.focus();
    return self.clients.openWindow("/");
  };
  event.waitUntil(open());
});

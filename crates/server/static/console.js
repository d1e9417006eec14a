// The console's script: adds to pages that work without it. It brings in what is new, counts down,
// listens to keys, and sends forms without leaving the page.

import { countDown } from "./clock.js";
import { listenToKeys } from "./keys.js";
import { goLive, sendForms } from "./live.js";
import { offerNotifications } from "./notify.js";

countDown();
listenToKeys();
sendForms();
goLive();
offerNotifications();

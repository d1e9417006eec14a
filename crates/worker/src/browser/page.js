// Reads a page and acts on it, from a world of its own: scripts of the page do not see these
// objects, and cannot replace the functions that they use. A form can still hide its own
// properties behind fields of their names, so every property is read by the getter of its class.
globalThis.countersign ??= (() => {
  "use strict";
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const getAttribute = Element.prototype.getAttribute;
  const attribute = (element, name) => getAttribute.call(element, name) ?? undefined;
  const tag = (element) => getter(Element, "localName").call(element);
  const parentOf = (node) => getter(Node, "parentNode").call(node);
  const childrenOf = (node) => [...getter(Node, "childNodes").call(node)];
  const textOf = (node) => getter(Node, "textContent").call(node) ?? "";
  const is = (element, type) => type.prototype.isPrototypeOf(element);
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const short = (text) => (text.length > 300 ? text.slice(0, 300) + "…" : text);
  const TYPES = {
    button: HTMLButtonElement,
    input: HTMLInputElement,
    select: HTMLSelectElement,
    textarea: HTMLTextAreaElement,
  };

  const numbers = new WeakMap();
  const elements = new Map();
  let last = 0;
  const number = (element) => {
    if (!numbers.has(element)) {
      last += 1;
      numbers.set(element, last);
      elements.set(last, new WeakRef(element));
    }
    return numbers.get(element);
  };
  const find = (n) => {
    const element = elements.get(n)?.deref();
    return element && getter(Node, "isConnected").call(element) ? element : null;
  };

  const formOf = (element) => {
    if (is(element, HTMLFormElement)) return element;
    const type = TYPES[tag(element)];
    return type ? getter(type, "form").call(element) : null;
  };
  const kindOf = (element) =>
    tag(element) === "input" || tag(element) === "button"
      ? getter(TYPES[tag(element)], "type").call(element)
      : undefined;
  const address = (text) => {
    try {
      return new URL(text || document.URL, document.baseURI).href;
    } catch {
      return text;
    }
  };
  const submits = (element) => ["submit", "image"].includes(kindOf(element));
  const target = (element) => {
    const form = formOf(element);
    if (!form) return undefined;
    const own = submits(element) ? attribute(element, "formaction") : undefined;
    return address(own ?? attribute(form, "action"));
  };
  const isField = (element) =>
    ["select", "textarea"].includes(tag(element)) ||
    (tag(element) === "input" && !["submit", "button", "reset", "image"].includes(kindOf(element))) ||
    getter(HTMLElement, "isContentEditable").call(element) === true;
  const isSecret = (element) => kindOf(element) === "password" || concealed.has(element);
  /** Fields that were filled from the vault, whatever the page makes of their type. */
  const concealed = new WeakSet();

  const nameOf = (element) => {
    const name = element.computedName;
    if (name) return short(plain(name));
    // A field without a name must not be named after what is typed into it.
    if (isField(element)) return attribute(element, "title");
    return short(plain(attribute(element, "title") ?? textOf(element))) || undefined;
  };
  const labelsOf = (element) => {
    const type = { input: TYPES.input, select: TYPES.select, textarea: TYPES.textarea }[tag(element)];
    const labels = type ? getter(type, "labels").call(element) : null;
    return labels?.length ? short(plain([...labels].map(textOf).join(" "))) : undefined;
  };
  const field = (element) => {
    if (!isField(element)) return undefined;
    const names = ["name", "id", "autocomplete", "placeholder", "role", "inputmode", "maxlength", "title"];
    const found = { type: kindOf(element), label: labelsOf(element) };
    for (const name of names) found[name] = attribute(element, name);
    found.aria_label = attribute(element, "aria-label");
    return found;
  };
  const formText = (element) => {
    const form = formOf(element);
    if (!form) return undefined;
    const fields = [...getter(HTMLFormElement, "elements").call(form)];
    return {
      target: target(element),
      method: attribute(element, "formmethod") ?? attribute(form, "method"),
      opens: attribute(element, "formtarget") ?? attribute(form, "target"),
      fields: fields.map((it) => [tag(it), kindOf(it), attribute(it, "name"), isHidden(it)]),
    };
  };
  /** Everything that was read about an element; an act needs exactly the same text again. */
  const text = (element) =>
    JSON.stringify({
      tag: tag(element),
      role: element.computedRole,
      name: nameOf(element),
      field: field(element),
      form: formText(element),
      href: is(element, HTMLAnchorElement) ? address(attribute(element, "href")) : undefined,
      hidden: isHidden(element),
      frame: document.URL,
    });
  const same = (n, expected) => {
    const element = find(n);
    return element && text(element) === expected ? element : null;
  };
  const describe = (n) => {
    const element = find(n);
    if (!element) return null;
    return {
      text: text(element),
      role: element.computedRole || undefined,
      label: nameOf(element),
      field: field(element),
      form_target: target(element),
    };
  };

  const visibleColour = (style) => !/^rgba\(.*, 0\)$/.test(style.color);
  function isHidden(element) {
    const options = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
    if (!Element.prototype.checkVisibility.call(element, options)) return true;
    const style = getComputedStyle(element);
    const box = Element.prototype.getBoundingClientRect.call(element);
    const left = box.right + scrollX <= 0 || box.bottom + scrollY <= 0;
    const clipped = style.overflow !== "visible" && (box.width <= 1 || box.height <= 1);
    return left || clipped || parseFloat(style.fontSize) < 3 || !visibleColour(style);
  }

  const SKIPPED = new Set(["script", "style", "noscript", "template", "head", "svg", "object", "embed"]);
  const ACTIVE = new Set(["button", "link", "checkbox", "radio", "combobox", "listbox", "menuitem",
    "option", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem"]);
  const content = (element) => {
    if (isSecret(element)) return "•••";
    if (["checkbox", "radio"].includes(kindOf(element))) {
      return getter(HTMLInputElement, "checked").call(element) ? "checked" : "not checked";
    }
    if (tag(element) === "select") {
      const chosen = [...getter(HTMLSelectElement, "selectedOptions").call(element)];
      return chosen.map(textOf).map(plain).join(", ");
    }
    if (tag(element) === "input") return getter(HTMLInputElement, "value").call(element);
    if (tag(element) === "textarea") return getter(HTMLTextAreaElement, "value").call(element);
    return textOf(element);
  };
  const MOST = 2_000_000;
  const read = () => {
    const lines = [];
    let length = 0;
    const say = (line) => {
      length += line.length;
      if (length < MOST) lines.push(line);
    };
    const visit = (node, hidden) => {
      if (length >= MOST) return;
      const kind = getter(Node, "nodeType").call(node);
      if (kind === Node.TEXT_NODE) {
        const words = plain(textOf(node));
        if (words) say(hidden ? `[hidden] ${words}` : words);
        return;
      }
      if (kind !== Node.ELEMENT_NODE || SKIPPED.has(tag(node))) return;
      const unseen = hidden || isHidden(node);
      const role = node.computedRole;
      const mark = unseen ? "[hidden] " : "";
      if (isField(node) || ACTIVE.has(role) || tag(node) === "button" || tag(node) === "a") {
        const value = isField(node) ? ` = ${JSON.stringify(short(content(node)))}` : "";
        const shown = isField(node) ? kindOf(node) ?? tag(node) : role || tag(node);
        say(`${mark}[e${number(node)}] ${shown} ${JSON.stringify(nameOf(node) ?? "")}${value}`);
        return;
      }
      if (/^h[1-6]$/.test(tag(node))) {
        say(`${mark}${"#".repeat(Number(tag(node)[1]))} ${plain(textOf(node))}`);
      }
      if (tag(node) === "img" && attribute(node, "alt")) say(`${mark}image ${JSON.stringify(attribute(node, "alt"))}`);
      const shadow = getter(Element, "shadowRoot").call(node);
      if (shadow) childrenOf(shadow).forEach((child) => visit(child, unseen));
      if (/^h[1-6]$/.test(tag(node)) && !childrenOf(node).some((it) => is(it, Element))) return;
      childrenOf(node).forEach((child) => visit(child, unseen));
    };
    visit(document.documentElement, false);
    return { title: document.title, url: document.URL, text: lines.join("\n"), whole: length < MOST };
  };

  /** `null`: nothing is guarded. Else only this element, as it was judged, may get the events. */
  let guard = null;
  const inside = (event) => {
    const at = event.composedPath()[0];
    for (let node = at; node; node = parentOf(node) ?? (is(node, ShadowRoot) ? node.host : null)) {
      if (node === guard.element) return true;
    }
    // Enter in a field clicks the button that submits its form, without a mouse.
    const implied = event.type === "click" && event.detail === 0 && submits(at);
    if (implied && formOf(at) && formOf(at) === formOf(guard.element)) return true;
    return is(guard.element, HTMLLabelElement) && getter(HTMLLabelElement, "control").call(guard.element) === at;
  };
  const watch = (event) => {
    if (!guard || !event.isTrusted) return;
    const decides = ["mousedown", "click", "keydown"].includes(event.type);
    const fits = guard.element && inside(event) && (!decides || text(guard.element) === guard.expected);
    if (fits && !guard.changed) {
      guard.reached ||= ["click", "keydown"].includes(event.type);
      return;
    }
    guard.changed = true;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "keydown", "keypress"]) {
    addEventListener(type, watch, { capture: true, passive: false });
  }
  const arm = (n, expected) => {
    const element = n === null ? null : same(n, expected);
    guard = { element, expected, changed: false, reached: false };
    return n === null || element !== null;
  };
  const disarm = () => {
    const was = guard;
    guard = null;
    return was && { changed: was.changed, reached: was.reached };
  };

  const tell = (element) => {
    const options = { bubbles: true, composed: true };
    EventTarget.prototype.dispatchEvent.call(element, new InputEvent("input", options));
    EventTarget.prototype.dispatchEvent.call(element, new Event("change", options));
  };
  const put = (element, value) => {
    const name = tag(element);
    HTMLElement.prototype.focus.call(element);
    if (name === "input" && kindOf(element) !== "file") {
      if (["checkbox", "radio", "hidden"].includes(kindOf(element))) return "unfit";
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(element, value);
    } else if (name === "textarea") {
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(element, value);
    } else if (name === "select") {
      const options = [...getter(HTMLSelectElement, "options").call(element)];
      const fits = (it) => attribute(it, "value") === value || plain(textOf(it)) === value;
      const index = options.findIndex(fits);
      if (index < 0) return "unfit";
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "selectedIndex").set.call(element, index);
    } else if (isField(element) && name !== "input") {
      Object.getOwnPropertyDescriptor(Node.prototype, "textContent").set.call(element, value);
    } else {
      return "unfit";
    }
    tell(element);
    return "done";
  };
  const set = (n, expected, value) => {
    const element = same(n, expected);
    return element ? put(element, value) : "changed";
  };
  const focus = (n, expected) => {
    const element = same(n, expected);
    if (!element) return "changed";
    HTMLElement.prototype.focus.call(element);
    return "done";
  };
  const show = (n, expected) => {
    const element = same(n, expected);
    if (!element) return "changed";
    Element.prototype.scrollIntoView.call(element, { block: "center", behavior: "instant" });
    return "done";
  };
  const submit = (n, expected) => {
    const element = same(n, expected);
    const form = element && formOf(element);
    if (!form) return element ? "unfit" : "changed";
    HTMLFormElement.prototype.requestSubmit.call(form, submits(element) ? element : null);
    return "done";
  };

  const originOf = (url) => {
    try {
      return new URL(url).origin;
    } catch {
      return "";
    }
  };
  const USER_TYPES = ["text", "email", "tel"];
  const CODE = /otp|one.?time|totp|code/i;
  /** Finds the sign-in form: its password field, and the field before it for the name. */
  const signIn = () => {
    if (window.top !== window) return null;
    const fields = [...document.querySelectorAll("input")].filter((it) => !isHidden(it));
    const password = fields.find((it) => kindOf(it) === "password");
    const form = password && formOf(password);
    const near = fields.filter((it) => formOf(it) === (form ?? null));
    const named = (it) => USER_TYPES.includes(kindOf(it)) && !CODE.test(attribute(it, "name") ?? "");
    const before = near.slice(0, password ? near.indexOf(password) : near.length);
    const user = before.filter(named).pop() ?? (password ? undefined : near.find((it) => /user|mail|login/i.test(
      `${attribute(it, "name")} ${attribute(it, "autocomplete")}`)));
    if (!password && !user) return null;
    const chosen = formOf(password ?? user);
    const button = [...document.querySelectorAll("button, input")].find(
      (it) => submits(it) && formOf(it) === chosen && !isHidden(it));
    const method = (attribute(chosen ?? document.body, "method") ?? "get").toLowerCase();
    return {
      username: user && number(user),
      password: password && number(password),
      button: button && number(button),
      submit: number(button ?? password ?? user),
      origin: location.origin,
      target: chosen && method !== "dialog" && attribute(chosen, "action") !== undefined
        ? originOf(button ? target(button) : address(attribute(chosen, "action"))) : location.origin,
      // A form without a method and without an address is sent by the page's script.
      open: !!chosen && method === "get" && attribute(chosen, "action") !== undefined,
    };
  };
  /** Fills one field of a credential: origin, frame and type are checked in this same step. */
  const fill = (n, origin, kind, value) => {
    const element = find(n);
    if (!element || isHidden(element)) return "changed";
    if (window.top !== window || location.origin !== origin) return "elsewhere";
    const fits = kind === "password" ? kindOf(element) === "password" : USER_TYPES.includes(kindOf(element));
    if (!fits) return "unfit";
    const form = formOf(element);
    if (form && originOf(target(element)) !== origin) return "elsewhere";
    concealed.add(element);
    return put(element, value);
  };

  let covered = [];
  /** Paints over fields of secrets, and every text that contains one of these values. */
  const cover = (values) => {
    const hide = (element, name, value) => {
      const style = getter(HTMLElement, "style").call(element);
      covered.push([style, name, style.getPropertyValue(name), style.getPropertyPriority(name)]);
      style.setProperty(name, value, "important");
    };
    const bears = (it) => values.some((value) => it.includes(value));
    const visit = (node) => {
      if (is(node, Element)) {
        if (is(node, HTMLElement) && isField(node) && (isSecret(node) || bears(content(node)))) {
          hide(node, "background", "black");
          hide(node, "color", "black");
          hide(node, "-webkit-text-fill-color", "black");
        }
        const shadow = getter(Element, "shadowRoot").call(node);
        if (shadow) childrenOf(shadow).forEach(visit);
        const own = childrenOf(node);
        const has = own.some((it) => getter(Node, "nodeType").call(it) === Node.TEXT_NODE && bears(textOf(it)));
        if (has && is(node, HTMLElement)) hide(node, "visibility", "hidden");
      }
      childrenOf(node).forEach(visit);
    };
    visit(document);
    return covered.length;
  };
  const uncover = () => {
    for (const [style, name, value, priority] of covered.reverse()) style.setProperty(name, value, priority);
    covered = [];
  };
  const element = (n) => find(n);
  const scroll = (up) => scrollBy({ top: innerHeight * (up ? -0.9 : 0.9), behavior: "instant" });
  return { arm, cover, describe, disarm, element, fill, focus, read, scroll, set, show, signIn, submit, uncover };
})();

// Keys, and the token behind the # of /login. Everything works without this file but those.
(() => {
  "use strict";

  const typing = (node) => node.matches("input, textarea, select, [contenteditable]");

  const step = (by) => {
    const items = [...document.querySelectorAll("[data-item]")];
    if (!items.length) return;
    const here = items.indexOf(document.activeElement.closest("[data-item]"));
    const next = items[Math.min(Math.max(here + by, 0), items.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "/") {
      const ask = document.getElementById("ask");
      if (ask) {
        event.preventDefault();
        ask.focus();
        ask.select();
      }
    } else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "Escape") {
      const message = document.getElementById("message");
      if (message) message.replaceChildren();
    }
  });

  // On a phone the pages are a strip: show where one is.
  document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const login = document.getElementById("login");
  const enter = () => {
    if (!login || location.hash.length < 2) return;
    document.getElementById("token").value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // it must not stay in the address bar
    login.submit();
  };
  addEventListener("hashchange", enter);
  enter();
})();

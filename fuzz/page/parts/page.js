// The page is complete without this script, which adds a switch between dark and light.
"use strict";
const button = document.getElementById("theme");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
button.hidden = false;
button.addEventListener("click", () => {
  const root = document.documentElement;
  const now = root.dataset.theme || (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});

// The views, one of which is seen. Arrow keys, Home and End walk along the tabs; the address has
// the name of the view, so that it can be kept and sent: #/memory, which names no element to scroll
// to.

export class Tabs {
  /** `shown` is called with the id of the panel that comes to be seen. */
  constructor(list, shown) {
    this.tabs = [...list.querySelectorAll("[role=tab]")];
    this.shown = shown;
    for (const tab of this.tabs)
      tab.addEventListener("click", () => this.show(tab, false));
    list.addEventListener("keydown", (event) => this.#walk(event));
    window.addEventListener("hashchange", () => this.#fromAddress());
    this.#fromAddress();
  }

  /** The id of the panel that is seen. */
  get current() {
    return this.tabs.find((tab) => tab.getAttribute("aria-selected") === "true")
      .getAttribute("aria-controls");
  }

  show(chosen, isFocused) {
    for (const tab of this.tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
    if (isFocused) chosen.focus();
    history.replaceState(null, "", `#/${this.current}`);
    this.shown(this.current);
  }

  /** Shows a panel by its id, with the focus on its tab. */
  go(id) {
    this.show(this.tabs.find((tab) => tab.getAttribute("aria-controls") === id), true);
  }

  #fromAddress() {
    const name = location.hash.slice(2);
    const tab = this.tabs.find((one) => one.getAttribute("aria-controls") === name);
    this.show(tab ?? this.tabs[0], false);
  }

  #walk(event) {
    const at = this.tabs.indexOf(document.activeElement);
    const next = {
      ArrowRight: (at + 1) % this.tabs.length,
      ArrowLeft: (at + this.tabs.length - 1) % this.tabs.length,
      Home: 0,
      End: this.tabs.length - 1,
    }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    this.show(this.tabs[next], true);
  }
}

/* The client-side object of the sandbox: shows the hosted form in the page or over it.
   Options: one of project | token | formUrl; with a project also amount, currency, products, type; language, viewScheme.
   Events arrive by postMessage from the form's own origin. The class is served under the name that ?class= asks for. */
(() => {
  const home = new URL(document.currentScript.src).origin;
  const sources = ["project", "token", "formUrl"];
  const purchase = ["amount", "currency", "products", "type"];
  const names = { language: "language", viewScheme: "view_scheme" };
  const given = (value) => value !== undefined && value !== null && value !== "";

  class CheckoutClient {
    constructor(options = {}) {
      if (sources.filter((name) => given(options[name])).length !== 1) {
        throw new Error("CLIENT_CLASS: give one of project, token and formUrl");
      }
      this.options = { ...options };
      this.listeners = new Map();
      this.mode = "embed";
      this.frame = null;
      this.modal = null;
      this.onMessage = this.onMessage.bind(this);
    }

    get address() {
      const { formUrl, token, project } = this.options;
      const url = given(formUrl) ? new URL(formUrl, document.baseURI) : new URL("/form/", home);
      if (given(token)) url.searchParams.set("token", token);
      if (given(project)) this.addPurchase(url.searchParams);
      for (const [option, parameter] of Object.entries(names)) {
        if (given(this.options[option])) url.searchParams.set(parameter, this.options[option]);
      }
      url.searchParams.set("form_mode", this.mode);
      return url;
    }

    addPurchase(parameters) {
      parameters.set("project", this.options.project);
      for (const name of purchase) {
        for (const value of [this.options[name] ?? []].flat()) parameters.append(name, value);
      }
    }

    on(event, listener) {
      this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
      return this;
    }

    renderPage(selector) {
      const target = this.find(selector);
      this.mode = "standalone";
      target.replaceChildren(this.makeFrame());
      return this;
    }

    renderModal(selector) {
      this.closeModal();
      this.mode = "iframe";
      const modal = document.createElement("dialog");
      const close = document.createElement("button");
      close.type = "button";
      close.textContent = "Close";
      close.addEventListener("click", () => this.closeModal());
      modal.setAttribute("aria-label", "Checkout");
      modal.style.cssText = "width:min(60rem,96vw);max-height:92vh;padding:0;border:0;border-radius:14px;overflow:auto";
      close.style.cssText = "position:absolute;right:.75rem;top:.35rem";
      modal.append(this.makeFrame(), close);
      modal.addEventListener("close", () => this.closeModal());
      this.find(selector).append(modal);
      modal.showModal();
      this.modal = modal;
      this.tell("modalOpened", {});
      return this;
    }

    closeModal() {
      if (!this.modal) return this;
      const { modal } = this;
      this.modal = null;
      window.removeEventListener("message", this.onMessage);
      modal.remove();
      this.tell("modalClosed", {});
      return this;
    }

    find(selector) {
      const target = selector ? document.querySelector(selector) : document.body;
      if (!target) throw new Error(`CLIENT_CLASS: nothing matches ${selector}`);
      return target;
    }

    makeFrame() {
      const frame = document.createElement("iframe");
      frame.title = "Checkout form";
      frame.style.cssText = "display:block;width:100%;height:44rem;border:0";
      window.addEventListener("message", this.onMessage); // before src, or an early message is lost
      frame.src = this.address.href;
      this.frame = frame;
      return frame;
    }

    onMessage(message) {
      if (!this.frame || message.source !== this.frame.contentWindow) return;
      if (message.origin !== this.address.origin || typeof message.data?.name !== "string") return;
      const { name, data } = message.data;
      if (name === "formResize") this.frame.style.height = `${Number(data.height) || 0}px`;
      this.tell(name, data);
    }

    tell(event, data) {
      for (const listener of this.listeners.get(event) ?? []) listener(data);
    }
  }

  // A setter for each option: setAmount(9.99), setViewScheme("dark") … They count for what is rendered afterwards.
  for (const name of [...sources, ...purchase, ...Object.keys(names)]) {
    CheckoutClient.prototype[`set${name[0].toUpperCase()}${name.slice(1)}`] = function set(value) {
      if (sources.includes(name)) for (const other of sources) delete this.options[other];
      this.options[name] = value;
      return this;
    };
  }

  window["CLIENT_CLASS"] = CheckoutClient;
})();

/* The client-side object of the sandbox: shows the hosted form in the page or over it.
   Options: one of token | formUrl. Events arrive by postMessage from the form's own origin. */
(() => {
  const home = new URL(document.currentScript.src).origin;

  class CheckoutClient {
    constructor(options = {}) {
      if (!options.token === !options.formUrl) throw new Error("CheckoutClient: give one of token and formUrl");
      this.options = { ...options };
      this.listeners = new Map();
      this.frame = null;
      this.modal = null;
      this.onMessage = this.onMessage.bind(this);
    }

    get address() {
      const url = this.options.formUrl
        ? new URL(this.options.formUrl, document.baseURI)
        : new URL(`/form/?${new URLSearchParams({ token: this.options.token })}`, home);
      url.searchParams.set("form_mode", this.mode);
      return url;
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
      if (!target) throw new Error(`CheckoutClient: nothing matches ${selector}`);
      return target;
    }

    makeFrame() {
      const frame = document.createElement("iframe");
      frame.title = "Checkout form";
      frame.style.cssText = "display:block;width:100%;min-height:44rem;border:0";
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

  window.CheckoutClient = CheckoutClient;
})();

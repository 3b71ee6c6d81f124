import { type Access, Api, type Choices, type Chosen, type Item } from './api.ts'
import { h, icon, icons } from './dom.ts'
import { keepInside, moveAmongItems, redraw } from './focus.ts'
import { Items } from './items.ts'
import { follow } from './live.ts'
import { listPanel, preferencesPanel } from './panel.ts'
import { Seen } from './seen.ts'
import { style } from './style.ts'
import { english, type Texts } from './texts.ts'

/**
 * `<gatehouse-inbox base-url="https://notify.example.com" user-id="alice">`: bell, badge, list and preferences. It
 * begins once {@link GatehouseInbox.getToken} is set. Events: `gatehouse-open` (`detail.item` was opened) and
 * `gatehouse-counts` (`detail.counts`).
 */
export class GatehouseInbox extends HTMLElement {
  static readonly observedAttributes = ['base-url', 'user-id']
  readonly #root = this.attachShadow({ mode: 'open' })
  #items = new Items()
  readonly #live = h('div', { class: 'live', role: 'status', 'aria-live': 'polite' })
  readonly #badge = h('span', { class: 'badge', part: 'badge', 'aria-hidden': 'true', hidden: true })
  readonly #bell: HTMLButtonElement
  readonly #panel: HTMLDivElement
  readonly #seen = new Seen(async (ids) => !!this.#panel.hidden || this.#change('seen', { ids }, true))
  #texts: Texts = english
  #getToken: Access['getToken'] | undefined
  #api: Api | undefined
  #following: ReturnType<typeof follow> | undefined
  #connected = true
  #failed = false
  #page: 'list' | 'preferences' = 'list'
  #whose: string | undefined

  constructor() {
    super()
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(style)
    this.#root.adoptedStyleSheets = [sheet]
    this.#bell = h(
      'button',
      {
        type: 'button',
        class: 'bell',
        part: 'bell',
        'aria-haspopup': 'dialog',
        'aria-expanded': 'false',
        onclick: () => this.toggle(),
      },
      icon(icons.bell),
      this.#badge,
    )
    this.#panel = h('div', { class: 'panel', part: 'panel', role: 'dialog', hidden: true, tabIndex: -1 })
    this.#root.append(this.#bell, this.#panel, this.#live)
    this.#root.addEventListener('keydown', (event) => this.#onKey(event as KeyboardEvent))
    this.#render()
  }

  /** Answers the user's access token; asked again with `renew` set when one was refused. */
  get getToken(): Access['getToken'] | undefined {
    return this.#getToken
  }

  set getToken(getToken: Access['getToken'] | undefined) {
    this.#getToken = getToken
    this.#restart()
  }

  /** Words in place of the English ones. */
  get texts(): Partial<Texts> {
    return this.#texts
  }

  set texts(texts: Partial<Texts>) {
    this.#texts = { ...english, ...texts }
    this.#render()
  }

  connectedCallback(): void {
    document.addEventListener('pointerdown', this.#onOutside)
    addEventListener('online', this.#onOnline)
    this.#restart()
  }

  disconnectedCallback(): void {
    document.removeEventListener('pointerdown', this.#onOutside)
    removeEventListener('online', this.#onOnline)
    this.#stop()
  }

  attributeChangedCallback(): void {
    this.#restart()
  }

  /** Opens or closes the panel; closed, the focus goes back to the bell. */
  toggle(open: boolean = !!this.#panel.hidden): void {
    if (open !== this.#panel.hidden) return
    this.#show(open)
    this.#page = 'list'
    this.#failed = false
    this.#render()
    if (open) this.#panel.focus()
    else this.#bell.focus()
  }

  /**
   * Reports that a link or an action of an item was followed, so that its delivery counts as clicked: `link` is where it
   * led, or a name of the action. Resolves to whether it was accepted; nothing is sent for an item without a token.
   * @throws Error when the service refuses it or does not answer
   * @example
   * inbox.addEventListener('gatehouse-open', ({ detail }) => {
   *   void inbox.clicked(detail.item, '/orders/A-1')
   *   location.href = '/orders/A-1'
   * })
   */
  async clicked(item: Item, link?: string): Promise<boolean> {
    if (!this.#api || item.receipt_token === undefined) return false
    return this.#api.recordClick(item.receipt_token, link)
  }

  #restart(): void {
    this.#stop()
    const baseUrl = this.getAttribute('base-url') ?? ''
    const userId = this.getAttribute('user-id')
    const whose = this.#getToken && `${baseUrl} ${userId}`
    const isOther = this.#whose !== whose
    if (isOther) {
      this.#whose = whose
      this.#items = new Items()
      this.#failed = false
      this.#connected = true
      this.#page = 'list'
      this.#live.textContent = ''
    }
    if (this.isConnected && this.#getToken && userId !== null)
      this.#follow(new Api({ baseUrl, userId, getToken: this.#getToken }))
    // Last: listeners may restart it.
    if (isOther) this.#render()
  }

  #follow(api: Api): void {
    this.#api = api
    const items = this.#items
    this.#following = follow(api, {
      reload: async () => {
        await items.begin(api)
        if (api === this.#api) this.#render()
        return items.counts.sequence
      },
      changed: (news) => {
        const [first] = items.take(news.items ?? [], news.counts)
        if (first) this.#live.textContent = this.#say('arrived', { text: first.subject ?? first.body })
        this.#render()
      },
      connected: (open) => {
        if (this.#connected === open) return
        this.#connected = open
        this.#render()
      },
    })
  }

  #stop(): void {
    this.#following?.stop()
    this.#api = undefined
    this.#seen.stop()
  }

  readonly #onOnline = (): void => this.#following?.now()

  readonly #onOutside = (event: Event): void => {
    if (!event.composedPath().includes(this)) this.#show(false)
  }

  #show(open: boolean): void {
    this.#panel.hidden = !open
    this.#bell.setAttribute('aria-expanded', String(open))
  }

  /** Calls the service and answers whether it did it; a failure is shown until the next success, unless `quiet`. */
  async #do(work: (api: Api, items: Items) => Promise<void>, quiet = false): Promise<boolean> {
    const api = this.#api
    if (!api) return true
    const done = await work(api, this.#items).then(
      () => true,
      () => false,
    )
    if (api !== this.#api || (!done && quiet)) return done
    this.#failed = !done
    if (!done) this.#live.textContent = this.#texts.failed
    this.#render()
    return done
  }

  #onItem(what: string, item: Item): void {
    if (what === 'open') {
      this.dispatchEvent(new CustomEvent('gatehouse-open', { detail: { item }, bubbles: true, composed: true }))
      if (item.read_at !== undefined) return
    }
    void this.#change(what === 'open' ? 'read' : what, { ids: [item.id] })
  }

  #change(what: string, choice: Chosen, quiet = false): Promise<boolean> {
    // Not what comes meanwhile.
    const ids = 'ids' in choice ? choice.ids : this.#items.list.map(({ id }) => id)
    return this.#do(async (api, items) => items.did(what, ids, (await api.change(what, choice)).counts), quiet)
  }

  #onKey(event: KeyboardEvent): void {
    if (this.#panel.hidden) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      this.toggle(false)
    } else if (event.key === 'Tab') keepInside(event, this.#panel, this.#root.activeElement)
    else moveAmongItems(event, this.#panel, this.#root.activeElement)
  }

  #say(key: keyof Texts, values: Readonly<Record<string, string | number>>): string {
    return this.#texts[key].replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
  }

  #render(): void {
    const { counts } = this.#items
    const { unseen } = counts
    this.#badge.hidden = unseen === 0
    this.#badge.textContent = unseen > 99 ? '99+' : String(unseen)
    this.#bell.setAttribute('aria-label', unseen === 0 ? this.#texts.bell : this.#say('unseen', { n: unseen }))
    this.dispatchEvent(new CustomEvent('gatehouse-counts', { detail: { counts } }))
    this.#panel.setAttribute('aria-label', this.#page === 'list' ? this.#texts.title : this.#texts.preferences)
    if (this.#panel.hidden) {
      this.#panel.replaceChildren()
      return
    }
    redraw(this.#panel, this.#root.activeElement, this.#page === 'list' ? this.#list() : this.#preferences())
    if (this.#page === 'list') this.#seen.watch(this.#panel.querySelector('.scroll'), this.#items.list)
    else this.#seen.stop()
  }

  #troubles(): Node[] {
    if (this.#failed) return [h('p', { class: 'note wrong' }, this.#texts.failed)]
    return this.#connected ? [] : [h('p', { class: 'note' }, this.#texts.offline)]
  }

  #list(): Node[] {
    const locale = this.closest('[lang]')?.getAttribute('lang') || navigator.language
    return listPanel(
      this.#items,
      { texts: this.#texts, locale, troubles: this.#troubles() },
      {
        filter: (onlyUnread) => this.#filter(onlyUnread),
        preferences: () => this.#showPreferences(),
        close: () => this.toggle(false),
        readAll: (upTo) => void this.#change('read', { all: true, up_to: upTo }),
        more: (next) => void this.#do((api, items) => items.readOn(api, next)),
        item: (what, item) => this.#onItem(what, item),
      },
    )
  }

  #preferences(): Node[] {
    return preferencesPanel(this.#items.choices, this.#texts, this.#troubles(), {
      back: () => this.#showList(),
      close: () => this.toggle(false),
      choose: (event, channel, on) => void this.#choose((api) => api.choose(event, channel, on)),
      unsubscribe: (unsubscribed) => void this.#choose((api) => api.unsubscribe(unsubscribed)),
    })
  }

  #choose(ask: (api: Api) => Promise<Choices>): Promise<boolean> {
    return this.#do(async (api, items) => {
      items.choices = await ask(api)
    })
  }

  #showPreferences(): void {
    this.#page = 'preferences'
    void this.#choose((api) => api.choices()).then(() =>
      this.#panel.querySelector<HTMLElement>('[data-key=back]')?.focus(),
    )
  }

  #showList(): void {
    this.#page = 'list'
    this.#render()
    this.#panel.querySelector<HTMLElement>('[data-key=preferences]')?.focus()
  }

  #filter(onlyUnread: boolean): void {
    this.#items.onlyUnread = onlyUnread
    void this.#do((api, items) => items.begin(api))
  }
}

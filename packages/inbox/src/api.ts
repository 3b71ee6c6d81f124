/** An item of the feed, as the notification service writes it. */
export interface Item {
  readonly id: string
  readonly event: string
  readonly subject?: string
  readonly body: string
  readonly created_at: string
  readonly seen_at?: string
  readonly read_at?: string
  readonly archived_at?: string
  /** Reports what became of the item; left out where the service makes no tokens. */
  readonly receipt_token?: string
}

/** The counts of an inbox. */
export interface Counts {
  /** The number of its last change. */
  readonly sequence: number
  readonly total: number
  readonly unseen: number
  readonly unread: number
}

/** An event type in the preferences, with the channels that the user may switch. */
export interface Choice {
  readonly event: string
  readonly title: string
  readonly critical: boolean
  readonly channels: ReadonlyArray<{ readonly channel: string; readonly on: boolean }>
}

/** The preferences of a user. */
export interface Choices {
  readonly unsubscribed: boolean
  readonly event_types: readonly Choice[]
}

/** Items by id, or all that came no later than a number. */
export type Chosen = { readonly ids: readonly string[] } | { readonly all: true; readonly up_to: number }

/** One page of the feed. */
export interface Feed {
  readonly items: readonly Item[]
  readonly counts: Counts
  /** The cursor of the following page. */
  readonly next?: string
}

/** What has changed in a feed. */
export interface News {
  readonly items?: readonly Item[]
  readonly counts: Counts
}

/** Where the service is, whose inbox it is, and how a token is had. */
export interface Access {
  readonly baseUrl: string
  readonly userId: string
  /** One that was refused is asked for again, `renew` set. */
  readonly getToken: (renew: boolean) => string | Promise<string>
}

/** A response of the notification service that is not 2xx. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`the notification service answered ${status}`)
    this.status = status
  }
}

/** What is not answered within this time is given up. */
const maxWaitMs = 30_000

/** The user's part of the notification service. */
export class Api {
  /** Ends what is being read; what is being sent goes on. */
  readonly stopping = new AbortController()
  readonly #access: Access

  constructor(access: Access) {
    this.#access = access
  }

  /** A name for this inbox, the same in every window. */
  get inbox(): string {
    const { baseUrl, userId } = this.#access
    return `gatehouse-inbox ${baseUrl || location.origin} ${userId}`
  }

  feed(query: string): Promise<Feed> {
    return this.#json('GET', `inbox?${query}`)
  }

  change(what: string, choice: Chosen): Promise<{ readonly counts: Counts }> {
    return this.#json('POST', `inbox/${what}`, choice)
  }

  choices(): Promise<Choices> {
    return this.#json('GET', 'choices')
  }

  /** Switches one channel; what another window does to the others stands. */
  choose(event: string, channel: string, on: boolean): Promise<Choices> {
    return this.#json('PATCH', `choices/${encodeURIComponent(event)}`, { [on ? 'on' : 'off']: [channel] })
  }

  unsubscribe(unsubscribed: boolean): Promise<Choices> {
    return this.#json('PUT', 'choices', { unsubscribed })
  }

  /**
   * Reports that a link or an action of an item was followed, even when the page is left at once; the token of the item
   * is the credential. Answers whether it was accepted.
   */
  async recordClick(token: string, link: string | undefined): Promise<boolean> {
    const body = JSON.stringify({ receipts: [{ token, report: 'clicked', ...(link === undefined ? {} : { link }) }] })
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(maxWaitMs)
    const response = await fetch(this.#url('receipts'), { method: 'POST', headers, body, keepalive: true, signal })
    if (!response.ok) throw new ApiError(response.status)
    const { results } = (await response.json()) as { results: ReadonlyArray<{ readonly status: string }> }
    return results[0]?.status === 'accepted'
  }

  /** The open stream of changes after a number. */
  stream(after: number, signal: AbortSignal): Promise<Response> {
    return this.#ask('inbox/stream', {
      headers: { accept: 'text/event-stream', 'last-event-id': String(after) },
      signal,
    })
  }

  #url(path: string): string {
    return `${this.#access.baseUrl.replace(/\/$/, '')}/v1/${path}`
  }

  async #json<T>(method: string, path: string, body?: object): Promise<T> {
    const signal = AbortSignal.timeout(maxWaitMs)
    const content = body
      ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal }
      : { signal: AbortSignal.any([this.stopping.signal, signal]) }
    return (await this.#ask(path, { method, ...content })).json()
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    const { userId, getToken } = this.#access
    const { signal } = init
    const url = this.#url(`users/${encodeURIComponent(userId)}/${path}`)
    for (let renew = false; ; renew = true) {
      signal?.throwIfAborted()
      const token = await Promise.race([
        getToken(renew),
        new Promise<never>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
        }),
      ])
      const authorization = `Bearer ${token}`
      const answer = await fetch(url, { ...init, headers: { ...init.headers, authorization }, cache: 'no-store' })
      if (answer.ok) return answer
      await answer.body?.cancel()
      if (answer.status !== 401 || renew) throw new ApiError(answer.status)
    }
  }
}

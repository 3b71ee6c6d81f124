import { setTimeout as pause } from 'node:timers/promises'

interface ProducerEvent {
  readonly event: string
  readonly user_id: string
  readonly data: Readonly<Record<string, unknown>>
  readonly dedup_key?: string
  readonly channels?: readonly string[]
}

interface Accepted {
  readonly id: string
  readonly deliveries: ReadonlyArray<{ readonly id?: string; readonly channel: string; readonly outcome: string }>
}

interface ProducerOptions {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A producer that speaks plain HTTP: what it sends is what a test says, once, unless it is rate limited. */
export class Producer {
  readonly #options: ProducerOptions
  #token = ''
  /** How often the producer was rate limited (429). */
  waits = 0

  constructor(options: ProducerOptions) {
    this.#options = options
  }

  /** Gets an access token by client credentials. */
  async signIn(): Promise<void> {
    const { url, clientId, clientSecret } = this.#options
    const answer = await fetch(`${url}/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
    })
    const body = (await answer.json()) as { access_token?: string; error_description?: string }
    if (!body.access_token) throw new Error(`no token: ${answer.status} ${body.error_description}`)
    this.#token = body.access_token
  }

  /** Sends one event; waits as long as a 429 says and tries again. Throws when it is refused or the server is gone. */
  async notify(event: ProducerEvent): Promise<Accepted> {
    return (await this.call('POST', '/v1/notify', event)) as Accepted
  }

  /** Calls the API with the token. Throws on any answer that is neither 2xx nor 429. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    for (;;) {
      const answer = await fetch(`${this.#options.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      if (answer.ok) return text === '' ? undefined : JSON.parse(text)
      if (answer.status !== 429) throw new Error(`${method} ${path} was answered with ${answer.status}: ${text}`)
      this.waits++
      await pause(Number(answer.headers.get('retry-after') ?? 1) * 1000)
    }
  }
}

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Http } from '@gatehouse/kit'
import { liveRules } from '../../src/server/live/rules.ts'
import { ownPage, Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const id = '019a205c-cc20-7a27-aaca-4b0e3f272052'
const other = '019a205c-cc20-7a27-aaca-4b0e3f272053'

interface Upstream {
  readonly stream: PassThrough
  readonly after: string | undefined
  readonly authorization: string | undefined
}

/** A notification service: its streams are in the hand of the test, its providers change when the test says so. */
const service = { upstreams: [] as Upstream[], calls: 0, status: 200, waiting: [] as (() => void)[] }

function notifyRoutes(http: Http): void {
  http.get('/v1/notifications/:id/stream', async ({ headers }, reply) => {
    const stream = new PassThrough()
    service.upstreams.push({ stream, after: headers['last-event-id'] as string, authorization: headers.authorization })
    for (const resolve of service.waiting.splice(0)) resolve()
    return reply.type('text/event-stream').send(stream)
  })
  http.get('/v1/providers', async (_request, reply) => {
    reply.code(service.status)
    return service.status === 200 ? { items: [{ name: 'smtp', calls: service.calls }] } : { status: service.status }
  })
}

/** The next stream that the console opens. */
async function upstream(): Promise<Upstream> {
  while (service.upstreams.length === 0) await new Promise<void>((resolve) => service.waiting.push(resolve))
  return service.upstreams.shift() ?? assert.fail()
}

/** A live connection, as a page reads it. */
class Live {
  readonly status: number
  #text = ''
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()

  constructor(answer: Response) {
    this.status = answer.status
    this.#reader = (answer.body ?? assert.fail()).getReader()
  }

  /** The next block that the pattern matches. */
  async next(pattern: RegExp): Promise<string> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end < 0) {
        const { done, value } = await this.#reader.read()
        assert.ok(!done, `the stream ended before ${pattern}`)
        this.#text += this.#decoder.decode(value)
        continue
      }
      const block = this.#text.slice(0, end)
      this.#text = this.#text.slice(end + 2)
      if (pattern.test(block)) return block
    }
  }

  /** Resolves when the server has ended it. */
  async ended(): Promise<void> {
    for (;;) if ((await this.#reader.read().catch(() => ({ done: true }))).done) return
  }

  close = () => this.#reader.cancel()
}

const idOf = (block: string) => /^id: (.*)$/m.exec(block)?.[1] ?? assert.fail(block)
const dataOf = (block: string) => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? assert.fail(block))

describe('the live channel', () => {
  let platform: Platform
  let olga: Person
  before(async () => {
    platform = await startPlatform(notifyRoutes)
    olga = new Person(platform.url)
    await olga.signIn('olga', passwordOf('olga'))
  })
  after(() => platform.stop())
  beforeEach(() => Object.assign(service, { upstreams: [], calls: 0, status: 200 }))

  const open = async (person: Person, topics: string[], lastEventId?: string) => {
    const query = topics.map((topic) => `topic=${topic}`).join('&')
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const answer = await person.request(`/console/live?${query}`, { headers: { ...ownPage, ...resume } })
    return new Live(answer)
  }

  test('a notification is followed with the token of the session, and after its last event', async () => {
    const live = await open(olga, [`notification:${id}`])
    const first = await upstream()
    assert.match(first.authorization ?? '', /^Bearer eyJ/)
    assert.equal(first.after, undefined)
    first.stream.write(`event: timeline\nid: ${id}/2\ndata: {"what":"sent"}\n\n`)
    const block = await live.next(/^event: live$/m)
    assert.deepEqual(dataOf(block), { topic: `notification:${id}`, event: 'timeline', data: { what: 'sent' } })
    await live.close()
    const again = await open(olga, [`notification:${id}`, `notification:${other}`], idOf(block))
    const streams = [await upstream(), await upstream()]
    assert.deepEqual(new Set(streams.map(({ after: position }) => position)), new Set([`${id}/2`, undefined]))
    await again.close()
  })

  test('a stream that its service ends is opened again after the last event', async () => {
    const live = await open(olga, [`notification:${id}`])
    const first = await upstream()
    first.stream.end(`retry: 1\nevent: timeline\nid: ${id}/5\ndata: {}\n\n`)
    const second = await upstream()
    assert.equal(second.after, `${id}/5`)
    await live.close()
  })

  test('what has no stream is polled: a change is sent once, also a missed one', async () => {
    const live = await open(olga, ['providers'])
    const position = idOf(await live.next(/^id:/m))
    service.calls++
    const changed = await live.next(/^event: live$/m)
    assert.deepEqual(dataOf(changed), { topic: 'providers', event: 'changed', data: {} })
    assert.notEqual(idOf(changed), position)
    await live.close()
    const same = await open(olga, ['providers'], idOf(changed))
    await same.next(/^event: beat$/m)
    service.calls++
    await same.next(/^event: live$/m)
    await same.close()
    const late = await open(olga, ['providers'], position)
    assert.equal(dataOf(await late.next(/^event: live$/m)).event, 'changed')
    await late.close()
  })

  test('a topic that is refused says so and ends; one that fails for now goes on', async () => {
    service.status = 503
    const live = await open(olga, ['providers'])
    await live.next(/^event: beat$/m)
    service.status = 200
    await live.next(/^id:/m)
    service.status = 403
    const block = await live.next(/^event: live$/m)
    assert.deepEqual(dataOf(block), { topic: 'providers', event: 'refused', data: { status: 403 } })
    await live.close()
  })

  test('the channel ends with the session, here and by a logout of the provider', async () => {
    for (const end of [
      (person: Person) => person.api('/sign-out', { method: 'POST' }),
      () => platform.database.query(`DELETE FROM console.session WHERE user_id = 'otto'`),
    ]) {
      const person = new Person(platform.url)
      await person.signIn('otto', passwordOf('otto'))
      const live = await open(person, ['providers', `notification:${id}`])
      const { stream } = await upstream()
      const closed = new Promise((resolve) => stream.once('close', resolve))
      await end(person)
      await live.ended()
      await closed
    }
  })

  test('connections of one session are bounded, and a place is free when one is closed', async () => {
    const person = new Person(platform.url)
    await person.signIn('otto', passwordOf('otto'))
    const places = Array.from({ length: liveRules.maxPerSession }, () => open(person, ['providers']))
    const acquired = await Promise.all(places)
    const refused = await person.request('/console/live?topic=providers', { headers: ownPage })
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
    assert.equal((await open(olga, ['providers'])).status, 200, 'another session has its own')
    await acquired[0]?.close()
    let answer = refused
    while (answer.status === 429) answer = await person.request('/console/live?topic=providers', { headers: ownPage })
    assert.equal(answer.status, 200)
    await person.api('/sign-out', { method: 'POST' })
  })

  const refusals: readonly (readonly [what: string, query: string, headers: Record<string, string>, status: number])[] =
    [
      ['without a topic', '', ownPage, 400],
      ['an unknown topic', 'topic=users', ownPage, 400],
      ['another path', 'topic=notification:..%2f..', ownPage, 400],
      [
        'too many notifications',
        Array.from({ length: 9 }, (_, n) => `topic=notification:${id.slice(0, -1)}${n}`).join('&'),
        ownPage,
        400,
      ],
      ['another site', 'topic=providers', { ...ownPage, 'sec-fetch-site': 'cross-site' }, 403],
    ]
  for (const [what, query, headers, status] of refusals)
    test(`${what} is refused with ${status}`, async () => {
      assert.equal((await olga.request(`/console/live?${query}`, { headers })).status, status)
    })

  test('without a session there is no live channel', async () => {
    const answer = await new Person(platform.url).request('/console/live?topic=providers', { headers: ownPage })
    assert.equal(answer.status, 401)
  })
})

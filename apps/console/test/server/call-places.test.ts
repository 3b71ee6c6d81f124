import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { type Http, Problem } from '@gatehouse/kit'
import { createPlaces } from '../../src/server/live/places.ts'
import { liveRules } from '../../src/server/live/rules.ts'
import { createCallPlaces } from '../../src/server/proxy/call-places.ts'
import { createSignInPlaces } from '../../src/server/sign-in/limits.ts'
import { Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const never = new AbortController().signal
const isTooMany = (error: unknown) => error instanceof Problem && error.status === 429

describe('the places of calls', () => {
  const rules = { perHolder: 2, waiting: 2, waitMs: 60_000 }

  test('a holder that has all its places takes none from another', async () => {
    const places = createCallPlaces(rules)
    await places.take('olga', never)
    await places.take('olga', never)
    const leaving = new AbortController()
    const waits = places.take('olga', leaving.signal)
    const release = await places.take('sara', never)
    release()
    assert.equal(await Promise.race([waits, Promise.resolve('waits')]), 'waits')
    leaving.abort(new Error('the browser is gone'))
    await assert.rejects(waits, /the browser is gone/)
  })

  test('a place goes to the call that waits longest, and is aborted back once', async () => {
    const places = createCallPlaces(rules)
    const first = await places.take('olga', never)
    await places.take('olga', never)
    const order: string[] = []
    const second = places.take('olga', never).then(() => order.push('second'))
    const leaving = new AbortController()
    const third = places.take('olga', leaving.signal).then(() => order.push('third'))
    first()
    first()
    await second
    assert.deepEqual(order, ['second'])
    await assert.rejects(Promise.all([places.take('olga', never), places.take('olga', never)]), isTooMany)
    leaving.abort(new Error('the browser is gone'))
    await assert.rejects(third, /the browser is gone/)
  })

  test('a call that is aborted up while it waits leaves its turn to the next', async () => {
    const places = createCallPlaces({ ...rules, perHolder: 1 })
    const first = await places.take('olga', never)
    const aborted = new AbortController()
    const second = places.take('olga', aborted.signal)
    const third = places.take('olga', never)
    aborted.abort(new Error('the browser is gone'))
    await assert.rejects(second, /the browser is gone/)
    first()
    const release = await third
    release()
    await places.take('olga', never)
  })

  test('a call waits no longer than it may', async () => {
    const places = createCallPlaces({ ...rules, perHolder: 1, waitMs: 1 })
    await places.take('olga', never)
    await assert.rejects(places.take('olga', never), isTooMany)
  })

  test('live connections are bounded by session and by user, and are given back once', () => {
    const places = createPlaces({ ...liveRules, maxPerSession: 2, maxPerUser: 3 })
    const take = (idHash: string, userId = 'olga') => places.acquire({ idHash, userId }, 1)
    const [first] = [take('one'), take('one')]
    assert.throws(() => take('one'), isTooMany)
    take('two')
    assert.throws(() => take('three'), isTooMany)
    take('four', 'sara')
    first?.()
    first?.()
    take('three')
    assert.throws(() => take('one'), isTooMany)
  })

  test('sign-ins under way are bounded by address and in all', () => {
    const places = createSignInPlaces()
    const ofOne = Array.from({ length: 5 }, () => places.take('192.0.2.1'))
    assert.equal(ofOne.filter(Boolean).length, 4)
    const others = Array.from({ length: 40 }, (_, n) => places.take(`198.51.100.${n}`))
    assert.equal(others.filter(Boolean).length, 28, 'of 32 in all')
    ofOne[0]?.()
    assert.ok(places.take('192.0.2.1'))
  })
})

describe('a session that leaves many calls open', () => {
  const open: PassThrough[] = []
  const arrived = new PassThrough({ objectMode: true })
  let platform: Platform
  before(async () => {
    platform = await startPlatform((http: Http) => {
      http.get('/v1/event-types', async (_request, reply) => {
        const stream = new PassThrough()
        open.push(stream)
        stream.write('first')
        arrived.write('one')
        return reply.type('text/plain').send(stream)
      })
      http.get('/v1/dead-letters', async () => ({ items: [] }))
    })
  })
  after(() => platform.stop())

  test('leaves room for the other sessions, and goes on when one has ended', async () => {
    const [olga, sara] = [new Person(platform.url), new Person(platform.url)]
    for (const [person, name] of [
      [olga, 'olga'],
      [sara, 'sara'],
    ] as const)
      await person.signIn(name, passwordOf(name))
    const aborted = new AbortController()
    const answers = Array.from({ length: 70 }, () => olga.api('/v1/event-types', { signal: aborted.signal }))
    for (const answer of answers) answer.catch(() => {})
    while (open.length < 12) await once(arrived, 'data')
    assert.equal((await sara.api('/v1/dead-letters')).status, 200)
    assert.equal(open.length, 12, 'so many calls of a session reach a service at once')
    open[0]?.end()
    while (open.length < 13) await once(arrived, 'data')
    aborted.abort()
    for (const stream of open) stream.end()
    await Promise.allSettled(answers)
    assert.equal((await olga.api('/v1/dead-letters')).status, 200, 'what was aborted up takes no place')
  })

  test('has no more places in six sessions of one person than in one', async () => {
    open.length = 0
    const [sara, ...olgas] = ['sara', ...Array.from({ length: 6 }, () => 'olga')].map((name) => ({
      name,
      person: new Person(platform.url),
    }))
    for (const { name, person } of [sara ?? assert.fail(), ...olgas]) await person.signIn(name, passwordOf(name))
    const aborted = new AbortController()
    const answers = olgas.flatMap(({ person }) =>
      Array.from({ length: 12 }, () => person.api('/v1/event-types', { signal: aborted.signal })),
    )
    for (const answer of answers) answer.catch(() => {})
    while (open.length < 12) await once(arrived, 'data')
    assert.equal((await sara?.person.api('/v1/dead-letters'))?.status, 200)
    assert.equal(open.length, 12, 'so many calls of a person reach a service at once')
    aborted.abort()
    for (const stream of open) stream.end()
    await Promise.allSettled(answers)
  })
})

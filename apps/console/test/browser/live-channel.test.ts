import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { LiveChannel, type LiveEvent, type LiveHandlers, type LiveParts } from '../../src/browser/api/live-channel.ts'

interface Connection {
  readonly tab: string
  readonly topics: readonly string[]
  readonly after: string
  readonly handlers: LiveHandlers
  readonly signal: AbortSignal
  fail(): void
}

/** A browser: its tabs share a lock and a channel, and the test is the server. */
class Browser {
  readonly name = randomUUID()
  readonly connections: Connection[] = []
  readonly #waiting: (() => void)[] = []
  readonly #tabs: { pause(): void; close(): void }[] = []

  tab(name: string, parts: Partial<LiveParts> = {}): LiveChannel {
    const tabs = 'tabs' in parts ? undefined : new BroadcastChannel(this.name)
    const locks = {
      request: (_name: string, options: LockOptions, work: LockGrantedCallback<unknown>) =>
        navigator.locks.request(this.name, options, work),
    } as unknown as LockManager
    const channel = new LiveChannel({
      locks,
      tabs,
      connect: (topics, after, handlers, signal) =>
        new Promise((_resolve, reject) => {
          const fail = () => reject(new Error('ended'))
          signal.addEventListener('abort', fail)
          this.connections.push({ tab: name, topics, after, handlers, signal, fail })
          for (const resume of this.#waiting.splice(0)) resume()
        }),
      silenceMs: 1_000,
      pollMs: 10_000,
      forgetMs: 60_000,
      ...parts,
    })
    this.#tabs.push({ pause: () => channel.pause(), close: () => tabs?.close() })
    return channel
  }

  /** The next connection that fits. */
  async connected(fits: (connection: Connection) => boolean): Promise<Connection> {
    for (;;) {
      const found = this.connections.find((each) => !each.signal.aborted && fits(each))
      if (found) return found
      await new Promise<void>((resume) => this.#waiting.push(resume))
    }
  }

  close(): void {
    for (const { pause, close } of this.#tabs) {
      pause()
      close()
    }
  }
}

let browser = new Browser()
afterEach(() => {
  browser.close()
  browser = new Browser()
})

/** Collects what a tab hears; `next` waits for one more. */
function listener() {
  const received: LiveEvent[] = []
  const waiting: ((event: LiveEvent) => void)[] = []
  return {
    received,
    receive: (event: LiveEvent) => {
      received.push(event)
      waiting.shift()?.(event)
    },
    next: () => new Promise<LiveEvent>((resolve) => waiting.push(resolve)),
  }
}

const event = (topic: string, data: unknown = {}): LiveEvent => ({ topic, event: 'changed', data })

test('of two tabs one connects, for the topics of both, and passes on what it hears', async () => {
  const [first, second] = [browser.tab('first'), browser.tab('second')]
  const [one, two] = [listener(), listener()]
  first.subscribe('providers', one.receive)
  first.resume()
  await browser.connected(({ tab }) => tab === 'first')
  second.subscribe('overview', two.receive)
  second.resume()
  const both = await browser.connected(({ topics }) => topics.join() === 'overview,providers')
  assert.equal(both.tab, 'first')
  assert.equal(browser.connections.filter(({ signal }) => !signal.aborted).length, 1)
  const arrived = two.next()
  both.handlers.onEvent('7', event('overview'))
  assert.deepEqual(await arrived, event('overview'))
  assert.deepEqual(one.received, [], 'what a tab does not follow it does not receive')
})

test('a beat makes every tab live, and a tab that rests is not', async () => {
  const [first, second] = [browser.tab('first'), browser.tab('second')]
  first.subscribe('providers', () => {})
  first.resume()
  const { handlers } = await browser.connected(() => true)
  second.resume()
  const changed = new Promise<void>((resolve) => second.watch(resolve))
  handlers.onBeat()
  await changed
  assert.deepEqual([first.isLive, second.isLive], [true, true])
  second.pause()
  assert.equal(second.isLive, false)
})

test('no tab is live once the connection broke, and each is again at the next beat', async () => {
  const [first, second] = [browser.tab('first'), browser.tab('second')]
  first.subscribe('providers', () => {})
  first.resume()
  const { handlers } = await browser.connected(() => true)
  second.resume()
  const changed = () => new Promise<void>((resolve) => second.watch(resolve))
  for (const [happens, isLive] of [
    [handlers.onBeat, true],
    [handlers.onLost, false],
    [handlers.onBeat, true],
  ] as const) {
    const seen = changed()
    happens()
    await seen
    assert.deepEqual([first.isLive, second.isLive], [isLive, isLive])
  }
})

test('when the tab that leads rests, another goes on for its own topics', async () => {
  const [first, second] = [browser.tab('first'), browser.tab('second')]
  first.subscribe('providers', () => {})
  first.resume()
  await browser.connected(({ tab }) => tab === 'first')
  second.subscribe('overview', () => {})
  second.resume()
  const led = await browser.connected(({ topics }) => topics.length === 2)
  first.pause()
  assert.equal(led.signal.aborted, true)
  const { topics } = await browser.connected(({ tab }) => tab === 'second')
  assert.deepEqual(topics, ['overview'])
})

test('a change of topics connects again, after the last event', async () => {
  const tab = browser.tab('first')
  tab.subscribe('providers', () => {})
  tab.resume()
  const before = await browser.connected(() => true)
  before.handlers.onEvent('providers=5', event('providers'))
  const leave = tab.subscribe('limits', () => {})
  const after = await browser.connected(({ topics }) => topics.length === 2)
  assert.deepEqual([before.signal.aborted, after.after], [true, 'providers=5'])
  leave()
  assert.deepEqual((await browser.connected(({ topics }) => topics.length === 1)).topics, ['providers'])
})

test('without a connection topics are polled, and one that failed is tried again', async () => {
  const tab = browser.tab('first', { silenceMs: 0, pollMs: 5 })
  const one = listener()
  tab.subscribe('providers', one.receive)
  const polled = one.next()
  tab.resume()
  const failed = await browser.connected(() => true)
  assert.equal((await polled).event, 'poll')
  failed.fail()
  await browser.connected((connection) => connection !== failed)
})

test('where there are no locks each tab has a connection of its own', async () => {
  const parts = { locks: undefined, tabs: undefined }
  for (const name of ['first', 'second']) {
    const tab = browser.tab(name, parts)
    tab.subscribe('providers', () => {})
    tab.resume()
  }
  await browser.connected(({ tab }) => tab === 'first')
  await browser.connected(({ tab }) => tab === 'second')
})

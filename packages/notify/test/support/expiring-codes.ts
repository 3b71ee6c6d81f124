import type { TestContext } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import type { Provider, SendResult } from '../../src/index.ts'
import { createProcesses } from './processes/processes.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from './setup.ts'

export const code = { event: 'sign_in.code', user_id: 'alice', data: { order_id: 'hush' }, channels: ['email'] }
export const begun = Date.parse('2026-06-01T12:00:00Z')
export const minute = 60_000
/** How long a code of these tests works. */
export const ttl_seconds = 300
export const ttlMs = ttl_seconds * 1_000
export const expiresAt = new Date(begun + ttlMs).toISOString()

interface World {
  readonly s: Setup
  readonly clock: ManualClock
  readonly calls: readonly string[]
  readonly answer: { now: SendResult }
  readonly provider: Provider
  /** Starts another process on the same database. */
  start(more?: SetupOptions): Promise<Setup>
}

/** An event type whose messages expire after five minutes, and a provider whose answer the test sets. */
export async function setupCodes(t: TestContext, options: SetupOptions = {}, settings: object = {}): Promise<World> {
  const clock = manualClock(begun)
  const calls: string[] = []
  const answer: { now: SendResult } = { now: { kind: 'accepted' } }
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      calls.push(...messages.map(() => new Date(clock.now()).toISOString()))
      return messages.map(() => answer.now)
    },
  }
  const setupOptions = { clock, providers: { email: [provider] }, ...options }
  const s = await setup(setupOptions)
  const { start, close } = createProcesses(s, setupOptions)
  t.after(close)
  await seedEventType(s, code.event, { priority: 'critical', sensitive: true, ttl_seconds, ...settings })
  return { s, clock, calls, answer, provider, start }
}

export const readNotification = async (s: Setup, id: string) => (await s.call('GET', `/v1/notifications/${id}`)).body
export const untilEnded = (s: Setup, id: string) =>
  eventually(
    () => readNotification(s, id),
    ({ deliveries }) => deliveries[0].ended !== undefined,
  )
export const readData = async (s: Setup) =>
  (await s.database.query<{ data: object }>('SELECT data FROM notify.notification')).rows

import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createMetrics, type Database, Secret, silentLog } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { deliverOutbox } from '../../src/background/outbox.ts'
import { createContext } from '../../src/context/create.ts'
import type { NotifyRequest } from '../../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { waitingMails } from '../support/notices.ts'
import { encryptionKey, issuer, type Running, setup } from '../support/setup.ts'

const declared = { clients, users }

/** Identity that delivers nothing by itself, and what its workers would use. */
async function setupQuiet(context: TestContext, database: Database) {
  const options = { declared, background: false, notify: async () => undefined }
  const running = await setup(options, database)
  context.after(() => running.close())
  const store = postgresIdentityStore(database)
  const { clock } = running
  const inner = createContext(
    {
      ...{ store, issuer, baseUrl: issuer, encryptionKey: new Secret(encryptionKey), clock, log: silentLog },
      ...{ metrics: createMetrics(), authenticate: () => assert.fail() },
    },
    () => {},
  )
  return { running, store, inner }
}

async function startDatabase(context: TestContext): Promise<Database> {
  const database = await memoryDatabase(migrateIdentity)
  context.after(() => database.close())
  return database
}

/** Puts two mails into the outbox, for two users. */
async function requestMails(running: Running): Promise<void> {
  const second = { id: 'second', email: 'second@example.com', email_verified: true, password: 'correct horse' }
  await running.identity.management.createUser(second)
  for (const email of ['alice@example.com', second.email]) {
    const browser = new TestBrowser(running)
    await browser.submit(await browser.get('/password/forgot'), { email })
  }
  // The page is sent before the mail is stored.
  while ((await waitingMails(running.database)).length < 2) await nextTurn()
}

test('a pass that is stopped begins no further mail, and leaves it to another process at once', async (context) => {
  const { running, inner } = await setupQuiet(context, await startDatabase(context))
  await requestMails(running)
  const sent: NotifyRequest[] = []
  const pass = async (stopping: AbortController) => {
    const notify = async (mail: NotifyRequest) => {
      sent.push(mail)
      stopping.abort()
    }
    await deliverOutbox({ context: inner, notify, onRecipient: undefined }, 'mails', stopping.signal)
    return [sent.length, (await waitingMails(running.database)).length]
  }
  assert.deepEqual(await pass(new AbortController()), [1, 1])
  assert.deepEqual(await pass(new AbortController()), [2, 0])
  assert.equal(new Set(sent.map(({ data }) => data.link)).size, 2)
})

test('calls that were claimed while the worker was stopped are left to another process', async (context) => {
  const { running, store, inner } = await setupQuiet(context, await startDatabase(context))
  const now = running.clock.now()
  const call = { id: randomUUIDv7(), kind: 'logo', subject: 'web', payloadSealed: '', dueAt: now, expiresAt: now + 1e6 }
  await store.outbox.put([{ ...call, kind: 'logo' }])
  const stopping = new AbortController()
  const claim: typeof store.outbox.claim = async (...values) => {
    const claimed = await store.outbox.claim(...values)
    stopping.abort()
    return claimed
  }
  const outbox = { claim, postpone: store.outbox.postpone.bind(store.outbox), remove: () => assert.fail() }
  const stopped = { ...inner, store: { ...store, outbox: { ...store.outbox, ...outbox } } }
  await deliverOutbox({ context: stopped, notify: undefined, onRecipient: undefined }, 'calls', stopping.signal)
  assert.deepEqual(
    (await store.outbox.claim(['logo'], now, 60_000, 20)).map(({ id }) => id),
    [call.id],
  )
})

test('identity that stops sending finishes the mail under way and releases the next one', async (context) => {
  const database = await startDatabase(context)
  const { running: quiet } = await setupQuiet(context, database)
  await requestMails(quiet)
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let sent = 0
  const notify = async () => {
    sent++
    begun.resolve()
    await released.promise
  }
  const running = await setup({ declared, notify }, database)
  context.after(() => running.close())
  await begun.promise
  running.identity.stopSending()
  released.resolve()
  const leased = "SELECT 1 FROM identity.outbox WHERE kind = 'mail' AND due_at > $1"
  while ((await database.query(leased, [running.clock.now()])).rows.length > 0) await nextTurn()
  assert.deepEqual([sent, (await waitingMails(database)).length], [1, 1])
})

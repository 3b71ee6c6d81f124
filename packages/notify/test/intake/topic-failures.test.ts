import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, type Database, DatabasePartUnavailable, type Log, silentLog } from '@gatehouse/kit'
import { embeddedDatabase } from '../support/engine/embedded.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const event = (order: string, user = 'alice') => ({
  event: 'order.shipped',
  user_id: user,
  data: { order_id: order },
  channels: ['in-app'],
})

/** Has the database refuse what is written for a user, as it would for a value that it can't hold. */
async function refuse({ database }: Setup, sqlState: string, user = '%'): Promise<void> {
  await database.query(`
    CREATE OR REPLACE FUNCTION notify.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.user_id LIKE '${user}' THEN RAISE EXCEPTION 'refused here' USING ERRCODE = '${sqlState}'; END IF;
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON notify.notification FOR EACH ROW EXECUTE FUNCTION notify.refuse()`)
}

const accept = ({ database }: Setup) => database.query('DROP TRIGGER refuse ON notify.notification')

/** A log that keeps what was logged as an error. */
function errorLog() {
  const errors: Array<{ readonly err?: Error; readonly attempt?: number; readonly message: string }> = []
  const log = { ...silentLog, error: (about: object, message: string) => errors.push({ ...about, message }) }
  return { log: log as unknown as Log, errors }
}

async function withTopic(t: { after(end: () => Promise<void>): void }, attempts = 3) {
  const hand = createManualTopic()
  const { log, errors } = errorLog()
  const metrics = createMetrics()
  // A trigger makes statements fail, and a distributed table can have none.
  const database = await embeddedDatabase()
  const s = await setup({ database, topic: hand.topic, options: { topicAttempts: attempts }, log, metrics })
  t.after(s.close)
  await seedEventType(s)
  return { ...hand, s, errors, metrics }
}

test('a message that keeps failing becomes a dead letter with payload and reason', async (t) => {
  const { s, deliver, errors, metrics } = await withTopic(t)
  await refuse(s, '22023', 'alice')
  assert.deepEqual(
    [await deliver(1, event('A')), await deliver(1, event('A')), await deliver(1, event('A'))],
    ['later', 'later', 'terminate'],
  )
  const { body } = await s.call('GET', '/v1/dead-letters', undefined, 'admin:notifications admin:privacy')
  const [letter = assert.fail()] = body.items
  assert.equal(letter.cause, 'failed_message')
  assert.equal(letter.user_id, 'alice')
  assert.match(letter.detail, /^3 attempts failed, the last: refused here$/)
  const { body: whole } = await s.call('GET', `/v1/dead-letters/${letter.id}`)
  assert.deepEqual(JSON.parse(whole.text), event('A'))
  assert.deepEqual(
    errors.map(({ err, attempt }) => [err?.message, attempt]),
    [1, 2, 3].map((attempt) => ['refused here', attempt]),
  )
  assert.match(await metrics.metrics(), /notify_topic_failures_total\{fault="message"\} 3/)
})

test('a dead letter of the topic is stored once, however often its message is redelivered', async (t) => {
  const { s, deliver } = await withTopic(t, 1)
  await refuse(s, '22023', 'alice')
  for (let i = 0; i < 3; i++) assert.equal(await deliver(1, event('A')), 'terminate')
  assert.equal((await s.call('GET', '/v1/dead-letters')).body.items.length, 1)
})

test('a replayed message of the topic is sent once after its fault is fixed', async (t) => {
  const { s, deliver } = await withTopic(t, 1)
  await refuse(s, '22023', 'alice')
  await deliver(1, event('A'))
  await accept(s)
  const { body } = await s.call('POST', '/v1/dead-letters/replay', { cause: 'failed_message' })
  assert.equal(body.replayed, 1)
  await eventually(
    () => s.call('GET', '/dev/mailbox'),
    (answer) => answer.body.messages.length === 1,
  )
})

test('a replayed message that fails again is a dead letter again after its attempts', async (t) => {
  const { s, deliver } = await withTopic(t, 1)
  await refuse(s, '22023', 'alice')
  await deliver(1, event('A'))
  const { body } = await s.call('GET', '/v1/dead-letters')
  await s.call('POST', '/v1/dead-letters/replay', {})
  const letters = await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    (answer) => answer.body.items.length === 1,
  )
  assert.equal(letters.body.items[0].cause, 'failed_message')
  assert.equal(letters.body.items[0].event, body.items[0].event)
  assert.equal((await s.database.query('SELECT 1 FROM notify.scheduled')).rowCount, 0)
})

test('a failing message does not block the others of its batch', async (t) => {
  const { s, deliver } = await withTopic(t)
  for (const user of ['poison', 'bob', 'carol']) await s.call('PUT', `/v1/recipients/${user}`, { locale: 'en' })
  await refuse(s, '22023', 'poison')
  const answers = await Promise.all(
    ['poison', 'alice', 'bob', 'carol', 'poison'].map((user, place) => deliver(place, event(`${place}`, user))),
  )
  assert.deepEqual(answers, ['later', 'ack', 'ack', 'ack', 'later'])
})

for (const [trouble, sqlState] of [
  ['too many connections', '53300'],
  ['a full disk', '53100'],
  ['a lock that was not free', '55P03'],
  ['a statement that took too long', '57014'],
  ['a table that is not there yet', '42P01'],
] as const)
  test(`${trouble} creates no dead letters, however often a message fails on it`, async (t) => {
    const { s, deliver, errors } = await withTopic(t, 2)
    await refuse(s, sqlState)
    for (let i = 0; i < 5; i++) assert.equal(await deliver(1, event('A')), 'later')
    await accept(s)
    assert.equal(await deliver(1, event('A')), 'ack')
    assert.equal((await s.call('GET', '/v1/dead-letters')).body.items.length, 0)
    assert.deepEqual(
      errors.map(({ err }) => err?.message),
      ['refused here'],
      'the cause is logged, and not once for every message',
    )
  })

test('infrastructure failures in between do not count as attempts of a message', async (t) => {
  const { s, deliver } = await withTopic(t, 2)
  await refuse(s, '22023')
  assert.equal(await deliver(1, event('A')), 'later')
  await refuse(s, '53300')
  for (let i = 0; i < 5; i++) assert.equal(await deliver(1, event('A')), 'later')
  await refuse(s, '22023')
  assert.equal(await deliver(1, event('A')), 'terminate')
})

test('a message whose part of the database is away is set aside, and accepted once it is back', async (t) => {
  const { topic, deliver } = createManualTopic()
  const embedded = await embeddedDatabase()
  let isAway = false
  const database: Database = {
    ...embedded,
    async query(query, values) {
      if (isAway && typeof query !== 'string' && query.text.includes('read_at_once'))
        throw new DatabasePartUnavailable('the node 10.0.0.7 does not answer', 'A node does not answer')
      return embedded.query(query, values)
    },
  }
  const s = await setup({ database, topic })
  t.after(s.close)
  await seedEventType(s)
  isAway = true
  for (let n = 0; n < 3; n++) assert.equal(await deliver(1, event('A')), 'aside')
  isAway = false
  assert.equal(await deliver(1, event('A')), 'ack')
})

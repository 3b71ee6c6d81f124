import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSmtp } from '@gatehouse/fakes'
import { createMetrics, manualClock, silentLog } from '@gatehouse/kit'
import { createNotify } from '../../src/index.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { buildProvider } from '../support/providers/providers.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

/** What one program reads as an address and another as two, or as somebody else's. */
const crafted = [
  'attacker@evil.com,x.corp.com',
  'attacker@evil.com, alice@corp.com',
  'attacker@evil.com;alice@corp.com',
  '"attacker@evil.com, x"@corp.com',
  'Alice <attacker@evil.com>',
  '<attacker@evil.com> alice@corp.com',
  'group: attacker@evil.com, alice@corp.com;',
  'alice@corp.com\r\nRCPT TO:<attacker@evil.com>',
  'alice@corp.com\u0000@evil.com',
  'attacker@evil.com@corp.com',
  'alice@[127.0.0.1]',
  'alice(attacker@evil.com)@corp.com',
]

for (const email of crafted)
  test(`the address ${JSON.stringify(email)} is rejected on every input`, async (t) => {
    const s = await setup({ work: false })
    t.after(s.close)
    const pointerOf = async (...request: Parameters<Setup['call']>) => {
      const { status, body } = await s.call(...request)
      return [status, body.errors?.[0].pointer]
    }
    assert.deepEqual(await pointerOf('PUT', '/v1/recipients/alice', { email }), [400, '/email'])
    const many = [
      { user_id: 'bob', email: 'bob@example.com' },
      { user_id: 'alice', email },
    ]
    const place = [400, '/recipients/1/email']
    assert.deepEqual(await pointerOf('PUT', '/v1/recipients', { recipients: many }), place)
    const suppression = { user_id: 'alice', channel: 'email', address: email }
    assert.deepEqual(await pointerOf('POST', '/v1/suppressions', suppression), [400, '/address'])
    await assert.rejects(s.notify.putRecipient({ userId: 'alice', email }), /must be one email address/)
    const declared = { recipients: [{ user_id: 'alice', email }] }
    const options = { store: s.store, providers: {}, authenticate: () => assert.fail(), work: false, log: silentLog }
    await assert.rejects(
      createNotify({ ...options, declared, clock: s.clock, metrics: createMetrics() }),
      /recipients, alice: email must be one email address/,
    )
    assert.equal((await s.database.query('SELECT 1 FROM notify.recipient')).rowCount, 0)
    assert.equal((await s.database.query('SELECT 1 FROM notify.suppression')).rowCount, 0)
    const from = `Example <${email}>`
    assert.throws(() => buildProvider({ provider: 'smtp', url: 'smtp://localhost', from }), /from must be an address/)
  })

test('the address of a suppression matches its channel, or any channel', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  for (const [channel, address, status] of [
    ['email', '*', 201],
    ['email', 'alice@example.com', 201],
    ['email', '+14155550100', 400],
    ['sms', '+14155550100', 201],
    ['sms', 'alice@example.com', 400],
    ['push', 'any token', 201],
  ] as const)
    assert.equal((await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel, address })).status, status)
})

/** The service on a mail server, with an address that no check has seen. */
async function storedAddress(t: { after(end: () => Promise<void>): void }, address: string) {
  const fake = await startSmtp()
  const smtp = buildProvider({ provider: 'smtp', url: fake.url }, { clock: manualClock() })
  const s = await setup({ providers: { email: [smtp] }, database: await notifyDatabase() })
  t.after(async () => {
    await s.close()
    await fake.stop()
  })
  await seedEventType(s)
  await s.database.query('UPDATE notify.recipient SET email = $1', [address])
  return { s, fake }
}

for (const address of crafted.filter((each) => !each.includes('\u0000')))
  test(`a stored ${JSON.stringify(address)} is not sent to over SMTP and becomes a dead letter`, async (t) => {
    const { s, fake } = await storedAddress(t, address)
    const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: '1' }, channels: ['email'] }
    const { body } = await s.call('POST', '/v1/notify', event)
    const { items } = await eventually(
      async () => (await s.call('GET', '/v1/dead-letters')).body,
      (found) => found.items.length === 1,
    )
    assert.deepEqual([items[0].id, items[0].cause], [body.deliveries[0].id, 'permanent'])
    const sample = { channel: 'email', user_id: 'alice', data: { order_id: '1' } }
    const tried = await s.call('POST', '/v1/templates/order.shipped/test', sample)
    assert.deepEqual([tried.status, tried.body.results[0].kind], [200, 'permanent'])
    assert.deepEqual(fake.requests, [])
  })

test('an address with every RFC 5322 atom character reaches exactly one recipient', async (t) => {
  const address = "a!#$%&'*+/=?^_`{|}~-b@example.com"
  const { s, fake } = await storedAddress(t, address)
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: '1' }, channels: ['email'] }
  await s.call('POST', '/v1/notify', event)
  await eventually(
    async () => fake.requests,
    ({ length }) => length === 1,
  )
  assert.deepEqual(fake.requests[0]?.recipients, [address])
})

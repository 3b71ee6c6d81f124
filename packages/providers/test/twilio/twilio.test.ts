import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build, message, sendOne } from '../support/setup.ts'
import { accountSid, authToken, setup } from '../support/twilio.ts'

test('an SMS to Twilio has its text, sender and the URL for reports', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = message()
  const result = await sendOne(provider, sent)
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: fake.requests[0]?.sid })
  const [{ to, from, body, statusCallback } = assert.fail()] = fake.requests
  assert.deepEqual(
    { to, from, body, statusCallback },
    {
      to: '+14155550100',
      from: '+14155550199',
      body: 'Order A-1 left.',
      statusCallback: `https://gatehouse.example.com/v1/webhooks/twilio?delivery=${sent.deliveryId}`,
    },
  )
})

test('a messaging service can choose the sender', async (t) => {
  const service = `MG${'1'.repeat(32)}`
  const { fake, provider } = await setup(t, { from: undefined, messaging_service_sid: service })
  assert.equal((await sendOne(provider)).kind, 'accepted')
  assert.equal(fake.requests[0]?.messaging_service_sid, service)
})

test('Twilio needs either a number to send from or a messaging service', () => {
  const entry = { provider: 'twilio', account_sid: accountSid, auth_token: authToken }
  assert.throws(() => build(entry), /needs either from or messaging_service_sid/)
  assert.throws(() => build({ ...entry, from: '+1', messaging_service_sid: 'MG' }), /either from or/)
})

const answers = [
  [
    { status: 429, retryAfter: 7 },
    { kind: 'rate_limited', retryAfterMs: 7_000, accountWide: true },
  ],
  [
    { status: 400, body: { code: 20429 } },
    { kind: 'rate_limited', accountWide: true },
  ],
  [{ status: 500 }, { kind: 'transient' }],
  [
    { status: 503, retryAfter: 3 },
    { kind: 'transient', retryAfterMs: 3_000 },
  ],
  [
    { status: 400, body: { code: 21610 } },
    { kind: 'permanent', code: '21610', undeliverable: 'unsubscribed' },
  ],
  [
    { status: 400, body: { code: 21211 } },
    { kind: 'permanent', code: '21211', undeliverable: 'bounced' },
  ],
  [
    { status: 400, body: { code: 21614 } },
    { kind: 'permanent', code: '21614', undeliverable: 'bounced' },
  ],
  [
    { status: 400, body: { code: 21617 } },
    { kind: 'permanent', code: '21617' },
  ],
  [
    { status: 403, body: { code: 21408 } },
    { kind: 'permanent', code: '21408' },
  ],
  [
    { status: 400, body: { code: 30007 } },
    { kind: 'permanent', code: '30007' },
  ],
  [{ status: 400, body: { code: 30034 } }, { kind: 'misconfigured' }],
  [{ status: 400, body: { code: 21606 } }, { kind: 'misconfigured' }],
  [{ status: 401, body: { code: 20003 } }, { kind: 'misconfigured' }],
  [{ status: 403, body: 'forbidden' }, { kind: 'misconfigured' }],
  [{ status: 404, body: 'not here' }, { kind: 'misconfigured' }],
  [{ status: 302, body: '' }, { kind: 'misconfigured' }],
  [
    { status: 400, body: 'not json' },
    { kind: 'permanent', code: '400' },
  ],
  [{ status: 201, body: 'not json' }, { kind: 'ambiguous' }],
  [{ status: 201, body: { status: 'queued' } }, { kind: 'ambiguous' }],
] as const

test('every error of Twilio has the result of its code, else of its status', async (t) => {
  const { fake, provider } = await setup(t)
  for (const [behaviour, expected] of answers) {
    fake.answerNext(behaviour)
    const { reason: _, ...result } = { reason: '', ...(await sendOne(provider)) }
    assert.deepEqual(result, expected, JSON.stringify(behaviour))
  }
  assert.equal(fake.requests.length, 0)
})

test('a wrong auth token of Twilio is misconfigured, not permanent', async (t) => {
  const { provider } = await setup(t, { auth_token: 'the-token-of-another' })
  const result = await sendOne(provider)
  assert.equal(result.kind, 'misconfigured')
  assert.match('reason' in result ? result.reason : '', /20003/)
})

test('an SMS whose response was lost is found at Twilio instead of being sent again', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = message()
  fake.answerNext('drop')
  assert.equal((await sendOne(provider, sent)).kind, 'ambiguous')
  assert.deepEqual(await sendOne(provider, { ...sent, retried: true }), {
    kind: 'accepted',
    providerMessageId: fake.requests[0]?.sid,
  })
  assert.equal(fake.requests.length, 1)
})

test('an SMS that Twilio never accepted is sent again, whatever else went to that number', async (t) => {
  const { fake, provider } = await setup(t)
  await sendOne(provider, message({ content: { body: 'Another text.', locale: 'en' } }))
  fake.answerNext({ status: 500 })
  const sent = message()
  assert.equal((await sendOne(provider, sent)).kind, 'transient')
  assert.equal((await sendOne(provider, { ...sent, retried: true })).kind, 'accepted')
  assert.equal(fake.requests.length, 2)
})

test('noneAccepted is set only after Twilio was searched for the earlier attempt', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = message()
  fake.answerNext({ status: 503 })
  assert.equal('noneAccepted' in (await sendOne(provider, sent)), false)
  fake.answerNext({ status: 503 })
  const { kind, noneAccepted } = { noneAccepted: undefined, ...(await sendOne(provider, { ...sent, retried: true })) }
  assert.deepEqual([kind, noneAccepted], ['transient', true])
  await fake.stop()
  assert.equal('noneAccepted' in (await sendOne(provider, { ...sent, retried: true })), false)
})

test('a Twilio that hangs is ambiguous after its timeout; an absent one is transient', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.2 })
  fake.answerNext('hang')
  assert.equal((await sendOne(provider)).kind, 'ambiguous')
  await fake.stop()
  assert.equal((await sendOne(provider)).kind, 'transient')
})

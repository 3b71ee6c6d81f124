import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSendgrid } from '@gatehouse/fakes'
import { build, caught, message, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const apiKey = 'SG.a-key'
const mail = () =>
  message({
    channel: 'email',
    target: { id: 'email', address: 'alice@example.com' },
    content: { subject: 'Order A-1', body: 'It left.', html: '<p>It left.</p>', locale: 'en' },
    headers: { 'List-Unsubscribe': '<https://example.com/u/1>' },
  })

const setup = (t: TestEnd, declared: Record<string, unknown> = {}) =>
  rehearse(t, startSendgrid({ apiKey }), ({ url, publicKey }) => {
    return { provider: 'sendgrid', api_key: apiKey, url, webhook_public_key: publicKey, ...declared }
  })

test('a mail to SendGrid has its sender, texts, header fields and delivery id', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = mail()
  const result = await sendOne(provider, sent)
  const [received = assert.fail()] = fake.requests
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: received.id })
  assert.deepEqual(
    { to: received.to, from: received.from, subject: received.subject, customArgs: received.customArgs },
    {
      to: 'alice@example.com',
      from: { email: 'hello@example.com', name: 'Example' },
      subject: 'Order A-1',
      customArgs: { delivery_id: sent.deliveryId },
    },
  )
  assert.deepEqual(received.content, [
    { type: 'text/plain', value: 'It left.' },
    { type: 'text/html', value: '<p>It left.</p>' },
  ])
  assert.deepEqual(received.headers, {
    'Auto-Submitted': 'auto-generated',
    'Feedback-ID': 'order.shipped:gatehouse',
    'List-Unsubscribe': '<https://example.com/u/1>',
    'Message-ID': `<${sent.id}@example.com>`,
  })
})

test('every response of SendGrid has its result', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.5 })
  const table = [
    [{ status: 429, retryAfter: 7 }, 'rate_limited', 7_000],
    [{ status: 429 }, 'rate_limited', undefined],
    [{ status: 500 }, 'transient', undefined],
    [{ status: 503, retryAfter: 9 }, 'transient', 9_000],
    [{ status: 400 }, 'permanent', undefined],
    [{ status: 413 }, 'permanent', undefined],
    [{ status: 401 }, 'misconfigured', undefined],
    [{ status: 403 }, 'misconfigured', undefined],
    [{ status: 404 }, 'misconfigured', undefined],
    [{ status: 302 }, 'misconfigured', undefined],
    ['gone', 'permanent', undefined],
    ['drop', 'ambiguous', undefined],
    ['hang', 'ambiguous', undefined],
  ] as const
  for (const [behaviour, kind, pause] of table) {
    fake.answerNext(behaviour)
    const result = await sendOne(provider, mail())
    assert.equal(result.kind, kind, JSON.stringify(behaviour))
    if (result.kind === 'rate_limited') assert.equal(result.accountWide, true)
    if ('retryAfterMs' in result || pause !== undefined)
      assert.equal('retryAfterMs' in result ? result.retryAfterMs : undefined, pause)
  }
  assert.equal((await sendOne(provider, mail())).kind, 'accepted')
})

test('a wrong API key is misconfigured; an absent server is transient', async (t) => {
  const { provider } = await setup(t, { api_key: 'SG.wrong' })
  const result = await sendOne(provider, mail())
  assert.equal(result.kind, 'misconfigured')
  assert.match('reason' in result ? result.reason : '', /authorization grant is invalid/)
  const away = await setup(t, { url: 'http://127.0.0.1:1' })
  assert.equal((await sendOne(away.provider, mail())).kind, 'transient')
})

test('signed SendGrid events become reports', async (t) => {
  const { fake, provider, receive } = await setup(t)
  const sent = mail()
  await sendOne(provider, sent)
  const [{ id } = assert.fail()] = fake.requests
  const at = Math.floor(Date.now() / 1_000) * 1_000
  const kinds = [
    ['delivered', undefined],
    ['opened', undefined],
    ['clicked', undefined],
    ['complained', undefined],
    ['bounced', false],
    ['bounced', true],
  ] as const
  const reports = kinds.map(([what, soft], index) => ({
    message: id,
    what,
    eventId: `e${index}`,
    at,
    ...(soft ? { soft } : {}),
  }))
  const [request] = await caught((to) => fake.sendWebhook(to, reports), 'https://gatehouse.example.com')
  const received = await receive(request)
  assert.equal(received.kind, 'reports')
  assert.deepEqual(
    received.kind === 'reports' &&
      received.reports.map(({ eventId, deliveryId, report, soft, at }) => [eventId, deliveryId, report, soft, at]),
    kinds.map(([what, soft], index) => [`e${index}`, sent.deliveryId, what, soft, at]),
  )
})

test('SendGrid events that are not final are ignored; drops and opt-outs are distinguished', async (t) => {
  const { fake, receive } = await setup(t)
  const table = [
    [{ event: 'processed' }, []],
    [{ event: 'deferred', response: '400 try again later' }, []],
    [{ event: 'group_resubscribe' }, []],
    [{ event: 'open', sg_machine_open: true }, []],
    [{ event: 'open' }, [['opened', undefined]]],
    [{ event: 'unsubscribe' }, [['unsubscribed', undefined]]],
    [{ event: 'group_unsubscribe' }, [['unsubscribed', undefined]]],
    [{ event: 'bounce', type: 'bounce', status: '5.2.2' }, [['bounced', true]]],
    [{ event: 'bounce', type: 'bounce', status: '5.7.1' }, [['bounced', true]]],
    [{ event: 'bounce', type: 'bounce' }, [['bounced', false]]],
    [{ event: 'dropped', reason: 'Bounced Address' }, [['bounced', false]]],
    [{ event: 'dropped', reason: 'Invalid SMTPAPI header' }, [['bounced', false]]],
    [{ event: 'dropped', reason: 'Spam Reporting Address' }, [['complained', undefined]]],
    [{ event: 'dropped', reason: 'Recipient List over Package Quota' }, [['bounced', true]]],
    [
      { event: 'dropped', reason: 'Unsubscribed Address' },
      [
        ['bounced', true],
        ['unsubscribed', undefined],
      ],
    ],
  ] as const
  const delivery_id = mail().deliveryId
  for (const [fields, expected] of table) {
    const event = { sg_event_id: 'e', delivery_id, timestamp: 1, ...fields }
    const [request] = await caught((to) => fake.sendEvents(to, [event, { event: 'delivered' }, null as never]), '')
    const received = await receive(request)
    assert.ok(received.kind === 'reports')
    assert.deepEqual(
      received.reports.map(({ report, soft }) => [report, soft]),
      expected,
      JSON.stringify(fields),
    )
    assert.equal(new Set(received.reports.map(({ eventId }) => eventId)).size, expected.length)
  }
})

test('SendGrid webhooks that are forged, changed, unsigned, old or unreadable are rejected', async (t) => {
  const { fake, receive, clock } = await setup(t)
  const other = await startSendgrid({ apiKey })
  t.after(() => other.stop())
  const events = [{ sg_event_id: 'e', delivery_id: mail().deliveryId, event: 'delivered', timestamp: 1 }]
  const [genuine = assert.fail()] = await caught((to) => fake.sendEvents(to, events), '')
  const [forged] = await caught((to) => other.sendEvents(to, events), '')
  const [notEvents] = await caught((to) => fake.sendEvents(to, { not: 'an array' } as never), '')
  const reasonOf = async (...parameters: Parameters<typeof receive>) => {
    const received = await receive(...parameters)
    return `${received.kind}: ${'reason' in received ? received.reason : ''}`
  }
  assert.equal((await receive(genuine)).kind, 'reports')
  assert.match(await reasonOf(forged), /rejected: the signature/)
  const touched = { ...genuine, body: Buffer.concat([genuine.body, Buffer.from(' ')]) }
  assert.match(await reasonOf(touched), /rejected: the signature/)
  assert.match(await reasonOf({ ...genuine, headers: {} }), /rejected: .* are needed/)
  const noSignature = { ...genuine.headers, 'x-twilio-email-event-webhook-signature': 'AAAA' }
  assert.match(await reasonOf({ ...genuine, headers: noSignature }), /rejected: the signature/)
  assert.match(await reasonOf(genuine, clock.now() + 602_000), /rejected: .* last 600 seconds/)
  assert.match(await reasonOf(notEvents), /malformed: it must be a JSON array/)
})

test('a SendGrid option that cannot be used is named in the error', () => {
  const entry = { provider: 'sendgrid', api_key: apiKey }
  assert.throws(() => build({ ...entry, webhook_public_key: 'abc' }), /webhook_public_key must be the verification key/)
  assert.throws(() => build({ ...entry, url: 'ftp://x' }), /url must be/)
  assert.throws(() => build({ ...entry, from: 'nobody' }), /from must be an address/)
})

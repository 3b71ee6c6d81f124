import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { startSmtp } from '@gatehouse/fakes'
import { createReturnPaths } from '../../src/smtp/return-path.ts'
import { build, caught, message, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const secret = 'a-secret-of-the-bounces'
const bounces = { domain: 'bounces.example.com', secret }
const mail = () =>
  message({
    channel: 'email',
    target: { id: 'email', address: 'alice@example.com' },
    content: { subject: 'Größe', body: 'It left. ✓', html: '<p>It left.</p>', locale: 'en' },
    headers: { 'List-Unsubscribe': '<https://example.com/u/1>', 'X-Long': 'broken\r\nBcc: eve@example.com' },
  })

const setup = (t: TestEnd, declared: Record<string, unknown> = {}) =>
  rehearse(t, startSmtp({ user: 'us', password: 'p@ss/word', bounceSecret: secret }), ({ url }) => {
    return { provider: 'smtp', url, bounces, ...declared }
  })

test('a mail over SMTP has its texts, safe header fields and its own return path', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = mail()
  const result = await sendOne(provider, sent)
  assert.deepEqual(fake.refusals, [])
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: `<${sent.id}@example.com>` })
  const [{ from, to, raw } = assert.fail()] = fake.requests
  assert.equal(to, 'alice@example.com')
  assert.equal(createReturnPaths(bounces.domain, secret).parse(from), sent.deliveryId)
  assert.ok((from.split('@')[0] ?? '').length <= 64)
  assert.match(raw, /^From: Example <hello@example\.com>\r$/m)
  assert.match(raw, new RegExp(`^Message-ID: <${sent.id}@example\\.com>\r$`, 'm'))
  assert.match(raw, /^List-Unsubscribe: <https:\/\/example\.com\/u\/1>\r$/m)
  assert.match(raw, /^Auto-Submitted: auto-generated\r$/m)
  assert.doesNotMatch(raw, /^Bcc:/im)
  assert.match(raw, /multipart\/alternative/)
})

test('every reply of a mail server has its result', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.5, connections: 1 })
  const table = [
    [550, '5.1.1 User unknown', 'permanent', 'bounced'],
    [550, '5.1.10 null MX', 'permanent', 'bounced'],
    [550, '5.2.1 mailbox disabled', 'permanent', 'bounced'],
    [550, 'No such user here', 'permanent', 'bounced'],
    [550, 'The email account that you tried to reach does not exist', 'permanent', 'bounced'],
    [550, 'go away', 'permanent', undefined],
    [550, 'Verification failed for <bounce+1@example.com>\nNo Such User Here\nverify failed', 'permanent', undefined],
    [550, 'Sender verify failed: no such user', 'permanent', undefined],
    [550, 'sender domain does not exist', 'permanent', undefined],
    [550, 'the return-path does not exist', 'permanent', undefined],
    [550, 'Recipient verify failed: no such user', 'permanent', 'bounced'],
    [552, '5.2.2 mailbox full', 'permanent', undefined],
    [550, '5.7.1 blocked by policy; user unknown to us', 'permanent', undefined],
    [554, '5.4.4 unroutable', 'permanent', undefined],
    [530, '5.7.0 Authentication required', 'misconfigured', undefined],
    [450, '4.2.1 mailbox busy', 'transient', undefined],
    [451, '4.3.0 local error', 'transient', undefined],
    [452, '4.2.2 mailbox full', 'transient', undefined],
    [421, '4.7.0 too many messages from you', 'rate_limited', undefined],
    [450, '4.7.1 greylisted', 'rate_limited', undefined],
    [451, 'Rate limit exceeded, slow down', 'rate_limited', undefined],
    [452, 'too many recipients this hour', 'rate_limited', undefined],
  ] as const
  for (const [status, body, kind, undeliverable] of table) {
    // a server that hangs up on a connection that was used before is called once more over another
    fake.answerNext({ status, body }, status === 421 ? 2 : 1)
    const result = await sendOne(provider, mail())
    assert.equal(result.kind, kind, `${status} ${body}: ${JSON.stringify(result)}`)
    assert.equal(result.kind === 'permanent' ? result.undeliverable : undefined, undeliverable, body)
  }
  fake.answerNext('gone')
  const gone = await sendOne(provider, mail())
  assert.deepEqual([gone.kind, gone.kind === 'permanent' && gone.code], ['permanent', '5.1.1'])
})

test('a mail without a reply is ambiguous and is not sent again', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.5 })
  for (const behaviour of ['drop', 'hang'] as const) {
    fake.answerNext(behaviour)
    assert.equal((await sendOne(provider, mail())).kind, 'ambiguous', behaviour)
  }
  assert.equal(fake.requests.length, 1, 'the one that was dropped after it was accepted')
  assert.equal((await sendOne(provider, mail())).kind, 'accepted')
})

test('a mail server that rejects the sender, whatever the mail, is misconfigured', async (t) => {
  const { fake, provider } = await setup(t)
  const wrong = build({ provider: 'smtp', url: fake.url.replace('word', 'wrong') })
  t.after(() => wrong.close?.() ?? Promise.resolve())
  const refused = await sendOne(wrong, mail())
  assert.equal(refused.kind, 'misconfigured')
  assert.match('reason' in refused ? refused.reason : '', /535/)
  for (const [reply, kind] of [
    ['550 5.7.1 you may not send as this', 'misconfigured'],
    ['552 5.3.4 too large', 'permanent'],
    ['451 4.3.0 later', 'transient'],
  ] as const) {
    fake.refuseSender(reply)
    assert.equal((await sendOne(provider, mail())).kind, kind, reply)
  }
  const away = build({ provider: 'smtp', url: 'smtp://127.0.0.1:1' })
  t.after(() => away.close?.() ?? Promise.resolve())
  assert.equal((await sendOne(away, mail())).kind, 'transient')
})

test('mails share the configured number of connections, which stay open', async (t) => {
  const { fake, provider } = await setup(t, { connections: 2 })
  const results = await provider.send(
    Array.from({ length: 20 }, () => mail()),
    new AbortController().signal,
  )
  assert.ok(results.every(({ kind }) => kind === 'accepted'))
  assert.equal((await sendOne(provider, mail())).kind, 'accepted')
  assert.equal(fake.requests.length, 21)
  assert.equal(fake.connections(), 2)
})

test('bounces and complaints posted by the mail server refer to their delivery', async (t) => {
  const { fake, provider, receive } = await setup(t)
  const sent = mail()
  await sendOne(provider, sent)
  const [{ id } = assert.fail()] = fake.requests
  for (const [what, soft, report] of [
    ['bounced', false, 'bounced'],
    ['bounced', true, 'bounced'],
    ['delivered', undefined, 'delivered'],
    ['complained', undefined, 'complained'],
  ] as const) {
    const posted = { message: id, what, eventId: `e-${what}-${soft}`, ...(soft === undefined ? {} : { soft }) }
    const [first, again] = await caught((to) => fake.sendWebhook(to, [posted, posted]), 'https://gatehouse.example.com')
    const [one, two] = [await receive(first), await receive(again)]
    assert.ok(one.kind === 'reports' && two.kind === 'reports')
    assert.deepEqual(
      one.reports.map((each) => [each.deliveryId, each.report, each.soft]),
      [[sent.deliveryId, report, soft]],
    )
    assert.equal(two.reports[0]?.eventId, one.reports[0]?.eventId, 'posted twice it counts once')
  }
})

test('an SMTP option that cannot be used is named in the error', () => {
  const entry = { provider: 'smtp', url: 'smtp://localhost' }
  const dkim = { domain: 'example.com', selector: 's' }
  assert.throws(
    () => build({ ...entry, dkim: { ...dkim, private_key: '-----BEGIN x' } }),
    /dkim.private_key must be an RSA key/,
  )
  assert.throws(
    () => build({ ...entry, dkim: { ...dkim, private_key: './none.pem' } }),
    /dkim.private_key names the file/,
  )
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  assert.throws(() => build({ ...entry, dkim: { ...dkim, private_key: pem } }), /dkim.private_key must be an RSA key/)
})
